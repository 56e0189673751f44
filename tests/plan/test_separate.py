"""Tables of sums over several indices, and their sines: separated where that costs less, and to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from energyc.code.plan import Passes, plan
from energyc.derivation.derive import Output, Routine, derive
from energyc.mathematics.ir import Einsum, Map, Node, walk
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.nudging.contrast import energy_contrast
from energyc.surfaces.report.check import check
from tests.emit.judge import Judged, disagreements, judged, resolved
from tests.plan.test_passes import compare

HEAD = """network waves
dim N = 8, M = 5, B = 6, U = 1
clamp x[M]
param K[N, N], W[N, M], A[N, N], L[N, M, B], f[B] ~ normal(0.5)
state theta[N], phi[B], y[U]
energy rest = 1/2 * sum[n](theta[n]^2) + 1/2 * sum[b](phi[b]^2) + 1/2 * sum[u](y[u]^2)
readout answer[n] = cos(theta[n])
cost c0 = sum[n,b](1 - cos(theta[n] - phi[b]))
"""
USES = {
    "K": "sum[n,m in N](K[n,m] * theta[n])",
    "W": "sum[n,m](W[n,m] * theta[n])",
    "A": "sum[n,m in N](A[n,m] * theta[m])",
    "L": "sum[n,m,b](L[n,m,b] * theta[n])",
    "f": "sum[b](f[b] * phi[b])",
    "x": "sum[n,m](theta[n] * x[m])",
}
#: Energies in which every table of two indices or more goes.
SEPARATED = {
    "oscillators": "-sum[n,m in N](K[n,m] * cos(theta[n] - theta[m]))",
    "no oscillator with itself": "-sum[n,m in N | n != m](K[n,m] * cos(theta[n] - theta[m]))",
    "on a ring": "-sum[n,m in N | abs(n - m) == 1](cos(theta[n] - theta[m]))",
    "one minus a cosine": "sum[n,m in N](K[n,m] * (1 - cos(theta[n] - theta[m])))",
    "a phase lag": "sum[n,m in N](K[n,m] * sin(theta[n] - theta[m] - A[n,m]))",
    "a lag for all": "sum[n,m in N](K[n,m] * sin(theta[n] - theta[m] + 1/3))",
    "pinned by a clamp": "-sum[n,m](W[n,m] * cos(theta[n] - 3 * x[m]))",
    "twice the difference": "sum[n,m in N](K[n,m] * cos(2 * (theta[n] - theta[m])))",
    "three bodies": "sum[n,m,b](L[n,m,b] * cos(theta[n] + x[m] - 2 * phi[b]))",
    "two waves": "sum[n,b](cos(theta[n] - phi[b]) * sin(theta[n] + phi[b]) * f[b])",
    "a square": "sum[n,m in N](K[n,m] * cos(theta[n] - theta[m])^2)",
    "sums inside": "sum[n,b](f[b] * cos(sum[m](W[n,m] * x[m] * theta[n]) + phi[b]))",
    "a term with an index": "sum[n,m in N](n * K[n,m] * (theta[n] - theta[m]) * sin(theta[n] - theta[m]))",
}
#: Energies that stay as they are.
WHOLE = {
    "a frequency for each": "sum[n,b](sin(f[b] * (theta[n] - phi[b])))",
    "few values": "sum[n,u](cos(theta[n] - y[u]))",
    "a product": "sum[n,b](cos(theta[n] * phi[b]) * f[b])",
    "an exponential": "sum[n,m in N](K[n,m] * exp(theta[n] - theta[m]))",
    "a table in the angle": "sum[n,m in N](cos(theta[n] - theta[m] + A[n,m] * theta[n] * theta[m]))",
    "frozen whole": "sum[n,b](theta[n] * frozen(tanh(theta[n] - phi[b])))",
}
#: Energies whose tables are sums.
SUMS = {
    "resistors": "1/2 * sum[n,m](W[n,m] * (theta[n] - x[m])^2)",
    "resistors between states": "1/2 * sum[n,b](f[b] * (theta[n] - 2 * phi[b])^2)",
    "a gain": "1/2 * sum[n,m](W[n,m]^2 * (theta[n] - 400 * x[m])^2)",
    "three ends": "sum[n,m,b](L[n,m,b] * (theta[n] - x[m] + phi[b])^2)",
    "a table beside": "sum[n,m](tanh(theta[n]) * (W[n,m] * (theta[n] - x[m])))",
    "a square of a square": "sum[n,m](W[n,m] * (theta[n]^2 - x[m])^2)",
    "two tables": "sum[n,b](f[b] * (theta[n] - phi[b]) * (theta[n] + 3 * phi[b]))",
    "a part that stays": "sum[n,m](W[n,m] * (theta[n] - x[m]) * exp(-(theta[n] - x[m])^2))",
    "at a distance": "sum[n,m in N | n != m](A[n,m] * (theta[n] - theta[m])^2)",
}


def spec(energy: str) -> str:
    used = [f"energy use_{n} = {e}" for n, e in USES.items() if f"{n}[" not in energy]
    return HEAD + "\n".join([f"energy wave = {energy}", *used]) + "\n"


def moving_tables(energy: str, passes: Passes) -> list[Node]:
    """The functions of two indices or more that a planned step of the force computes."""
    d = derive(resolved(spec(energy)))
    force = Routine("_force", tuple(Output(name, node) for name, node in d.force.items()))
    sizes = d.network.extents
    planned = plan(d.graph, [force], sizes=sizes, names=d.names, passes=passes, repeated=["_force"])
    nodes = walk(o.node for r in planned.routines for o in r.outputs)
    fixed = set(walk(planned.fixed))
    return [n for n in nodes if isinstance(n, Map) and len(n.dims) > 1 and n not in fixed]


@pytest.mark.abridged(every=14)
@pytest.mark.parametrize(
    "energy", [*SEPARATED.values(), *WHOLE.values(), *SUMS.values()], ids=[*SEPARATED, *WHOLE, *SUMS]
)
def test_the_same_numbers(energy: str) -> None:
    network = resolved(spec(energy))
    on, off = (judged(network, np.random.default_rng(0), Passes(separate=separate)) for separate in (True, False))
    assert disagreements(on) == {}
    compare(on, off)


@pytest.mark.parametrize("energy", SEPARATED.values(), ids=list(SEPARATED))
def test_no_table_is_left(energy: str) -> None:
    assert moving_tables(energy, Passes(separate=False)) and not moving_tables(energy, Passes())


@pytest.mark.parametrize("energy", WHOLE.values(), ids=list(WHOLE))
def test_what_does_not_pay_or_is_not_safe_stays(energy: str) -> None:
    kinds = [[node.function.name for node in moving_tables(energy, Passes(separate=on))] for on in (True, False)]
    assert kinds[0] == kinds[1] != []


def test_sums_of_resistors_leave_no_table() -> None:
    d = derive(resolved(spec(SUMS["resistors"])))
    for routine in ("force", "energy_contrast"):
        roots = getattr(d, routine)
        planned = plan(
            d.graph,
            [Routine(routine, tuple(Output(name, node, routine != "force") for name, node in roots.items()))],
            sizes={**d.network.extents, "N": 80, "M": 500},
            names=d.names,
            passes=Passes(),
            repeated=[routine],
        )
        nodes = [n for r in planned.routines for o in r.outputs for n in walk([o.node])]
        products = [n for n in nodes if isinstance(n, Einsum) and len(n.operands) > 1]
        assert not [o for n in products for o in n.operands if o.node.batched and len(o.axes) > 1], routine


def test_a_distance_stays_a_sum_of_squares() -> None:
    """At a memory itself, the squares of which multiplied out leave a root of a number that rounds to below 0."""
    text = (
        "network distances\ndim N = 40, K = 60\nclamp x[N]\nparam M[K, N] ~ normal(1)\nstate u[N]\n"
        "energy far = sum[k](sqrt(sum[n]((u[n] - M[k,n])^2)))\nenergy rest = 1/2 * sum[n]((u[n] - x[n])^2)\n"
    )
    j = judged(resolved(text), np.random.default_rng(0), Passes())
    assert disagreements(j) == {}
    net = j.module.to(torch.float32)
    memories = net.params["M"].detach().float()
    energies = net.energy({"u": memories}, {"x": memories})
    distances = torch.cdist(memories.double(), memories.double(), compute_mode="donot_use_mm_for_euclid_dist").sum(1)
    assert torch.allclose(energies.double(), distances, rtol=1e-6, atol=0)


def test_a_contrast_of_squares_keeps_its_digits() -> None:
    """Sources of 400 volts and states that differ by 1e-3: their squares differ in the last digits alone."""
    network = resolved(spec(SUMS["a gain"].replace("W[n,m]^2", "W[n,m]")))
    exact = judged(network, np.random.default_rng(2), Passes())
    minus = [m.float() for m in _ends(exact)[1]]
    plus = [m + 1e-3 * (p.float() - m) for p, m in zip(_ends(exact)[0], minus, strict=True)]
    rounded = judged(network, np.random.default_rng(2), Passes()).module.to(torch.float32)
    fixed = [prepared(m, {k: v.to(m.dtype) for k, v in exact.clamps.items()}) for m in (exact.module, rounded)]
    found = [
        energy_contrast(m, [x.to(m.dtype) for x in plus], [x.to(m.dtype) for x in minus], at)["W"].double()
        for m, at in zip((exact.module, rounded), fixed, strict=True)
    ]
    assert (found[0] - found[1]).norm() < 1e-4 * found[0].norm()


def _ends(j: Judged) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    names = list(j.network.states)
    return j.tensors("plus", names), j.tensors("minus", names)


def test_a_let_of_the_table_does_not_hide_it() -> None:
    network = resolved(
        HEAD.replace(
            "energy rest", "let d[n, m in N] = theta[n] - theta[m]\nlet c[n, m in N] = cos(d[n,m])\nenergy rest"
        )
        + "\n".join(
            [*(f"energy use_{n} = {e}" for n, e in USES.items()), "energy wave = sum[n,m in N](A[n,m] * c[n,m])"]
        )
        + "\n"
    )
    on, off = (judged(network, np.random.default_rng(1), Passes(separate=separate)) for separate in (True, False))
    assert disagreements(on) == {}
    compare(on, off)
    assert "theta[:, :, None]" not in on.module.source.split("def _force(")[1].split("def _readouts(")[0]


def test_check_counts_the_products() -> None:
    report = check(
        "network kuramoto\ndim N = 7\nclamp omega[N]\nparam K[N, N] ~ normal(1)\nstate theta[N]\n"
        "energy coupling = -1/2 * sum[n,m](K[n,m] * cos(theta[n] - theta[m]))\n"
        "force drift on theta[n] = omega[n]\nrelax { step = 0.1, steps = 5 }\n"
    )
    sines_and_cosines, products_of_matrices, of_vectors = 2 * 7, 4 * 2 * 7 * 7, 4 * 7
    assert report.ok and report.flops_per_step == sines_and_cosines + products_of_matrices + of_vectors
