"""Whether the energy of a network is bounded below on the sets of its states, and whether it takes its least value.

Proved by compact sets, by terms that are never negative, or by squares of the states that outgrow all other terms;
refuted by numbers along a ray.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.calculus import derivative, tangent
from energyc.mathematics.ir import ONE, Add, Coefficient, Input, Map, Node, walk
from energyc.proofs.conservativeness.selections import continuous_masks
from energyc.proofs.enclosures.enclosure import Enclosures
from energyc.proofs.enclosures.growth import Growth
from energyc.proofs.fields.domain import Signs, jumps, poles
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import Bounds, ForceField
from energyc.proofs.fields.sampling import Point, draw, draw_input, in_floats
from energyc.proofs.fields.sizes import small_sizes
from energyc.proofs.fields.structured import Structures
from energyc.proofs.normal_form.products import Product, multiplied_out

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
    energies = [term.node for term in network.energies.values()]
    meeting = [node for energy in energies for node in continuous_masks(network.real_selections, energy, base)[0]]
    undefined = poles(roots, base.states, signs) or jumps(roots, base.states, harmless=meeting)
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


@dataclass
class Confinement:
    """Collects what confines states and what opposes it, term by term."""

    growth: Growth
    signs: Signs
    free: Sequence[Input]
    structures: Structures
    squared: set[Node] = field(default_factory=set)
    opposed: set[Node] = field(default_factory=set)

    def take(self, factor: Coefficient, node: Node) -> bool:
        """Whether a term could be taken into account; one that could not may be on a later turn."""
        harmless = self.signs.positive_number(factor) and self.signs.nonnegative(node)
        products = multiplied_out(node, self.structures)
        squares, others = _squares(factor, products or (), self)
        steep = not harmless and self.growth.of(node) >= 2 and products is not None
        if (squares or steep) and all(self._is_outgrown(other, harmless) for other in others):
            self.squared |= squares
            self.opposed |= {state for other in others for state in self._states(other)}
            return True
        if harmless:
            return not squares
        if self.growth.of(node) >= 2 and not self._is_convex(factor, node):
            return False
        self.opposed |= {state for state in walk([node]) if state in self.free and self.growth.of(node) > 0}
        return True

    def _is_outgrown(self, product: Product, harmless: bool) -> bool:
        """Whether a product grows more slowly than squares, or, in a term >= 0, is linear in what is not confined."""
        if sum(self.growth.of(factor.node) for factor in product.factors) < 2:
            return True
        moving = [f.node for f in product.factors if self._reads(f.node)]
        fresh = [node for node in moving if node not in self.squared]
        return harmless and len(moving) == 2 and set(moving) <= set(self.free) and len(fresh) <= 1

    def _reads(self, node: Node) -> bool:
        return any(state in self.free for state in walk([node]))

    def _states(self, product: Product) -> set[Node]:
        return {state for factor in product.factors for state in walk([factor.node]) if state in self.free}

    def _is_convex(self, factor: Coefficient, node: Node) -> bool:
        """Whether a term is a sum of convex functions of what grows linearly, which stay above a linear bound."""
        products = multiplied_out(node, self.structures) if self.signs.positive_number(factor) else None
        return products is not None and all(self._is_convex_product(product) for product in products)

    def _is_convex_product(self, product: Product) -> bool:
        moving = [f.node for f in product.factors if self._reads(f.node)]
        scales = [f.node for f in product.factors if f.node not in moving]
        if len(moving) != 1 or not isinstance(moving[0], Map) or self.growth.of(moving[0].argument) > 1:
            return False
        graph, function, argument = self.growth.graph, moving[0].function, moving[0].argument
        (bend,) = tangent(graph, [derivative(graph, function, argument)], {argument: graph.constant(1, argument.dims)})
        positive = self.signs.positive_number(product.coefficient) and all(map(self.signs.nonnegative, scales))
        return positive and self.growth.enclosures.of(bend)[0] >= 0


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
    confinement, pending = Confinement(growth, signs, free, base.structure), list(terms)
    while pending:
        remaining = [term for term in pending if not confinement.take(*term)]
        if len(remaining) == len(pending):
            break
        pending = remaining
    if confinement.opposed - confinement.squared or any(
        not (signs.positive_number(factor) and signs.nonnegative(node)) for factor, node in pending
    ):
        return None
    if not confinement.opposed and not confinement.squared:
        return Floor("proved", "each of its terms is bounded, or never negative")
    because = "squares of the states outgrow all terms that may be negative"
    return Floor("proved", because, confinement.squared >= set(free))


def _squares(factor: Coefficient, products: Sequence[Product], within: Confinement) -> tuple[set[Node], list[Product]]:
    """The states whose squares a term adds up with positive factors, and its other products that may be negative."""
    squares: set[Node] = set()
    others: list[Product] = []
    for product in products:
        positive = within.signs.positive_number(factor * product.coefficient)
        state = _squared_state(product, within.free, within.signs) if positive else None
        if state is not None:
            squares.add(state)
        elif not (positive and _is_nonnegative(product, within.signs)):
            others.append(product)
    return squares, others


def _is_nonnegative(product: Product, signs: Signs) -> bool:
    """Whether each factor is nowhere negative, or there twice: ``where(u > 0, u^2, 0)``."""
    times = Counter((factor.node, factor.axes) for factor in product.factors)
    return all(count % 2 == 0 or signs.nonnegative(node) for (node, _), count in times.items())


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
    still = base.with_force({})
    sizes, generator = small_sizes([total], network.extents, structures=base.structure), np.random.default_rng(7)
    inputs = [node for node in walk([total]) if isinstance(node, Input) and node.kind != "argument"]
    for scale in (1, 4):
        for _ in range(DRAWS):
            point = draw(still, sizes, generator)
            point |= {n: draw_input(base, n, sizes, generator, scale) for n in inputs if n.kind == "param"}
            point |= {n: draw_input(base, n, sizes, generator) for n in inputs if n not in point}
            values = _along(still, sizes, point, total, free)
            if _falls(values):
                reached = ", ".join(f"{value:.3g}" for value in values)
                bounded = any(n in base.ranges or n in base.structure for n in inputs if n.kind == "param")
                weights = f"weights drawn from [-{scale}, {scale}]" + " or on their sets" * bounded
                return Floor(
                    "refuted",
                    f"with {weights} it is {reached} at {', '.join(f'{t:g}' for t in REACH)} times a direction",
                    numbers={
                        "reach": list(REACH),
                        "energy": [float(v) for v in values],
                        "sizes": dict(sizes),
                        "point": {n.name: in_floats(np.asarray(x)).tolist() for n, x in point.items()},
                    },
                )
    return None


def _along(
    still: ForceField, sizes: Mapping[str, int], point: Point, total: Node, free: Sequence[Input]
) -> list[float]:
    around = LocalField(still, sizes, point)
    rays = []
    for reach in REACH:
        parts = [reach * np.ravel(point[s]) if s in free else np.ravel(point[s]) for s in still.states]
        rays.append(around.inside(np.concatenate(parts)))
    (values,) = around.values([total], np.array(rays))
    return [float(value) for value in values[:, 0]]


def _falls(values: Sequence[float]) -> bool:
    """Whether the last three values are negative and fall by the factor from each reach to the next."""
    last = values[-3:]
    steps = pairwise(last)
    return all(math.isfinite(value) for value in last) and last[0] < 0 and all(b < FALL * a for a, b in steps)
