"""Nudged phases that end before they converge: what more steps make of the gradient, tried on some samples."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.runtime.convergence.settled import NotSettledWarning
from energyc.runtime.convergence.trials import LOOKED_AT, settled_within
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import Estimator
from energyc.runtime.tensors.states import Tensors, take
from energyc.runtime.tensors.warning import warn_caller

#: The share of a gradient that twice as many steps may change without a warning.
UNNOTICED = 0.05
#: The share that twice as many steps change at most where so many would do.
CLOSE = 0.01
#: The share that they change where nudged phases diverge rather than converge.
DIVERGING = 0.9
#: How many times as many steps are tried at most.
MOST_TIMES = 64
#: The gradients by a rule at which it is looked for: the first, and each whose number is this many times the last one.
SPACING = 4


@part("diagnosis", "short nudges")
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

    It is looked for at the first gradient by a rule, the fourth, the sixteenth and so on, on samples that settled. A
    number of steps is named that was tried; without one that does there is no warning, as rounding may be the cause.
    """
    steps = settings.nudge.steps
    if steps is None or not (found.beta is not None or rule == "adjoint") or rule in net.warned:
        return
    count = net.nudges[rule] = net.nudges.get(rule, 0) + 1
    if not is_power(count):
        return
    rows = looked_at(net, found, settings)
    if len(rows) == 0:
        return
    trial = NudgeTrial(net, estimate, found, fixed, targets, settings, rows)
    enough = trial.enough(steps)
    if enough is None:
        return
    net.warned.add(rule)
    share = relative_difference(trial.slopes(steps), trial.slopes(enough))
    short = f"{net.name}: the nudged phases of {rule} end before they converge"
    remedy = f"nudge.steps = {enough} would do, and changes the gradient by {share:.0%}"
    warn_caller(f"{short}: {remedy} (now {steps}; on {len(rows)} of {len(found.kept)} samples)", NotSettledWarning)


def is_power(count: int) -> bool:
    """Whether a count is a power of ``SPACING``."""
    while count % SPACING == 0:
        count //= SPACING
    return count == 1


def looked_at(net: Equations, found: Estimate, settings: RuleSettings) -> Tensor:
    """The rows of some samples that settled and took part; none of a batch whose samples depend on each other."""
    limit = settled_within(settings.free.tolerance)
    settled = found.kept & (found.free.residual <= limit)
    if net.coupled:
        return settled.nonzero()[:, 0] if bool(settled.all()) else settled.nonzero()[:0, 0]
    return settled.nonzero()[:LOOKED_AT, 0]


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
        self.states, self.fixed, self.targets = take(found.free.states, rows), fixed.rows(rows), take(targets, rows)
        free = settings.free._replace(steps=0, max_steps=0, tolerance=None, step=found.free.step, auto=False)
        strength = settings.strength if found.beta is None else found.beta
        self.settings = settings._replace(free=free, strength=strength, penalty=0.0, defence=0.0)
        self.known: dict[int, dict[str, Tensor]] = {}

    def slopes(self, steps: int) -> dict[str, Tensor]:
        """The slopes by all params after so many nudged steps."""
        if steps not in self.known:
            settings = self.settings._replace(nudge=self.settings.nudge._replace(steps=steps))
            found = self.estimate(self.net, [x.clone() for x in self.states], self.fixed, self.targets, settings)
            names = dict.fromkeys(name for part in found.slopes for name in part)
            self.known[steps] = {n: sum(part[n] for part in found.slopes if n in part) for n in names}  # type: ignore
        return self.known[steps]

    def enough(self, steps: int) -> int | None:
        """A number of steps that would do; None where ``steps`` do, or where none of those tried does."""
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
    """The length of the difference of two gradients, as a share of the second; 0 where that is 0 or not finite."""
    size = torch.stack([value.norm() for value in expected.values()]).norm() if expected else torch.zeros(())
    if not 0 < float(size) < float("inf"):
        return 0.0
    apart = torch.stack([(found[name] - value).norm() for name, value in expected.items()]).norm()
    share = float(apart / size)
    return share if share == share else float("inf")
