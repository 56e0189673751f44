"""A network inside a host network: its readouts at equilibrium as one operation of autograd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from ..convergence.checks import warn_not_converged
from ..equations.equations import Equations
from ..equations.inputs import fixed_by, starting_states
from ..equations.records import FreePhase, Phase
from ..relaxation.solver import run_free_phase
from ..tensors.states import filled
from .differentiation import Differentiation


class HostCall(NamedTuple):
    """A call of a network by its host: how it relaxes, and the ``names`` of the clamps that may be differentiated.

    ``is_differentiated``: whether a backward pass may follow, for which steps may have to be kept.
    """

    net: Equations
    clamps: Mapping[str, Tensor]
    start: Mapping[str, Tensor] | None
    differentiation: Differentiation
    phase: Phase
    names: list[str]
    is_differentiated: bool


class EquilibriumFunction(Function):
    """Readouts at equilibrium, differentiable once in params and real clamps.

    After them the free phase that led there, which is not differentiable: residual, steps, frozen, states.
    """

    @staticmethod
    def forward(ctx: Any, call: HostCall, *inputs: Tensor) -> Any:
        """Relax and read out, in the network's own dtype."""
        with torch.autocast(call.net.device.type, enabled=False):
            given = EquilibriumFunction.relaxed(ctx, call)
        ctx.names = call.names
        ctx.save_for_backward(*inputs)
        return given

    @staticmethod
    def relaxed(ctx: Any, call: HostCall) -> Any:
        """The answers and the free phase, and what the adjoint reads."""
        net, fixed = call.net, fixed_by(call.net, call.clamps)
        states = starting_states(net, call.start, fixed)
        ctx.has_own_start, ctx.differentiation, ctx.trajectory = call.start is None, call.differentiation, None
        if call.is_differentiated:
            free, ctx.trajectory = call.differentiation.relax(net, states, fixed, call.phase)
        else:
            free = run_free_phase(net, states, fixed, call.phase)
        ctx.phase = call.phase._replace(step=free.step)
        ctx.net, ctx.fixed, ctx.states = net, fixed, free.states
        readouts = [x.detach() for x in net._readouts(free.states, fixed)]  # a state itself would keep ctx alive
        about = [free.residual, free.steps, free.frozen, free.step, *(x.detach() for x in free.states)]
        ctx.mark_non_differentiable(*(x for x in about if isinstance(x, Tensor)))
        return *readouts, *about

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        """The adjoint: the readouts' own slopes, then the equilibrium's or the steps'."""
        net, inputs = ctx.net, ctx.saved_tensors
        with torch.no_grad(), torch.autocast(net.device.type, enabled=False):
            back, direct = net._readout_vjp(ctx.states, ctx.fixed, cotangents[: len(net.readout_names)])
            slopes = [direct, *ctx.differentiation.slopes(ctx, filled(back, ctx.states))]
            found = [*totals(slopes, ctx.names), *totals(slopes, net._owners())]
        if torch.is_grad_enabled():  # create_graph
            found = differentiable_no_further(net.name, [*inputs, *cotangents], found)
        return None, *found


class GradientFunction(Function):
    """Gradients as they are, with what they depend on: another derivative of them is an error, not a wrong number."""

    @staticmethod
    def forward(ctx: Any, name: str, count: int, *tensors: Tensor) -> Any:
        """Return the tensors from the number ``count`` on; those before are what they depend on."""
        ctx.name = name
        return tuple(x.view_as(x) for x in tensors[count:])

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError(
            f"{ctx.name} is differentiated once: its gradient has no derivative (no double backward). Keep it out of "
            "the loss, or detach it; for a penalty on a Jacobian, gradients(..., penalty=...) has one of its own"
        )


def differentiable_no_further(name: str, causes: Iterable[Tensor], slopes: list[Tensor | None]) -> list[Tensor | None]:
    """Return slopes that refuse to be differentiated by their causes; autograd would take their derivatives for 0."""
    causes = [x for x in causes if isinstance(x, Tensor) and x.requires_grad]
    known = [x for x in slopes if x is not None]
    if not causes or not known:
        return slopes
    marked = iter(GradientFunction.apply(name, len(causes), *causes, *known))
    return [None if x is None else next(marked) for x in slopes]


def relaxed_inside(
    net: Equations,
    clamps: Mapping[str, Tensor],
    differentiation: Differentiation,
    phase: Phase,
    states: Mapping[str, Tensor] | None = None,
) -> tuple[FreePhase, list[Tensor]]:
    """Return a free phase and the readouts at its end, through which autograd goes by a ``differentiation``.

    It starts from ``states``, which are constants to autograd, or from the spec's own. Where the slopes are those of an
    equilibrium, samples that do not converge are warned of. Raises ValueError for noise that asks for a gradient.
    """
    asking = [name for name in net.noise_shapes if name in clamps and clamps[name].requires_grad]
    if asking:
        raise ValueError(f"the noise {asking[0]} of {net.name} has no gradient: declare it a clamp, or detach it")
    names = [name for name in net.clamp_shapes if name in clamps and clamps[name].requires_grad]
    inputs = [clamps[name] for name in names]
    call = HostCall(net, clamps, states, differentiation, phase, names, torch.is_grad_enabled())
    values = EquilibriumFunction.apply(call, *inputs, *net._owners().values())
    count = len(net.readout_names)
    residual, steps, frozen, step, *ends = values[count:]
    free = FreePhase(ends, residual, steps, frozen, step)
    if differentiation.assumes_equilibrium:
        warn_not_converged(net, free, phase.tolerance)
    return free, list(values[:count])


def totals(parts: list[dict[str, Tensor]], names: Iterable[str]) -> list[Tensor | None]:
    """Return for each name the sum of the parts that have it, or None."""
    values = ([part[name] for part in parts if name in part] for name in names)
    return [sum(own[1:], own[0]) if own else None for own in values]
