"""Bounds on the Jacobian J of the whole force: how strongly it pulls together, how steep it is at most.

    m |v|^2 <= -v . J v   and, of a gradient, -v . J v <= L |v|^2; of any other force |J v| <= L |v|

for all states on their sets and all params on theirs, at the sizes of the spec. With m > 0 the force is strongly
monotone: on convex sets there is one equilibrium, and short steps contract (Ryu and Boyd 2016, section 5). The form is
multiplied out into products, each of which is bounded by :class:`~energyc.proofs.claims.norms.Norms`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from energyc.mathematics.calculus import tangent
from energyc.mathematics.ir import ONE, Input, Node, Operand
from energyc.proofs.claims.norms import Norms
from energyc.proofs.claims.products import Product, collected, with_one_side
from energyc.proofs.claims.squares import squared, squares
from energyc.proofs.fields.problem import ForceField, direction_of, linearise
from energyc.proofs.fields.sampling import Array

#: Eigenvalues that LAPACK computes are off by less than this share of the norm.
ROUNDING = 1e-13
#: Shares of convex parts that count with their mixed terms: (a - b)^2 >= s (a - b)^2 for all s from 0 to 1.
SHARES = (1.0, *(2.0**-k for k in range(1, 60)), 0.0)


@dataclass(frozen=True)
class Part:
    """A term's share of the form, by states: entries [s, t] bound what is before ``|v_s| |v_t|``."""

    name: str
    low: Array
    high: Array
    convex: bool = False

    @property
    def pulls(self) -> bool:
        """Whether the lower bound is never negative as it stands."""
        return bool(np.isfinite(self.low).all()) and least_eigenvalue(self.low) >= 0


@dataclass(frozen=True)
class Curvature:
    """The bounds m and L of a force, state by state; ``gradient``: J is symmetric."""

    states: tuple[str, ...]
    parts: tuple[Part, ...]
    gradient: bool

    def bounds(self, steps: Mapping[str, float] | None = None) -> tuple[float, float]:
        """m and L; with ``steps`` those of each state's force times its step, in the norm ``sum |v_s|^2 / step_s``."""
        roots = [math.sqrt(1.0 if steps is None else steps[name]) for name in self.states]
        scale = np.outer(roots, roots)
        return self._least(scale), self._most(scale)

    def rate(self, steps: Mapping[str, float] | None = None) -> float:
        """The factor by which a step brings two states closer; one of at least 1 shows nothing."""
        return rate_of(*self.bounds(steps), self.gradient)

    def best_step(self) -> tuple[float, float] | None:
        """The step, one for all states, with the least factor by these bounds, and that factor; None without one."""
        m, most = self.bounds()
        if not (m > 0 and math.isfinite(most)):
            return None
        step = 2 / (m + most) if self.gradient else m / most / most
        return step, rate_of(step * m, step * most, self.gradient)

    def _least(self, scale: Array) -> float:
        """The largest m over the shares of the convex parts."""
        firm = [p for p in self.parts if not p.convex or p.pulls]
        loose = [p for p in self.parts if p.convex and not p.pulls and np.isfinite(p.low).all()]
        if not all(np.isfinite(p.low).all() for p in firm):
            return -math.inf
        zero = np.zeros_like(scale)
        fixed = sum((p.low for p in firm), zero) * scale
        shared = sum((p.low for p in loose), zero) * scale
        return least_eigenvalue(fixed + np.reshape(SHARES if loose else (0.0,), (-1, 1, 1)) * shared)

    def _most(self, scale: Array) -> float:
        total = sum((p.high for p in self.parts), np.zeros_like(scale)) * scale
        if not np.isfinite(total).all():
            return math.inf
        return float(np.linalg.norm(total, 2)) * (1 + ROUNDING)

    @property
    def loose(self) -> list[str]:
        """The parts that may pull states apart without a bound, or by most."""
        without = [p.name for p in self.parts if not p.convex and not np.isfinite(p.low).all()]
        if without:
            return without
        return [p.name for p in self.parts if not p.convex and not p.pulls]

    @property
    def steep(self) -> list[str]:
        """The parts whose slope has no bound."""
        return [p.name for p in self.parts if not np.isfinite(p.high).all()]


