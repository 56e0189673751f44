"""Infinite slopes at the edge of a set, and what a run that meets one says."""

from __future__ import annotations

import pytest

from energyc.language.syntax import decode
from energyc.pipeline import resolve
from energyc.proofs.conservativeness.edges import SteepEdge, steep_edges

SPEC = """\
network edge
dim N = 3
clamp x[N]
param a[N] = 1
state s[N]{SET}
energy pull = 1/2 * sum[n]((s[n] - a[n] * x[n])^2)
energy steep = {ENERGY}
readout out[n] = s[n]
cost c = {COST}
"""


def _edges(set_: str, energy: str, cost: str = "sum[n](s[n]^2)") -> list[SteepEdge]:
    text = SPEC.replace("{SET}", set_).replace("{ENERGY}", energy).replace("{COST}", cost)
    return steep_edges(resolve(decode(text.encode(), "edge")))


@pytest.mark.parametrize(
    ("set_", "energy", "expected"),
    [
        (" in [0, 1]", "sum[n](s[n] * log(s[n]))", [("log", 0.0)]),
        (" in [0, 1]", "-sum[n](log(1 - s[n]))", [("log", 1.0)]),
        (" in nonnegative", "sum[n](sqrt(s[n]))", [("sqrt", 0.0)]),
        (" in simplex[N]", "sum[n](s[n] * log(s[n]))", [("log", 0.0)]),
        (" in [-2, 3]", "sum[n](log(s[n]))", []),  # not positive inside the set: nothing is noted
        (" in [0.1, 1]", "sum[n](s[n] * log(s[n]))", []),
        (" in [0, 1]", "sum[n](log(1 + s[n]))", []),
        (" in [0, 1]", "sum[n](s[n] * log(a[n] + 1))", []),
        (" in [0, 1]", "sum[n](sqrt(s[n]) * s[n])", [("sqrt", 0.0)]),
        ("", "sum[n](log(1 + s[n]^2))", []),
    ],
)
def test_edges_where_a_slope_is_infinite(set_: str, energy: str, expected: list[tuple[str, float]]) -> None:
    assert [(edge.function, edge.edge) for edge in _edges(set_, energy)] == expected


def test_the_cost_has_edges_too() -> None:
    (edge,) = _edges(" in [0, 1]", "sum[n](s[n]^4)", "-sum[n](x[n] * log(s[n]))")
    assert str(edge).startswith(
        "the cost takes log of 0 at s = 0, the edge of its set, where the slope of log is infinite; "
    )
