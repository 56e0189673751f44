"""Autograd through the recorded steps of a free phase."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed, FreePhase, Phase
from energyc.runtime.relaxation.backward import StepSums
from energyc.runtime.relaxation.stretches import went_back
from energyc.runtime.relaxation.trajectory import Trajectory, settle_recorded, steps_back


@part("differentiation", "bptt")
class ThroughSteps:
    """Autograd through all steps of the free phase, the start included."""

    at_rest = False

    @staticmethod
    def settle(net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase) -> tuple[FreePhase, Trajectory]:
        """The free phase, and its steps."""
        return settle_recorded(net, states, fixed, phase)

    @staticmethod
    def slopes(ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Slopes by params and clamps of cotangents ``cotangents`` of the last states."""
        net, fixed, slopes, totals = ctx.net, ctx.fixed, [], StepSums(len(cotangents[0]))
        apart = [name for name in ctx.names if name not in net.summed]
        trajectory = ctx.trajectory
        if net.retraced and not apart:
            trajectory, cotangents = went_back(net, trajectory, cotangents, fixed, ctx.phase, totals)
        for step in steps_back(net, trajectory, cotangents, fixed, ctx.phase):
            cotangents = step.cotangents
            totals.add_(step)
            part = net._clamp_gradient(step.states, step.fixed, step.pushed) if apart else {}
            part = {name: slope for name, slope in part.items() if name in apart}
            slopes.append(spread(part, step.rows, len(cotangents[0])))
        slopes += [totals.gradient(net, fixed), net._sums_clamp_gradient(fixed, totals.sums) if totals.sums else {}]
        if not ctx.starts_by_itself:
            return slopes
        return [*slopes, net._start_vjp(fixed, net._project_adjoint(net._start(fixed), cotangents))]


def spread(parts: dict[str, Tensor], rows: Tensor | None, batch: int) -> dict[str, Tensor]:
    """Tensors of some samples as tensors of the whole batch, zeros for the other samples."""
    if rows is None:
        return parts
    return {name: part.new_zeros((batch, *part.shape[1:])).index_copy_(0, rows, part) for name, part in parts.items()}
