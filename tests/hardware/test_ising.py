"""The energy of every corner of a network's boxes is that of its spins."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch

from energyc.language.diagnostics import SpecError
from energyc.studies.hardware.ising import Ising
from energyc.studies.hardware.problem import Problem, problem
from tests.hardware.networks import BOXES, ROOT, drawn

NETWORKS: dict[str, Callable[[], Problem]] = {
    "hopfield": lambda: drawn(ROOT / "specs/hopfield.energy", I=6, J=7, K=3),
    "deep hopfield": lambda: drawn(ROOT / "specs/deep_hopfield.energy", I=5, J1=4, J2=3, K=2),
    "boxes": lambda: drawn(BOXES),
}


def corners(made: Ising, given: Problem) -> tuple[np.ndarray, dict[str, torch.Tensor]]:
    """Every choice of spins, and the states of each."""
    spins = np.array(list(itertools.product((-1, 1), repeat=len(made.h))))
    rows = [made.corner(row) for row in spins]
    extents = given.network.extents
    states = {
        name: torch.as_tensor(np.array([row[name] for row in rows])).reshape(-1, *(extents[d] for d in state.node.dims))
        for name, state in given.network.states.items()
    }
    return spins, states


@pytest.mark.parametrize("name", NETWORKS)
def test_the_energy_of_every_corner_is_scale_times_that_of_its_spins_plus_offset(name: str) -> None:
    given = NETWORKS[name]()
    made = given.ising()
    spins, states = corners(made, given)
    clamps = {k: torch.as_tensor(v)[None].expand(len(spins), *v.shape) for k, v in given.clamps.items()}
    expected = given.net.energy(states, clamps).detach().numpy()
    size = np.abs(expected).max()
    assert np.abs(made.energy(spins) - expected).max() <= 1e-12 * size

    text = made.to_coo()
    assert text.startswith("# vartype=SPIN\n")
    total = np.full(len(spins), made.offset)
    pairs = set()
    for line in text.splitlines():
        if line[0] != "#":
            assert re.fullmatch(r"\d+ \d+ -?\d+\.\d+", line), line  # dimod passes over a line with an exponent
            i, j, value = int(line.split()[0]), int(line.split()[1]), float(line.split()[2])
            assert i <= j and (i, j) not in pairs
            pairs.add((i, j))
            total += made.scale * value * (spins[:, i] if i == j else spins[:, i] * spins[:, j])
    assert np.abs(total - expected).max() <= 1e-12 * size
    assert {(i, i) for i in range(len(made.h))} <= pairs


def test_json_holds_the_same_problem() -> None:
    given = NETWORKS["boxes"]()
    made = given.ising()
    plain = json.loads(json.dumps(made.to_json()))
    assert plain["h"] == made.h.tolist()
    assert list(zip(plain["J"]["row"], plain["J"]["column"], plain["J"]["value"], strict=True)) == [
        (i, j, value) for i, j, value in made.pairs()
    ]
    assert all(i < j for i, j, _ in made.pairs())
    assert plain["spins"][4] == {"name": "y_0", "state": "y", "index": [0], "low": 0.5, "high": 2.0}


def test_the_largest_coefficient_is_1() -> None:
    made = NETWORKS["hopfield"]().ising()
    assert max(np.abs(made.h).max(), np.abs(made.J.data).max()) == 1.0
    assert made.scale > 0


HEAD = "network n\ndim N = 3\nclamp x[N]\n"
REFUSED = {
    "state z[N] in [0, 1]\nenergy e = sum[n](z[n]^3)\n": ("E0962", "the energy e is of degree 3 in the states"),
    "state z[N] in [0, 1]\nenergy e = sum[n](exp(z[n]))\n": ("E0962", "the energy e holds exp of a state"),
    "state z[N] in [0, 1]\nforce f on z[n] = -z[n]\n": (
        "E0962",
        "the force f is not written as the gradient of an energy",
    ),
    "state z[N]\nenergy e = sum[n](z[n]^2)\n": ("E0963", "the state z has no box with two ends"),
    "state z[N] in nonnegative\nenergy e = sum[n](z[n]^2)\n": ("E0963", "the state z has no box with two ends"),
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_spins_do_not_carry_is_named(body: str) -> None:
    with pytest.raises(SpecError) as caught:
        problem(HEAD + body, clamps={"x": np.zeros(3)}).ising()
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message.startswith(REFUSED[body][1])) == (REFUSED[body][0], True), diagnostic


def test_small_coefficients_are_written_out() -> None:
    text = "network n\nstate s in [-1, 1], t in [-1, 1]\nenergy e = 3 * s * t + 1e-9 * s\n"
    assert problem(text).ising().to_coo().splitlines()[3:] == [
        "0 0 0.00000000033333333333333337",
        "0 1 1.0",
        "1 1 0.0",
    ]