def rate_of(m: float, most: float, gradient: bool) -> float:
    """The factor of a step of 1: ``max(|1 - m|, |1 - L|)`` of a gradient, else ``sqrt(1 - 2 m + L^2)``."""
    if not (math.isfinite(m) and math.isfinite(most)):
        return math.inf
    return max(abs(1 - m), abs(1 - most)) if gradient else math.sqrt(max(0.0, 1 - 2 * m + most * most))


@np.errstate(all="ignore")
def least_eigenvalue(matrix: Array) -> float:
    """A lower bound of the eigenvalues of a symmetric matrix; of several matrices the largest of these bounds."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        return float(diagonal.min(axis=-1).max())
    return float(np.max(np.linalg.eigvalsh(matrix)[..., 0] - ROUNDING * np.linalg.norm(matrix, axis=(-2, -1))))


def curvature_of(
    fields: Mapping[str, ForceField], norms: Norms, bends: Mapping[str, Node] | None, gradient: bool = False
) -> Curvature:
    """The bounds of a force that is the sum of ``fields``, each with its name.

    ``bends`` are :func:`bends_of` the energies of which each field is minus the gradient; None for other forces, whose
    forms are added up before they are bounded, and which may be a ``gradient`` all the same.
    """
    (first, *_) = fields.values()
    states = tuple(state.name for state in first.states)
    if bends is None:
        parts = [_of_force(" + ".join(fields), _added(list(fields.values())), norms, gradient)]
        if len(fields) > 1 and not (np.isfinite(parts[0].low).all() and np.isfinite(parts[0].high).all()):
            parts = [_of_force(name, field, norms, gradient) for name, field in fields.items()]
    else:
        parts = [_of_energy(name, first, bends[name], norms) for name in fields]
    return Curvature(states, tuple(parts), gradient or bends is not None)


def nowhere_negative(
    fields: Mapping[str, ForceField], norms: Norms, bends: Mapping[str, Node] | None
) -> Iterator[Node]:
    """The parts of ``-v . J v`` that are squares: bends of convex energies, and products of all other forms."""
    field = _added(list(fields.values()))
    for form in (_form(field),) if bends is None else bends.values():
        products = collected(form, field)
        known = [_square_of(product, field, norms) for product in products or ()]
        if norms.enclosures.range(form).nonnegative and (products is None or None in known):
            yield form
        else:
            yield from (node for node in known if node is not None)


def _square_of(product: Product, field: ForceField, norms: Norms) -> Node | None:
    """A product of a form as a sum of squares with factors that are nowhere negative; None of any other."""
    (one, _), (two, _) = _directions(product, field)
    square = next(squares(product, one, two, norms.structure), None)
    if square is None or not norms.enclosures.number(product.coefficient).positive:
        return None
    nonnegative = norms.enclosures.of_product(square.middle).range.nonnegative
    return squared(field.graph, product, square, one) if nonnegative else None


def _added(fields: Sequence[ForceField]) -> ForceField:
    graph, force = fields[0].graph, dict[Input, Node]()
    for state in fields[0].states:
        force[state] = graph.add([(ONE, f.force[state]) for f in fields if state in f.force], state.dims)
    return replace(fields[0], force=force)


def bends_of(field: ForceField, energies: Mapping[str, Node]) -> dict[str, Node]:
    """The second derivative of each energy along one direction of all states, ``v . Hess E v``."""
    ways: dict[Node, Node] = {state: direction_of(field.graph, state) for state in field.states}
    found = tangent(field.graph, tangent(field.graph, list(energies.values()), ways), ways)
    return dict(zip(energies, found, strict=True))


def _of_energy(name: str, field: ForceField, bend: Node, norms: Norms) -> Part:
    """The share of minus the gradient of an energy."""
    low, high = _bounded(bend, field, norms)
    return Part(name, low, high, norms.enclosures.range(bend).nonnegative)


def _of_force(name: str, field: ForceField, norms: Norms, gradient: bool) -> Part:
    """The share of a force: its symmetric part below; above, the same of a gradient, of any other its norm."""
    low, high = _bounded(_form(field), field, norms)
    if not gradient:  # without a bound below there is no use for one above
        high = _norms_of_blocks(field, norms) if np.isfinite(low).all() else np.full_like(low, math.inf)
    return Part(name, low, high)


def _form(field: ForceField) -> Node:
    """``-v . J v``."""
    linear, graph = linearise(field), field.graph
    pairs = zip(linear.directions, linear.moved, strict=True)
    terms = [graph.sum(graph.product(w, moved), range(len(w.dims))) for w, moved in pairs]
    return graph.add([(-ONE, term) for term in terms], ())


@np.errstate(all="ignore")
def _bounded(form: Node, field: ForceField, norms: Norms) -> tuple[Array, Array]:
    """The bounds of a form in v: on the diagonal both, beside it how large a mixed product is, halved.

    What a condition selects is bounded side by side, and as one side and what it has more; the tighter counts.
    """
    products = collected(form, field)
    if products is None:
        nothing = np.full((len(field.states), len(field.states)), math.inf)
        return -nothing, nothing
    turned = with_one_side(products, field)
    lows, highs = zip(
        *(_by_products(each, field, norms) for each in (products, turned) if each is not None), strict=True
    )
    low = max(lows, key=lambda low: least_eigenvalue(low) if np.isfinite(low).all() else -math.inf)
    return low, min(highs, key=np.linalg.norm)


def _by_products(products: Sequence[Product], field: ForceField, norms: Norms) -> tuple[Array, Array]:
    """The same, product by product."""
    count = len(field.states)
    low, high = np.zeros((count, count)), np.zeros((count, count))
    for product in products:
        (first, s), (second, t) = _directions(product, field)
        found = norms.of_form(product, first, second)
        if s == t:
            low[s, s] += found.low
            high[s, s] += found.high
        else:
            low[[s, t], [t, s]] -= found.size / 2
            high[[s, t], [t, s]] += found.size / 2
    return low, high


def _directions(product: Product, field: ForceField) -> list[tuple[Operand, int]]:
    """The directions of states among the factors, each with the number of its state."""
    numbers: dict[Node, int] = {direction_of(field.graph, state): k for k, state in enumerate(field.states)}
    return [(f, numbers[f.node]) for f in product.factors if f.node in numbers]


def _norms_of_blocks(field: ForceField, norms: Norms) -> Array:
    """For each pair of states a bound on the norm of its block of J."""
    linear, graph, count = linearise(field), field.graph, len(field.states)
    found = np.zeros((count, count))
    for s, (state, moved) in enumerate(zip(field.states, linear.moved, strict=True)):
        way = graph.input(f"u.{state.name}", "direction", state.dims)
        products = collected(graph.sum(graph.product(way, moved), range(len(state.dims))), field)
        if products is None:
            return np.full((count, count), math.inf)
        for product in products:
            (left,) = [f for f in product.factors if f.node is way]
            ((right, t),) = _directions(product, field)
            found[s, t] += norms.of_form(product, left, right).size
    return found


def steps_to(tolerance: float, rate: float) -> int | None:
    """After how many steps a residual of 1 is at most ``tolerance``; None where there is no such number."""
    if not 0 < tolerance < 1 or not rate < 1:
        return None
    return 1 if rate <= tolerance else math.ceil(math.log(tolerance) / math.log(rate) * (1 - 1e-12))
