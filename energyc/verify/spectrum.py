"""The Jacobian of the force at an equilibrium: what decides whether and how fast a network settles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from energyc.runtime.adjoint import project_back
from energyc.runtime.inputs import prepared

#: Above so many states the Jacobian is not made dense: its extreme eigenvalues are found by Arnoldi's method.
LARGEST = 1500
#: Step sizes tried, at most, in search of a stable one, and how far below the bound of the eigenvalues they stay.
TRIES, BELOW = 12, 0.999


@dataclass(frozen=True)
class Spectrum:
    """Of one sample: the spectral radius of a step's derivative, the largest real part of the eigenvalues of J,
    the departure from normality ``|J^T J - J J^T| / |J|^2``, and the asymmetry ``|J - J^T| / |J|`` (Frobenius norms;
    None where J was too large to be made dense).

    ``stable_factor`` is the largest multiple of the step sizes with a radius under 1; None where none was found, or
    where it was not looked for because the steps are stable as they are. ``held`` names the states whose sets act
    there; sets are part of a step, and not of J.
    """

    size: int
    step_radius: float
    largest_real_part: float
    departure_from_normality: float | None
    asymmetry: float | None
    stable_factor: float | None = None
    held: tuple[str, ...] = ()

    @property
    def estimated(self) -> bool:
        """Whether the eigenvalues are Arnoldi's estimates of the extreme ones."""
        return self.asymmetry is None

    def to_json(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)

    def steps_for(self, factor: float) -> float:
        """How many steps make an error ``factor`` times smaller near the equilibrium; inf where none do."""
        if not 0 < self.step_radius < 1:
            return 1.0 if self.step_radius == 0 else math.inf
        return math.log(factor) / -math.log(self.step_radius)


def slowest(net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], step: tuple[float, ...]) -> Spectrum | None:
    """The spectrum at the sample that settles last; None where a sample's derivatives are not finite."""
    count = len(next(iter(states.values())))
    found = [spectrum(net, states, clamps, step, sample) for sample in range(count)]
    known = [at for at in found if at is not None]
    return max(known, key=_slowness) if len(known) == count else None


def _slowness(found: Spectrum) -> float:
    return math.inf if math.isnan(found.step_radius) else found.step_radius


def spectrum(
    net: Any,
    states: dict[str, Tensor],
    clamps: dict[str, Tensor],
    step: tuple[float, ...],
    sample: int = 0,
    largest: int = LARGEST,
) -> Spectrum | None:
    """The spectrum at one sample's states under given step sizes; dense up to ``largest`` states, by Arnoldi above.

    None where the derivatives there are not finite.
    """
    at = Point(net, states, clamps, sample)
    try:
        return _dense(at, step) if at.size <= largest else _sparse(at, step)
    except _NotFiniteError:
        return None


class _NotFiniteError(Exception):
    """A derivative is not finite: it has no eigenvalues."""


def _finite(values: Tensor) -> Tensor:
    if not bool(values.isfinite().all()):
        raise _NotFiniteError
    return values


def _dense(at: Point, step: tuple[float, ...]) -> Spectrum:
    jacobian = _finite(at.jacobian())
    real = float(torch.linalg.eigvals(jacobian).real.max())
    unit = jacobian / (float(jacobian.norm()) or 1.0)
    normality = float((unit.T @ unit - unit @ unit.T).norm())
    asymmetry = float((unit - unit.T).norm())

    def values(factor: float) -> list[complex]:
        moved = _finite(at.stepped(at.units(), tuple(h * factor for h in step)))
        return [complex(value) for value in torch.linalg.eigvals(moved).tolist()]

    radius, stable = _stability(values)
    return Spectrum(at.size, radius, real, normality, asymmetry, stable, at.held(step))


def _sparse(at: Point, step: tuple[float, ...]) -> Spectrum:
    """The extreme eigenvalues by implicitly restarted Arnoldi (ARPACK, through SciPy)."""
    real = max((value.real for value in _ritz(at, at.back, "LR")), default=math.nan)

    def values(factor: float) -> list[complex]:
        sizes = tuple(h * factor for h in step)
        return _ritz(at, lambda v: at.stepped(v, sizes), "LM")

    radius, stable = _stability(values)
    return Spectrum(at.size, radius, real, None, None, stable, at.held(step))


