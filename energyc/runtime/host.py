"""A network inside a host network: its readouts at equilibrium as one operation of autograd."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from energyc.runtime.adjoint import solve_adjoint
from energyc.runtime.equations import Equations
from energyc.runtime.inputs import prepared, starting_states
from energyc.runtime.phases import settle
from energyc.runtime.records import FreePhase, Phase, Tensors
from energyc.runtime.states import filled
from energyc.runtime.trajectory import StepSums, settle_recorded, steps_back
from energyc.runtime.unrest import settled_within


class EquilibriumFunction(Function):
    """Readouts at equilibrium, differentiable in params and real clamps (no double backward).

    After them the free phase that led there, which is not differentiable: residual, steps, frozen, states.
    """

    @staticmethod
    def forward(
        ctx: Any, net: Equations, clamps: dict[str, Tensor], rule: str, phase: Phase, names: list[str], *_: Tensor
    ) -> Any:
        """Relax and read out, in the network's own dtype."""
        with torch.autocast(net.device.type, enabled=False):
            return EquilibriumFunction.relaxed(ctx, net, clamps, rule, phase, names)

    @staticmethod
    def relaxed(ctx: Any, net: Equations, clamps: dict[str, Tensor], rule: str, phase: Phase, names: list[str]) -> Any:
        """The answers and the free phase, and what the adjoint reads."""
        fixed = prepared(net, clamps)
        states = starting_states(net, None, fixed)
        ctx.trajectory = None
        if rule == "bptt":
            free, ctx.trajectory = settle_recorded(net, states, fixed, phase)
        else:
            free = settle(net, states, fixed, phase)
            warn_unsettled(net, free.residual)
        ctx.phase = phase._replace(step=free.step)
        ctx.net, ctx.names, ctx.fixed, ctx.states = net, names, fixed, free.states
        readouts = [x.detach() for x in net._readouts(free.states, fixed)]  # a state itself would keep ctx alive
        about = [free.residual, free.steps, free.frozen, free.step, *(x.detach() for x in free.states)]
        ctx.mark_non_differentiable(*(x for x in about if isinstance(x, Tensor)))
        return *readouts, *about

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *seeds: Tensor) -> Any:
        """The adjoint: the readouts' own slopes, then the equilibrium's or the steps'."""
        net = ctx.net
        with torch.autocast(net.device.type, enabled=False):
            back, direct = net._readout_pullback(ctx.states, ctx.fixed, seeds[: len(net.readout_names)])
            through = through_equilibrium if ctx.trajectory is None else through_steps
            slopes = [direct, *through(ctx, filled(back, ctx.states))]
        return (None, None, None, None, None, *totals(slopes, ctx.names), *totals(slopes, net._owners()))


def relaxed_inside(
    net: Equations, clamps: dict[str, Tensor], rule: str, phase: Phase
) -> tuple[FreePhase, list[Tensor]]:
    """A free phase and the readouts at its end, through which autograd goes by ``implicit`` or ``bptt``."""
    names = [name for name, (_, classes) in net.clamp_shapes.items() if classes is None]
    inputs = [clamps[name] for name in names if name in clamps]
    values = EquilibriumFunction.apply(net, clamps, rule, phase, names, *inputs, *net._owners().values())
    count = len(net.readout_names)
    residual, steps, frozen, step, *states = values[count:]
    return FreePhase(states, residual, steps, frozen, step), list(values[:count])


def warn_unsettled(net: Equations, residual: Tensor) -> None:
    """Warn, once for each wording, where samples did not settle: the gradient is then not that of an equilibrium."""
    if bool((residual <= settled_within(net.relax_tolerance)).all()):
        return
    if net.relax_tolerance is None:
        why = f"relax has no tolerance, so exactly {net.relax_steps} steps are made"
    else:
        why = f"relax.tolerance = {net.relax_tolerance:g} is not reached"
    message = f"{net.name} did not settle, and its gradient assumes that it did: {why}; its `unrest(clamps)` tries"
    warnings.warn(f"{message} what helps", RuntimeWarning, stacklevel=2)


def through_equilibrium(ctx: Any, seeds: Tensors) -> list[dict[str, Tensor]]:
    """Slopes by params and clamps of seeds on the equilibrium."""
    net, states, fixed = ctx.net, ctx.states, ctx.fixed
    pushed = solve_adjoint(net, states, fixed, seeds, ctx.phase.step)
    return [net._force_pullback(states, fixed, pushed)[1], net._clamp_gradient(states, fixed, pushed)]


def through_steps(ctx: Any, seeds: list[Tensor]) -> list[dict[str, Tensor]]:
    """Slopes by params and clamps of seeds on the end of the recorded steps."""
    net, fixed, slopes, totals = ctx.net, ctx.fixed, [], StepSums(len(seeds[0]))
    apart = [name for name in ctx.names if name not in net.summed]
    for step in steps_back(net, ctx.trajectory, seeds, fixed, ctx.phase):
        seeds = step.seeds
        totals.add_(step)
        part = net._clamp_gradient(step.states, step.fixed, step.pushed) if apart else {}
        part = {name: slope for name, slope in part.items() if name in apart}
        slopes.append(spread(part, step.rows, len(seeds[0])))
    seeds = net._project_adjoint(net._start(fixed), seeds)
    slopes += [totals.gradient(net, fixed), net._sums_clamp_gradient(fixed, totals.sums) if net.summed else {}]
    return [*slopes, net._start_pullback(fixed, seeds)]


def spread(parts: dict[str, Tensor], rows: Tensor | None, batch: int) -> dict[str, Tensor]:
    """What belongs to some samples as what belongs to all, zeros for the others."""
    if rows is None:
        return parts
    return {name: part.new_zeros((batch, *part.shape[1:])).index_copy_(0, rows, part) for name, part in parts.items()}


def totals(parts: list[dict[str, Tensor]], names: Iterable[str]) -> list[Tensor | None]:
    """For each name the sum of the parts that have it, or None."""
    values = ([part[name] for part in parts if name in part] for name in names)
    return [sum(own[1:], own[0]) if own else None for own in values]
