"""Whether J is symmetric where a network rests, though its force was not proved to be a gradient.

A contrast of nudged phases tends to -J^-1 dC/dz where the gradient needs -J^-T dC/dz. At an equilibrium both are the
same if J is symmetric; on sets if P J P is, P the derivative of the projection; and for one cost if (J - J^T) a = 0, a
its adjoint. With a positive diagonal D such that D J is symmetric the network descends an energy there with a metric:
with D F as its force and steps divided by D it relaxes as before, and the contrast of that network is exact.
What is found holds at the equilibria that were measured, to the figure given; nothing is proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from energyc.runtime.adjoint import solve_adjoint
from energyc.runtime.inputs import ordered_targets, prepared
from energyc.runtime.states import filled, flatten
from energyc.verify.probe import Probe
from energyc.verify.spectrum import LARGEST, Point

#: A relative asymmetry below counts as none, and coupling below it as none.
SYMMETRIC = 1e-9


@dataclass(frozen=True)
class Symmetry:
    """Relative asymmetries |A - A^T| / |A| in the Frobenius norm, the worst of the samples.

    ``jacobian`` is that of J; ``on_sets`` of P J P, None where no set acts; ``for_cost`` is |(J - J^T) a| / (|J| |a|)
    of the cost's adjoint a, on sets if any. ``metric`` maps states to positive factors of their forces, one or one a
    coordinate, with which the asymmetry is ``in_metric``; they begin with 1 at the first state that the cost reads.
    """

    jacobian: float
    on_sets: float | None
    for_cost: float
    metric: dict[str, tuple[float, ...]]
    in_metric: float

    @property
    def exact(self) -> str:
        """Why the contrast is exact at these equilibria: ``jacobian``, ``sets``, ``cost``; or empty."""
        if self.jacobian < SYMMETRIC:
            return "jacobian"
        if self.on_sets is not None and self.on_sets < SYMMETRIC:
            return "sets"
        return "cost" if self.for_cost < SYMMETRIC else ""

    @property
    def symmetrisable(self) -> bool:
        """Whether it is symmetric in the metric."""
        return self.in_metric < SYMMETRIC

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "exact": self.exact, "symmetrisable": self.symmetrisable}


def symmetry(net: Any, states: dict[str, Tensor], probe: Probe, step: tuple[float, ...]) -> Symmetry | None:
    """Measure J at equilibria; None where it is too large to be made dense, or not finite."""
    points = [Point(net, states, probe.clamps, k) for k in range(len(next(iter(states.values()))))]
    if points[0].size > LARGEST:
        return None
    jacobians, projections = [at.jacobian() for at in points], [at.projection(step) for at in points]
    if not all(bool(m.isfinite().all()) for m in (*jacobians, *projections)):
        return None
    held = any(distance_from_unit(p) > SYMMETRIC for p in projections)
    tangents = [p @ j @ p.T for p, j in zip(projections, jacobians, strict=True)]
    adjoints, seen = _adjoints(net, states, probe, step)
    metric = _metric(tangents, [states[name][0].numel() for name in net.state_names], seen, held)
    return Symmetry(
        max(map(asymmetry, jacobians)),
        max(map(asymmetry, tangents)) if held else None,
        max(_on(t, a) for t, a in zip(tangents, adjoints, strict=True)),
        {name: _plain(factors) for name, factors in zip(net.state_names, metric, strict=True)},
        _in_metric(tangents, metric),
    )


def asymmetry(matrix: Tensor) -> float:
    """|A - A^T| / |A|."""
    return float((matrix - matrix.T).norm()) / (float(matrix.norm()) or 1.0)


def distance_from_unit(matrix: Tensor) -> float:
    """The largest entry of A - I."""
    return float((matrix - torch.eye(len(matrix)).to(matrix)).abs().max())


def _on(matrix: Tensor, vector: Tensor) -> float:
    """|(A - A^T) v| / (|A| |v|); infinite for no vector, of which nothing follows."""
    if not float(vector.norm()):
        return math.inf
    return float(((matrix - matrix.T) @ vector).norm()) / (float(matrix.norm() * vector.norm()) or 1.0)


def _plain(factors: Tensor) -> tuple[float, ...]:
    """One factor where all are the same."""
    values: list[float] = factors.tolist()
    return tuple(values[:1] if max(values) < min(values) * (1 + SYMMETRIC) else values)


def _adjoints(net: Any, states: dict[str, Tensor], probe: Probe, step: tuple[float, ...]) -> tuple[Tensor, int]:
    """The cost's adjoint of each sample in a row, and the first state that the cost reads."""
    at = [states[name] for name in net.state_names]
    with torch.no_grad():
        fixed = prepared(net, probe.clamps)
        slopes = net._cost_force(at, fixed, ordered_targets(net, probe.targets, fixed))
        adjoint = flatten(solve_adjoint(net, at, fixed, filled(slopes, at), step))
    return adjoint, next((k for k, slope in enumerate(slopes) if slope is not None), 0)


def _metric(matrices: Sequence[Tensor], sizes: Sequence[int], first: int, held: bool) -> list[Tensor]:
    """Factors of the coordinates of each state: one for all of a state, or one for each where that alone fits.

    On sets it is one for all: others would not commute with the projection.
    """
    factors = _factors(torch.stack([_block_norms(m, sizes) for m in matrices]).norm(dim=0), first)
    by_state = [f.expand(n) for f, n in zip(factors, sizes, strict=True)]
    if held or _in_metric(matrices, by_state) < SYMMETRIC:
        return by_state
    each = _factors(torch.stack(list(matrices)).norm(dim=0), sum(sizes[:first]))
    by_coordinate = list(torch.split(each, list(sizes)))
    return min(by_state, by_coordinate, key=lambda found: _in_metric(matrices, found))


def _in_metric(matrices: Sequence[Tensor], factors: Sequence[Tensor]) -> float:
    """The worst asymmetry of the matrices with their rows multiplied."""
    return max(asymmetry(torch.cat(list(factors))[:, None] * m) for m in matrices)


def _factors(sizes: Tensor, first: int) -> Tensor:
    """Factors d with which d_s A_st = d_t A_ts, by the sizes of the entries (or blocks) of A alone.

    They follow the strongest couplings from the first on (Prim's tree); one that is not coupled both ways has 1.
    """
    both, floor = torch.minimum(sizes, sizes.T), SYMMETRIC * float(sizes.max())
    factors, source = torch.ones(len(sizes)).to(sizes), torch.full((len(sizes),), first)
    left = torch.ones(len(sizes), dtype=torch.bool)
    best, left[first] = both[first].clone(), False
    while bool(left.any()):
        t = int(torch.where(left, best, -1.0).argmax())
        s, left[t] = int(source[t]), False
        if best[t] > floor:
            factors[t] = factors[s] * sizes[s, t] / sizes[t, s]
        nearer = both[t] > best
        best, source = torch.where(nearer, both[t], best), torch.where(nearer, t, source)
    return factors


def _block_norms(matrix: Tensor, sizes: Sequence[int]) -> Tensor:
    """The norm of the block of each pair of states."""
    rows = torch.split(matrix, list(sizes), 0)
    return torch.stack([torch.stack([part.norm() for part in torch.split(row, list(sizes), 1)]) for row in rows])
