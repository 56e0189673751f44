"""Rules of a clamped phase: some states are held where the targets say, the others relax around them."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, FreePhase, Phase, RuleSettings, not_exploded, restricted
from ..nudging.contrast import energy_contrast
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "chl",
    place=120,
    exact="gradient",
    needs=("clamped",),
    objective="E(clamped) - E(free)",
    instead="centered-ep",
)
def chl(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Contrastive Hebbian learning (Movellan 1991), with z^c the equilibrium whose outputs are held at the targets.

        d/dtheta (E(z^c) - E(z*)) = dE/dtheta(z^c) - dE/dtheta(z*)

    Both phases rest where the energy is critical in what moves, so that their displacements have no share in it. It is
    not the gradient of the cost, but that of the error in the metric of the energy where the error is small.
    """
    free, clamped = free_and_clamped_phases(net, start, fixed, targets, settings.free)
    kept, at, states, held = common_samples(free, clamped, fixed)
    slopes = [energy_contrast(net, held, states, at)]
    return Estimate(free, slopes, kept, health={"clamped": clamped.residual})


@rule(
    "predictive-coding",
    place=130,
    exact="gradient",
    needs=("clamped", "slopes", "predictions"),
    objective="E(clamped)",
    instead="chl",
)
def predictive_coding(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Predictive coding (Whittington and Bogacz 2017), z^c the equilibrium whose outputs are held at the targets.

        d/dtheta E(z^c) = dE/dtheta(z^c)

    E is the sum of squared prediction errors, all of which vanish in a free phase. It is not the gradient of the cost,
    and tends to it where the outputs are predicted with little precision beside the other states.
    """
    free, clamped = free_and_clamped_phases(net, start, fixed, targets, settings.free)
    kept, at, _, held = common_samples(free, clamped, fixed)
    slopes = [net._descent_gradient(held, at)]
    return Estimate(free, slopes, kept, health={"clamped": clamped.residual})


def run_clamped_phase(net: Equations, free: Tensors, fixed: Fixed, targets: Tensors, phase: Phase) -> FreePhase:
    """Run the phase from the free states on, the clamped ones held: a state whose step size is 0 does not move.

    It stops as a free phase does. Raises ValueError for a value that is not on the set of its state.
    """
    held = net._clamped(fixed, targets)
    states = [x.clone() if value is None else value.to(x).clone() for x, value in zip(free, held)]
    check_on_sets(net, states)
    step = tuple(h if value is None else 0.0 for h, value in zip(phase.step, held))
    ended = run_free_phase(net, [x.clone() for x in states], fixed, phase._replace(step=step))
    still = [x if value is None else y for x, y, value in zip(ended.states, states, held)]
    return ended._replace(states=still)


def check_on_sets(net: Equations, states: Tensors) -> None:
    """Raise ValueError for a state that its projection moves by more than rounding."""
    if not net.constrained:
        return
    projected = [x.clone() for x in states]
    net._project_(projected)
    for name, x, nearest in zip(net.state_names, states, projected):
        if not torch.allclose(x, nearest, rtol=1e-4, atol=1e-5):
            raise ValueError(f"{name} is clamped off its set, by {float((x - nearest).abs().max()):.3g}")


def free_and_clamped_phases(
    net: Equations, start: Tensors, fixed: Fixed, targets: Tensors, phase: Phase
) -> tuple[FreePhase, FreePhase]:
    """Run the free phase, whose residual becomes the larger one of both, and the clamped phase.

    A sample takes part in a contrast where both converged.
    """
    with net._contrasting():
        free = run_free_phase(net, list(start), fixed, phase)
        clamped = run_clamped_phase(net, free.states, fixed, targets, phase)
    return free._replace(residual=torch.maximum(free.residual, clamped.residual)), clamped


def common_samples(
    free: FreePhase, clamped: FreePhase, fixed: Fixed
) -> tuple[torch.Tensor, Fixed, list[torch.Tensor], list[torch.Tensor]]:
    """Return which samples have both phases ended, what is fixed for them, and their free and clamped states."""
    kept = not_exploded(free) & not_exploded(clamped)
    at, (states, held) = restricted(kept, fixed, free.states, clamped.states)
    return kept, at, states, held
