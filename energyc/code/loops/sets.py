"""Projections on the sets of states, and proximal points of kinks, as statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from energyc.code.loops.affine import labels_of
from energyc.code.loops.expressions import applied, unless
from energyc.code.loops.nest import Buffer, Expr, Load
from energyc.language.network import ConstraintSet
from energyc.mathematics.expressions import ZERO, Clip, Product, Sum
from energyc.mathematics.functions import scalar_function
from energyc.mathematics.ir.indexing import axis

#: The largest simplex, in entries: its statements take the square of their number.
LARGEST_SIMPLEX = 512


class Put(Protocol):
    """Makes a buffer of each sample, and the statement that fills it."""

    def __call__(
        self, name: str, sizes: Sequence[int], expr: Expr, fold: str = "", reduced: Sequence[int] = ()
    ) -> Buffer:
        """The buffer."""
        ...


@dataclass(frozen=True)
class Shrinking:
    """What kinks do to a state in a step: corners by their numbers, each with what it takes below and above.

    ``norm`` has the axes of a norm, and by how much it becomes shorter.
    """

    corners: Sequence[tuple[float, Expr, Expr]] = ()
    norm: tuple[tuple[int, ...], Expr] | None = None

    def at_corners(self, put: Put, sizes: tuple[int, ...], value: Expr) -> Expr:
        """The proximal point of the corners; all slopes but that of a single one begin at 0."""
        corners = self.corners
        if len(corners) > 1:
            value = Sum((value, *(below for _, below, _ in corners)))
            corners = [(at, ZERO, below + above) for at, below, above in corners]
        for at, below, above in corners:
            away = Load(put("moved", sizes, value), labels_of(len(sizes))) - at
            left = relu(away - above) - relu(-away - below)
            value = at + left
        return value


class Projection:
    """The projection of a value of some sizes onto a set along some of its axes."""

    def __init__(self, put: Put, name: str, sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.put, self.name, self.sizes, self.axes = put, name, sizes, axes
        self.place = labels_of(len(sizes))
        self.kept = [k for k in range(len(sizes)) if k not in self.axes]
        self.outer, self.reduced = [sizes[k] for k in self.kept], [sizes[k] for k in self.axes]
        label_of = {k: axis(j) for j, k in enumerate([*self.kept, *self.axes])}
        #: Where an entry is when labels are those that stay, then those along the set.
        self.across = tuple(label_of[k] for k in range(len(sizes)))

    def sum(self, name: str, expr: Expr) -> Load:
        """The sum along the set of an expression, whose entries stand ``across``, read at its own labels."""
        return Load(self.put(name, self.outer, expr, "sum", self.reduced), labels_of(len(self.outer)))

    def one(self, name: str, expr: Expr) -> Load:
        """An expression of sums, read for each entry."""
        return Load(self.put(name, self.outer, expr), tuple(self.place[k] for k in self.kept))

    def norm(self, buffer: Buffer, scale: float) -> Load:
        """The root of the sum of the squares times the scale; NaN where it overflows."""
        entry = Load(buffer, self.across)
        mean = scale * self.sum("square", entry * entry)
        root = applied(scalar_function("sqrt", None), mean)
        length = Load(self.put("length", self.outer, root), labels_of(len(self.outer)))
        return self.one("deviation", unless(length, math.inf, length, length - length))

    def sphere(self, value: Expr) -> Buffer:
        """To norm 1; zero stays as it is."""
        here = self.put("moved", self.sizes, value)
        entry, length = Load(here, self.place), self.norm(here, 1.0)
        return self.put(self.name, self.sizes, unless(length, 0.0, entry / length, entry))

    def standardized(self, value: Expr) -> Buffer:
        """To mean 0 and variance 1; what has no variance stays as it is."""
        here, count = self.put("moved", self.sizes, value), math.prod(self.reduced)
        entry, whole = Load(here, self.place), self.sum("mean", Load(here, self.across))
        own = Load(whole.buffer, tuple(self.place[k] for k in self.kept))
        centred = self.put("centred", self.sizes, entry + (-1.0 / count) * own)
        deviation = self.norm(centred, 1.0 / count)
        share = Load(centred, self.place) / deviation
        return self.put(self.name, self.sizes, unless(deviation, 0.0, share, entry))

    def sphere_back(self, moved: Buffer, seed: Buffer) -> Expr:
        """The derivative of ``sphere`` at what moved, transposed: ``(seed - u <u, seed>) / |moved|``, u of norm 1."""
        entry, own, length = Load(moved, self.place), Load(seed, self.place), self.norm(moved, 1.0)
        along = self._along(moved, seed)
        return unless(length, 0.0, (own - entry * (along / (length * length))) / length, own)

    def standardized_back(self, moved: Buffer, seed: Buffer) -> Expr:
        """That of ``standardized``: ``(seed - mean(seed) - u mean(u seed)) / deviation``, u standardized."""
        own, share = Load(seed, self.place), 1.0 / math.prod(self.reduced)
        whole, mean = self.sum("mean", Load(moved, self.across)), self.sum("mean", Load(seed, self.across))
        centred = self.put("centred", self.sizes, Load(moved, self.place) + (-share) * self._spread(whole))
        deviation, along = self.norm(centred, share), self._along(centred, seed)
        radial = Load(centred, self.place) * (share * along / (deviation * deviation))
        return unless(deviation, 0.0, (own - share * self._spread(mean) - radial) / deviation, own)

    def _along(self, first: Buffer, second: Buffer) -> Load:
        """The sum along the set of the products of two vectors, read for each entry."""
        return self._spread(self.sum("along", Load(first, self.across) * Load(second, self.across)))

    def _spread(self, sums: Load) -> Load:
        return Load(sums.buffer, tuple(self.place[k] for k in self.kept))

    def shortened(self, value: Expr, threshold: Expr) -> Buffer:
        """Shorter by a threshold, 0 where it is as short."""
        here = self.put("moved", self.sizes, value)
        entry, length = Load(here, self.place), self.norm(here, 1.0)
        return self.put(self.name, self.sizes, unless(length, 0.0, entry * (relu(length - threshold) / length), entry))

    def simplex(self, value: Expr) -> Buffer:
        """To the nearest nonnegative point of sum 1 (Held, Wolfe and Crowder 1974).

        An entry is more than the threshold if what others exceed it by adds up to less than 1. The largest entry is
        subtracted first, which changes no projection and keeps the threshold exact.
        """
        moved = self.put("moved", self.sizes, value)
        largest = self.put("largest", self.outer, Load(moved, self.across), "max", self.reduced)
        top = Load(largest, tuple(self.place[k] for k in self.kept))
        here = self.put("below", self.sizes, Load(moved, self.place) - top)
        entry, count = Load(here, self.place), len(self.sizes)
        other = tuple(axis(count + self.axes.index(k)) if k in self.axes else self.place[k] for k in range(count))
        exceeds = relu(Load(here, other) - entry)
        above = Load(self.put("above", self.sizes, exceeds, "sum", self.reduced), self.place)
        inside = self.put("inside", self.sizes, applied(scalar_function("step", None), 1 - above))
        held = Load(inside, self.across)
        size, whole = self.sum("size", held), self.sum("whole", held * Load(here, self.across))
        threshold = self.one("threshold", (whole - 1) / size)
        return self.put(self.name, self.sizes, Clip(entry - threshold, 0.0, None))


def relu(value: Expr) -> Expr:
    """The part of a value above 0."""
    return applied(scalar_function("relu", None), value)


def proximal(
    put: Put, name: str, sizes: tuple[int, ...], value: Expr, constraint: ConstraintSet | None, kinks: Shrinking
) -> Buffer:
    """The buffer of the proximal point of a value: of the corners of kinks, then of a set, then of a norm."""
    value = kinks.at_corners(put, sizes, value)
    if kinks.norm is None:
        return projected(put, name, sizes, value, constraint)
    axes, threshold = kinks.norm
    on_set = projected(put, "moved", sizes, value, constraint)
    return Projection(put, name, sizes, axes).shortened(Load(on_set, labels_of(len(sizes))), threshold)


def projected_back(put: Put, moved: Buffer, seed: Buffer, constraint: ConstraintSet) -> Expr | None:
    """The derivative of the projection at what moved, transposed, of a seed; None where nothing writes it.

    On the face of a box it is the inside's.
    """
    place = labels_of(len(moved.sizes))
    if constraint.kind in ("box", "nonnegative"):
        low, high = (0.0, None) if constraint.kind == "nonnegative" else (constraint.low, constraint.high)
        reached = scalar_function("reached", None)
        tests = [applied(reached, Load(moved, place) - low)] if low is not None else []
        tests += [applied(reached, high - Load(moved, place))] if high is not None else []
        return unless(Product(1.0, tuple(tests)), 0.0, Load(seed, place), ZERO)
    projection = Projection(put, f"{seed.name}_on_set", moved.sizes, constraint.axes)
    by_kind = {"sphere": projection.sphere_back, "standardized": projection.standardized_back}
    return by_kind[constraint.kind](moved, seed) if constraint.kind in by_kind else None


def projected(put: Put, name: str, sizes: tuple[int, ...], value: Expr, constraint: ConstraintSet | None) -> Buffer:
    """The buffer of a value brought onto a set."""
    if constraint is None:
        return put(name, sizes, value)
    match constraint.kind:
        case "box":
            return put(name, sizes, Clip(value, constraint.low, constraint.high))
        case "nonnegative":
            return put(name, sizes, Clip(value, 0.0, None))
    projection = Projection(put, name, sizes, constraint.axes)
    by_kind = {"sphere": projection.sphere, "standardized": projection.standardized, "simplex": projection.simplex}
    return by_kind[constraint.kind](value)
