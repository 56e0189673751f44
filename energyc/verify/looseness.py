"""The quality of a rule's gradient against the residual of the free phase that it starts from.

The free phase is cut off where its residual first falls under each of a row of values; the nudged phases start there
and run to convergence. Frozen corrections are taken at a state that is no equilibrium, and fail first; this is where
the note on equilibrium transformers has its validity threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from energyc.rules import RULES
from energyc.verify.compare import Measure, measure_all
from energyc.verify.limits import Laboratory
from energyc.verify.rest import copied

RESIDUALS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6)
#: A gradient is faithful while the cosine of every param is at least this.
FAITHFUL = 0.8
#: By how much a nudged phase is to settle, and its length where the spectrum does not say what that takes.
SETTLED, LONG = 1e6, 200


@dataclass(frozen=True)
class Loose:
    """A rule started ``steps`` steps into the free phase, at a residual; ``worst`` is of the param with the lowest
    cosine. ``kept`` is the share of the samples whose nudged phases did not diverge."""

    residual: float
    steps: int
    overall: Measure
    worst: Measure
    param: str
    kept: float

    @property
    def faithful(self) -> bool:
        """Whether every param's cosine is at least 0.8, and no sample was lost."""
        return self.worst.cosine >= FAITHFUL and self.kept == 1.0

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        worst = {"param": self.param, **self.worst.to_json()}
        return {
            "residual": self.residual,
            "steps": self.steps,
            "all": self.overall.to_json(),
            "worst": worst,
            "kept": self.kept,
        }


@dataclass(frozen=True)
class Looseness:
    """All rules over all residuals, from the loosest to the tightest."""

    rules: dict[str, tuple[Loose, ...]]

    def threshold(self, rule: str) -> float | None:
        """The largest residual from which down the rule is faithful; None where it never is."""
        found = None
        for point in reversed(self.rules[rule]):
            if not point.faithful:
                break
            found = point.residual
        return found

    def to_json(self) -> dict[str, Any]:
        """By rule: the threshold and the points."""
        return {
            rule: {"threshold": self.threshold(rule), "points": [point.to_json() for point in points]}
            for rule, points in self.rules.items()
        }


def looseness(lab: Laboratory, rules: Sequence[str], residuals: Sequence[float] = RESIDUALS) -> Looseness:
    """Sweep the residual for rules. The implicit rule and those that unroll start from the same cut-off states."""
    cuts = _cuts(lab, residuals)
    betas = {rule: lab.beta(rule) for rule in rules}
    return Looseness({rule: tuple(_tried(lab, rule, betas[rule], *cut) for cut in cuts) for rule in rules})


Cut = tuple[float, int, dict[str, Tensor]]


def _cuts(lab: Laboratory, residuals: Sequence[float]) -> list[Cut]:
    """Where the residual first falls under each value: the residual, the steps, the states."""
    cuts: list[Cut] = []
    states, steps = lab.net.start(lab.probe.clamps), 0
    residual = _residual(lab, states)
    for goal in residuals:
        while residual > goal and steps < 20_000:
            states = lab.net.relax(lab.probe.clamps, steps=1, step=lab.step, states=states).states
            residual, steps = _residual(lab, states), steps + 1
        if residual <= goal and (not cuts or steps > cuts[-1][1]):
            cuts.append((residual, steps, copied(states)))
    return cuts


def _residual(lab: Laboratory, states: dict[str, Tensor]) -> float:
    return float(lab.net.relax(lab.probe.clamps, steps=0, step=lab.step, states=states).residual.max())


def _tried(
    lab: Laboratory, rule: str, beta: float | None, residual: float, steps: int, states: dict[str, Tensor]
) -> Loose:
    try:
        found = _gradients(lab, rule, beta, steps, states)
    except RuntimeError:  # the implicit solve has no answer there
        lost = Measure(math.nan, math.nan)
        return Loose(residual, steps, lost, lost, "", 0.0)
    each = lab.each(found.params)
    param = min(each, key=lambda name: _order(each[name].cosine))
    kept = float(found.kept.double().mean())
    return Loose(residual, steps, measure_all(found.params, lab.reference), each[param], param, kept)


def _gradients(lab: Laboratory, rule: str, beta: float | None, steps: int, states: dict[str, Tensor]) -> Any:
    if "trajectory" in RULES[rule].needs:
        return lab.gradients(rule, steps=steps)
    nudge_steps = lab.steps_for(SETTLED) or LONG
    return lab.gradients(rule, steps=0, states=copied(states), nudge_steps=nudge_steps, beta=beta)


def _order(cosine: float) -> float:
    """What is not a number is worst."""
    return cosine if math.isfinite(cosine) else -math.inf
