"""Time scales: forces that are one gradient once each is divided by a positive constant factor of its state.

With ``F_s = -c_s dE/dz_s`` the Jacobian is ``J = -C H``, H the Hessian of E and C the diagonal of the factors, so that
``C^-1 J`` is symmetric. A contrast of nudged phases tends to ``-J^-1 g = H^-1 C^-1 g``, where the gradient needs
``a = -J^-T g = C^-1 H^-1 g``, with g = dC/dz. Where all states that the cost reads have the factor c, the contrast is
``H^-1 g / c``: the part of each state s is that of a, times ``c_s / c``. So it is exact for a param that acts on forces
of the factor c alone. With ``F_s / c_s`` in the place of ``F_s``, and ``c_s`` times its step, the steps are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from energyc.mathematics.calculus import Signs, depends
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Input, Node, walk
from energyc.proofs.conservativeness.decide import decide_on_set
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.conservativeness.witness import sample_at, search_sizes
from energyc.proofs.fields.domain import is_elementwise
from energyc.proofs.fields.problem import ForceField, linearise
from energyc.proofs.fields.sampling import Array, draw
from energyc.proofs.fields.surfaces import Surfaces

SEED = 29
#: A ratio of two blocks of J is believed to be a fraction with a denominator up to LARGEST if it is as close as CLOSE.
LARGEST, CLOSE = 10_000, 1e-9
#: A block of J counts as zero below this share of the largest.
LEAST = 1e-9


#: A tensor of params with the axes of the state that it runs over.
Place = tuple[Node, tuple[int, ...]]


@dataclass(frozen=True)
class Factor:
    """A positive constant: a number times powers of tensors of params."""

    number: Coefficient = ONE
    tensors: frozenset[tuple[Place, int]] = frozenset()

    @property
    def is_uniform(self) -> bool:
        """Whether all elements of the state have one factor."""
        return not any(axes for (_, axes), _ in self.tensors)

    def common(self, other: Factor) -> Factor:
        """The common factors of both: tensors, and consts to the same powers."""
        powers = tuple(power for power in self.number.powers if power in other.number.powers)
        return Factor(Coefficient(Fraction(1), powers), self.tensors & other.tensors)

    def times(self, other: Factor) -> Factor:
        """The product of both."""
        powers = Counter(dict(self.tensors))
        powers.update(dict(other.tensors))
        return Factor(self.number * other.number, frozenset((place, p) for place, p in powers.items() if p))

    @property
    def inverse(self) -> Factor:
        """One over the factor."""
        number = self.number.power(Fraction(-1))
        assert number is not None  # a positive number has one
        return Factor(number, frozenset((place, -p) for place, p in self.tensors))

    def node(self, graph: Graph, state: Input) -> Node:
        """The factor as a tensor of the dims of a state."""
        powers = sorted(self.tensors, key=lambda item: item[0][0].number)
        factors = [(graph.power(node, power), axes) for (node, axes), power in powers]
        return graph.einsum(self.number, factors, dict(enumerate(state.dims)), range(len(state.dims)))


@dataclass(frozen=True)
class Scales:
    """The factors of the states that have another than 1; divided by them the forces are proved to be a gradient.

    ``exact`` are the params for which a contrast is exact: those that act on forces of the factor 1 alone; there are
    none where the cost reads states of other factors.
    """

    factors: Mapping[Input, Factor]
    exact: tuple[str, ...]
    verdict: Verdict


def scales_of(whole: ForceField, surfaces: Surfaces, read: Collection[Node], seconds: float) -> Scales | None:
    """The time scales of the sum of all forces, None if none are found; ``read`` are the states that the cost reads."""
    factors = _factors(whole, read)
    scaled = {state: factor for state, factor in (factors or {}).items() if factor != Factor()}
    if not scaled or any(state in surfaces and not factor.is_uniform for state, factor in scaled.items()):
        return None
    verdict = decide_on_set(_divided(whole, scaled), surfaces, np.random.default_rng(SEED), seconds)
    if verdict.kind != "conservative":
        return None
    acting = set(walk(whole.force[state] for state in scaled if state in whole.force))
    others = [node.name for node in whole.inputs if node.kind == "param" and node not in acting]
    return Scales(scaled, () if not read or scaled.keys() & set(read) else tuple(others), verdict)


def _divided(whole: ForceField, factors: Mapping[Input, Factor]) -> ForceField:
    """The forces, each divided by the factor of its state."""
    graph = whole.graph
    over = {state: factor.inverse.node(graph, state) for state, factor in factors.items()}
    return whole.with_force(
        {state: graph.product(f, over[state]) if state in over else f for state, f in whole.force.items()}
    )


# ------------------------------------------------------------ as written


def _written(whole: ForceField) -> dict[Input, Factor]:
    """The positive constants that are common to all terms of a force that couple its elements to one another."""
    signs, constant = whole.signs, _Constants(whole)
    found = {}
    for state in whole.states:
        terms = list(_terms(whole.force.get(state) or whole.graph.zero(state.dims), constant, signs))
        coupled = [factor for factor, term in terms if not _is_own(whole, state, term)]
        found[state] = reduce(Factor.common, coupled) if coupled else Factor()
    return found


class _Constants:
    """The nodes that depend on params alone."""

    def __init__(self, whole: ForceField) -> None:
        roots = whole.roots
        others = {node for node in walk(roots) if isinstance(node, Input) and node.kind != "param"}
        self._moving = depends(roots, others)

    def __contains__(self, node: Node) -> bool:
        return node not in self._moving and any(isinstance(inner, Input) for inner in walk([node]))


def _terms(root: Node, constant: _Constants, signs: Signs, factor: Factor = Factor()) -> Iterator[tuple[Factor, Node]]:
    """The terms of a force, each with its positive constant factors."""
    if isinstance(root, Add):
        for coefficient, term in root.terms:
            yield from _terms(term, constant, signs, _times(factor, coefficient, signs))
    elif isinstance(root, Einsum):
        positive = [
            o for o in root.operands if o.node in constant and signs.positive(o.node) and set(o.axes) <= set(root.out)
        ]
        tensors = Factor(tensors=frozenset(((o.node, o.axes), 1) for o in positive))
        inner = _times(factor, root.coefficient, signs).times(tensors)
        rest = [o for o in root.operands if o not in positive]
        if len(rest) == 1 and rest[0].axes == root.out and isinstance(rest[0].node, Add | Einsum):
            yield from _terms(rest[0].node, constant, signs, inner)
        else:
            yield inner, root
    else:
        yield factor, root


def _times(factor: Factor, coefficient: Coefficient, signs: Signs) -> Factor:
    """A factor times the symbols of a coefficient that are positive; numbers are found otherwise."""
    powers = tuple(p for p in coefficient.powers if signs.positive_number(Coefficient(Fraction(1), (p,))))
    return factor.times(Factor(Coefficient(Fraction(1), powers)))


def _is_own(whole: ForceField, state: Input, term: Node) -> bool:
    """Whether each element of a term depends on the same element of its state alone, so that any factor will do."""
    return is_elementwise(whole.with_force({state: term}))


# ------------------------------------------------------------ in numbers


def _factors(whole: ForceField, read: Collection[Node]) -> dict[Input, Factor] | None:
    """The factor of each state, 1 for the first that the cost reads; None where a number is not a simple fraction."""
    written = _written(whole)
    blocks = _blocks(_divided(whole, written))
    first = next((state for state in whole.states if state in read), whole.states[0])
    numbers = None if blocks is None else _numbers(blocks, whole.states.index(first))
    if numbers is None:
        return None
    unit = written[first].inverse if written[first].is_uniform else Factor()
    return {
        state: written[state].times(Factor(ONE.scaled(number))).times(unit)
        for state, number in zip(whole.states, numbers, strict=True)
    }


def _blocks(field: ForceField) -> Array | None:
    """The size of the block of J of each pair of states at a point, None where it has no value there."""
    linear, generator = linearise(field), np.random.default_rng(SEED)
    for sizes in search_sizes(linear):
        sample = sample_at(linear, sizes, draw(field, sizes, generator), generator)
        if sample is not None:
            counts = [int(np.prod([sizes[dim] for dim in state.dims])) for state in field.states]
            owner = np.repeat(np.arange(len(counts)), counts)[sample.columns]
            square, n = sample.jacobian**2, range(len(counts))
            return np.sqrt([[square[np.ix_(owner == s, owner == t)].sum() for t in n] for s in n])
    return None


def _numbers(blocks: Array, first: int) -> list[Fraction] | None:
    """Factors c with c_t B_st = c_s B_ts, from ``first`` along couplings; None if a ratio is not a simple fraction."""
    floor = LEAST * float(blocks.max(initial=0.0))
    numbers: dict[int, Fraction] = {}
    for start in [first, *range(len(blocks))]:
        pending = [start] if start not in numbers else []
        numbers.setdefault(start, Fraction(1))
        while pending:
            s = pending.pop()
            for t in range(len(blocks)):
                if t not in numbers and min(blocks[s, t], blocks[t, s]) > floor:
                    ratio = float(blocks[t, s] / blocks[s, t])
                    number = Fraction(ratio).limit_denominator(LARGEST)
                    if abs(float(number) - ratio) > CLOSE * ratio:
                        return None
                    numbers[t] = numbers[s] * number
                    pending.append(t)
    return [numbers[k] for k in range(len(blocks))]
