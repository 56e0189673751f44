"""Measure each rule in its limit: float64, every phase converged, the rule's own small number swept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from energyc.running.training.feeds import Batch
from energyc.running.training.network import assign, copied, params_kept
from energyc.runtime import (
    RULES,
    energy,
    free_phase,
    ordered_states,
    ordered_targets,
    prepared,
    run_clamped_phase,
    run_free_phase,
)
from energyc.studies.verify.compare import Measure, Sweep, measure_all, measure_each
from energyc.studies.verify.rest import Rest
from energyc.studies.verify.spectrum import Spectrum
from energyc.studies.verify.work import Progress, silent

Gradient = Mapping[str, Tensor]
#: A number that the params decide, and its uncertainty.
Value = Callable[[], tuple[float, float]]
#: The rule whose gradient the others are compared with.
REFERENCE = "implicit"
#: The largest number of states times steps of a stored path.
LONGEST = 4e7
#: A sweep stops once its error is below NEAR, and starts at an error above FAR.
NEAR, FAR = 1e-9, 1e-4
#: The factor by which nudged phases reduce their error.
SETTLED = 1e12
#: Steps of a phase that follow from no spectrum.
LONG = 5000
#: Nudged steps with which ``beta = auto`` is chosen.
TRIAL = 20
#: An error must fall to LEVEL to obey a law, and to ROUNDING if no order can be measured.
LEVEL, ROUNDING = 1e-5, 1e-7
#: The largest difference between a measured order and its law.
HALF = 0.5
#: A gradient is zero if a relative change of the states by NUDGE changes 1 / LOST of it or more.
NUDGE, LOST = 1e-11, 10.0
#: Looks at a phase until it rests, and the rounding of a mean, as a share of it.
LOOKS, ROUNDINGS = 100, 8 * torch.finfo(torch.float64).eps
#: The number of directions of differences, and the multiple of its uncertainty from which a slope is evidence.
DIRECTIONS, CLEAR = 3, 100.0


@dataclass(frozen=True)
class Limit:
    """The best gradient of a sweep, the law that its error should follow, and a description of any breach of it."""

    gradient: Gradient
    sweep: Sweep
    law: str
    breach: str = ""


class Laboratory:
    """A network in float64 at rest, with its exact gradient, on which rules are tried.

    ``detaches`` says whether the network cuts derivatives, which finite differences do not. Raises RuntimeError if
    the implicit gradient cannot be solved for.
    """

    def __init__(
        self,
        net: Any,
        rest: Rest,
        spectrum: Spectrum | None,
        detaches: bool = False,
        progress: Progress = silent,
    ) -> None:
        self.net = net
        self.progress = progress
        self.detaches = detaches
        self.probe: Batch = rest.probe
        self.states = rest.states
        self.step = None if rest.factor == 1.0 else rest.step[0]
        self.spectrum = spectrum if rest.factor == 1.0 else None
        self.nudge_steps: int | None = self.steps_for(SETTLED)
        self.tenth = max(100, self.steps_for(10) or 0)
        self.reference: Gradient = self.at_rest(REFERENCE).params
        self.nonzero = self._nonzero()

    def _nonzero(self) -> tuple[str, ...]:
        """Return the params whose exact gradient exceeds the rounding of cancelling terms."""
        random = torch.Generator().manual_seed(0)
        size = max(float(x.abs().max()) for x in self.states.values())
        floor = 1e-12 * (size if size > 1e-12 else 1.0)

        def perturb(x: Tensor) -> Tensor:
            noise = torch.randn(x.shape, generator=random, dtype=torch.float64).to(x)
            return torch.where(x.abs() > floor, x * (1 + NUDGE * noise), 0.0)

        states = {name: perturb(x) for name, x in self.states.items()}
        perturbed = self.gradients(REFERENCE, steps=0, states=states).params
        largest = max(float(gradient.norm()) for gradient in self.reference.values())
        rounding = torch.finfo(torch.float64).eps * largest

        def exceeds(name: str, gradient: Tensor) -> bool:
            lost = max(float((perturbed[name] - gradient).norm()), rounding)
            return float(gradient.norm()) > LOST * lost

        return tuple(name for name, gradient in self.reference.items() if exceeds(name, gradient))

    def at_rest(self, rule: str, **settings: Any) -> Any:
        """Return the gradients of a rule, started at the equilibrium."""
        return self.gradients(rule, steps=0, states=copied(self.states), **settings)

    def steps_for(self, factor: float) -> int | None:
        """Return the steps that reduce the error of a nudged phase by a factor; None if the spectrum is not a guide."""
        if self.spectrum is None or self.spectrum.sweeps or not self.spectrum.step_radius < 0.99:
            return None
        return math.ceil(1.1 * self.spectrum.steps_for(factor)) + 20

    def gradients(self, rule: str, **settings: Any) -> Any:
        """Return the gradients of a rule on the probe."""
        clamps, targets = self.probe.clamps, self.probe.targets
        return self.net.gradients(clamps, targets, rule, step=self.step, allow_biased=True, **settings)

    def error(self, gradient: Gradient) -> float:
        """Return the relative error against the exact gradient, over all params."""
        return measure_all(gradient, self.reference).relative_error

    @property
    def zero(self) -> tuple[str, ...]:
        """The params whose exact gradient is zero up to rounding."""
        return tuple(name for name in self.reference if name not in self.nonzero)

    def each(self, gradient: Gradient) -> dict[str, Measure]:
        """Compare the gradient of each param with the exact one, where that is not zero."""
        return measure_each(gradient, {name: self.reference[name] for name in self.nonzero})

    def limit(self, rule: str) -> Limit:
        """Measure the limit of a rule: over beta, over steps, by its own iteration, or by differences of its value."""
        declared = RULES[rule]
        if declared.objective is not None:
            return of_objective(self, rule, declared.objective)
        if declared.order is not None:
            lopsided = "alpha" in declared.settings and self.net.alpha != 0.5
            return contrast(self, rule, 1 if lopsided else declared.order or self.net.points)
        if "trajectory" in declared.needs:
            return unrolled(self, rule, last_steps="steps" in declared.settings)
        return differences(self) if rule == REFERENCE else converged(self, rule)

    def beta(self, rule: str) -> float | None:
        """Return the value of ``beta = auto`` in float64 at rest; None for a rule without beta."""
        if not RULES[rule].contrasts:
            return None
        beta: float | None = self.at_rest(rule, nudge_steps=TRIAL, beta="auto").beta
        return beta


# ---------------------------------------------------------------- contrasts


def contrast(lab: Laboratory, rule: str, order: int) -> Limit:
    """Divide beta by 8 until the error vanishes or stops falling; the limit is the gradient with the lowest error.

    A beta at which nudged phases diverge gives no point, since its gradient misses samples of the exact one.
    """
    points, best, limit = [], math.inf, {name: torch.full_like(t, math.nan) for name, t in lab.reference.items()}
    diverged = False
    first = _first_beta(lab, rule)
    for k in range(18):
        beta = first / 8**k
        lab.progress(f"{rule}, beta = {beta:.1e}")
        gradients = lab.at_rest(rule, beta=beta, nudge_steps=lab.nudge_steps)
        diverged, error = not bool(gradients.kept.all()), lab.error(gradients.params)
        if math.isfinite(error) and not diverged:
            points.append((beta, error))
            if error < best:
                best, limit = error, gradients.params
        if error < NEAR or error > 1e3 * best or _has_stalled(points):
            break
    sweep = Sweep("beta", tuple(points))
    if not points and diverged:
        return Limit(limit, sweep, "diverged", "its nudged phases diverge at every beta")
    if not points:
        return Limit(limit, sweep, "not finite", "not finite at any beta")
    if _has_stalled(points):
        return Limit(limit, sweep, f"stays at {best:.1e}", f"its error stays at {best:.1e} however small beta is")
    return Limit(limit, sweep, f"beta^{order} ({_measured_order(sweep, order)})", breach(sweep, order))


def _measured_order(sweep: Sweep, order: int) -> str:
    """Describe the measured order."""
    slope = sweep.slope()
    if slope is not None:
        kinked = slope <= order - HALF and not breach(sweep, order)
        return "kinks at larger beta" if kinked else f"measured {slope:.2f}"
    return "below rounding" if min(error for _, error in sweep.points) < ROUNDING else "no order seen"


def breach(sweep: Sweep, order: int) -> str:
    """Describe how an error fails to fall with its order, within a half; empty if it does fall so.

    The median order counts, or that at the smallest betas: a nudge that carries units over kinks has an error of lower
    order, and a nudge too short to reach them has the order of the law. The order at the smallest betas is that of the
    last step above rounding, or of the step into rounding. If every error is rounding, the least must be small.
    """
    lowest = min(error for _, error in sweep.points)
    orders = sweep.orders()
    if lowest > (LEVEL if orders else ROUNDING):
        return f"law not met: the error of beta^{order} falls no lower than {lowest:.1e}"
    if orders and max(measured := max(median(orders), orders[-1]), sweep.into_floor() or 0.0) <= order - HALF:
        return f"law not met: measured beta^{measured:.2f} of beta^{order}"
    return ""


def _has_stalled(points: list[tuple[float, float]]) -> bool:
    """Whether the error has stopped falling while large, as that of a biased rule does."""
    errors = [error for _, error in points[-3:]]
    return len(errors) == 3 and min(errors) > 1e-4 and max(errors) < 1.01 * min(errors)


def _first_beta(lab: Laboratory, rule: str) -> float:
    """Return the first beta of a sweep: one with an error above FAR at which no nudged phase diverges."""
    beta = 64 * (lab.beta(rule) or 1.0)
    for _ in range(4):
        gradients = lab.at_rest(rule, beta=16 * beta, nudge_steps=lab.nudge_steps)
        error = lab.error(gradients.params)
        if not math.isfinite(error) or not bool(gradients.kept.all()):
            return beta
        beta *= 16
        if error > FAR:
            return beta
    return beta


# ---------------------------------------------------------------- without a nudge


def converged(lab: Laboratory, rule: str, nudge_steps: int | None = None) -> Limit:
    """Measure a rule without a small number, its own iteration converged."""
    gradient = lab.at_rest(rule, nudge_steps=nudge_steps).params
    error = lab.error(gradient)
    fault = "" if error < 1e-6 else f"its error is {error:.1e}, not under 1e-6"
    return Limit(gradient, Sweep("steps", ((math.inf, error),)), "exact", fault)


def unrolled(lab: Laboratory, rule: str, *, last_steps: bool) -> Limit:
    """Backpropagate through more and more steps: the last steps at the equilibrium, or all steps from the start."""
    if last_steps:
        return _sweep_steps(lab, 1, lambda k: lab.gradients(rule, steps=k, states=copied(lab.states), nudge_steps=k))
    return _sweep_steps(lab, 8, lambda k: lab.gradients(rule, steps=k))


def _sweep_steps(lab: Laboratory, first: int, gradients_after: Callable[[int], Any]) -> Limit:
    points, limit, k = [], lab.reference, first
    size = sum(v.numel() for v in lab.states.values())
    while k <= 4096:
        limit = gradients_after(k).params
        error = lab.error(limit)
        points.append((float(k), error))
        if error < NEAR or k * size > LONGEST:
            break
        k *= 2
    return Limit(limit, Sweep("steps", tuple(points)), "falls with the steps")


def differences(lab: Laboratory) -> Limit:
    """Compare the implicit gradient with central differences of the relaxed cost along random directions.

    A slope within the uncertainty of a difference is not evidence. Nothing is measured if the network detaches, since
    differences include the derivatives that ``detach`` omits.
    """
    if lab.detaches:
        return Limit(lab.reference, Sweep("direction", ()), "detaches: differences see through")
    return _against_differences(lab, lab.reference, partial(_converged_cost, lab), "the cost")


def of_objective(lab: Laboratory, rule: str, name: str) -> Limit:
    """Compare the gradient of a rule that follows another objective with differences of that objective."""
    gradients = lab.gradients(rule, states=copied(lab.states), steps=lab.nudge_steps or LONG)
    found = _against_differences(lab, gradients.params, partial(_objective, lab, rule), name)
    return replace(found, law=f"of {name}: {found.law}")


def _against_differences(lab: Laboratory, gradient: Gradient, value: Value, name: str) -> Limit:
    """Compare a gradient with central differences of its ``value`` along random directions."""
    points, excess = [], 0.0
    for direction in range(DIRECTIONS):
        lab.progress(f"finite differences of {name}, direction {direction + 1} of {DIRECTIONS}")
        slope, difference, uncertainty = _slopes_along(lab, gradient, value, direction)
        size = max(abs(slope), abs(difference))
        if size > CLEAR * uncertainty:
            points.append((float(direction), abs(difference - slope) / size))
            excess = max(excess, (abs(difference - slope) - uncertainty) / size)
    if not points:
        return Limit(gradient, Sweep("direction", ()), "no slope above the rounding of differences")
    worst = max(error for _, error in points)
    fault = "" if excess < 1e-4 else f"finite differences of {name} give another slope (off by {worst:.0e})"
    return Limit(gradient, Sweep("direction", tuple(points)), f"finite differences to {worst:.0e}", fault)


def _slopes_along(lab: Laboratory, gradient: Gradient, value: Value, direction: int) -> tuple[float, float, float]:
    """Return the slope of a value along a random direction from its gradient, from differences, and the uncertainty of
    the latter.

    The generator of the directions draws no weights, since a cost may have no slope along the weights themselves.
    """
    random = np.random.default_rng(direction)
    params = {name: param for name, param in lab.net.params.items() if name in lab.reference}
    changes = {
        name: torch.from_numpy(random.standard_normal(tuple(param.shape))).to(param)
        * (param.detach().abs().mean() + 1e-3)
        for name, param in params.items()
    }
    slope = sum(float((gradient[name] * change).sum()) for name, change in changes.items())
    h = 1e-6
    above, uncertainty_above = _value_after(value, params, changes, h)
    below, uncertainty_below = _value_after(value, params, changes, -h)
    return slope, (above - below) / (2 * h), (uncertainty_above + uncertainty_below) / (2 * h)


def _value_after(
    value: Value, params: Mapping[str, Tensor], changes: Mapping[str, Tensor], h: float
) -> tuple[float, float]:
    """Return a value at changed params, and its uncertainty; the params are restored."""
    with params_kept(params) as originals:
        assign(params, {name: original + h * changes[name] for name, original in originals.items()})
        return value()


def _converged_cost(lab: Laboratory) -> tuple[float, float]:
    """Return the mean cost at the nearby equilibrium, converged to rounding, and its uncertainty."""

    def look(states: Any) -> tuple[Any, Tensor, Tensor]:
        phase = lab.net.relax(lab.probe.clamps, steps=lab.tenth, step=lab.step, states=states)
        return phase.states, phase.residual, lab.net.cost(phase.states, lab.probe.clamps, lab.probe.targets)

    cost, change = _rested(look, copied(lab.states))
    return cost, change + ROUNDINGS * abs(cost)


def _objective(lab: Laboratory, rule: str) -> tuple[float, float]:
    """Return the mean over samples of what a rule follows, at equilibria near those of the laboratory."""
    net = lab.net
    with torch.no_grad():
        fixed = prepared(net, lab.probe.clamps)
        aims = ordered_targets(net, lab.probe.targets, fixed)
        phase = free_phase(net, lab.tenth, lab.step, None)

        def look(states: Any, clamped: bool) -> tuple[Any, Tensor, Tensor]:
            run = partial(run_clamped_phase, targets=aims) if clamped else run_free_phase
            end = run(net, states, fixed, phase=phase)
            return list(end.states), end.residual, energy(net, list(end.states), fixed)

        start = ordered_states(net, lab.states, fixed)
        free, clamped = (_rested(partial(look, clamped=k), [x.clone() for x in start]) for k in (False, True))
    contrasted = RULES[rule].objective == "E(clamped) - E(free)"
    value = clamped[0] - free[0] if contrasted else clamped[0]
    return value, clamped[1] + free[1] + ROUNDINGS * (abs(clamped[0]) + abs(free[0]))


def _rested(look: Callable[[Any], tuple[Any, Tensor, Tensor]], states: Any) -> tuple[float, float]:
    """Return the mean of a value where a phase rests, and its change over the last look.

    ``look`` takes as many steps as reduce an error to a tenth, and returns states, residual and value of each sample.
    """
    value = last = math.nan
    residual = math.inf
    for _ in range(LOOKS):
        last, before = value, residual
        states, residuals, values = look(states)
        residual, value = float(residuals.max()), float(values.mean())
        if math.isfinite(last) and (residual < 1e-14 or residual > 0.9 * before):
            break
    return value, abs(value - last)
