"""Whether a step of a state contracts, from bounds on the slopes of scalar functions.

For a state whose force depends element by element on itself, ``dS/dz = 1 + step dF/dz`` is a number for each element.
Where it lies in an interval inside (-1, 1) and the force is continuous, two states of a convex set are closer to one
another after a step, also after the projection onto the set.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.calculus import Bounds, depends, is_cut, tangent
from energyc.mathematics.ir import TRUTHS, Add, Einsum, Indicator, Input, Map, Node, NoRule, Stop, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.claims.judgement import Judgement, Kernel, Step
from energyc.proofs.claims.sets import is_convex
from energyc.proofs.enclosures.exact import Evaluation, Intervals
from energyc.proofs.enclosures.intervals import Interval, NoEnclosure, number
from energyc.proofs.enclosures.nodes import gathered
from energyc.proofs.fields.domain import is_elementwise
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Array

#: Where a state is looked at for a step that expands, and how far apart the two states of a witness are.
GRID = np.concatenate([-np.geomspace(100, 1e-3, 120), [0.0], np.geomspace(1e-3, 100, 120)])
APART = 2.0**-16


def contraction_of(network: Network, name: str, force: Node, base: ForceField, kernel: Kernel) -> Judgement | None:
    """Whether ``S(z) = z + step F(z)`` contracts in one state, all else held: by the slope that the kernel finds.

    None where nothing is claimed: elements of the state interact, its force does not read it or holds part of it
    constant, the step is chosen anew in each relaxation, or the set is not convex.
    """
    state = network.states[name]
    field = replace(base, states=(state.node,), force={state.node: force})
    if network.relax.step is None or not is_convex(state.constraint):
        return None
    if any(state.node in walk([node]) for node in walk([force]) if is_cut(node)) or not is_elementwise(field):
        return None
    (slope,) = tangent(base.graph, [force], {state.node: base.graph.constant(1, state.node.dims)})
    if slope is base.graph.zero(state.node.dims):
        return None
    step = network.relax.step_for(name)
    known = kernel.slope(name)
    because = f"dS/dz lies in {known}"
    numbers = {} if known is None else {"low": float(known.low), "high": float(known.high)}
    if known is not None and known.low > -1 and known.high < 1:
        proof = Step("slope", f"two {name} are closer after a step", (Step("range", because),), (name,))
        return Judgement("proved", because, proof, numbers)
    pair = Expansion(field, state.node, slope, step).pair()
    if pair is not None:
        return Judgement("refuted", pair.text(name), numbers={**numbers, **pair.numbers(name)})
    finite = known is not None and all(map(math.isfinite, numbers.values()))
    return Judgement("undecided", because, numbers=numbers) if finite else None


# -------------------------------------------------------------------- refutation


@dataclass(frozen=True)
class Pair:
    """Two states inside their set that a step takes to two inside it, at least ``factor`` times as far apart."""

    states: tuple[float, float]
    slope: float
    factor: float
    at: Mapping[str, float]

    def text(self, name: str) -> str:
        """The witness in words."""
        where = ", ".join(f"{n} = {value:.4g}" for n, value in {name: self.states[0], **self.at}.items())
        return f"dS/dz = {self.slope:.6g} at {where}: a step takes two states {self.factor:.6g} times apart (certified)"

    def numbers(self, name: str) -> dict[str, object]:
        """The witness as numbers."""
        return {"pair": list(self.states), "slope": self.slope, "factor": self.factor, "at": dict(self.at)}


@dataclass(frozen=True)
class Expansion:
    """The search for two states that a step takes apart, one element of the state alone."""

    field: ForceField
    state: Input
    slope: Node
    step: float

    @property
    def ranges(self) -> Mapping[Input, Bounds]:
        """The bounds of inputs."""
        return self.field.ranges

    def pair(self) -> Pair | None:
        """Two states at the steepest place of a grid, enclosed; the ends of all bounded inputs are tried."""
        moved = self._moved()
        if moved is None or not all(map(self._is_pointwise, walk([self.slope, moved]))):
            return None
        others = [
            n for n in walk([self.slope]) if isinstance(n, Input) and n is not self.state and n.kind != "argument"
        ]
        if len(others) > 6 or any(n.over is None and _unbounded(self.ranges.get(n)) for n in others):
            return None
        for slope, place, values in sorted(self._steep(others), key=lambda found: -abs(found[0])):
            if abs(slope) <= 1:
                return None
            if (found := self._enclosed(moved, place, slope, values)) is not None:
                return found
        return None

    def _grid(self) -> Array:
        """Places inside of the set, away from its rims."""
        low, high = self.ranges.get(self.state, (None, None))
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        between = np.linspace(low, high, 66)[1:-1] if math.isfinite(high - low) else np.empty(0)
        grid = np.concatenate([GRID, between])
        return grid[(grid > low + 2 * APART) & (grid < high - 2 * APART)]

    def _steep(self, others: list[Input]) -> Iterator[tuple[float, float, dict[Input, float]]]:
        """The largest ``|1 + step dF/dz|`` over the grid for each choice of ends, all elements of an input alike."""
        grid, sizes = self._grid(), dict.fromkeys(self.field.sizes, 1)
        if not len(grid):
            return
        for ends in product(*(_tried(n, self.ranges) for n in others)):
            chosen = dict(zip(others, ends, strict=True))
            inputs: dict[str | tuple[str, str], Array] = {
                (n.kind, n.name): np.full(((len(grid),) if n.batched else ()) + (1,) * len(n.dims), v)
                for n, v in chosen.items()
            }
            inputs[self.state.kind, self.state.name] = grid.reshape(-1, *(1,) * len(self.state.dims))
            with np.errstate(all="ignore"):
                (found,) = evaluate([self.slope], inputs, sizes=sizes, values=self.field.values)
            flat = found.reshape(len(found), -1)[:, 0] if found.ndim else found
            slopes = 1 + self.step * np.broadcast_to(flat, grid.shape)
            sized = np.where(np.isfinite(slopes), np.abs(slopes), -1)  # a point without a finite slope shows nothing
            k = int(np.argmax(sized))
            if sized[k] > 1:
                yield float(slopes[k]), float(grid[k]), chosen

    def _moved(self) -> Node | None:
        """The part of the force that the state moves; what is held beside it takes no two states apart.

        None where that part alone does not tell whether a step stays inside of the set.
        """
        force = self.field.force[self.state]
        moved = self._part(force, depends([force], {self.state}))
        bounded = self.ranges.get(self.state, (None, None)) != (None, None)
        return None if bounded and moved is not force else moved

    def _part(self, node: Node, moving: Collection[Node]) -> Node:
        """A node less what is held in it, down through sums and products with what is held."""
        graph = self.field.graph
        match node:
            case Add():
                kept = [(factor, self._part(term, moving)) for factor, term in node.terms if term in moving]
                return graph.add(kept, node.dims)
            case Einsum() if sum(operand.node in moving for operand in node.operands) == 1:
                factors = [(self._part(o.node, moving) if o.node in moving else o.node, o.axes) for o in node.operands]
                return graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), node.out)
        return node

    def _is_pointwise(self, node: Node) -> bool:
        """Whether an element of a node depends on single elements of what is below it."""
        match node:
            case Input():
                return not self.field.structure.get(node)
            case Einsum():
                factors = gathered(node) if node.contracted else node.operands
                return factors is not None and not any(isinstance(f.node, Indicator) for f in factors)
        return isinstance(node, Add | Map | Stop | Indicator)

    def _enclosed(self, moved: Node, place: float, slope: float, chosen: Mapping[Input, float]) -> Pair | None:
        """Two states around a place whose steps are enclosed, inside the set and further apart."""
        ends = (place - APART, place + APART)
        values = {n: _inside(self.ranges.get(n)) for n in walk([moved]) if isinstance(n, Input)} | dict(chosen)
        first, second = (self._stepped(moved, end, values) for end in ends)
        if first is None or second is None:
            return None
        low, high = self.ranges.get(self.state, (None, None))
        inside = all((low is None or s.low > low) and (high is None or s.high < high) for s in (first, second))
        apart = max(float(second.low - first.high), float(first.low - second.high)) / (ends[1] - ends[0])
        named = {n.name: value for n, value in chosen.items() if n.over is None}
        return Pair(ends, slope, apart, named) if inside and apart > 1 else None

    def _stepped(self, moved: Node, value: float, values: Mapping[Input, float]) -> Interval | None:
        """The state after a step, enclosed, but for what is held."""
        sizes = dict.fromkeys(self.field.sizes, 1)
        point = {n: np.full((1,) * len(n.dims), v) for n, v in {**values, self.state: value}.items()}
        arithmetic = Intervals(self.field.values, self.field.fractions)
        try:
            force = Evaluation(self.field.graph, arithmetic, sizes, point)(moved)
        except (NoEnclosure, NoRule, ZeroDivisionError, OverflowError, ValueError, KeyError):
            return None
        after = Interval.exactly(np.full(force.shape, value)) + number(self.step) * force
        return Interval(np.ravel(after.low)[0], np.ravel(after.high)[0])


def _inside(bounds: Bounds | None) -> float:
    """A value of an input that the slope does not read: 0, or the nearest to it that is allowed."""
    low, high = bounds or (None, None)
    return float(np.clip(0.0, -math.inf if low is None else low, math.inf if high is None else high))


def _unbounded(bounds: Bounds | None) -> bool:
    return bounds is None or None in bounds


def _tried(node: Input, ranges: Mapping[Input, Bounds]) -> tuple[float, ...]:
    """The ends of a bounded input; of integers, whose dims have one entry here, the first; both truth values."""
    if node.over is not None:
        return (0.0, 1.0) if node.over == TRUTHS else (0.0,)
    return tuple(end for end in ranges[node] if end is not None)
