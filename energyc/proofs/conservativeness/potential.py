"""Recovers an energy E with F = -dE/dz: guesses candidates and verifies them by differentiation.

A homogeneous part of degree k has the potential ``-z . F / (k + 1)``. In the rest, every scalar function and softmax
suggests an antiderivative, a logsumexp for a softmax; a least squares fit at random points finds their weights. A
candidate is accepted only if its gradient is the force, both numerically and by the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.calculus import antiderivative, depends, gradient
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    Coefficient,
    Einsum,
    Graph,
    Input,
    Map,
    Node,
    Operand,
    Softmax,
    walk,
)
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.conservativeness.continuity import discontinuities
from energyc.proofs.conservativeness.degree import Degrees
from energyc.proofs.fields.problem import ForceField, fork, transparent
from energyc.proofs.fields.sampling import batched, draw
from energyc.proofs.fields.sizes import WORK, small_sizes, work

Array = NDArray[Any]
Weights = tuple[tuple[Node, tuple[int, ...]], ...]
Json = Mapping[str, Any]
#: Gives the certificate that an energy is a potential, or None.
Certify = Callable[[Node], Json | None]
GENERATORS = 24
LARGEST_DENOMINATOR = 24
#: Rows with larger numbers are dropped: they carry no information and upset the solver.
HUGE = 1e100


def recover(field: ForceField, generator: np.random.Generator, certify: Certify) -> tuple[Node, Json] | None:
    """An energy, as a node of a graph forked from the field's, and the certificate that the kernel accepts; or None."""
    field = replace(
        field, graph=fork(field.graph), force={s: transparent(field.graph, f) for s, f in field.force.items()}
    )
    if work(field.roots, small_sizes(field.roots, field.sizes)) > WORK / 100:
        return None
    try:
        for candidate in _candidates(field, generator):
            if is_potential(field, candidate, generator) and (found := certify(candidate)) is not None:
                return candidate, found
    except (RecursionError, NotImplementedError, ValueError, np.linalg.LinAlgError):
        return None
    return None


def is_potential(field: ForceField, energy: Node, generator: np.random.Generator) -> bool:
    """Whether ``F + dE/dz`` is zero at random points, and E is finite there and does not jump."""
    graph = field.graph
    slopes = gradient(graph, energy, field.states, frozen=True, strict=False)
    residues = [graph.plus(f, slopes[s]) if s in slopes else f for s, f in zip(field.states, field.roots, strict=True)]
    return _vanish_in_numbers(field, energy, residues, generator) and not discontinuities(field, energy, generator)


def _vanish_in_numbers(
    field: ForceField, energy: Node, residues: Sequence[Node], generator: np.random.Generator
) -> bool:
    for _ in range(2):
        level, *values = _values_at_random_point([energy, *residues, *field.roots], field, generator)
        gaps, forces = values[: len(residues)], values[len(residues) :]
        if not np.all(np.isfinite(level)):
            return False
        scale = max(float(np.max(np.abs(f), initial=0.0)) for f in forces)
        if not max(float(np.max(np.abs(g), initial=0.0)) for g in gaps) <= 1e-9 * max(scale, 1e-9):
            return False
    return True


def _values_at_random_point(nodes: Sequence[Node], field: ForceField, generator: np.random.Generator) -> list[Array]:
    sizes = small_sizes(field.roots, field.sizes, structures=field.structure)
    inputs = batched(draw(field, sizes, generator))
    return evaluate(nodes, inputs, sizes=sizes, values=field.values)


# ---------------------------------------------------------------- candidates


def _candidates(field: ForceField, generator: np.random.Generator) -> Iterator[Node]:
    """Potentials from homogeneous parts, state by state and jointly, with fitted antiderivatives for the rest."""
    graph = field.graph
    if len(field.states) > 1:
        yield from (_state_by_state(field, order) for order in (field.states, field.states[::-1]))
    degrees = Degrees.of(field.graph, field.states, field.roots)
    radial, rest = degrees.radial(field)
    if all(not nodes for nodes in rest.values()):
        yield radial
        rest = {s: [f] for s, f in field.force.items()}
    remainder = {s: graph.add([(ONE, n) for n in nodes], s.dims) for s, nodes in rest.items()}
    for scaled in (True, False):
        generators = list(_generators(field, rest, scaled))[:GENERATORS]
        fitted = _fitted_potential(field.with_force(remainder), generators, generator)
        if fitted is not None:
            yield graph.plus(radial, fitted)
        fitted_all = _fitted_potential(field, generators, generator)
        if fitted_all is not None:
            yield fitted_all


def _state_by_state(field: ForceField, order: Sequence[Input]) -> Node:
    """``-z_k . F_k / (d + 1)`` of the parts of F_k of degree d in z_k alone.

    Terms that depend on an earlier state are skipped: the potential of that state's force already accounts for them.
    """
    graph = field.graph
    parts = []
    for k, state in enumerate(order):
        force = field.force.get(state)
        if force is not None:
            own = _independent(graph, force, set(order[:k]))
            single = replace(field.with_force({state: own}), states=(state,))
            parts.append(Degrees.of(graph, [state], [own]).radial(single)[0])
    return graph.plus(*parts) if parts else graph.zero()


