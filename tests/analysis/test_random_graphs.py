"""Graphs at random: what the kernel proves of them holds in numbers, and nothing true is refuted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from energyc.language.diagnostics import SpecError
from energyc.mathematics.calculus import depends, gradient
from energyc.mathematics.ir import Node, NoRule
from energyc.proofs.conservativeness.decide import decide
from energyc.proofs.fields.domain import jumps
from energyc.proofs.fields.problem import ForceField, transparent
from tests.analysis.spelled import network_of, proofs_of
from tests.analysis.test_random_conditions import asymmetry
from tests.drawing import SEED, draws
from tests.ir.random_graphs import CONSTS, SIZES, RandomGraph


def energy_field(drawn: RandomGraph) -> ForceField | None:
    """The force of a sum of two random nodes."""
    g, states = drawn.graph, drawn.leaves[:2]
    usable = [node for node in drawn.values if node in depends([node], set(states))]
    if not usable:
        return None
    chosen = [usable[drawn.random.integers(len(usable))] for _ in range(2)]
    energy = transparent(g, g.plus(*[g.sum(node, range(len(node.dims))) for node in chosen]))
    slopes = gradient(g, energy, states, strict=False)
    if jumps([energy], states) or not slopes:
        return None
    return ForceField(g, tuple(states), {s: g.scale(-1, n) for s, n in slopes.items()}, SIZES, CONSTS)  # type: ignore[misc]


def force_field(drawn: RandomGraph) -> ForceField | None:
    """Two random nodes as forces."""
    states = drawn.leaves[:2]
    force: dict[Node, Node] = {}
    for state in states:
        usable = [n for n in drawn.values if n.dims == state.dims and n in depends([n], set(states))]
        if not usable:
            return None
        force[state] = usable[drawn.random.integers(len(usable))]
    return ForceField(drawn.graph, tuple(states), force, SIZES, CONSTS)  # type: ignore[arg-type]


def random_graphs(seeds: Iterable[int]) -> Iterator[tuple[int, RandomGraph]]:
    for seed in seeds:
        drawn = RandomGraph(seed)
        drawn.grow(int(drawn.random.integers(5, 40)))
        yield seed, drawn


def check(seeds: Iterable[int]) -> None:
    """An energy is refuted by nothing; a Jacobian that the kernel proves symmetric is so in numbers."""
    proved = 0
    for seed, drawn in random_graphs(seeds):
        if (field := energy_field(drawn)) is not None:
            assert decide(field, np.random.default_rng(seed)).kind != "not-conservative", f"seed {seed}"
        for each in (field, force_field(drawn)):
            if each is not None and is_proved(each):
                proved += 1
                assert asymmetry(each, 4) < 1e-6, f"seed {seed}"
    print(f"{proved} proved")


def is_proved(field: ForceField) -> bool:
    """Whether the kernel proves a Jacobian symmetric, where the language has a form for its force."""
    try:
        return any(proofs_of(network_of(field)))
    except (SpecError, NoRule):
        return False


def test_a_narrow_peak_on_one_edge_is_no_work() -> None:
    """A softmax of cubes turns over within a ten-thousandth of an edge, where a quadrature misses it."""
    check([878117022])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_random_graphs(part: int) -> None:
    print(f"ENERGYC_SEED={SEED}")
    count = draws(50)
    check(range(SEED + part * count, SEED + (part + 1) * count))
