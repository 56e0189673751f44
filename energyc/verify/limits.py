"""Each rule in its limit: float64, every phase converged, the rule's own small number swept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from energyc.rules import RULES
from energyc.verify.compare import Measure, measure_all, measure_each
from energyc.verify.probe import Probe
from energyc.verify.rest import Rest, copied
from energyc.verify.spectrum import Spectrum
from energyc.verify.sweep import Sweep
from energyc.verify.work import Progress, silent

Gradient = Mapping[str, Tensor]
#: The rule that all others are judged by.
REFERENCE = "implicit"
#: States times steps beyond which no longer path is stored.
LONGEST = 4e7
#: A sweep may stop once it is this near, and starts no nearer than that.
NEAR, FAR = 1e-9, 1e-4
#: Nudged phases run until their error is smaller by this.
SETTLED = 1e12
#: Steps of the nudge by which ``beta = auto`` is chosen.
TRIAL = 20
#: An error must fall to LEVEL to obey a law, and to ROUNDING where no order can be seen on its way.
LEVEL, ROUNDING = 1e-5, 1e-7
#: By how much a measured order may be off.
HALF = 0.5
#: A gradient is zero where a change of the states by NUDGE of themselves changes a LOST-th of it.
NUDGE, LOST = 1e-11, 10.0
#: Directions of differences; the multiple of their uncertainty above which slopes are evidence.
DIRECTIONS, CLEAR = 3, 100.0


@dataclass(frozen=True)
class Limit:
    """The best gradient of a sweep, the law that its error follows, and in words how it breaks it, if it does."""

    gradient: Gradient
    sweep: Sweep
    law: str
    breach: str = ""


class Laboratory:
    """The network in float64 at rest, its exact gradient, and rules tried on it from there.

    ``detaches``: whether it has derivatives that are cut, which differences see. Raises RuntimeError where the implicit
    gradient cannot be solved for.
    """

    def __init__(
        self,
        net: Any,
        found: Rest,
        spectrum: Spectrum | None,
        detaches: bool = False,
        progress: Progress = silent,
    ) -> None:
        self.net = net
        self.progress = progress
        self.detaches = detaches
        self.probe: Probe = found.probe
        self.states = found.states
        self.step = None if found.factor == 1.0 else found.step[0]
        self.spectrum = spectrum if found.factor == 1.0 else None
        self.nudge_steps = self.steps_for(SETTLED)
        self.tenth = max(100, self.steps_for(10) or 0)
        self.reference: Gradient = self.at_rest(REFERENCE).params
        self.nonzero = self._nonzero()

    def _nonzero(self) -> tuple[str, ...]:
        """The params whose exact gradient is more than what rounding leaves of terms that cancel."""
        random = torch.Generator().manual_seed(0)
        size = max(float(x.abs().max()) for x in self.states.values())
        floor = 1e-12 * (size if size > 1e-12 else 1.0)

        def moved(x: Tensor) -> Tensor:
            turns = torch.randn(x.shape, generator=random, dtype=torch.float64).to(x)
            return torch.where(x.abs() > floor, x * (1 + NUDGE * turns), 0.0)

        states = {name: moved(x) for name, x in self.states.items()}
        beside = self.gradients(REFERENCE, steps=0, states=states).params
        return tuple(n for n, g in self.reference.items() if float(g.norm()) > LOST * float((beside[n] - g).norm()))

    def at_rest(self, rule: str, **settings: Any) -> Any:
        """A rule's gradients from the equilibrium."""
        return self.gradients(rule, steps=0, states=copied(self.states), **settings)

    def steps_for(self, factor: float) -> int | None:
        """Steps in which a nudged phase comes nearer to its end by a factor; None where the spectrum does not tell."""
        if self.spectrum is None or not self.spectrum.step_radius < 0.99:
            return None
        return math.ceil(1.1 * self.spectrum.steps_for(factor)) + 20

    def gradients(self, rule: str, **settings: Any) -> Any:
        """A rule's gradients on the probe."""
        clamps, targets = self.probe.clamps, self.probe.targets
        return self.net.gradients(clamps, targets, rule, step=self.step, allow_biased=True, **settings)

    def error(self, gradient: Gradient) -> float:
        """Against the exact gradient, over all params."""
        return measure_all(gradient, self.reference).relative_error

    @property
    def zero(self) -> tuple[str, ...]:
        """The params whose exact gradient is zero beside rounding."""
        return tuple(name for name in self.reference if name not in self.nonzero)

    def each(self, gradient: Gradient) -> dict[str, Measure]:
        """Against the exact gradient, of each param of which that is not zero."""
        return measure_each(gradient, {name: self.reference[name] for name in self.nonzero})

    def limit(self, rule: str) -> Limit:
        """The limit of a rule: by its nudge, by its steps, by itself, or against differences of the cost."""
        declared = RULES[rule]
        if declared.order is not None:
            return contrast(self, rule, declared.order or self.net.points)
        if "trajectory" in declared.needs:
            return unrolled(self, rule, last_steps="steps" in declared.settings)
        return differences(self) if rule == REFERENCE else converged(self, rule)

    def beta(self, rule: str) -> float | None:
        """What ``beta = auto`` is in float64 at rest; None for a rule without one."""
        found: float | None = self.at_rest(rule, nudge_steps=TRIAL, beta="auto").beta if RULES[rule].contrasts else None
        return found