def _independent(graph: Graph, node: Node, states: set[Input]) -> Node:
    """The sum of the terms that do not depend on ``states``."""
    terms = node.terms if isinstance(node, Add) else ((ONE, node),)
    return graph.add([(c, n) for c, n in terms if n not in depends([n], states)], node.dims)


def _generators(field: ForceField, rest: Mapping[Any, Sequence[Node]], scaled: bool) -> Iterator[Node]:
    """Scalars that may add up to the potential: antiderivatives of nodes in the force, weighted and summed."""
    graph = field.graph
    nodes = [n for parts in rest.values() for n in parts]
    moving = depends(nodes, set(field.states))
    weights = _weights(nodes, moving)
    seen: set[Node] = set()
    for node in walk(nodes):
        primitive = _primitive(graph, node, scaled) if node in moving else None
        if primitive is None:
            continue
        for total in _weighted(graph, node, primitive, weights.get(node, [])):
            if total not in seen:
                seen.add(total)
                yield total


def _primitive(graph: Graph, node: Node, scaled: bool) -> Node | None:
    """An antiderivative of ``node``; ``scaled`` divides it by the exact factor of the argument."""
    match node:
        case Softmax():
            primitive: Node | None = graph.logsumexp(node.argument, node.axes, node.guard)
        case ArgMax():
            primitive = graph.max(node.argument, node.axes, node.guard)
        case Map():
            primitive = antiderivative(graph, node.function, node.argument)
        case _:
            return None
    factor = _common_factor(node.argument).power(Fraction(-1)) if scaled else None
    return graph.scale(factor, primitive) if factor is not None and primitive is not None else primitive


def _common_factor(node: Node) -> Coefficient:
    """The coefficient of a product, or the common coefficient of the nonconstant terms of a sum."""
    match node:
        case Einsum():
            return node.coefficient
        case Add():
            factors = {c * _common_factor(n) for c, n in node.terms if not isinstance(n, Einsum) or n.operands}
            return factors.pop() if len(factors) == 1 else ONE
    return ONE


def _weights(nodes: Sequence[Node], moving: set[Node]) -> dict[Node, list[Weights]]:
    """For each moving factor of a product, the sets of constant and state factors whose axes are among its own."""
    weights: dict[Node, list[Weights]] = {}
    for node in walk(nodes):
        if isinstance(node, Einsum):
            for operand in (o for o in node.operands if o.node in moving):
                weights.setdefault(operand.node, []).extend(_weight_sets(node, operand, moving))
    return weights


def _weight_sets(node: Einsum, operand: Operand, moving: set[Node]) -> Iterator[Weights]:
    place = {a: k for k, a in enumerate(operand.axes)}
    near = [
        (o.node, tuple(place[a] for a in o.axes))
        for o in node.operands
        if (o.node not in moving or isinstance(o.node, Input)) and all(a in place for a in o.axes)
    ]
    return chain.from_iterable(combinations(near, n) for n in range(1, min(3, len(near)) + 1))


def _weighted(graph: Graph, node: Node, primitive: Node, sets: Sequence[Weights]) -> Iterator[Node]:
    """The primitive summed, without weights and with each set of weights on its remaining axes."""
    reduced = node.axes if isinstance(node, Softmax | ArgMax) else ()
    remaining = [k for k in range(len(node.dims)) if k not in reduced]
    labels = dict(enumerate(node.dims))
    for weights in [(), *sets]:
        if all(a in remaining for _, axes in weights for a in axes):
            yield graph.einsum(ONE, [(primitive, remaining), *weights], {k: labels[k] for k in remaining}, ())


def _fitted_potential(field: ForceField, generators: Sequence[Node], generator: np.random.Generator) -> Node | None:
    """The combination of generators, with simple rational weights, whose gradient fits the force at random points."""
    if not generators:
        return None
    graph = field.graph
    slopes = [gradient(graph, g, field.states, frozen=True, strict=False) for g in generators]
    nodes = [s.get(state) or graph.zero(state.dims) for s in slopes for state in field.states]
    rows, targets = [], []
    for _ in range(3):
        values = [np.ravel(v) for v in _values_at_random_point([*nodes, *field.roots], field, generator)]
        count = len(field.states)
        shapes = [len(v) for v in values[-count:]]
        columns = [
            np.concatenate([np.broadcast_to(values[k * count + j], shapes[j]) for j in range(count)])
            for k in range(len(generators))
        ]
        rows.append(np.stack(columns, axis=1))
        targets.append(np.concatenate(values[-count:]))
    system = np.concatenate([np.concatenate(rows), -np.concatenate(targets)[:, None]], axis=1)
    system = system[np.abs(system[:, -1]) < HUGE]
    finite = np.all(np.abs(system) < HUGE, axis=0)
    generators = [g for g, usable in zip(generators, finite[:-1], strict=True) if usable]
    system = system[:, finite]
    if not generators or not len(system):
        return None
    weights = np.linalg.lstsq(system[:, :-1], system[:, -1], rcond=1e-10)[0]
    exact = [Fraction(float(w)).limit_denominator(LARGEST_DENOMINATOR) for w in weights]
    if any(abs(float(e) - w) > 1e-7 for e, w in zip(exact, weights, strict=True)):
        return None
    return graph.add([(Coefficient(e), g) for e, g in zip(exact, generators, strict=True) if e], ())
