"""The spectrum of the Jacobian at an equilibrium, which decides whether and how fast a network settles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from energyc.runtime import BlockDescent, TransposedStep, prepared

#: The largest number of states with a dense Jacobian; above it Arnoldi's method finds the extreme eigenvalues.
LARGEST = 1500
#: The most step sizes tried in search of a stable one, as a share BELOW of the bound from the eigenvalues.
TRIES, BELOW = 12, 0.999
#: The shift of a state in a difference of two sweeps.
SHIFT = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of one sample.

    ``step_radius`` is the spectral radius of a step's derivative and ``largest_real_part`` that of the eigenvalues of
    J. ``departure_from_normality`` is ``|J^T J - J J^T| / |J|^2`` and ``asymmetry`` is ``|J - J^T| / |J|``, both in the
    Frobenius norm, and None if J is too large to be dense. ``stable_factor`` is the largest multiple of the step sizes
    with a radius under 1; None if none was found, or if the steps are already stable. ``held`` names the states whose
    sets are active there; sets are part of a step, not of J. ``move`` is what the network does, a step or a sweep; a
    sweep has no size.
    """

    size: int
    step_radius: float
    largest_real_part: float
    departure_from_normality: float | None
    asymmetry: float | None
    stable_factor: float | None = None
    held: tuple[str, ...] = ()
    move: str = "step"

    @property
    def sweeps(self) -> bool:
        """Whether the network moves by sweeps."""
        return self.move == "sweep"

    @property
    def estimated(self) -> bool:
        """Whether the eigenvalues are estimates by Arnoldi's method."""
        return self.asymmetry is None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    def steps_for(self, factor: float) -> float:
        """Return the number of steps that reduce an error by ``factor`` near the equilibrium; inf if none do."""
        if not 0 < self.step_radius < 1:
            return 1.0 if self.step_radius == 0 else math.inf
        return math.log(factor) / -math.log(self.step_radius)


def slowest(net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], step: tuple[float, ...]) -> Spectrum | None:
    """Return the spectrum of the slowest sample; None if the derivatives of any sample are not finite."""
    count = len(next(iter(states.values())))
    spectra = [spectrum(net, states, clamps, step, sample) for sample in range(count)]
    finite = [candidate for candidate in spectra if candidate is not None]
    return max(finite, key=_slowness) if len(finite) == count else None


def _slowness(spectrum: Spectrum) -> float:
    return math.inf if math.isnan(spectrum.step_radius) else spectrum.step_radius


def spectrum(
    net: Any,
    states: dict[str, Tensor],
    clamps: dict[str, Tensor],
    step: tuple[float, ...],
    sample: int = 0,
    largest: int = LARGEST,
) -> Spectrum | None:
    """Return the spectrum at the states of a sample, dense up to ``largest`` states and by Arnoldi's method above.

    None if the derivatives there are not finite.
    """
    at = Point(net, states, clamps, sample)
    try:
        return _dense(at, step) if at.size <= largest else _sparse(at, step)
    except _NotFiniteError:
        return None


class _NotFiniteError(Exception):
    """A derivative is not finite and so has no eigenvalues."""


def _finite(values: Tensor) -> Tensor:
    if not bool(values.isfinite().all()):
        raise _NotFiniteError
    return values


def _dense(at: Point, step: tuple[float, ...]) -> Spectrum:
    jacobian = _finite(at.jacobian())
    largest_real_part = float(torch.linalg.eigvals(jacobian).real.max())
    normalised = jacobian / (float(jacobian.norm()) or 1.0)
    normality = float((normalised.T @ normalised - normalised @ normalised.T).norm())
    asymmetry = float((normalised - normalised.T).norm())

    def eigenvalues(factor: float) -> list[complex]:
        derivative = _finite(at.stepped(at.units(), tuple(h * factor for h in step)))
        return [complex(value) for value in torch.linalg.eigvals(derivative).tolist()]

    radius, stable = _stability(eigenvalues, at.sweeps)
    return Spectrum(at.size, radius, largest_real_part, normality, asymmetry, stable, at.held(step), at.move)


def _sparse(at: Point, step: tuple[float, ...]) -> Spectrum:
    """Find the extreme eigenvalues by the implicitly restarted Arnoldi method (ARPACK, through SciPy)."""
    largest_real_part = max((value.real for value in _ritz(at, at.back, "LR")), default=math.nan)

    def eigenvalues(factor: float) -> list[complex]:
        sizes = tuple(h * factor for h in step)
        return _ritz(at, lambda v: at.stepped(v, sizes), "LM")

    radius, stable = _stability(eigenvalues, at.sweeps)
    return Spectrum(at.size, radius, largest_real_part, None, None, stable, at.held(step), at.move)