# ---------------------------------------------------------------- contrasts


def contrast(lab: Laboratory, rule: str, order: int) -> Limit:
    """Beta swept down over powers of 8 until the error vanishes or stops falling; the lowest is the limit.

    Where nudged phases diverge the gradient is of other samples than the exact one, or of none: that is no point.
    """
    points, best, limit = [], math.inf, {name: torch.full_like(t, math.nan) for name, t in lab.reference.items()}
    diverged = False
    first = _first_beta(lab, rule)
    for k in range(18):
        beta = first / 8**k
        lab.progress(f"{rule}, beta = {beta:.1e}")
        found = lab.at_rest(rule, beta=beta, nudge_steps=lab.nudge_steps)
        diverged, error = not bool(found.kept.all()), lab.error(found.params)
        if math.isfinite(error) and not diverged:
            points.append((beta, error))
            if error < best:
                best, limit = error, found.params
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
    """The measured order, in words."""
    slope = sweep.slope()
    if slope is not None:
        kinked = slope <= order - HALF and not breach(sweep, order)
        return "kinks at larger beta" if kinked else f"measured {slope:.2f}"
    return "below rounding" if min(error for _, error in sweep.points) < ROUNDING else "no order seen"


def breach(sweep: Sweep, order: int) -> str:
    """How an error fails to fall with its order, within a half: on the whole, or at the smallest betas.

    Empty where it does. A nudge that carries units over kinks has an error of a lower order, and one that is too short
    to reach them the order of the law: what counts then is the last step above rounding, or that into rounding. Where
    every error is rounding there is no order to see, and the least of them must be small.
    """
    lowest = min(error for _, error in sweep.points)
    orders = sweep.orders()
    if lowest > (LEVEL if orders else ROUNDING):
        return f"law not met: the error of beta^{order} falls no lower than {lowest:.1e}"
    if orders and max(measured := max(median(orders), orders[-1]), sweep.into_floor() or 0.0) <= order - HALF:
        return f"law not met: measured beta^{measured:.2f} of beta^{order}"
    return ""


def _has_stalled(points: list[tuple[float, float]]) -> bool:
    """Whether the error no longer falls, and is large: the rule is biased."""
    errors = [error for _, error in points[-3:]]
    return len(errors) == 3 and min(errors) > 1e-4 and max(errors) < 1.01 * min(errors)


def _first_beta(lab: Laboratory, rule: str) -> float:
    """Where the sweep begins: a beta with a visible error at which the nudged phases do not diverge."""
    top = 64 * (lab.beta(rule) or 1.0)
    for _ in range(4):
        found = lab.at_rest(rule, beta=16 * top, nudge_steps=lab.nudge_steps)
        error = lab.error(found.params)
        if not math.isfinite(error) or not bool(found.kept.all()):
            return top
        top *= 16
        if error > FAR:
            return top
    return top


# ---------------------------------------------------------------- without a nudge


def converged(lab: Laboratory, rule: str) -> Limit:
    """A rule's own iteration, converged: it has no small number."""
    found = lab.at_rest(rule, nudge_steps=None).params
    error = lab.error(found)
    off = "" if error < 1e-6 else f"its error is {error:.1e}, not under 1e-6"
    return Limit(found, Sweep("steps", ((math.inf, error),)), "exact", off)


