"""Holomorphic equilibrium propagation: nudges on a circle in the complex plane (Laborieux and Zenke 2022)."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..equations.equations import Equations, rule
from ..equations.inputs import given
from ..equations.records import Estimate, Fixed, FreePhase, Phase, RuleSettings, Slopes, not_exploded, restricted
from ..nudging.nudged_phases import NudgeMonitor
from ..nudging.strength import nudging_strength
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors, finite, norm, relative_change, subtract, unshared

#: The antisymmetric correction as a function of a real displacement.
RealCorrection = Callable[[Tensors], Sequence[Tensor | None]]
#: What is subtracted from a complex force, times the nudge.
ComplexNudge = Callable[[Tensors, Fixed, Tensors], list[Tensor | None]]


@rule(
    "holomorphic-ep",
    place=70,
    exact="gradient",
    needs=("contrast", "holomorphic"),
    settings=("radius", "points", "steps"),
    order=0,
    instead="holomorphic-aep",
)
def holomorphic_ep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Nudges on a circle of radius r in the complex plane (Laborieux and Zenke 2022).

        dC/dtheta = Re (1 / (N r)) sum_k exp(-2 pi i k / N) dE/dtheta(z(r exp(2 pi i k / N))) + O(r^N)

    A Cauchy sum for the derivative at beta = 0, which exists where the force is analytic; F must be a gradient, as in
    ``ep``.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return holomorphic_contrast(net, free, fixed, targets, settings)


@rule(
    "holomorphic-aep",
    place=80,
    exact="any",
    needs=("contrast", "correction", "held-correction", "holomorphic"),
    settings=("radius", "points", "steps"),
    order=0,
)
def holomorphic_aep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """``holomorphic-ep`` for any force: nudges on a circle with the correction of ``aep`` at z*.

    The correction is a real linear map, so that it acts on real and imaginary parts apart.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    held = net._hold(free.states, fixed)

    def correction(moved: Tensors) -> Sequence[Tensor | None]:
        return net._held_correction(held, fixed, moved)

    return holomorphic_contrast(net, free, fixed, targets, settings, correction)


class HolomorphicExtension(Protocol):
    """The holomorphic extension of a network: its equations on complex states."""

    dtype: torch.dtype

    def _prepare(self, *clamps: Tensor) -> Fixed: ...
    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]: ...
    def _cost_force(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]: ...
    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]: ...
    def _nudge(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]: ...
    def _descent_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]: ...
    def _project_(self, states: list[Tensor]) -> None: ...


def holomorphic_contrast(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    correction: RealCorrection | None = None,
) -> Estimate:
    """Return Cauchy sums over nudges r exp(2 pi i k / N): bias O(r^N).

    Conjugate nudges give conjugate states, so only half of the circle is run. The correction acts on real and imaginary
    parts separately; without one a network that descends its energies in a metric is nudged in that. Samples whose
    phases diverged take no part; ``leakage`` is what the circle's mean leaves of the displacement.
    """
    n = settings.points
    if settings.strength is None and net.radius is not None:
        settings = settings._replace(strength=net.radius)
    extension = net._extended()
    real_nudge, nudge, gradient = net._cost_force, extension._cost_force, extension._energy_gradient
    if net.descends and correction is None:
        real_nudge, nudge, gradient = net._nudge, extension._nudge, extension._descent_gradient
    with net._contrasting():
        radius = nudging_strength(net, free, fixed, targets, settings, n, nudge=real_nudge)
    extended = extension._prepare(*(as_complex(x, extension.dtype) for x in fixed[: given(net)]))
    aims = [as_complex(x, extension.dtype) for x in targets]
    phase = settings.nudge._replace(step=free.step)
    turns = [cmath.exp(2j * cmath.pi * k / n) for k in range(n // 2 + 1)]
    phases = [
        nudged_complex(net, extension, nudge, free.states, extended, aims, radius * turn, phase, correction)
        for turn in turns
    ]
    kept = not_exploded(free) & finite([z for states in phases for z in states])
    extended, phases = restricted(kept, extended, *phases)
    at, (states, wanted) = restricted(kept, fixed, free.states, targets)
    a = [torch.zeros_like(x) for x in states]
    middle = [torch.zeros_like(x) for x in states]
    energy: Slopes = {}
    for k, (turn, moved) in enumerate(zip(turns, phases)):
        weight = (1 if k in (0, n / 2) else 2) / (n * radius)
        for total, mean, z, x in zip(a, middle, moved, states):
            total -= weight * ((z - x) * turn.conjugate()).real
            mean += weight * radius * (z - x).real
        for name, slope in gradient(moved, extended).items():
            part = weight * (slope * turn.conjugate()).real
            energy[name] = energy[name] + part if name in energy else part
    leakage = torch.zeros_like(free.residual)
    leakage[kept] = norm(middle[0]) / (radius * norm(a[0])).clamp_min(1e-300)
    slopes = [energy, net._cost_gradient(states, at, wanted)]
    if not (net.descends and correction is None):
        slopes.insert(1, net._user_force_gradient(states, at, a))
    return Estimate(free, slopes, kept, a, radius, {"leakage": leakage})


def as_complex(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a real input as a complex one; integers stay as they are."""
    return x if x.dtype == torch.int64 else x.to(dtype)


def nudged_complex(
    net: Equations,
    extension: HolomorphicExtension,
    nudge: ComplexNudge,
    free: Tensors,
    fixed: Fixed,
    targets: Tensors,
    beta: complex,
    phase: Phase,
    correction: RealCorrection | None,
) -> list[Tensor]:
    """Return the states after a nudged phase with a complex beta."""
    states = [x.to(extension.dtype) for x in free]
    monitor = NudgeMonitor(phase, net.dtype)
    for k in monitor.steps():
        force = subtract(extension._force(states, fixed), nudge(states, fixed, targets), beta)
        if correction is not None:
            moved = [z - x for z, x in zip(states, free)]
            real, imaginary = correction([z.real for z in moved]), correction([z.imag for z in moved])
            parts = [None if r is None or i is None else torch.complex(r, i) for r, i in zip(real, imaginary)]
            force = subtract(force, parts)
        before = [z.clone() for z in states]
        for z, f, h in zip(states, unshared(force, states), phase.step):
            z.add_(f, alpha=h)
        extension._project_(states)
        if monitor.is_due(k) and monitor.has_converged(relative_change(states, before)):
            break
    return states
