"""Test whether J is symmetric at the equilibria of a network whose force was not proved to be a gradient.

A contrast of nudged phases tends to -J^-1 dC/dz where the gradient needs -J^-T dC/dz. At an equilibrium both are the
same if J is symmetric; on sets if P J P is, P the derivative of the projection; and for one cost if (J - J^T) a = 0, a
its adjoint. With a positive diagonal D such that D J is symmetric the network descends an energy there with a metric:
with D F as its force and steps divided by D it relaxes as before, and the contrast of that network is exact.
The result holds at the measured equilibria, to the measured accuracy; it is not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from energyc.running.training.feeds import Batch
from energyc.runtime import filled, flatten, ordered_targets, prepared, solve_adjoint
from energyc.studies.verify.spectrum import LARGEST, Point

#: A relative asymmetry or coupling below this counts as none.
SYMMETRIC = 1e-9


@dataclass(frozen=True)
class Symmetry:
    """Relative asymmetries |A - A^T| / |A| in the Frobenius norm, the largest of the samples.

    ``jacobian`` is that of J, and ``on_sets`` that of P J P; None if no set is active. ``for_cost`` is
    |(J - J^T) a| / (|J| |a|) for the cost's adjoint a, on active sets. ``metric`` maps each state to positive factors
    of its force, one for the state or one for each coordinate, that make the asymmetry ``in_metric``; they start with 1
    at the first state that the cost reads.
    """

    jacobian: float
    on_sets: float | None
    for_cost: float
    metric: dict[str, tuple[float, ...]]
    in_metric: float

    @property
    def exact(self) -> str:
        """The reason why the contrast is exact at these equilibria: ``jacobian``, ``sets``, ``cost``, or empty."""
        if self.jacobian < SYMMETRIC:
            return "jacobian"
        if self.on_sets is not None and self.on_sets < SYMMETRIC:
            return "sets"
        return "cost" if self.for_cost < SYMMETRIC else ""

    @property
    def symmetrisable(self) -> bool:
        """Whether J is symmetric in the metric."""
        return self.in_metric < SYMMETRIC

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {**asdict(self), "exact": self.exact, "symmetrisable": self.symmetrisable}


def symmetry(net: Any, states: dict[str, Tensor], probe: Batch, step: tuple[float, ...]) -> Symmetry | None:
    """Measure the asymmetry of J at equilibria; None if J is too large to be dense, or not finite."""
    points = [Point(net, states, probe.clamps, k) for k in range(len(next(iter(states.values()))))]
    if points[0].size > LARGEST:
        return None
    jacobians, projections = [point.jacobian() for point in points], [point.projection(step) for point in points]
    if not all(bool(matrix.isfinite().all()) for matrix in (*jacobians, *projections)):
        return None
    on_sets = any(distance_from_unit(projection) > SYMMETRIC for projection in projections)
    tangents = [
        projection @ jacobian @ projection.T for projection, jacobian in zip(projections, jacobians, strict=True)
    ]
    adjoints, first = _adjoints(net, states, probe, step)
    metric = _metric(tangents, [states[name][0].numel() for name in net.state_names], first, on_sets)
    return Symmetry(
        max(map(asymmetry, jacobians)),
        max(map(asymmetry, tangents)) if on_sets else None,
        max(_asymmetry_on(tangent, adjoint) for tangent, adjoint in zip(tangents, adjoints, strict=True)),
        {name: _compact(factors) for name, factors in zip(net.state_names, metric, strict=True)},
        _asymmetry_in(tangents, metric),
    )


def asymmetry(matrix: Tensor) -> float:
    """Return |A - A^T| / |A|."""
    return float((matrix - matrix.T).norm()) / (float(matrix.norm()) or 1.0)


def distance_from_unit(matrix: Tensor) -> float:
    """Return the largest entry of |A - I|."""
    return float((matrix - torch.eye(len(matrix)).to(matrix)).abs().max())


def _asymmetry_on(matrix: Tensor, vector: Tensor) -> float:
    """Return |(A - A^T) v| / (|A| |v|); infinite if v is zero, which proves nothing."""
    if not float(vector.norm()):
        return math.inf
    return float(((matrix - matrix.T) @ vector).norm()) / (float(matrix.norm() * vector.norm()) or 1.0)


def _compact(factors: Tensor) -> tuple[float, ...]:
    """Return the factors, or only the first if all are equal."""
    values: list[float] = factors.tolist()
    return tuple(values[:1] if max(values) < min(values) * (1 + SYMMETRIC) else values)


def _adjoints(net: Any, states: dict[str, Tensor], probe: Batch, step: tuple[float, ...]) -> tuple[Tensor, int]:
    """Return the cost's adjoint of each sample as a row, and the index of the first state that the cost reads."""
    at = [states[name] for name in net.state_names]
    with torch.no_grad():
        fixed = prepared(net, probe.clamps)
        slopes = net._cost_force(at, fixed, ordered_targets(net, probe.targets, fixed))
        adjoint = flatten(solve_adjoint(net, at, fixed, filled(slopes, at), step))
    return adjoint, next((k for k, slope in enumerate(slopes) if slope is not None), 0)


def _metric(matrices: Sequence[Tensor], sizes: Sequence[int], first: int, on_sets: bool) -> list[Tensor]:
    """Return factors for the coordinates of each state: equal within a state, unless only unequal ones fit.

    They are equal on active sets, since unequal factors do not commute with the projection.
    """
    state_factors = _factors(torch.stack([_block_norms(matrix, sizes) for matrix in matrices]).norm(dim=0), first)
    by_state = [factor.expand(size) for factor, size in zip(state_factors, sizes, strict=True)]
    if on_sets or _asymmetry_in(matrices, by_state) < SYMMETRIC:
        return by_state
    coordinate_factors = _factors(torch.stack(list(matrices)).norm(dim=0), sum(sizes[:first]))
    by_coordinate = list(torch.split(coordinate_factors, list(sizes)))
    return min(by_state, by_coordinate, key=lambda factors: _asymmetry_in(matrices, factors))


def _asymmetry_in(matrices: Sequence[Tensor], factors: Sequence[Tensor]) -> float:
    """Return the largest asymmetry of the matrices with their rows multiplied by the factors."""
    return max(asymmetry(torch.cat(list(factors))[:, None] * matrix) for matrix in matrices)


def _factors(sizes: Tensor, first: int) -> Tensor:
    """Return factors d with d_s A_st = d_t A_ts, from the sizes of the entries or blocks of A alone.

    They follow the strongest couplings from ``first`` (Prim's algorithm); the factor of an entry that is not coupled
    both ways is 1.
    """
    coupling, floor = torch.minimum(sizes, sizes.T), SYMMETRIC * float(sizes.max())
    factors, source = torch.ones(len(sizes)).to(sizes), torch.full((len(sizes),), first)
    remaining = torch.ones(len(sizes), dtype=torch.bool)
    best, remaining[first] = coupling[first].clone(), False
    while bool(remaining.any()):
        t = int(torch.where(remaining, best, -1.0).argmax())
        s, remaining[t] = int(source[t]), False
        if best[t] > floor:
            factors[t] = factors[s] * sizes[s, t] / sizes[t, s]
        nearer = coupling[t] > best
        best, source = torch.where(nearer, coupling[t], best), torch.where(nearer, t, source)
    return factors


def _block_norms(matrix: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the norm of the block of each pair of states."""
    rows = torch.split(matrix, list(sizes), 0)
    return torch.stack([torch.stack([part.norm() for part in torch.split(row, list(sizes), 1)]) for row in rows])
