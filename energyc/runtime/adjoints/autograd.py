"""A network inside a host network: its readouts at equilibrium as one operation of autograd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import Function

from energyc.runtime.convergence.settled import warn_unsettled
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.inputs import fixed_by, starting_states
from energyc.runtime.equations.records import Fixed, FreePhase, Phase
from energyc.runtime.relaxation.free_phase import settle
from energyc.runtime.tensors.states import filled


class Way(Protocol):
    """A way through a network for autograd: how it settles, and what its slopes are.

    ``at_rest``: they are those of an equilibrium, so that a network which does not settle is warned of.
    """

    at_rest: bool

    def settle(self, net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase, /) -> tuple[FreePhase, Any]:
        """The free phase, and what is kept of its steps."""

    def slopes(self, ctx: Any, cotangents: list[Tensor], /) -> list[dict[str, Tensor]]:
        """Slopes by params and clamps, of the slopes ``cotangents`` by the last states."""


class HostCall(NamedTuple):
    """A call of a network by its host: how it relaxes, and the ``names`` of the clamps that may be differentiated.

    ``back``: whether there is a way back, for which steps may have to be kept.
    """

    net: Equations
    clamps: Mapping[str, Tensor]
    start: Mapping[str, Tensor] | None
    way: Way
    phase: Phase
    names: list[str]
    back: bool


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
        ctx.starts_by_itself, ctx.way = call.start is None, call.way
        relax = ctx.way.settle if call.back else settled_alone
        free, ctx.trajectory = relax(net, states, fixed, call.phase)
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
            slopes = [direct, *ctx.way.slopes(ctx, filled(back, ctx.states))]
            found = [*totals(slopes, ctx.names), *totals(slopes, net._owners())]
        if torch.is_grad_enabled():  # create_graph
            found = differentiable_no_further(net.name, [*inputs, *cotangents], found)
        return None, *found


class GradientFunction(Function):
    """Gradients as they are, with what they depend on: another derivative of them is an error, not a wrong number."""

    @staticmethod
    def forward(ctx: Any, name: str, count: int, *tensors: Tensor) -> Any:
        """The tensors from the number ``count`` on; those before are what they depend on."""
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
    """Slopes that refuse to be differentiated by what they depend on; without that, autograd would take them for 0."""
    causes = [x for x in causes if isinstance(x, Tensor) and x.requires_grad]
    known = [x for x in slopes if x is not None]
    if not causes or not known:
        return slopes
    marked = iter(GradientFunction.apply(name, len(causes), *causes, *known))
    return [None if x is None else next(marked) for x in slopes]


def relaxed_inside(
    net: Equations,
    clamps: Mapping[str, Tensor],
    way: Way,
    phase: Phase,
    states: Mapping[str, Tensor] | None = None,
) -> tuple[FreePhase, list[Tensor]]:
    """A free phase and the readouts at its end, through which autograd goes by a ``way``.

    It starts from ``states``, which are constants to autograd, or from the spec's own. Where the way is that of an
    equilibrium, samples that do not settle are warned of. Raises ValueError for noise that asks for a gradient.
    """
    asking = [name for name in net.noise_shapes if name in clamps and clamps[name].requires_grad]
    if asking:
        raise ValueError(f"the noise {asking[0]} of {net.name} has no gradient: declare it a clamp, or detach it")
    names = [name for name, (_, classes) in net.clamp_shapes.items() if classes is None and name in clamps]
    inputs = [clamps[name] for name in names]
    call = HostCall(net, clamps, states, way, phase, names, torch.is_grad_enabled())
    values = EquilibriumFunction.apply(call, *inputs, *net._owners().values())
    count = len(net.readout_names)
    residual, steps, frozen, step, *ends = values[count:]
    free = FreePhase(ends, residual, steps, frozen, step)
    if way.at_rest:
        warn_unsettled(net, free, phase.tolerance)
    return free, list(values[:count])


def settled_alone(net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase) -> tuple[FreePhase, None]:
    """The free phase, of which nothing else is kept."""
    return settle(net, states, fixed, phase), None


def totals(parts: list[dict[str, Tensor]], names: Iterable[str]) -> list[Tensor | None]:
    """For each name the sum of the parts that have it, or None."""
    values = ([part[name] for part in parts if name in part] for name in names)
    return [sum(own[1:], own[0]) if own else None for own in values]
