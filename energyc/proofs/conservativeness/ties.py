"""Finds ties of params that would make a force conservative: tested numerically, then proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice, permutations

import numpy as np

from energyc.language.network import Structure
from energyc.mathematics.calculus import substitute
from energyc.mathematics.ir import ONE, Input, Node
from energyc.proofs.conservativeness.certified import Prover
from energyc.proofs.conservativeness.decide import ask, doubts_of
from energyc.proofs.conservativeness.verdict import SuggestedTie, Tie
from energyc.proofs.fields.problem import ForceField, Linearised, fork, linearise
from energyc.proofs.fields.sampling import Array, both_ways, directions, draw
from energyc.proofs.fields.sizes import WORK, small_sizes, work
from energyc.proofs.fields.structured import is_direction

#: The most ties that are suggested, and the most that are tried.
MOST, MOST_TRIED = 3, 60
CLOSE = 1e-9


def suggest(field: ForceField, generator: np.random.Generator, prover: Prover) -> tuple[SuggestedTie, ...]:
    """Proved ties that make the field conservative: single ties, or pairs if no single tie does."""
    field = replace(field, graph=fork(field.graph))
    linear = linearise(field)
    sizes = small_sizes(linear.moved, field.sizes, structures=field.structure)
    if work(linear.moved, sizes) > WORK:
        return ()
    single = list(_single_ties(field))
    sets: Sequence[tuple[Tie, ...]]
    for sets in ([(t,) for t in single], [p for p in combinations(single, 2) if _compatible(p)]):
        suggestions: list[SuggestedTie] = []
        for ties in islice(sets, MOST_TRIED):
            if len(suggestions) == MOST:
                break
            if _symmetric(linear, sizes, ties, generator) and _proved(field, ties, generator, prover):
                suggestions.append(SuggestedTie(ties))
        if suggestions:
            return tuple(suggestions)
    return ()


def _single_ties(field: ForceField) -> Iterator[Tie]:
    params = [n for n in field.inputs if n.kind == "param" and 1 < len(n.dims) <= 4]
    params.sort(key=lambda node: node.number)
    for node in params:
        for axes in _matching_orders(node, node):
            tie = Tie(node.name, node.name, axes)
            if tie.symmetry is not None and _joins(field.structure.get(node, ()), tie.symmetry):
                yield tie
    params = [node for node in params if node not in field.structure]
    for a, b in combinations(params, 2):
        for axes in _matching_orders(a, b):
            yield Tie(b.name, a.name, axes)


def _joins(structure: Sequence[Structure], symmetry: Structure) -> bool:
    """Whether a param can be symmetric too."""
    return symmetry not in structure and not is_direction(structure)


def _matching_orders(source: Input, target: Input) -> Iterator[tuple[int, ...]]:
    """The orders of the source's axes that match the dims of the target."""
    if len(source.dims) == len(target.dims):
        for axes in permutations(range(len(source.dims))):
            if all(target.dims[k] == source.dims[a] for k, a in enumerate(axes)):
                yield axes


def _compatible(ties: Sequence[Tie]) -> bool:
    """Whether no tensor is replaced twice, or both replaced and used as a source."""
    replaced = [t.target for t in ties if t.target != t.source]
    read = {t.source for t in ties if t.target != t.source}
    symmetric = {t.target for t in ties if t.target == t.source}
    return len(set(replaced)) == len(replaced) and not set(replaced) & (read | symmetric)


def _symmetric(linear: Linearised, sizes: dict[str, int], ties: Sequence[Tie], generator: np.random.Generator) -> bool:
    """Whether ``a . J b = b . J a`` at two points, in floats."""
    return all(_relative_asymmetry(linear, sizes, ties, generator) <= CLOSE for _ in range(2))


def _relative_asymmetry(
    linear: Linearised, sizes: dict[str, int], ties: Sequence[Tie], generator: np.random.Generator
) -> float:
    field = linear.field
    point = draw(field, sizes, generator)
    by_name = {node.name: node for node in point if node.kind == "param"}
    for tie in ties:
        point[by_name[tie.target]] = _tied_value(point[by_name[tie.source]], tie)
    forward, backward = both_ways(linear, point, directions(field, sizes, generator), sizes)
    scale = max(abs(forward), abs(backward), 1e-12)
    return abs(forward - backward) / scale if np.isfinite(forward - backward) else np.inf


def _tied_value(value: Array, tie: Tie) -> Array:
    turned = np.transpose(value, tie.axes)
    return (value + turned) / 2 if tie.target == tie.source else turned


def _proved(field: ForceField, ties: Sequence[Tie], generator: np.random.Generator, prover: Prover) -> bool:
    tied = with_ties(field, ties)
    proof = ask(tied, prover.tied(ties))
    return proof.certificate is not None and not proof.tangent and not doubts_of(tied, proof.across, generator)


def with_ties(field: ForceField, ties: Sequence[Tie]) -> ForceField:
    """The field with tied tensors identified; a tie of a tensor to itself is recorded as a symmetry."""
    graph = field.graph
    params = {n.name: n for n in field.inputs if n.kind == "param"}
    replacement: dict[Node, Node] = {}
    structure = dict(field.structure)
    for tie in ties:
        target, source = params[tie.target], params[tie.source]
        if target is source:
            structure[target] = (*structure.get(target, ()), *([tie.symmetry] if tie.symmetry else []))
        else:  # axis k of the target is the source's axis axes[k]
            places = [tie.axes.index(k) for k in range(len(tie.axes))]
            replacement[target] = graph.einsum(
                ONE, [(source, places)], dict(enumerate(target.dims)), range(len(target.dims))
            )
    force = {state: substitute(graph, node, replacement) for state, node in field.force.items()}
    return replace(field, force=force, structure=structure)
