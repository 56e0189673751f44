"""Measure the quality of a rule's gradient against the residual of the free phase that it starts from.

The free phase is stopped where its residual first falls below each of several values; the nudged phases start there
and run to convergence. Frozen corrections are taken at a state that is not an equilibrium, and fail first. The validity
threshold in the note on equilibrium transformers is found in this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from energyc.running.training.network import copied
from energyc.runtime import RULES
from energyc.studies.verify.compare import Measure, measure_all
from energyc.studies.verify.limits import Laboratory
from energyc.studies.verify.work import Work, solvable

RESIDUALS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6)
#: The least cosine of every param of a faithful gradient.
FAITHFUL = 0.8
#: The factor by which a nudged phase reduces its error, and its steps if the spectrum does not give their number.
SETTLED, LONG = 1e6, 200


@dataclass(frozen=True)
class Loose:
    """A rule started ``steps`` steps into the free phase, at ``residual``.

    ``worst`` is the measure of ``param``, which has the lowest cosine. ``kept`` is the share of the samples whose
    nudged phases did not diverge.
    """

    residual: float
    steps: int
    overall: Measure
    worst: Measure
    param: str
    kept: float

    @property
    def faithful(self) -> bool:
        """Whether every param's cosine is at least 0.8 and no sample diverged."""
        return self.worst.cosine >= FAITHFUL and self.kept == 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
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
    """The points of each rule, from the largest residual to the smallest."""

    rules: dict[str, tuple[Loose, ...]]

    def threshold(self, rule: str) -> float | None:
        """Return the largest residual at and below which the rule is faithful; None if there is none."""
        threshold = None
        for point in reversed(self.rules[rule]):
            if not point.faithful:
                break
            threshold = point.residual
        return threshold

    def to_json(self) -> dict[str, Any]:
        """Return the threshold and the points of each rule."""
        return {
            rule: {"threshold": self.threshold(rule), "points": [point.to_json() for point in points]}
            for rule, points in self.rules.items()
        }


def looseness(
    lab: Laboratory, rules: Sequence[str], work: Work, residuals: Sequence[float] = RESIDUALS
) -> Looseness | None:
    """Sweep the residual for rules that follow the cost, without those that the budget ends; None if it ends them all.

    The implicit rule and those that unroll stop at the same states.
    """
    cuts = work.measure("the residuals of the sweep", lambda: _cuts(lab, residuals))
    if cuts is None:
        return None
    swept = [rule for rule in rules if RULES[rule].objective is None]
    points = {rule: work.measure(f"{rule} by residual", partial(_swept, lab, rule, cuts)) for rule in swept}
    measured = {rule: found for rule, found in points.items() if found is not None}
    return Looseness(measured) if measured else None


def _swept(lab: Laboratory, rule: str, cuts: Sequence[Cut]) -> tuple[Loose, ...]:
    """Return the points of a rule."""
    beta = lab.beta(rule)
    return tuple(_start_from_cut(lab, rule, beta, *cut) for cut in cuts)


Cut = tuple[float, int, dict[str, Tensor]]


def _cuts(lab: Laboratory, residuals: Sequence[float]) -> list[Cut]:
    """Return the residual, the steps and the states where the residual first falls to each value."""
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


def _start_from_cut(
    lab: Laboratory, rule: str, beta: float | None, residual: float, steps: int, states: dict[str, Tensor]
) -> Loose:
    gradients = solvable(lambda: _gradients(lab, rule, beta, steps, states))
    if gradients is None:
        undefined = Measure(math.nan, math.nan)
        return Loose(residual, steps, undefined, undefined, "", 0.0)
    each = lab.each(gradients.params)
    param = min(each, key=lambda name: _nan_is_lowest(each[name].cosine))
    kept = float(gradients.kept.double().mean())
    return Loose(residual, steps, measure_all(gradients.params, lab.reference), each[param], param, kept)


def _gradients(lab: Laboratory, rule: str, beta: float | None, steps: int, states: dict[str, Tensor]) -> Any:
    if "trajectory" in RULES[rule].needs:
        return lab.gradients(rule, steps=steps)
    nudge_steps = lab.steps_for(SETTLED) or LONG
    return lab.gradients(rule, steps=0, states=copied(states), nudge_steps=nudge_steps, beta=beta)


def _nan_is_lowest(cosine: float) -> float:
    """Return a sort key that places NaN lowest."""
    return cosine if math.isfinite(cosine) else -math.inf
