"""How autograd goes through a relaxed network: at its equilibrium, through its steps, or by the phases of a rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from ..equations.equations import Equations
from ..equations.inputs import rule_settings
from ..equations.records import Estimate, Fixed, FreePhase, Phase, restricted
from ..equations.rule import Estimator
from ..relaxation.solver import run_free_phase
from ..relaxation.trajectory import Trajectory, run_recorded
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
        slopes = [
            net._force_vjp(states, fixed, pushed)[1],
            net._clamp_gradient(states, fixed, pushed) if ctx.names else {},
        ]
        if net.kinked:
            slopes.insert(1, net._kink_gradient(states, fixed, pushed))
        return slopes


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
            part = net._clamp_gradient(step.states, step.fixed, step.pushed) if at_each_step else {}
            part = {name: slope for name, slope in part.items() if name in at_each_step}
            slopes.append(scattered(part, step.rows, len(cotangents[0])))
        slopes += [totals.gradient(net, fixed), net._sums_clamp_gradient(fixed, totals.sums) if totals.sums else {}]
        if not ctx.has_own_start:
            return slopes
        return [*slopes, net._start_vjp(fixed, net._project_adjoint(net._start(fixed), cotangents))]


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
        clamps = net._clamp_gradient(states, at, found.adjoint) if ctx.names else {}
        return [*found.slopes, scattered(clamps, rows, len(kept))]


def differentiation(rule: str) -> Differentiation:
    """Return the way for autograd through a network by the rule ``implicit`` or ``bptt``."""
    return UnrolledDifferentiation() if rule == "bptt" else ImplicitDifferentiation()


def scattered(parts: dict[str, Tensor], rows: Tensor | None, batch: int) -> dict[str, Tensor]:
    """Return tensors of some samples as tensors of the whole batch, zeros for the other samples."""
    if rows is None:
        return parts
    return {name: part.new_zeros((batch, *part.shape[1:])).index_copy_(0, rows, part) for name, part in parts.items()}
