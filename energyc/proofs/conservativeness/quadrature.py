"""The work of a force around closed polygons: adaptive Gauss-Kronrod quadrature of many edges at once.

The error of an interval is the difference of the 15-point Kronrod and the 7-point Gauss rule (Piessens et al.,
QUADPACK, 1983); the interval is halved until they agree. Halving isolates a jump until its error is negligible; where
the force is infinite or not integrable, the error of the polygon stays large.

Each polygon is cut where its own force asks for it. SciPy's ``quad_vec`` cuts all edges together: with the kinks of 24
polygons it takes 71 times as many evaluations of the force, and ends without having converged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from energyc.proofs.fields.sampling import Array

#: The positive half of the nodes and weights of the rules on [-1, 1].
_NODES = (
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144691693729,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
    0.0,
)
_KRONROD = (
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
    0.209482141084727828012999174891714,
)
_GAUSS = (
    0.129484966168869693270611432679082,
    0.279705391489276667901467771423780,
    0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
)
#: Not fractions with small denominators: edges whose ends have few digits meet kinks and jumps there, and the rules
#: miss a jump that is closer to the end of an interval than their last node.
CUTS = (0.1381966, 0.4270510, 0.6631190, 0.8819660)
TOLERANCE = 1e-10
HALVINGS = 36
#: The tolerance between two quadratures, as a fraction of the integral of the absolute value.
AGREEMENT = 1e-8
#: Work counts as zero below this fraction of the same integral.
LEAST = 1e-6
#: A polygon is abandoned once it has more open intervals than this.
MOST_OPEN = 48

Field = Callable[[Array], Array]


def _rules() -> tuple[Array, Array, Array]:
    """The nodes, the Kronrod weights and the Gauss weights (zero at the nodes of the Kronrod rule alone)."""
    gauss = [0.0 if k % 2 == 0 else _GAUSS[k // 2] for k in range(7)] + [_GAUSS[3]]

    def mirrored(half: Sequence[float], sign: int) -> Array:
        return np.array([*half[:-1], half[-1], *(sign * x for x in half[-2::-1])])

    return mirrored(_NODES, -1), mirrored(_KRONROD, 1), mirrored(gauss, 1)


@dataclass(frozen=True)
class Work:
    """For each polygon: the work around it, an error bound, and the integral of the absolute value.

    The error of an abandoned polygon is infinite.
    """

    total: Array
    error: Array
    size: Array

    @property
    def is_reliable(self) -> Array:
        """Whether the work is known."""
        return np.asarray(self.error <= AGREEMENT * np.maximum(self.size, 1e-300))

    @property
    def is_nonzero(self) -> Array:
        """Whether the work is known not to be zero."""
        return self.is_reliable & (np.abs(self.total) > LEAST * self.size) & (self.size > LEAST)


@dataclass(frozen=True)
class _Intervals:
    """Pieces of edges: the polygon, the start, and the vector to the end."""

    polygon: Array
    start: Array
    step: Array

    def __getitem__(self, which: Array) -> _Intervals:
        return _Intervals(self.polygon[which], self.start[which], self.step[which])

    def halves(self) -> _Intervals:
        half = self.step / 2
        return _Intervals(
            np.concatenate([self.polygon, self.polygon]),
            np.concatenate([self.start, self.start + half]),
            np.concatenate([half, half]),
        )


def work_round(polygons: Sequence[Array], field: Field, cuts: Sequence[float] = CUTS) -> Work:
    """The work of ``field`` (``[count, n]`` to ``[count, n]``) around polygons with corners ``[m, n]``.

    ``cuts`` are the initial cuts of each edge, as fractions of its length.
    """
    count = len(polygons)
    total, error, size = np.zeros(count), np.zeros(count), np.zeros(count)
    intervals = _initial_intervals(polygons, cuts)
    for halvings_left in range(HALVINGS, -1, -1):
        value, gap, magnitude = _estimates(intervals, field)
        scale = np.maximum(size + np.bincount(intervals.polygon, magnitude, count), 1e-300)
        done = (gap <= TOLERANCE * scale[intervals.polygon]) | (halvings_left == 0)
        for sums, parts in ((total, value), (error, gap), (size, magnitude)):
            sums += np.bincount(intervals.polygon[done], parts[done], count)
        open_count = np.bincount(intervals.polygon[~done], minlength=count)
        abandoned = ~np.isfinite(error) | (open_count > MOST_OPEN)
        error[abandoned] = np.inf
        intervals = intervals[~done & ~abandoned[intervals.polygon]]
        if not len(intervals.polygon):
            break
        intervals = intervals.halves()
    return Work(total, error, size)


def _initial_intervals(polygons: Sequence[Array], cuts: Sequence[float]) -> _Intervals:
    corners = np.concatenate(list(polygons))
    edges = np.concatenate([np.roll(polygon, -1, axis=0) - polygon for polygon in polygons])
    owner = np.repeat(np.arange(len(polygons)), [len(polygon) for polygon in polygons])
    places = np.array([0.0, *cuts, 1.0])
    starts = np.concatenate([corners + t * edges for t in places[:-1]])
    steps = np.concatenate([width * edges for width in np.diff(places)])
    return _Intervals(np.tile(owner, len(places) - 1), starts, steps)


def _estimates(intervals: _Intervals, field: Field) -> tuple[Array, Array, Array]:
    """The Kronrod value of each interval, its distance from the Gauss value, and the integral of the absolute value."""
    nodes, kronrod, gauss = _rules()
    places = intervals.start[:, None] + (nodes[:, None] + 1) / 2 * intervals.step[:, None]
    forces = field(places.reshape(-1, places.shape[-1])).reshape(places.shape)
    along = np.einsum("ikn,in->ik", forces, intervals.step)
    along = np.where(np.isfinite(along), along, np.nan)
    value = along @ kronrod / 2
    gap = np.abs(value - along @ gauss / 2)
    return np.nan_to_num(value), np.where(np.isnan(gap), np.inf, gap), np.nan_to_num(np.abs(along) @ kronrod / 2)
