"""Steps above 2/L and infinite curvature, as ``check`` names them, beside what steps do."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
import torch

import energyc
from energyc import pipeline
from energyc.language.network import Network
from energyc.proofs.claims.stiffness import infinite_curvatures, stiff_states
from energyc.surfaces.report.check import check

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.energy"))
BOX = """network box
dim N = 3
clamp x[N]
target t[N]
param W[N, N] ~ normal(1)
state z[N] in [{low}, {high}]
start z[n] = 1/2
energy pull = -sum[n](x[n] * z[n])
energy {energy}
cost c = 1/2 * sum[n]((z[n] - t[n])^2)
relax {{ step = {step}, steps = 2000 {settings} }}
"""
#: For each energy the bounds of z, the step, and the curvature at the rim where it is largest.
STEEP = [
    ("entropy = sum[n](z[n] * log(z[n]) + (1 - z[n]) * log(1 - z[n]))", 0.001, 0.999, 0.2, 1 / 0.001 + 1 / 0.999),
    ("barrier = -1/100 * sum[n](log(z[n]))", 0.01, 2, 0.1, 100),
    ("power = 1/20 * sum[n](z[n]^6)", -3, 2, 0.1, 121.5),
    ("quadratic = 15 * sum[n](z[n]^2)", -1, 1, 0.1, 30),
]


def network_of(energy: str, low: float, high: float, step: float | str, settings: str = "") -> Network:
    text = BOX.format(energy=energy, low=low, high=high, step=step, settings=settings)
    return pipeline.resolve(pipeline.read(text))


@pytest.mark.parametrize(("energy", "low", "high", "step", "curvature"), STEEP)
def test_the_curvature_at_the_rim_is_a_bound_from_below(
    energy: str, low: float, high: float, step: float, curvature: float
) -> None:
    (stiff,) = stiff_states(network_of(energy, low, high, step))
    assert stiff.state == "z" and not stiff.others
    assert curvature * (1 - 1e-6) <= stiff.least <= curvature * (1 + 1e-9)
    assert stiff_states(network_of(energy, low, high, 1.9 / curvature)) == []
    assert stiff_states(network_of(energy, low, high, "auto")) == []


@pytest.mark.parametrize(("energy", "low", "high", "step", "curvature"), STEEP)
def test_states_that_rest_there_settle_by_the_step_that_is_named_alone(
    energy: str, low: float, high: float, step: float, curvature: float
) -> None:
    """The clamp is the slope of the energy 1/1000 of the way from the rim, where they rest."""
    (stiff,) = stiff_states(network_of(energy, low, high, step))
    rim = low if stiff.edge is None else stiff.edge
    rest = rim + 1e-3 * (0.5 - rim)
    text = BOX.format(energy=energy, low=low, high=high, step=step, settings=", tolerance = 1e-9, max_steps = 40000")
    text = text.replace("start z[n] = 1/2", f"start z[n] = {rest + 1e-4 * (0.5 - rest)}")
    for named, settles in ((step, False), (stiff.short, True)):
        net = energyc.load(text.replace(f"step = {step},", f"step = {named},"), dtype=torch.float64)
        x = -net.force({"z": torch.full((1, 3), rest, dtype=torch.float64)}, {"x": torch.zeros(1, 3)})["z"]
        assert bool((net.relax({"x": x}).residual <= 1e-9).all()) == settles


def test_what_the_weights_decide_is_said() -> None:
    energy = "e = sum[n,m](W[n,m] * z[n] * z[m])\nenergy entropy = sum[n](z[n] * log(z[n]))"
    report = check(BOX.format(energy=energy, low=0.001, high=1, step=0.1, settings=""))
    (note,) = (note for note in report.notes if "2/L" in note)
    assert "the curvature of entropy along z is at least 1,000 where it is 0.001, to which e adds what the" in note
    assert "relax.step = 0.00095 with more steps, relax.step = auto" in note and "certified" not in note


def test_a_certified_step_and_blocks_are_named_where_there_are_any() -> None:
    report = check(BOX.format(energy=STEEP[3][0], low=-1, high=1, step=0.1, settings=""))
    (note,) = (note for note in report.notes if "2/L" in note)
    assert "relax.step = certified (which is 0.0333)" in note and "relax.solver = blocks" in note
    assert "everywhere, and steps above 0.0667 leave every state of rest" in note


def test_no_shipped_spec_is_warned() -> None:
    for path in SPECS:
        network = pipeline.resolve(pipeline.read(path))
        layers = [layer.network for layer in network.layers.values()] or [network]
        assert list(chain(*map(stiff_states, layers), *map(infinite_curvatures, layers))) == [], path


@pytest.mark.parametrize(
    ("energy", "low", "high", "edges"),
    [
        ("e = sum[n](z[n]^(3/2))", 0, 1, [0.0]),
        ("e = sum[n](z[n]^(3/2) + (1 - z[n])^(5/4))", 0, 1, [0.0, 1.0]),
        ("e = sum[n](abs(z[n])^(3/2))", -1, 1, [None]),
        ("e = sum[n](z[n]^(5/2))", 0, 1, []),
        ("e = sum[n](z[n]^(3/2))", 0.01, 1, []),
    ],
)
def test_where_the_curvature_is_infinite(energy: str, low: float, high: float, edges: list[float | None]) -> None:
    found = infinite_curvatures(network_of(energy, low, high, 0.1))
    assert [each.edge for each in found] == edges and all(each.states == ("z",) for each in found)
    notes = check(BOX.format(energy=energy, low=low, high=high, step=0.1, settings="")).notes
    assert sum("infinite" in note for note in notes) == len(edges)
