"""Both products by the matrix between many entries and few: against NumPy, and which groups make them."""

from __future__ import annotations

import ctypes
from random import Random
from typing import Any

import numpy as np
import pytest

from energyc import pipeline
from energyc.code.loops.couplings import FEW, MANY
from energyc.code.loops.nest import Group
from energyc.code.module.context import Options
from energyc.code.targets.kernels import kernels_of
from energyc.language.diagnostics import Source
from energyc.language.network import Network
from tests.emit.kernels import agrees, kernel_module, loaded_with, needs_compiler, pointer

CALL = """
extern "C" void whole_{few}(const Real* few, Real factor, const Real* many, Int terms, const Real* matrix, Real* out,
                            Real out_factor, Real* made, Int* given) {{
    std::vector<Real> packed({few} * padded<Real>(terms));
    pack(matrix, places({{{{{few}, 1}}}}), places({{{{terms, {few}}}}}), packed.data());
    couple<Real, {few}>(few, factor, many, terms, packed.data(), out, out_factor,
                        [&](Int first, auto count, const Real* here) {{
        std::copy_n(here, Int(count), made + first);
        *given += count;
    }});
}}
"""
#: A term between many units and few, and what else there may be.
COUPLED = """\
network coupled
dim J = {many}, K = {few}
clamp x[J], c[K]
target t[K]
param W[J, K] ~ normal(1/10), V[J, K] ~ normal(1/10)
state {states}
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2) - sum[j](x[j] * s[j]) - sum[k](c[k] * y[k])
{more}
readout o[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax {{ step = 1/4, steps = 5 }}
nudge {{ beta = 1/4, steps = 3 }}
train {{ rule = {rule} }}
"""
BOTH = "energy joint = -sum[j,k](s[j] * W[j,k] * y[k])"


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "real", "number"), [("float", np.float32, ctypes.c_float), ("double", np.float64, ctypes.c_double)]
)
def test_they_are_products(kind: str, real: type[np.floating], number: Any) -> None:
    each = "\n".join(CALL.format(few=few) for few in range(1, FEW + 1))
    loaded = loaded_with(["kernels.h", "dots.h", "coupling.h"], each, kind)
    seed = Random().randrange(10**9)
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    for few in range(1, FEW + 1):
        for terms in (1, 7, 8, 15, 16, 17, 32, 33, 47, 64, 65, 79, 130):
            narrow, wide, matrix = (random.normal(size=size).astype(real) for size in (few, terms, (terms, few)))
            out, made, rows = np.full(few, np.nan, real), np.full(terms, np.nan, real), np.zeros(1, np.int64)
            getattr(loaded, f"whole_{few}")(
                pointer(narrow), number(-0.5), pointer(wide), ctypes.c_int64(terms), pointer(matrix), pointer(out),
                number(2.0), pointer(made), pointer(rows),
            )  # fmt: skip
            exact = matrix.astype(np.longdouble)
            eps = 20 * np.finfo(real).eps
            assert np.all(abs(out - 2 * (wide @ exact)) <= eps * (abs(wide) @ abs(matrix))), (few, terms)
            assert np.all(abs(made + 0.5 * (exact @ narrow)) <= eps * (abs(matrix) @ abs(narrow))), (few, terms)
            assert rows[0] == terms, "each is given once"


def network(more: str, many: int = 70, few: int = 10, states: str = "s[J], y[K]", rule: str = "implicit") -> Network:
    text = COUPLED.format(many=many, few=few, more=more, states=states, rule=rule)
    return pipeline.resolve(Source("coupled.energy", text))


def couplings(network: Network) -> list[str]:
    """What the coupled products of a free phase are of: the few and the many."""
    classes = pipeline.classify(network)
    options = Options(("implicit",), "", "", unproved=classes.unproved, descends=classes.descends)
    kernel = kernels_of(options.plan(network), options)[0].kernels[0]
    pairs = (block.coupling for block in kernel.body if isinstance(block, Group))
    return [f"{pair.spread.left.name} {pair.gathered.left.name}" for pair in pairs if pair]


UP, DOWN = "force up on y[k] = sum[j](W[j,k] * s[j])", "force down on s[j] = sum[k](W[j,k] * y[k])"
OF_TANH = "energy joint = -sum[j](tanh(s[j]) * sum[k](W[j,k] * tanh(y[k])))"
#: Each has a product of a pair read by more than the two forces.
READ_MORE = (
    f"{BOTH}\nenergy other = 1/9 * sum[j](s[j] * sum[k](W[j,k] * y[k])^2)",
    f"{BOTH}\nforce on_sums on s[j] = x[j] * sum[k](c[k] * sum[i](W[i,k] * s[i]))",
)


@pytest.mark.parametrize(
    ("more", "choices", "expected"),
    [
        (BOTH, {}, ["y s"]),
        (BOTH, {"states": "y[K], s[J]"}, ["y s"]),
        (BOTH, {"many": MANY}, ["y s"]),
        (BOTH, {"many": MANY - 1}, []),
        (BOTH, {"few": FEW}, ["y s"]),
        (BOTH, {"few": FEW + 1}, []),
        (UP, {}, []),
        (DOWN, {}, []),
        (f"{UP}\n{DOWN}", {}, ["y s"]),
        (f"{UP}\n{DOWN.replace('W', 'V')}", {}, []),
        (OF_TANH, {}, ["image image"]),
        (READ_MORE[1], {}, []),
    ],
)
def test_groups_make_both_where_they_can(more: str, choices: dict[str, Any], expected: list[str]) -> None:
    assert couplings(network(more, **choices)) == expected


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("rule", ["centered-ep", "bptt", "implicit", "adjoint"])
def test_phases_are_those_of_torch(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With either product read by more, and with rows that are no multiple of a vector."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    mores = BOTH, OF_TANH, READ_MORE[0], *(READ_MORE[1:] if rule in ("bptt", "implicit") else ())
    for more in mores:
        for many, few in ((70, 10), (131, 12)):
            net = kernel_module(network(more, many, few, rule=rule), [rule])
            agrees(net)
