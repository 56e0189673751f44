"""Products with few columns: against NumPy at odd sizes, and which products of a network take them."""

from __future__ import annotations

import ctypes
from random import Random
from typing import Any

import numpy as np
import pytest

from energyc import pipeline
from energyc.code.targets.cpp.products import FEW_COLUMNS
from energyc.language.diagnostics import Source
from tests.emit.kernels import agrees, kernel_module, loaded_with, needs_compiler, pointer

ENTRY = """
extern "C" void whole(const Real* left, Int gap, Int rows, Int terms, const Real* right, Real* out, Int columns,
                      Real factor, bool adds) {
    std::vector<Real> laid(terms * columns);
    lay(right, places({{terms, columns}}), places({{columns, 1}}), laid.data());
    dots<Real>(left, places({{rows, terms + gap}}), rows, terms, laid.data(), out, places({{rows, columns}}), columns,
               factor, adds);
}
"""


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "real", "number"), [("float", np.float32, ctypes.c_float), ("double", np.float64, ctypes.c_double)]
)
def test_they_are_products(kind: str, real: type[np.floating], number: Any) -> None:
    function = loaded_with(["kernels.h", "dots.h"], ENTRY, kind).whole
    seed = Random().randrange(10**9)
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    whole = ctypes.c_int64
    for columns in range(1, FEW_COLUMNS + 1):
        for _ in range(12):
            rows, gap = int(random.integers(1, 12)), int(random.integers(0, 3))
            terms = int(random.choice([1, 7, 64, 65, 79, 130]))
            left, right = random.normal(size=(rows, terms + gap)), random.normal(size=(terms, columns))
            out, factor, adds = random.normal(size=(rows, columns)).astype(real), -0.5, bool(random.integers(2))
            left, right = left.astype(real), right.astype(real)
            exact = factor * left[:, :terms].astype(np.longdouble) @ right + (out if adds else 0)
            bound = abs(left[:, :terms]).astype(float) @ abs(right) + abs(out)
            function(
                pointer(left), whole(gap), whole(rows), whole(terms), pointer(right), pointer(out), whole(columns),
                number(factor), ctypes.c_bool(adds),
            )  # fmt: skip
            assert np.all(abs(out - exact) <= 20 * np.finfo(real).eps * bound), (rows, columns, terms, adds)


#: Units that move by more of them, and have no force from these.
DOWNWARDS = """\
network downwards
dim J = {many}, K = {few}
clamp x[J]
param W[J, K] ~ normal(1/10)
state s[J], y[K]
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2) - sum[j](x[j] * s[j])
force up on y[k] = sum[j](W[j,k] * s[j])
readout o[k] = y[k]
relax {{ step = 1/4, steps = 5 }}
train {{ rule = implicit }}
"""


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "takes"), [((131, 11), True), ((131, 13), False), ((63, 11), False)])
def test_networks_take_them_by_their_sizes(
    sizes: tuple[int, int], takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many terms and few columns; the phases are those of torch in float64 either way."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    many, few = sizes
    net = kernel_module(
        pipeline.resolve(Source("downwards.energy", DOWNWARDS.format(many=many, few=few))), ["implicit"]
    )
    assert ("dots<T>(s_" in net.kernels.source) is takes
    agrees(net)
