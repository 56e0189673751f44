"""Checks on phases, which warn: whether samples converged, and whether nudged phases were long enough."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equations.equations import Equations, Estimator
from ..equations.records import Estimate, Fixed, FreePhase, RuleSettings, rows_of, summed
from ..tensors.states import Tensors, take
from ..tensors.warning import warn_caller
from .causes import tolerance_missed, without_tolerance
from .trials import MOST_SAMPLES, convergence_threshold

#: The share of a gradient that twice as many steps may change without a warning.
UNNOTICED = 0.05
#: The share that twice as many steps change at most where so many would do.
CLOSE = 0.01
#: The share that they change where nudged phases diverge rather than converge.
DIVERGING = 0.9
#: How many times as many steps are tried at most.
MOST_TIMES = 64
#: The gradients by a rule at which it is checked: the first, and each whose number is this many times the last one.
SPACING = 4


class NotSettledWarning(RuntimeWarning):
    """Samples of a network did not converge, and a gradient that was asked for assumes that they did."""


def warn_not_converged(net: Equations, free: FreePhase, tolerance: float | None) -> None:
    """Warn, once for a network, where samples did not converge: the gradient is then not that of an equilibrium."""
    left = free.residual > convergence_threshold(net.relax_tolerance if tolerance is None else tolerance)
    left |= free.residual.isnan()
    if net.name in net.warned or not bool(left.any()):
        return
    net.warned.add(net.name)
    steps, own = int(free.steps.max()), tolerance != net.relax_tolerance
    why = without_tolerance(steps, own) if tolerance is None else tolerance_missed(tolerance, steps, own)
    which = f"{int(left.sum())} of {len(left)} samples, residual up to {float(free.residual[left].max()):.1e}"
    helps = "its `non_convergence(clamps)` says what would help: often more steps or a smaller step"
    message = f"{net.name} did not settle, and its gradient assumes that it did: {why}; {helps} ({which})"
    warn_caller(message, NotSettledWarning)


def warn_short_nudges(
    net: Equations,
    rule: str,
    estimate: Estimator,
    found: Estimate,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
) -> None:
    """Warn, once for a rule, where its nudged phases are too short for its gradient.

    This is checked at the first gradient by a rule, the fourth, the sixteenth and so on, on samples that converged. The
    warning names a number of steps that was tried; without one there is no warning, as rounding may be the cause.
    """
    steps = steps_made(found, settings)
    if steps is None or not (found.beta is not None or rule == "adjoint") or rule in net.warned:
        return
    count = net.nudges[rule] = net.nudges.get(rule, 0) + 1
    if not is_power(count):
        return
    rows = trial_rows(net, found, settings)
    if len(rows) == 0:
        return
    trial = NudgeTrial(net, estimate, found, fixed, targets, settings, rows)
    enough = trial.enough(steps)
    if enough is None:
        return
    net.warned.add(rule)
    share = relative_difference(trial.slopes(steps), trial.slopes(enough))
    short = f"{net.name}: the nudged phases of {rule} end before they converge"
    setting = "steps" if settings.nudge.tolerance is None else "max_steps"
    remedy = f"nudge.{setting} = {enough} would do, and changes the gradient by {share:.0%}"
    warn_caller(f"{short}: {remedy} (now {steps}; on {len(rows)} of {len(found.kept)} samples)", NotSettledWarning)


def steps_made(found: Estimate, settings: RuleSettings) -> int | None:
    """Return the steps that nudged phases made; None where they went on to rounding."""
    if settings.nudge.tolerance is None or "nudged" not in found.health:
        return settings.nudge.steps
    return int(found.health["nudged"].max())


def is_power(count: int) -> bool:
    """Return whether a count is a power of ``SPACING``."""
    while count % SPACING == 0:
        count //= SPACING
    return count == 1


def trial_rows(net: Equations, found: Estimate, settings: RuleSettings) -> Tensor:
    """Return the rows of some samples that converged and took part; of a coupled batch all, or none."""
    limit = convergence_threshold(settings.free.tolerance)
    converged = found.kept & (found.free.residual <= limit)
    if net.coupled:
        return converged.nonzero()[:, 0] if bool(converged.all()) else converged.nonzero()[:0, 0]
    return converged.nonzero()[:MOST_SAMPLES, 0]


class NudgeTrial:
    """The gradient of some samples by nudged phases of other lengths, from where their free phases ended."""

    def __init__(
        self,
        net: Equations,
        estimate: Estimator,
        found: Estimate,
        fixed: Fixed,
        targets: Tensors,
        settings: RuleSettings,
        rows: Tensor,
    ) -> None:
        self.net, self.estimate = net, estimate
        self.states, self.fixed, self.targets = take(found.free.states, rows), rows_of(fixed, rows), take(targets, rows)
        free = settings.free._replace(steps=0, max_steps=0, tolerance=None, step=found.free.step, auto=False)
        strength = settings.strength if found.beta is None else found.beta
        self.settings = settings._replace(free=free, strength=strength, penalty=0.0, defence=0.0)
        self.known: dict[int, dict[str, Tensor]] = {}

    def slopes(self, steps: int) -> dict[str, Tensor]:
        """The slopes by all params after so many nudged steps."""
        if steps not in self.known:
            settings = self.settings._replace(nudge=self.settings.nudge._replace(steps=steps, tolerance=None))
            found = self.estimate(self.net, [x.clone() for x in self.states], self.fixed, self.targets, settings)
            names = dict.fromkeys(name for part in found.slopes for name in part)
            totals = {name: summed(found.slopes, name) for name in names}
            self.known[steps] = {name: total for name, total in totals.items() if total is not None}
        return self.known[steps]

    def enough(self, steps: int) -> int | None:
        """Return a sufficient number of steps; None where ``steps`` suffice, or none that was tried does."""
        if relative_difference(self.slopes(steps), self.slopes(2 * steps)) <= UNNOTICED:
            return None
        tried = 2 * steps
        while tried <= MOST_TIMES * steps:
            change = relative_difference(self.slopes(tried), self.slopes(2 * tried))
            if change <= CLOSE:
                return tried
            if change > DIVERGING:
                return None
            tried *= 2
        return None


def relative_difference(found: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    """Return the norm of the difference of two gradients, as a share of the second; 0 where that is 0 or not finite."""
    size = torch.stack([value.norm() for value in expected.values()]).norm() if expected else torch.zeros(())
    if not 0 < float(size) < float("inf"):
        return 0.0
    difference = torch.stack([(found[name] - value).norm() for name, value in expected.items()]).norm()
    share = float(difference / size)
    return share if share == share else float("inf")
