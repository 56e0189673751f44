"""The clamped phase: some states are held where the targets say, the others relax around them."""

from __future__ import annotations

import torch

from ..equations.equations import Equations
from ..equations.records import Fixed, FreePhase, Phase, not_exploded, restricted
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


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