def _stability(values: Callable[[float], list[complex]]) -> tuple[float, float | None]:
    """The radius of a step, and the multiple of the step sizes that is stable where the step is not.

    ``values`` gives eigenvalues s of a step's derivative under a multiple of the step sizes. With another multiple f of
    those, s becomes 1 + f (s - 1), and is within the unit circle iff f < -2 Re(s - 1) / |s - 1|^2.
    """
    found = values(1.0)
    radius = max(map(abs, found), default=math.nan)
    factor = 1.0
    for _ in range(TRIES):
        outside = [s for s in found if abs(s) >= 1]
        if not outside:
            break
        bound = min(2 * (1 - s.real) / abs(s - 1) ** 2 if s != 1 else 0.0 for s in outside)
        factor *= BELOW * bound if bound > 0 else 0.5
        found = values(factor)
    stable = bool(found) and max(map(abs, found)) < 1
    return radius, factor if stable and radius >= 1 else None


def _ritz(at: Point, product: Any, which: str) -> list[complex]:
    """Estimates of a few extreme eigenvalues; none where Arnoldi's method did not converge to any."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    def apply(vector: Any) -> Any:
        row = torch.from_numpy(vector.reshape(1, -1)).to(at.net.device, at.net.dtype)
        return _finite(product(row))[0].cpu().numpy()

    operator = LinearOperator((at.size, at.size), matvec=apply, dtype="float64")
    start = torch.randn(at.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64).numpy()
    try:
        values = eigs(operator, k=4, which=which, v0=start, tol=1e-4, maxiter=300, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        values = error.eigenvalues
    return [complex(value) for value in values]


class Point:
    """One sample's states, and products with the transposed derivatives there; vectors are rows."""

    def __init__(self, net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], sample: int) -> None:
        self.net = net
        self.states = [states[name][sample : sample + 1] for name in net.state_names]
        self.clamps = {name: value[sample : sample + 1] for name, value in clamps.items()}
        self.size = sum(x.numel() for x in self.states)

    def units(self) -> Tensor:
        """The unit matrix."""
        return torch.eye(self.size, device=self.net.device, dtype=self.net.dtype)

    def jacobian(self) -> Tensor:
        """J, dense."""
        return self.back(self.units())

    @torch.no_grad()
    def projection(self, step: tuple[float, ...]) -> Tensor:
        """The derivative of the projection after a step, dense."""
        return self._projected(self.units(), step)

    def held(self, step: tuple[float, ...]) -> tuple[str, ...]:
        """The states whose sets act: where the projection's derivative is not the identity."""
        if not self.net.constrained:
            return ()
        rows = torch.randn((1, self.size), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        rows = rows.to(self.net.device, self.net.dtype)
        off = torch.split((self._projected(rows, step) - rows).abs(), [x.numel() for x in self.states], 1)
        return tuple(name for name, part in zip(self.net.state_names, off, strict=True) if float(part.max()) > 1e-9)

    @torch.no_grad()
    def _projected(self, rows: Tensor, step: tuple[float, ...]) -> Tensor:
        """Each row times the derivative of the projection."""
        here, fixed, seeds = self._at(rows)
        return _flat(project_back(self.net, here, fixed, seeds, step)[0], here)

    @torch.no_grad()
    def back(self, rows: Tensor) -> Tensor:
        """Each row times J."""
        here, fixed, seeds = self._at(rows)
        return _flat(self.net._force_adjoint(here, fixed, seeds), here)

    @torch.no_grad()
    def stepped(self, rows: Tensor, step: tuple[float, ...]) -> Tensor:
        """Each row times the derivative of a projected step."""
        here, fixed, seeds = self._at(rows)
        through, pushed = project_back(self.net, here, fixed, seeds, step)
        return _flat(through, here) + _flat(self.net._force_adjoint(here, fixed, pushed), here)

    def _at(self, rows: Tensor) -> tuple[list[Tensor], Any, list[Tensor]]:
        count = len(rows)
        here = [x.expand(count, *x.shape[1:]) for x in self.states]
        fixed = prepared(self.net, {n: v.expand(count, *v.shape[1:]) for n, v in self.clamps.items()})
        parts = torch.split(rows, [x.numel() for x in self.states], 1)
        return here, fixed, [part.reshape(x.shape) for part, x in zip(parts, here, strict=True)]


def _flat(parts: Any, states: list[Tensor]) -> Tensor:
    return torch.cat(
        [(torch.zeros_like(x) if p is None else p).reshape(len(x), -1) for p, x in zip(parts, states, strict=True)], 1
    )
