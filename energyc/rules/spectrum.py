"""The Jacobian of the force at an equilibrium: what decides whether and how fast a network settles."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

#: Above so many states the Jacobian is not made dense: its extreme eigenvalues are found by Arnoldi's method.
LARGEST = 1500
#: Step sizes tried, at most, in search of the largest stable one.
HALVINGS = 12


@dataclass(frozen=True)
class Spectrum:
    """Of one sample: the spectral radius of a step's derivative, the largest real part of the eigenvalues of J,
    the departure from normality ``|J^T J - J J^T| / |J|^2``, and the asymmetry ``|J - J^T| / |J|`` (Frobenius norms;
    None where J was too large to be made dense).

    ``stable_factor`` is the largest multiple of the step sizes with a radius under 1; None where there is none, or
    where it was not looked for because the steps are stable as they are.
    """

    size: int
    step_radius: float
    largest_real_part: float
    departure_from_normality: float | None
    asymmetry: float | None
    stable_factor: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)

    def steps_for(self, factor: float) -> float:
        """How many steps make an error ``factor`` times smaller near the equilibrium; inf where none do."""
        if not 0 < self.step_radius < 1:
            return 1.0 if self.step_radius == 0 else math.inf
        return math.log(factor) / -math.log(self.step_radius)


def spectrum(
    net: Any,
    states: dict[str, Tensor],
    clamps: dict[str, Tensor],
    step: tuple[float, ...],
    sample: int = 0,
    largest: int = LARGEST,
) -> Spectrum:
    """The spectrum at one sample's states under given step sizes; dense up to ``largest`` states, by Arnoldi above."""
    at = _Point(net, states, clamps, sample)
    return _dense(at, step) if at.size <= largest else _sparse(at, step)


def _dense(at: _Point, step: tuple[float, ...]) -> Spectrum:
    units = torch.eye(at.size, device=at.net.device, dtype=at.net.dtype)
    jacobian = at.back(units)
    radius = _radius(at.stepped(units, step))
    norm = float(jacobian.norm()) or 1.0
    normality = float((jacobian.T @ jacobian - jacobian @ jacobian.T).norm()) / norm**2
    real = float(torch.linalg.eigvals(jacobian).real.max())
    asymmetry = float((jacobian - jacobian.T).norm()) / norm
    stable = _stable_factor(at, units, step) if radius >= 1 else None
    return Spectrum(at.size, radius, real, normality, asymmetry, stable)


def _radius(matrix: Tensor) -> float:
    return float(torch.linalg.eigvals(matrix).abs().max()) if bool(torch.isfinite(matrix).all()) else math.inf


def _stable_factor(at: _Point, units: Tensor, step: tuple[float, ...]) -> float | None:
    """Halve the steps until the radius is under 1, then bisect."""

    def stable(factor: float) -> bool:
        return _radius(at.stepped(units, tuple(h * factor for h in step))) < 1

    low = next((0.5**k for k in range(1, HALVINGS + 1) if stable(0.5**k)), None)
    if low is None:
        return None
    high = 2 * low
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def _sparse(at: _Point, step: tuple[float, ...]) -> Spectrum:
    """The extreme eigenvalues by implicitly restarted Arnoldi (ARPACK, through SciPy)."""
    real = _extreme(at, lambda v: at.back(v), "LR").real
    radius = abs(_extreme(at, lambda v: at.stepped(v, step), "LM"))
    return Spectrum(at.size, radius, real, None, None)


def _extreme(at: _Point, product: Any, which: str) -> complex:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    def apply(vector: Any) -> Any:
        row = torch.from_numpy(vector.reshape(1, -1)).to(at.net.device, at.net.dtype)
        return product(row)[0].cpu().numpy()

    operator = LinearOperator((at.size, at.size), matvec=apply, dtype="float64")
    start = torch.randn(at.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64).numpy()
    try:
        values = eigs(operator, k=4, which=which, v0=start, tol=1e-4, maxiter=300, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        values = error.eigenvalues
    key = (lambda v: v.real) if which == "LR" else abs
    return complex(max(values, key=key, default=complex(math.nan)))


class _Point:
    """One sample's states, and products with the transposed derivatives there; vectors are rows."""

    def __init__(self, net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], sample: int) -> None:
        self.net = net
        self.states = [states[name][sample : sample + 1] for name in net.state_names]
        self.clamps = {name: value[sample : sample + 1] for name, value in clamps.items()}
        self.size = sum(x.numel() for x in self.states)

    @torch.no_grad()
    def back(self, rows: Tensor) -> Tensor:
        """Each row times J."""
        here, fixed, seeds = self._at(rows)
        return _flat(self.net._force_adjoint(here, fixed, seeds), here)

    @torch.no_grad()
    def stepped(self, rows: Tensor, step: tuple[float, ...]) -> Tensor:
        """Each row times the derivative of a projected step."""
        here, fixed, seeds = self._at(rows)
        through, pushed = self.net._pulled(here, fixed, seeds, step)
        return _flat(through, here) + _flat(self.net._force_adjoint(here, fixed, pushed), here)

    def _at(self, rows: Tensor) -> tuple[list[Tensor], Any, list[Tensor]]:
        count = len(rows)
        here = [x.expand(count, *x.shape[1:]) for x in self.states]
        fixed = self.net._fixed({n: v.expand(count, *v.shape[1:]) for n, v in self.clamps.items()})
        parts = torch.split(rows, [x.numel() for x in self.states], 1)
        return here, fixed, [part.reshape(x.shape) for part, x in zip(parts, here, strict=True)]


def _flat(parts: Any, states: list[Tensor]) -> Tensor:
    return torch.cat(
        [(torch.zeros_like(x) if p is None else p).reshape(len(x), -1) for p, x in zip(parts, states, strict=True)], 1
    )
