"""Whether samples settled, and the warning where they did not."""

from __future__ import annotations

from energyc.runtime.convergence.causes import tolerance_missed, without_tolerance
from energyc.runtime.convergence.trials import settled_within
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import carries
from energyc.runtime.equations.records import FreePhase
from energyc.runtime.tensors.warning import warn_caller


class NotSettledWarning(RuntimeWarning):
    """Samples of a network did not settle, and a gradient that was asked for assumes that they did."""


def warn_unsettled(net: Equations, free: FreePhase, tolerance: float | None) -> None:
    """Warn, once for a network, where samples did not settle: the gradient is then not that of an equilibrium."""
    left = free.residual > settled_within(net.relax_tolerance if tolerance is None else tolerance)
    left |= free.residual.isnan()
    if net.name in net.warned or not bool(left.any()):
        return
    net.warned.add(net.name)
    steps, own = int(free.steps.max()), tolerance != net.relax_tolerance
    why = without_tolerance(steps, own) if tolerance is None else tolerance_missed(tolerance, steps, own)
    which = f"{int(left.sum())} of {len(left)} samples, residual up to {float(free.residual[left].max()):.1e}"
    helps = "more steps or a smaller step may help"
    if carries("diagnosis", "trials"):
        helps = "its `non_convergence(clamps)` says what would help: often more steps or a smaller step"
    message = f"{net.name} did not settle, and its gradient assumes that it did: {why}; {helps} ({which})"
    warn_caller(message, NotSettledWarning)
