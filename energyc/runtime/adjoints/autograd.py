"""A network inside a host network: its readouts at equilibrium as one operation of autograd, and the ways through it.

Autograd goes through a relaxed network at its equilibrium, through its steps, or by the phases of a learning rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from ..convergence.checks import warn_not_converged
from ..equations.by_autograd import clamp_gradient, readout_vjp, start_vjp
from ..equations.equations import Equations, Estimator
from ..equations.inputs import fixed_by, rule_settings, starting_states
from ..equations.records import Estimate, Fixed, FreePhase, Phase, restricted, summed
from ..relaxation.solver import run_free_phase
from ..relaxation.trajectory import Trajectory, run_recorded
from ..tensors.states import filled
from ..tensors.warning import warn_caller
from .backpropagation import GradientSums, backpropagate_in_kernels, backward_steps
from .implicit import solve_adjoint


class Differentiation(ABC):
    """A way for autograd through a network: how the network relaxes, and what its slopes are.

    ``assumes_equilibrium``: the slopes are those of an equilibrium, so that a network which does not converge is warned
    of.
    """

    assumes_equilibrium = True

    def relax(
        self, net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase
    ) -> tuple[FreePhase, Trajectory | None]:
        """Run the free phase, and return what is kept of its steps: None."""
        return run_free_phase(net, states, fixed, phase), None

    @abstractmethod
    def slopes(self, ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Return slopes by params and clamps, of the slopes ``cotangents`` by the last states."""


class ImplicitDifferentiation(Differentiation):
    """Autograd by the implicit function theorem: the adjoint equation at the end of the free phase."""

    def slopes(self, ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Return slopes by params and clamps of cotangents of the equilibrium."""
        net, states, fixed = ctx.net, ctx.states, ctx.fixed
        pushed = solve_adjoint(net, states, fixed, cotangents, ctx.phase.step)
        of_clamps = clamp_gradient(net, states, fixed, pushed) if ctx.names else {}
        return [net._force_vjp(states, fixed, pushed)[1], net._kink_gradient(states, fixed, pushed), of_clamps]


class UnrolledDifferentiation(Differentiation):
    """Autograd through all steps of the free phase, the start included."""

    assumes_equilibrium = False

    def relax(
        self, net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase
    ) -> tuple[FreePhase, Trajectory | None]:
        """Run the free phase, and return its steps."""
        return run_recorded(net, states, fixed, phase)

    def slopes(self, ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Return slopes by params and clamps of cotangents of the last states."""
        net, fixed, slopes, totals = ctx.net, ctx.fixed, [], GradientSums(len(cotangents[0]))
        at_each_step = [name for name in ctx.names if name not in net.summed]
        trajectory = ctx.trajectory
        if net.retraced and not at_each_step:
            trajectory, cotangents = backpropagate_in_kernels(net, trajectory, cotangents, fixed, ctx.phase, totals)
        for step in backward_steps(net, trajectory, cotangents, fixed, ctx.phase):
            cotangents = step.cotangents
            totals.add_(step)
            part = clamp_gradient(net, step.states, step.fixed, step.pushed) if at_each_step else {}
            part = {name: slope for name, slope in part.items() if name in at_each_step}
            slopes.append(scattered(part, step.rows, len(cotangents[0])))
        slopes += [totals.gradient(net, fixed), net._sums_clamp_gradient(fixed, totals.sums) if totals.sums else {}]
        if not ctx.has_own_start:
            return slopes
        return [*slopes, start_vjp(net, fixed, net._project_adjoint(net._start(fixed), cotangents))]


class PhaseDifferentiation(Differentiation):
    """Autograd by the phases of a learning rule under the linear cost <g, z>, with g = dC/dz at the rest, held fixed.

    The equations are those of a network whose targets are g. With the adjoint a that the rule finds, the slope by an
    input x is <a, dF/dx>. ``found`` holds the estimate of each backward pass, and which samples took part in it; with
    ``warns`` a warning tells of others.
    """

    def __init__(self, rule: str, estimate: Estimator, warns: bool = False, **nudge: Any) -> None:
        self.rule, self.estimate, self.warns, self.nudge = rule, estimate, warns, nudge
        self.found: list[Estimate] = []

    def slopes(self, ctx: Any, cotangents: list[Tensor]) -> list[dict[str, Tensor]]:
        """Return slopes by params and clamps of cotangents of the equilibrium."""
        net, fixed, at_rest = ctx.net, ctx.fixed, ctx.phase._replace(steps=0, tolerance=None, auto=False)
        settings = rule_settings(net, at_rest, **self.nudge)
        found = self.estimate(net, [x.clone() for x in ctx.states], fixed, cotangents, settings)
        self.found.append(found)
        kept, rows = found.kept, None if bool(found.kept.all()) else found.kept.nonzero()[:, 0]
        if rows is not None and self.warns:
            count = f"{len(kept) - len(rows)} of {len(kept)} samples"
            why = f"{net.name}: the phases of {self.rule} diverged for {count}, which take no part in its slopes"
            warn_caller(why)
        at, (states,) = restricted(kept, fixed, found.free.states)
        assert found.adjoint is not None
        clamps = clamp_gradient(net, states, at, found.adjoint) if ctx.names else {}
        return [*found.slopes, scattered(clamps, rows, len(kept))]


def differentiation(rule: str) -> Differentiation:
    """Return the way for autograd through a network by the rule ``implicit`` or ``bptt``."""
    return UnrolledDifferentiation() if rule == "bptt" else ImplicitDifferentiation()


def scattered(parts: dict[str, Tensor], rows: Tensor | None, batch: int) -> dict[str, Tensor]:
    """Return tensors of some samples as tensors of the whole batch, zeros for the other samples."""
    if rows is None:
        return parts
    return {name: part.new_zeros((batch, *part.shape[1:])).index_copy_(0, rows, part) for name, part in parts.items()}


# -------------------------------------------------------------------- the operation


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
            back, direct = readout_vjp(net, ctx.states, ctx.fixed, cotangents[: len(net.readout_names)])
            slopes = [direct, *ctx.differentiation.slopes(ctx, filled(back, ctx.states))]
            found = [summed(slopes, name) for name in (*ctx.names, *net._owners())]
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
