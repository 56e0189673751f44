"""Graphs at random: normal forms mean what the graph means, and nothing false is proved or refuted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.calculus import depends, gradient
from energyc.mathematics.ir import Node
from energyc.proofs.conservativeness.certificate import Certificate
from energyc.proofs.conservativeness.decide import decide
from energyc.proofs.conservativeness.prover import STAGES, Bilinear, Stage, _certificate, _Pair, normaliser_of, prove
from energyc.proofs.fields.domain import jumps
from energyc.proofs.fields.problem import ForceField, fork, transparent
from energyc.proofs.normal_form.budget import OverBudget
from tests.analysis import replay
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


def expansion(field: ForceField, stage: Stage) -> Certificate | None:
    """u . J w multiplied out, as a certificate without a pairing; None where that has too many terms."""
    field = replace(field, graph=fork(field.graph))
    form = Bilinear.of(field, stage)
    normaliser = normaliser_of(form, stage, 60.0)
    try:
        found, _ = normaliser.sum_of(form.node)
    except OverBudget:
        return None
    return _certificate(normaliser, form, found, [_Pair(0, ())] * len(found), stage)


def compares(field: ForceField, certificate: Certificate, generator: np.random.Generator) -> bool:
    """False where the force has no value at the point that is drawn."""
    values = replay._Values(field, SIZES, replay._draw(field, SIZES, generator, Fraction(1)))
    ways = replay._directions(values)
    try:
        exact = sum(replay._bilinear_parts(values, *ways))
        gaps = replay._gaps_of_terms(certificate, values, ways, exact)
        assert not [claim for claim, gap in gaps if gap > values.noise()]
    except ArithmeticError:
        return False
    return True


def check_expansions(seeds: range) -> None:
    """Expansions against the numbers; one too large is let go, and so is a point where the field is not finite."""
    compared = 0
    for seed, drawn in random_graphs(seeds):
        for field in (energy_field(drawn), force_field(drawn)):
            for stage in STAGES if field else ():
                certificate = expansion(field, stage)  # type: ignore[arg-type]
                if certificate is None:
                    continue
                compared += compares(field, certificate, np.random.default_rng(seed))  # type: ignore[arg-type]
    print(f"{compared} expansions compared")
    assert compared >= len(seeds)


def check_verdicts(seeds: Iterable[int]) -> None:
    for seed, drawn in random_graphs(seeds):
        if (field := energy_field(drawn)) is not None:
            assert decide(field, np.random.default_rng(seed)).kind != "not-conservative", f"seed {seed}"
        if (field := force_field(drawn)) is not None:
            for attempt in prove(field):
                if attempt.certificate is not None:
                    replay.check(attempt.certificate, field, np.random.default_rng(seed))


def test_an_axis_along_which_an_exponent_is_constant_counts_once() -> None:
    """``exp(y[d] sum(W))`` over a dim of its own: that axis leaves the exponent without a factor of its size."""
    for _, drawn in random_graphs([3967917058]):
        field = energy_field(drawn)
        assert field is not None
        for stage in STAGES:
            certificate = expansion(field, stage)
            assert certificate is not None
            assert compares(field, certificate, np.random.default_rng(0))


def test_a_narrow_peak_on_one_edge_is_no_work() -> None:
    """A softmax of cubes turns over within a ten-thousandth of an edge, where a quadrature misses it."""
    check_verdicts([878117022])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_random_graphs(part: int) -> None:
    print(f"ENERGYC_SEED={SEED}")
    count = draws(50)
    numbers = range(SEED + part * count, SEED + (part + 1) * count)
    check_expansions(numbers)
    check_verdicts(numbers)