def _stability(eigenvalues_at: Callable[[float], list[complex]], sweeps: bool) -> tuple[float, float | None]:
    """Return the radius of a step and, if it is unstable and no sweep, a stable multiple of the step sizes.

    ``eigenvalues_at`` returns eigenvalues s of a step's derivative for a multiple of the step sizes. If that is scaled
    by f, s becomes 1 + f (s - 1), which is within the unit circle iff f < -2 Re(s - 1) / |s - 1|^2.
    """
    eigenvalues = eigenvalues_at(1.0)
    radius = max(map(abs, eigenvalues), default=math.nan)
    factor = 1.0
    for _ in range(0 if sweeps else TRIES):
        outside = [s for s in eigenvalues if abs(s) >= 1]
        if not outside:
            break
        bound = min(2 * (1 - s.real) / abs(s - 1) ** 2 if s != 1 else 0.0 for s in outside)
        factor *= BELOW * bound if bound > 0 else 0.5
        eigenvalues = eigenvalues_at(factor)
    stable = bool(eigenvalues) and max(map(abs, eigenvalues)) < 1
    return radius, factor if stable and radius >= 1 else None


def _ritz(at: Point, product: Any, which: str) -> list[complex]:
    """Return estimates of a few extreme eigenvalues, those to which Arnoldi's method converged."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    def apply(vector: Any) -> Any:
        row = torch.from_numpy(vector.reshape(1, -1)).to(at.net.device, at.net.dtype)
        return _finite(product(row))[0].cpu().numpy()

    operator = LinearOperator((at.size, at.size), matvec=apply, dtype="float64")
    start = torch.randn(at.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64).numpy()
    try:
        eigenvalues = eigs(operator, k=4, which=which, v0=start, tol=1e-4, maxiter=300, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        eigenvalues = error.eigenvalues
    return [complex(value) for value in eigenvalues]


class Point:
    """The states of one sample, and products of rows with the derivatives there."""

    def __init__(self, net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], sample: int) -> None:
        self.net = net
        self.states = [states[name][sample : sample + 1] for name in net.state_names]
        self.clamps = {name: value[sample : sample + 1] for name, value in clamps.items()}
        self.size = sum(x.numel() for x in self.states)
        self.sweeps = net.relax_solver == "blocks"
        self.move = "sweep" if self.sweeps else "step"

    def units(self) -> Tensor:
        """Return the unit matrix."""
        return torch.eye(self.size, device=self.net.device, dtype=self.net.dtype)

    def jacobian(self) -> Tensor:
        """Return the dense J."""
        return self.back(self.units())

    @torch.no_grad()
    def projection(self, step: tuple[float, ...]) -> Tensor:
        """Return the dense derivative of the projection after a step."""
        return self._projected(self.units(), step)

    def held(self, step: tuple[float, ...]) -> tuple[str, ...]:
        """Return the states with active sets, where the projection's derivative is not the identity."""
        if not self.net.constrained:
            return ()
        rows = torch.randn((1, self.size), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        rows = rows.to(self.net.device, self.net.dtype)
        off = torch.split((self._projected(rows, step) - rows).abs(), [x.numel() for x in self.states], 1)
        return tuple(name for name, part in zip(self.net.state_names, off, strict=True) if float(part.max()) > 1e-9)

    @torch.no_grad()
    def _projected(self, rows: Tensor, step: tuple[float, ...]) -> Tensor:
        """Multiply each row by the derivative of the projection."""
        here, fixed, seeds = self._at(rows)
        return _flattened(TransposedStep(self.net, here, fixed, seeds, step).seeds, here)

    @torch.no_grad()
    def back(self, rows: Tensor) -> Tensor:
        """Multiply each row by J."""
        here, fixed, seeds = self._at(rows)
        return _flattened(self.net._force_adjoint(here, fixed, seeds), here)

    @torch.no_grad()
    def stepped(self, rows: Tensor, step: tuple[float, ...]) -> Tensor:
        """Multiply each row by a matrix with the eigenvalues of a projected step; or by the derivative of a sweep."""
        here, fixed, seeds = self._at(rows)
        if self.sweeps:
            return self._swept(here, fixed, seeds, step)
        return TransposedStep(self.net, here, fixed, seeds, step).push(rows)

    def _swept(self, here: list[Tensor], fixed: Any, rows: list[Tensor], step: tuple[float, ...]) -> Tensor:
        """Multiply each row by the derivative of a sweep, by central differences."""
        ends = [[x + sign * SHIFT * row for x, row in zip(here, rows, strict=True)] for sign in (1, -1)]
        for end in ends:
            BlockDescent(self.net).step_(end, fixed, step)
        return _flattened([(p - m) / (2 * SHIFT) for p, m in zip(*ends, strict=True)], here)

    def _at(self, rows: Tensor) -> tuple[list[Tensor], Any, list[Tensor]]:
        count = len(rows)
        here = [x.expand(count, *x.shape[1:]) for x in self.states]
        fixed = prepared(self.net, {n: v.expand(count, *v.shape[1:]) for n, v in self.clamps.items()})
        parts = torch.split(rows, [x.numel() for x in self.states], 1)
        return here, fixed, [part.reshape(x.shape) for part, x in zip(parts, here, strict=True)]


def _flattened(parts: Any, states: list[Tensor]) -> Tensor:
    return torch.cat(
        [(torch.zeros_like(x) if p is None else p).reshape(len(x), -1) for p, x in zip(parts, states, strict=True)], 1
    )
