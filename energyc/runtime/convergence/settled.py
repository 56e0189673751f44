"""Whether samples settled, and the warning where they did not."""

from __future__ import annotations

import inspect
import warnings

from energyc.runtime.convergence.causes import tolerance_missed, without_tolerance
from energyc.runtime.convergence.trials import settled_within
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import carries
from energyc.runtime.equations.records import FreePhase


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
    warnings.warn(message, NotSettledWarning, stacklevel=levels_to_caller())


def levels_to_caller() -> int:
    """How many levels up the stack the code is that called a network, past torch and this library."""
    inside = {"torch", __name__.partition(".")[0]}
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    return level
