"""Compiled specs at given states, against their transcriptions under autograd: to 1e-9 in float64."""

from __future__ import annotations

import pytest
import torch

from tests.independent import ALL, BY_HAND, PROXIMAL, UNROLLED, Network, Tensors, rules
from tests.specs.judging import SHIPPED, SPECS, Pair, assert_close, named, pair
from tests.specs.test_flows import SPECS_WITH_FLOWS

TOLERANCE = 1e-9
SEEDS = pytest.mark.parametrize("seed", range(3))


def test_every_shipped_spec_has_a_transcription() -> None:
    layered = {"cem", "et_graph"}  # tests/layers
    others = {spec.name for spec in SPECS_WITH_FLOWS} | {*UNROLLED, *PROXIMAL, *BY_HAND} | layered
    transcribed = {net.name for net in ALL} | others
    assert {path.stem for path in SPECS.glob("*.energy")} <= transcribed


def anywhere(sides: Pair) -> Tensors:
    """States off their sets and far from rest."""
    return sides.problem.net.draw_states(sides.random, len(next(iter(sides.problem.clamps.values()))))


@pytest.mark.abridged(every=6)
@named(SHIPPED)
def test_names_and_shapes(net: Network) -> None:
    module = pair(net, 0).module
    drawn = pair(net, 0).problem.params
    own = {name: value.shape for name, value in module.params.items() if isinstance(value, torch.nn.Parameter)}
    assert own == {name: value.shape for name, value in drawn.items()}
    assert {name: tuple(shape) for name, shape in module.state_shapes.items()} == net.states()


@pytest.mark.abridged(every=11)
@named(SHIPPED)
@SEEDS
def test_energy_terms(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    states = anywhere(sides)
    found = sides.module.terms(states, sides.problem.clamps)
    expected = net.terms(sides.problem.params, states, sides.problem.clamps)
    for name in net.shifted:  # a potential is known up to a constant
        found[name], expected[name] = (value - value[:1] for value in (found[name], expected[name]))
    assert_close(found, expected, TOLERANCE)


@named(SHIPPED)
@SEEDS
def test_energy_is_the_sum_of_its_terms(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    states = anywhere(sides)
    energies = sides.module.energy(states, sides.problem.clamps), sides.problem.energy(states)
    found, expected = ((value - value[0] if net.shifted else value) for value in energies)
    assert_close({"energy": found}, {"energy": expected}, TOLERANCE)


@named(SHIPPED)
@SEEDS
def test_force(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    states = anywhere(sides)
    found = sides.module.force(states, sides.problem.clamps)
    assert_close(found, rules.detached(sides.problem.force(states)), TOLERANCE)


@named(SHIPPED)
@SEEDS
def test_start_readout_and_cost(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    states, (clamps, targets) = anywhere(sides), sides.given
    assert_close(sides.module.start(clamps), sides.problem.start(), TOLERANCE)
    assert_close(sides.module.readout(states, clamps), net.readout(sides.problem.params, states, clamps), TOLERANCE)
    cost = {"cost": sides.module.cost(states, clamps, targets)}
    assert_close(cost, {"cost": sides.problem.cost(states)}, TOLERANCE)


@named(SHIPPED)
@SEEDS
def test_relaxation(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    relaxed = sides.module.relax(sides.problem.clamps, steps=12)
    expected = rules.relax(sides.problem, 12)
    assert_close(relaxed.states, expected, TOLERANCE)
    assert torch.allclose(relaxed.residual, rules.residual(sides.problem, expected), rtol=1e-7, atol=1e-12)


@named(SHIPPED)
@SEEDS
def test_parameter_gradients(net: Network, seed: int) -> None:
    """One backpropagated step from anywhere: dF/dtheta and dC/dtheta at once."""
    sides = pair(net, seed)
    states = net.project(anywhere(sides))
    found = sides.gradient("tbptt", states=states, steps=1, nudge_steps=1)
    assert_close(found, rules.tbptt(sides.problem, states, 1), TOLERANCE)


def test_a_wrong_force_is_seen() -> None:
    sides = pair(SHIPPED[0], 0)
    states = anywhere(sides)
    right = rules.detached(sides.problem.force(states))
    for name in right:
        wrong = right | {name: right[name] * (1 + 1e-8)}
        with pytest.raises(AssertionError):
            assert_close(wrong, right, TOLERANCE)