def unrolled(lab: Laboratory, rule: str, *, last_steps: bool) -> Limit:
    """Backpropagation through more and more steps: the last ones at the equilibrium, or all from the start."""
    if last_steps:
        return _more_steps(lab, 1, lambda k: lab.gradients(rule, steps=k, states=copied(lab.states), nudge_steps=k))
    return _more_steps(lab, 8, lambda k: lab.gradients(rule, steps=k))


def _more_steps(lab: Laboratory, first: int, gradients: Callable[[int], Any]) -> Limit:
    points, limit, k = [], lab.reference, first
    size = sum(v.numel() for v in lab.states.values())
    while k <= 4096:
        limit = gradients(k).params
        error = lab.error(limit)
        points.append((float(k), error))
        if error < NEAR or k * size > LONGEST:
            break
        k *= 2
    return Limit(limit, Sweep("steps", tuple(points)), "falls with the steps")


def differences(lab: Laboratory) -> Limit:
    """The implicit gradient against central differences of the relaxed cost along random directions.

    A slope within the uncertainty of a difference is no evidence. Nothing is measured where the network detaches: that
    derivative is left out by definition, and differences would find it.
    """
    if lab.detaches:
        return Limit(lab.reference, Sweep("direction", ()), "detaches: differences see through")
    points, excess = [], 0.0
    for direction in range(DIRECTIONS):
        lab.progress(f"finite differences, direction {direction + 1} of {DIRECTIONS}")
        exact, found, doubt = _slopes_along(lab, direction)
        size = max(abs(exact), abs(found))
        if size > CLEAR * doubt:
            points.append((float(direction), abs(found - exact) / size))
            excess = max(excess, (abs(found - exact) - doubt) / size)
    if not points:
        return Limit(lab.reference, Sweep("direction", ()), "no slope above the rounding of differences")
    worst = max(error for _, error in points)
    off = "" if excess < 1e-4 else f"finite differences of the cost give another slope (off by {worst:.0e})"
    return Limit(lab.reference, Sweep("direction", tuple(points)), f"finite differences to {worst:.0e}", off)


def _slopes_along(lab: Laboratory, direction: int) -> tuple[float, float, float]:
    """The slope of the mean cost along a random direction: by the gradient, by moving the params, and how uncertain
    the latter is.

    Directions come from a generator that draws no weights: along the weights themselves a cost may have no slope.
    """
    random = np.random.default_rng(direction)
    params = {n: p for n, p in lab.net.params.items() if n in lab.reference}
    ways = {
        n: torch.from_numpy(random.standard_normal(tuple(p.shape))).to(p) * (p.detach().abs().mean() + 1e-3)
        for n, p in params.items()
    }
    slope = sum(float((lab.reference[n] * w).sum()) for n, w in ways.items())
    h = 1e-6
    (above, doubt), (below, more) = _cost(lab, params, ways, h), _cost(lab, params, ways, -h)
    return slope, (above - below) / (2 * h), (doubt + more) / (2 * h)


def _cost(lab: Laboratory, params: Mapping[str, Tensor], ways: Mapping[str, Tensor], h: float) -> tuple[float, float]:
    """The mean cost at the equilibrium of moved params, which are put back, and its uncertainty."""
    before_move = {n: p.detach().clone() for n, p in params.items()}
    with torch.no_grad():
        for n, p in params.items():
            p.add_(h * ways[n])
    try:
        return _settled_cost(lab)
    finally:
        with torch.no_grad():
            for n, p in params.items():
                p.copy_(before_move[n])


def _settled_cost(lab: Laboratory) -> tuple[float, float]:
    """The mean cost at the equilibrium near the one at rest, to rounding, and by how much it may be off.

    That is what the last steps changed, in which an error falls to a tenth, and the rounding of the mean.
    """
    states, before, cost, last = copied(lab.states), math.inf, math.nan, math.nan
    for _ in range(100):
        found = lab.net.relax(lab.probe.clamps, steps=lab.tenth, step=lab.step, states=states)
        states, now, last = found.states, float(found.residual.max()), cost
        cost = float(lab.net.cost(states, lab.probe.clamps, lab.probe.targets).mean())
        if math.isfinite(last) and (now < 1e-14 or now > 0.9 * before):
            break
        before = now
    return cost, abs(cost - last) + 8 * torch.finfo(torch.float64).eps * abs(cost)
