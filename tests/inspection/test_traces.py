"""Energies and states over the steps: against the reference interpreter, and against relaxing anew to each step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from energyc.studies.inspection.parts import PLACES, Nothing, Part, places
from energyc.studies.inspection.traces import (
    TOTAL,
    adapts_in_training,
    energies_over_time,
    functions_of,
    states_over_time,
)
from tests.inspection.parts import CET, ET, TOLERANCE, part, parts

FORCE_ALONE = """network force_alone
dim D = 3
clamp x[D]
state z[D]
force pull on z[d] = x[d] - z[d]
relax { step = 1/2, steps = 3 }
"""


def states_at(part: Part, step: int) -> dict[str, torch.Tensor]:
    """A relaxation of its own."""
    found: dict[str, torch.Tensor] = part.net.relax(part.clamps, steps=step).states
    return found


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("et_image", ET),
        ("cet", CET),
        ("tel_digits", {"I": 9, "C": 5}),
        ("modern_hopfield", {"D": 9, "M": 4}),
        ("thick", {"T": 5, "D": 8, "H": 2}),
    ],
)
def test_energies_over_time_are_the_interpreters(spec: str, sizes: dict[str, int]) -> None:
    one = part(spec, sizes)
    trace = energies_over_time(one)
    assert trace.steps[0] == 0 and trace.steps[-1] == one.last_step and trace.t1 == one.free_steps
    names = list(one.network.energies)
    for row in (0, len(trace.steps) // 2, len(trace.steps) - 1):
        nodes = [term.node for term in one.network.energies.values()]
        expected = one.values(nodes, states_at(one, int(trace.steps[row])))
        for name, values in zip(names, expected, strict=True):
            np.testing.assert_allclose(trace.values[name][row], values, rtol=TOLERANCE)
        if len(names) > 1:
            np.testing.assert_allclose(trace.values[TOTAL][row], sum(expected), rtol=TOLERANCE)
    assert (TOTAL in trace.values) == (len(names) > 1)


@pytest.mark.slow
def test_each_copy_of_each_layer_has_energies_of_its_own() -> None:
    sizes = {"J": 5, "D": 6, "K": 2, "R": 3, "M": 7, "Ra": 2, "Rm": 2, "L": 2}
    found = parts("cem", sizes, scale=0.1)
    assert [each.label for each in found] == ["attention 0", "attention 1", "mlp 0", "mlp 1"]
    first, second = (energies_over_time(each).values["att"] for each in found[:2])
    assert first.shape == second.shape and not np.allclose(first, second)
    nodes = [found[1].network.energies["att"].node]
    np.testing.assert_allclose(second[2], found[1].values(nodes, states_at(found[1], 2))[0], rtol=TOLERANCE)


def test_a_network_without_energies_says_so() -> None:
    with pytest.raises(Nothing, match="no term is an energy"):
        energies_over_time(part(FORCE_ALONE))


@pytest.mark.slow
def test_states_over_time() -> None:
    one = part("cet", CET)
    trace = states_over_time(one)
    z = states_at(one, int(trace.steps[5]))["z"].numpy().reshape(3, -1)
    np.testing.assert_allclose(trace.values["|z|"][5], np.sqrt(np.mean(z**2, axis=1)), rtol=TOLERANCE)
    np.testing.assert_allclose(trace.values["|z|"], 1, rtol=1e-4)  # tokens are kept standardized
    assert not adapts_in_training(one.network)


def test_a_temperature_is_read_through_its_exponential_and_moves_in_training_alone() -> None:
    one = part("tel_digits", {"I": 9, "C": 5})
    assert list(functions_of(one.network, "tau")) == ["exp(tau)"] and adapts_in_training(one.network)
    still, moving = states_over_time(one), states_over_time(one, training=True)
    assert not one.net.training
    for trace in (still, moving):
        np.testing.assert_allclose(trace.values["exp(tau)"], np.exp(trace.values["tau"]), rtol=TOLERANCE)
    assert np.ptp(still.values["tau"]) == 0 < np.ptp(moving.values["tau"])


@pytest.mark.parametrize("last", [0, 1, PLACES - 1, PLACES, PLACES + 1, 600, 10_000])
def test_places_are_rising_steps_from_start_to_end(last: int) -> None:
    found = places(last)
    assert found[0] == 0 and found[-1] == last and len(found) <= PLACES + 1
    assert found == sorted(set(found))
