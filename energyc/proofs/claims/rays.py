"""Rays along which an energy falls without bound: sought in floats, shown by the leading term of its expansion."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node, NoRule, walk
from energyc.proofs.claims.energy import whole_energy
from energyc.proofs.claims.judgement import Judgement, at_sizes
from energyc.proofs.enclosures.exact import Evaluation
from energyc.proofs.enclosures.intervals import NoEnclosure
from energyc.proofs.enclosures.tails import Tail, Tails, line
from energyc.proofs.fields.instances import used_dims
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Point, draw, draw_input, in_floats
from energyc.proofs.fields.sizes import small_sizes
from energyc.proofs.fields.structured import squared

Array = NDArray[Any]
#: Where the energy is looked at along a ray, in multiples of a random direction.
REACH = (1.0, 10.0, 100.0, 1000.0, 10000.0)
#: A fall from each of the last reaches to the next by at least this factor is worth an expansion.
FALL = 5.0
DRAWS = 12
SCALES = (1, 4)
#: Up to this size dims keep theirs.
LARGE = 4


@dataclass(frozen=True)
class Ray:
    """States ``start + t direction`` for t >= 0, all else at a point."""

    sizes: Mapping[str, int]
    point: Point
    direction: Mapping[Input, Array]

    def at(self, t: float) -> Array:
        """The states as one vector."""
        return np.concatenate([np.ravel(in_floats(self.point[s]) + t * d) for s, d in self.direction.items()])

    def in_tails(self) -> dict[Input, Array]:
        """The point, the states that move as tails."""
        moving = {state: d for state, d in self.direction.items() if np.any(d)}
        return {**self.point, **{state: _lines(in_floats(self.point[state]), d) for state, d in moving.items()}}


def _lines(start: Array, direction: Array) -> Array:
    made = np.empty(start.shape, dtype=object)
    for place in np.ndindex(start.shape):
        made[place] = line(float(start[place]), float(direction[place]))
    return made


def falling_ray(network: Network, base: ForceField, free: Collection[Input]) -> Judgement | None:
    """A ray along which the energy falls as a power of its length, at some weights."""
    if not free:
        return None
    total = whole_energy(network, base)
    still = base.with_force({})
    sizes = dict(network.extents)
    if any(sizes[dim] > LARGE for dim in used_dims([total])):
        sizes = small_sizes([total], sizes, structures=squared(base.structure, sizes))
    generator = np.random.default_rng(7)
    for scale in SCALES:
        for turn in range(DRAWS):
            ray = _drawn(still, total, sizes, free, scale, turn, generator)
            around = LocalField(still, sizes, ray.point)
            (columns,) = around.values([total], np.array([ray.at(reach) for reach in REACH]))
            values = [float(value) for value in columns[:, 0]]
            tail = _tail(total, still, ray) if _falls(values) else None
            if tail is not None and tail.terms and tail.terms[0][0] > 0 and tail.sign < 0:
                used = used_dims([total])
                changed = [(dim, n) for dim, n in sizes.items() if dim in used and n != network.extents[dim]]
                return _refuted(base, ray, values, tail, scale, at_sizes(changed))
    return None


def _drawn(
    still: ForceField,
    total: Node,
    sizes: Mapping[str, int],
    free: Collection[Input],
    scale: int,
    turn: int,
    generator: np.random.Generator,
) -> Ray:
    """A random ray in the sets of the states, through 0 where that is on them; by turns all entries have one sign."""
    inputs = [node for node in walk([total]) if isinstance(node, Input) and node.kind != "argument"]
    point = draw(still, sizes, generator)
    point |= {n: draw_input(still, n, sizes, generator, scale) for n in inputs if n.kind == "param"}
    point |= {n: draw_input(still, n, sizes, generator) for n in inputs if n not in point}
    if turn % 2:
        point |= dict(_at_ends(still, point, generator))
    direction = {state: np.zeros(np.shape(point[state])) for state in still.states}
    for state in free:
        low, high = still.ranges.get(state, (None, None))
        way = in_floats(point[state])
        way = (way, np.abs(way), -np.abs(way))[turn % 3]
        way = np.abs(way) if low is not None else -np.abs(way) if high is not None else way
        end = low if low is not None else high
        direction[state], point[state] = way, np.full(way.shape, 0.0 if end is None else end)
    return Ray(sizes, point, direction)


def _at_ends(still: ForceField, point: Point, generator: np.random.Generator) -> Iterator[tuple[Input, Array]]:
    """Params with two bounds and no other set, at one of them."""
    for node, value in point.items():
        low, high = still.ranges.get(node, (None, None))
        if node.kind == "param" and low is not None and high is not None and node not in still.structure:
            yield node, np.where(generator.uniform(size=np.shape(value)) < 0.5, low, high)


def _falls(values: Sequence[float]) -> bool:
    """Whether the last three values are negative and fall by the factor from each reach to the next."""
    last = values[-3:]
    return all(math.isfinite(value) for value in last) and last[0] < 0 and all(b < FALL * a for a, b in pairwise(last))


def _tail(total: Node, still: ForceField, ray: Ray) -> Tail | None:
    values = {**still.values, **{dim: float(size) for dim, size in ray.sizes.items()}}
    try:
        found = Evaluation(still.graph, Tails(values), ray.sizes, ray.in_tails())(total)
    except (NoEnclosure, NoRule, ZeroDivisionError, OverflowError, ValueError):
        return None
    tail = np.asarray(found, dtype=object)[()]
    return tail if isinstance(tail, Tail) else None


def _refuted(base: ForceField, ray: Ray, values: Sequence[float], tail: Tail, scale: int, sizes: str) -> Judgement:
    power, (low, high) = tail.terms[0]
    drawn = [node for node in ray.point if node.kind == "param"]
    bounded = any(node in base.ranges or node in base.structure for node in drawn)
    weights = f"weights drawn from [-{scale}, {scale}]" + " or on their sets" * bounded
    with_weights = ", ".join(part for part in (sizes, f"with {weights}" if drawn else "") if part)
    because = (
        f"{with_weights} it is {(low + high) / 2:.4g} t^{power:g} to leading order, t times a direction away".lstrip()
    )
    point = {node.name: in_floats(np.asarray(x)).tolist() for node, x in ray.point.items()}
    numbers = {
        "leading": {"power": power, "low": low, "high": high},
        "reach": list(REACH),
        "energy": list(values),
        "sizes": dict(ray.sizes),
        "point": point,
        "direction": {state.name: way.tolist() for state, way in ray.direction.items()},
    }
    return Judgement("refuted", because, numbers=numbers)
