"""The Jacobian of the force at an equilibrium: what decides whether and how fast a network settles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

LARGEST = 1500


@dataclass(frozen=True)
class Spectrum:
    """Of one sample: the spectral radius of a step's derivative, the largest real part of the eigenvalues of J,
    the departure from normality ``|J^T J - J J^T| / |J|^2``, and the asymmetry ``|J - J^T| / |J|`` (Frobenius norms).
    """

    size: int
    step_radius: float
    largest_real_part: float
    departure_from_normality: float
    asymmetry: float

    def to_json(self) -> dict[str, float]:
        """As plain numbers."""
        return asdict(self)


def spectrum(net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], step: tuple[float, ...], sample: int = 0) -> Spectrum | None:
    """The spectrum at one sample's states; None where there are more than 1,500 of them (the Jacobian is made dense)."""
    size = sum(states[name][0].numel() for name in net.state_names)
    if size > LARGEST:
        return None
    jacobian, stepped = _dense(net, states, clamps, step, sample, size)
    eigenvalues = torch.linalg.eigvals(jacobian)
    norm = float(jacobian.norm()) or 1.0
    normality = float((jacobian.T @ jacobian - jacobian @ jacobian.T).norm()) / norm**2
    return Spectrum(
        size,
        float(torch.linalg.eigvals(stepped).abs().max()),
        float(eigenvalues.real.max()),
        normality,
        float((jacobian - jacobian.T).norm()) / norm,
    )


def _dense(net: Any, states: dict[str, Tensor], clamps: dict[str, Tensor], step: tuple[float, ...], sample: int, size: int) -> tuple[Tensor, Tensor]:
    """J and the derivative of a step, row by row: each row is J^T applied to a unit vector."""
    with torch.no_grad():
        here = [states[name][sample : sample + 1].expand(size, *states[name].shape[1:]) for name in net.state_names]
        fixed = net._fixed({name: value[sample : sample + 1].expand(size, *value.shape[1:]) for name, value in clamps.items()})
        units = torch.eye(size, device=net.device, dtype=net.dtype)
        shapes = [states[name].shape[1:] for name in net.state_names]
        parts = units.split([shape.numel() for shape in shapes], 1)
        seeds = [part.reshape(size, *shape) for part, shape in zip(parts, shapes, strict=True)]
        rows = _flat(net._force_adjoint(here, fixed, seeds), here)
        through, pushed = net._pulled(here, fixed, seeds, step)
        stepped = _flat(through, here) + _flat(net._force_adjoint(here, fixed, pushed), here)
    return rows.double(), stepped.double()


def _flat(parts: Any, states: list[Tensor]) -> Tensor:
    return torch.cat([(torch.zeros_like(x) if p is None else p).reshape(len(x), -1) for p, x in zip(parts, states, strict=True)], 1)
