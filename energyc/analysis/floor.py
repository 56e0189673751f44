"""Whether the energy of a network is bounded below on the sets of its states, and whether it takes its least value.

Proved by compact sets, by terms that are never negative, or by squares of the states that outgrow all other terms;
refuted by numbers along a ray.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from energyc.analysis.domain import Signs, jumps, poles
from energyc.analysis.enclosure import Enclosures
from energyc.analysis.growth import Growth
from energyc.analysis.problem import Bounds, ForceField
from energyc.analysis.products import Product, multiplied_out
from energyc.analysis.sampling import Array, Point, draw, draw_value
from energyc.analysis.sizes import small_sizes
from energyc.analysis.surroundings import Surroundings
from energyc.ir import ONE, Add, Coefficient, Input, Node, walk
from energyc.resolve.network import ConstraintSet, Network

#: Sets of finite extent.
COMPACT = ("standardized", "sphere", "simplex")
#: Where the energy is looked at along a ray, in multiples of a random direction.
REACH = (1.0, 10.0, 100.0, 1000.0, 10000.0)
#: A fall from each of the last reaches to the next by at least this factor counts as unbounded.
FALL = 5.0
DRAWS = 12


@dataclass(frozen=True)
class Floor:
    """``attained``: the energy takes its least value. ``numbers`` are those of a ray along which it falls."""

    verdict: Literal["proved", "refuted", "undecided"]
    because: str
    attained: bool = False
    numbers: Mapping[str, object] | None = None


def is_compact(constraint: ConstraintSet | None) -> bool:
    """Whether a set has a finite extent."""
    if constraint is None:
        return False
    bounded = constraint.low is not None and constraint.high is not None
    return constraint.kind in COMPACT or (constraint.kind == "box" and bounded)


def roaming(network: Network) -> list[Input]:
    """The states that no set keeps in a finite extent."""
    return [state.node for state in network.states.values() if not is_compact(state.constraint)]


def floor_of(network: Network, base: ForceField, ranges: Mapping[Input, Bounds]) -> Floor:
    """Whether the sum of all energies is bounded below."""
    signs, free = Signs(network.values, ranges), roaming(network)
    terms = [part for term in network.energies.values() for part in _summands(term.node)]
    roots = [node for _, node in terms]
    undefined = poles(roots, base.states, signs) or jumps(roots, base.states)
    if not free and not undefined:
        return Floor("proved", "continuous, and its states are kept in compact sets", attained=True)
    if not undefined:
        proved = _confined(network, base, terms, signs, ranges, free)
        if proved is not None:
            return proved
    falling = _falling_ray(network, base)
    return falling or Floor("undecided", "no rule shows a floor, and no ray was met along which it falls")


def _summands(node: Node) -> Iterator[tuple[Coefficient, Node]]:
    if isinstance(node, Add):
        for factor, term in node.terms:
            for inner, leaf in _summands(term):
                yield factor * inner, leaf
    else:
        yield ONE, node


# -------------------------------------------------------------------- proof


def _confined(
    network: Network,
    base: ForceField,
    terms: Sequence[tuple[Coefficient, Node]],
    signs: Signs,
    ranges: Mapping[Input, Bounds],
    free: Sequence[Input],
) -> Floor | None:
    """Squares of the states outgrow every term that may be negative."""
    growth = Growth(base.graph, set(free), Enclosures(network.values, ranges))
    squared: set[Node] = set()
    opposed: set[Node] = set()
    for factor, node in terms:
        harmless = signs.positive_number(factor) and signs.nonnegative(node)
        squares, others = _squares(factor, node, free, signs)
        degrees = [sum(growth.of(f.node) for f in other.factors) for other in others]
        if squares and max(degrees, default=0.0) < 2:
            squared |= squares
            opposed |= {state for other in others for f in other.factors for state in walk([f.node]) if state in free}
        elif not harmless:
            if growth.of(node) >= 2:
                return None
            opposed |= {state for state in walk([node]) if state in free and growth.of(node) > 0}
    if opposed - squared:
        return None
    if not opposed and not squared:
        return Floor("proved", "each of its terms is bounded, or never negative")
    return Floor("proved", "squares of the states outgrow all terms that may be negative", squared >= set(free))


def _squares(factor: Coefficient, node: Node, free: Sequence[Input], signs: Signs) -> tuple[set[Node], list[Product]]:
    """The states whose squares a term adds up with positive factors, and its other products."""
    squares: set[Node] = set()
    others: list[Product] = []
    for product in multiplied_out(node) or ():
        state = _squared_state(product, free, signs) if signs.positive_number(factor * product.coefficient) else None
        if state is None:
            others.append(product)
        else:
            squares.add(state)
    return squares, others


def _squared_state(product: Product, free: Sequence[Input], signs: Signs) -> Node | None:
    """z of ``sum(c z^2)`` with c > 0."""
    ends = [factor for factor in product.factors if factor.node in free]
    scales = [factor.node for factor in product.factors if factor.node not in free]
    if len(ends) != 2 or ends[0] != ends[1] or len(set(ends[0].axes)) != len(ends[0].axes):
        return None
    return ends[0].node if all(signs.positive(scale) for scale in scales) else None


# -------------------------------------------------------------------- refutation


def _falling_ray(network: Network, base: ForceField) -> Floor | None:
    """A direction in which the energy falls by a power of the distance, as far as was looked."""
    total = base.graph.add([(ONE, term.node) for term in network.energies.values()], ())
    free = roaming(network)
    field = base.with_force({})
    sizes, generator = small_sizes([total], network.extents), np.random.default_rng(7)
    inputs = [node for node in walk([total]) if isinstance(node, Input) and node.kind != "argument"]
    for scale in (1, 4):
        for _ in range(DRAWS):
            point = draw(field, sizes, generator)
            point |= {n: scale * _value(n, base, sizes, generator) for n in inputs if n.kind == "param"}
            point |= {n: _value(n, base, sizes, generator) for n in inputs if n not in point}
            values = _along(field, sizes, point, total, free)
            if _falls(values):
                reached = ", ".join(f"{value:.3g}" for value in values)
                weights = f"weights drawn from [-{scale}, {scale}]"
                return Floor(
                    "refuted",
                    f"with {weights} it is {reached} at {', '.join(f'{t:g}' for t in REACH)} times a direction",
                    numbers={
                        "reach": list(REACH),
                        "energy": [float(v) for v in values],
                        "sizes": dict(sizes),
                        "point": {n.name: np.asarray(x).tolist() for n, x in point.items()},
                    },
                )
    return None


def _value(node: Input, base: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Array:
    return draw_value(node, base.ranges.get(node, (None, None)), sizes, generator)


def _along(
    field: ForceField, sizes: Mapping[str, int], point: Point, total: Node, free: Sequence[Input]
) -> list[float]:
    around = Surroundings(field, sizes, point)
    rays = []
    for reach in REACH:
        parts = [reach * np.ravel(point[s]) if s in free else np.ravel(point[s]) for s in field.states]
        rays.append(around.inside(np.concatenate(parts)))
    (values,) = around.values([total], np.array(rays))
    return [float(value) for value in values[:, 0]]


def _falls(values: Sequence[float]) -> bool:
    """Whether the last three values are negative and fall by the factor from each reach to the next."""
    last = values[-3:]
    steps = pairwise(last)
    return all(math.isfinite(value) for value in last) and last[0] < 0 and all(b < FALL * a for a, b in steps)
