"""Whether a step of a state contracts, from bounds on the slopes of scalar functions.

For a state whose force depends element by element on itself, ``dS/dz = 1 + step dF/dz`` is a number for each element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from energyc.mathematics.calculus import tangent
from energyc.mathematics.ir import TRUTHS, Input, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.enclosures.enclosure import Enclosures
from energyc.proofs.fields.domain import is_elementwise
from energyc.proofs.fields.problem import Bounds, ForceField
from energyc.proofs.fields.sampling import Array
from energyc.proofs.fields.structured import is_direction

#: Where a state is looked at for a step that expands.
GRID = np.concatenate([-np.geomspace(100, 1e-3, 120), [0.0], np.geomspace(1e-3, 100, 120)])


@dataclass(frozen=True)
class Contraction:
    """The enclosure of ``dS/dz`` over all allowed values, and for one that expands a point where it does."""

    verdict: Literal["proved", "refuted", "undecided"]
    low: float
    high: float
    at: Mapping[str, float] | None = None
    slope: float | None = None

    def __str__(self) -> str:
        if self.at is not None and self.slope is not None:
            where = ", ".join(f"{name} = {value:.4g}" for name, value in self.at.items())
            return f"dS/dz = {self.slope:.6g} at {where}"
        return f"dS/dz lies in [{self.low:.9g}, {self.high:.9g}]"


def contraction_of(
    state: Input, force: Node, step: float, base: ForceField, ranges: Mapping[Input, Bounds]
) -> Contraction | None:
    """Whether ``S(z) = z + step F(z)`` contracts in one state, all else held.

    None where elements of the state interact, or where its force does not read it.
    """
    field = replace(base, states=(state,), force={state: force})
    if not is_elementwise(field):
        return None
    ones = base.graph.constant(1, state.dims)
    (slope,) = tangent(base.graph, [force], {state: ones})
    if slope is base.graph.zero(state.dims):
        return None
    low, high = (1 + step * bound for bound in Enclosures(base.values, ranges).of(slope))
    if max(abs(low), abs(high)) < 1:
        return Contraction("proved", low, high)
    worst = _worst(slope, state, step, base, ranges)
    if worst is not None and abs(worst[0]) > 1:
        return Contraction("refuted", low, high, worst[1], worst[0])
    return Contraction("undecided", low, high) if math.isfinite(low) and math.isfinite(high) else None


def _worst(
    slope: Node, state: Input, step: float, base: ForceField, ranges: Mapping[Input, Bounds]
) -> tuple[float, dict[str, float]] | None:
    """The largest ``|1 + step dF/dz|`` over a grid of the state and the ends of all bounded inputs, all alike."""
    others = [n for n in walk([slope]) if isinstance(n, Input) and n is not state and n.kind != "argument"]
    if any(is_direction(base.structure.get(n, ())) for n in others):
        return None
    if len(others) > 6 or any(n.over is None and _unbounded(ranges.get(n)) for n in others):
        return None
    sizes = dict.fromkeys(base.sizes, 1)
    worst: tuple[float, dict[str, float]] | None = None
    for values in product(*(_tried(n, ranges) for n in others)):
        inputs: dict[str | tuple[str, str], Array] = {
            (n.kind, n.name): np.full(((len(GRID),) if n.batched else ()) + (1,) * len(n.dims), v)
            for n, v in zip(others, values, strict=True)
        }
        inputs[state.kind, state.name] = GRID.reshape(-1, *(1,) * len(state.dims))
        with np.errstate(all="ignore"):
            (values_of,) = evaluate([slope], inputs, sizes=sizes, values=base.values)
        flat = values_of.reshape(len(values_of), -1)[:, 0] if values_of.ndim else values_of
        slopes = 1 + step * np.broadcast_to(flat, GRID.shape)
        sizes_of = np.where(np.isfinite(slopes), np.abs(slopes), -1)  # a point without a finite slope shows nothing
        k = int(np.argmax(sizes_of))
        if sizes_of[k] < 0:
            continue
        if worst is None or abs(slopes[k]) > abs(worst[0]):
            at = {n.name: float(v) for n, v in zip(others, values, strict=True) if n.over is None}
            worst = float(slopes[k]), {state.name: float(GRID[k]), **at}
    return worst


def _unbounded(bounds: Bounds | None) -> bool:
    return bounds is None or None in bounds


def _tried(node: Input, ranges: Mapping[Input, Bounds]) -> tuple[float, ...]:
    """The ends of a bounded input; of integers, whose dims have one entry here, the first; both truth values."""
    if node.over is not None:
        return (0.0, 1.0) if node.over == TRUTHS else (0.0,)
    return tuple(end for end in ranges[node] if end is not None)
