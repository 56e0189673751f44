"""Energies in which every element of a free state stands alone: each is driven back from far out, or there is no floor.

Such an energy is a sum of functions of one number each. One whose slope is above c / |z| to the right in the end, and
below -c / |z| to the left, with c > 0, grows without bound on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Einsum, Input, Node, NoRule, walk
from energyc.proofs.enclosures.exact import Evaluation
from energyc.proofs.enclosures.intervals import NoEnclosure
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.enclosures.ranges import LEAST, Range
from energyc.proofs.enclosures.tails import Tail, Tails, line
from energyc.proofs.fields.domain import is_elementwise
from energyc.proofs.fields.problem import ForceField


def driven_back(base: ForceField, enclosures: Enclosures, slopes: Mapping[Input, Node]) -> bool:
    """Whether the energy rises along every element of the free states; ``slopes`` are its derivatives by the states."""
    return all(
        _stands_alone(base, state, slopes) and _rises(enclosures, state, slopes[state]) for state in enclosures.free
    )


def _stands_alone(base: ForceField, state: Input, slopes: Mapping[Input, Node]) -> bool:
    """Whether each element of a slope reads the same element of its state and no other state, and nothing is summed."""
    if state not in slopes:
        return False
    moving = depends([slopes[state]], {state})
    others = (set(base.states) - {state}) & set(walk([slopes[state]]))
    summed = any(isinstance(node, Einsum) and node.contracted for node in moving)
    own = replace(base, states=(state,), force={state: slopes[state]})
    return not others and not summed and is_elementwise(own)


def _rises(enclosures: Enclosures, state: Input, slope: Node) -> bool:
    low, high = enclosures.ranges.get(state, (None, None))
    ways = [way for way, end in ((1.0, high), (-1.0, low)) if end is None]
    return all(_rises_along(enclosures, state, slope, way) for way in ways)


def _rises_along(enclosures: Enclosures, state: Input, slope: Node, way: float) -> bool:
    """Whether the slope of one element has the sign of the way in the end; what is held enters by its range alone."""
    moving = depends([slope], {state})
    sizes = dict.fromkeys((dim for node in walk([slope]) for dim in node.dims), 1)
    still = [n for n in walk([slope]) if n not in moving and any(isinstance(part, Input) for part in walk([n]))]
    held = {n: _filled(_tail(enclosures.range(n)), n) for n in still}
    inputs = {state: _filled(line(0.0, way), state)}
    try:
        found = Evaluation(enclosures.graph, Tails(enclosures.values), sizes, inputs, done=dict(held))(slope)
        (tail,) = np.ravel(np.asarray(found, dtype=object))
        return isinstance(tail, Tail) and tail.sign == way and tail.terms[0][0] >= -1
    except (NoEnclosure, NoRule, ZeroDivisionError, OverflowError, ValueError):
        return False


def _tail(known: Range) -> Tail:
    """A number that does not move: of a known sign, or bounded."""
    low, high = max(known.low, LEAST) if known.positive else known.low, known.high
    low, high = low, min(high, -LEAST) if (-known).positive else high
    return Tail.of({0.0: (low, high)}) if low > 0 or high < 0 else Tail.bounded()


def _filled(tail: Tail, node: Node) -> np.ndarray:
    made = np.empty((1,) * len(node.dims), dtype=object)
    made.fill(tail)
    return made
