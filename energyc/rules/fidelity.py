"""The fidelity of each rule, in two columns (rules.md section 8).

*Limit*: float64, both phases converged, the rule's own small number swept; this decides whether a rule is faithful.
*As configured*: the spec's own dtype, steps and beta, which is what training sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from energyc.rules.compare import Measure, measure_all, measure_each
from energyc.rules.probe import Probe
from energyc.rules.spectrum import Spectrum, spectrum

#: A faithful rule's cosine in the limit.
FAITHFUL = 0.9999
#: The free phase counts as converged below this residual.
CONVERGED = 1e-9
Gradient = Mapping[str, Tensor]


@dataclass(frozen=True)
class Sweep:
    """Errors along a sweep: (the small number, relative error) from the largest to the smallest."""

    name: str
    points: tuple[tuple[float, float], ...]

    def slope(self) -> float | None:
        """The order with which the error falls, between its largest point and its floor; None where it is all floor."""
        errors = [error for _, error in self.points]
        lowest = errors.index(min(errors))
        falling = [(x, e) for x, e in self.points[: lowest + 1] if 10 * errors[lowest] < e < 0.1]
        if len(falling) < 2:
            return None
        (x0, e0), (x1, e1) = falling[0], falling[-1]
        return math.log(e0 / e1) / math.log(x0 / x1)


@dataclass(frozen=True)
class RuleFidelity:
    """One rule: both columns over all params and for each, the law that its error follows, and whether it is faithful."""

    rule: str
    limit: Measure | None
    configured: Measure | None
    law: str
    passed: bool
    limit_params: Mapping[str, Measure] = field(default_factory=dict)
    configured_params: Mapping[str, Measure] = field(default_factory=dict)
    sweep: Sweep | None = None
    beta: float | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The object of interface.md."""
        limit = {**self.limit.to_json(), "law": self.law} if self.limit else None
        params = {
            name: {
                "limit": m.to_json(),
                "configured": self.configured_params[name].to_json() if name in self.configured_params else None,
            }
            for name, m in self.limit_params.items()
        }
        configured = {**self.configured.to_json(), "beta": self.beta} if self.configured else None
        sweep = {"name": self.sweep.name, "points": [list(p) for p in self.sweep.points]} if self.sweep else None
        return {"limit": limit, "configured": configured, "passed": self.passed, "note": self.note, "params": params, "sweep": sweep}


@dataclass(frozen=True)
class Fidelity:
    """The report of ``verify``."""

    rules: Mapping[str, RuleFidelity]
    spectrum: Spectrum | None
    residual: float
    samples: int
    settled: int

    @property
    def passed(self) -> bool:
        """Whether every rule that should be faithful is."""
        return all(rule.passed for rule in self.rules.values())

    def to_json(self) -> dict[str, Any]:
        """The object of interface.md."""
        return {
            "rules": {name: rule.to_json() for name, rule in self.rules.items()},
            "spectrum": self.spectrum.to_json() if self.spectrum else None,
            "free_phase": {"residual": self.residual, "samples": self.samples, "settled": self.settled},
            "passed": self.passed,
        }


def verify(
    exact: Any,
    configured: Any,
    probe: Probe,
    rules: Sequence[str],
    *,
    biased: Sequence[str] = (),
    most_steps: int = 20_000,
) -> Fidelity:
    """Measure rules on a network.

    Args:
        exact: the network in float64, with every rule asked for.
        configured: the same network with the same weights in the dtype that it trains in.
        probe: clamps and targets; samples that find no fixed point are left out and counted.
        rules: the rules to measure.
        biased: those among them of which no faithfulness is expected.
        most_steps: the budget of the free phase.
    """
    free = _settled(exact, probe, most_steps)
    settled = (free.residual <= CONVERGED).nonzero()[:, 0]
    worst = float(free.residual.max())
    samples = len(free.residual)
    if len(settled) == 0:
        note = f"no fixed point was found: the residual is {worst:.1e} after {int(free.steps.max())} steps"
        lost = {rule: RuleFidelity(rule, None, None, "", rule in biased, note=note) for rule in rules}
        return Fidelity(lost, None, worst, samples, 0)
    kept = Probe(_rows(probe.clamps, settled), _rows(probe.targets, settled))
    states = _rows(free.states, settled)
    judge = _Judge(exact, configured, kept, states)
    measured = {rule: judge.rule(rule, rule not in biased) for rule in rules}
    found = spectrum(exact, states, kept.clamps, exact.relax_step)
    return Fidelity(measured, found, worst, samples, len(settled))


def _settled(net: Any, probe: Probe, most_steps: int) -> Any:
    """The free phase until its residual is far below what counts as converged, or the budget is spent."""
    found = net.relax(probe.clamps)
    taken = int(found.steps.max())
    while taken < most_steps and float(found.residual.max()) > CONVERGED / 1e4:
        before = float(found.residual.max())
        chunk = max(100, taken)
        found = net.relax(probe.clamps, steps=chunk, states=found.states)
        taken += chunk
        if float(found.residual.max()) > 0.9 * before and before < CONVERGED / 10:
            break
    return found


def _rows(tensors: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    return {name: value[rows] for name, value in tensors.items()}


class _Judge:
    """Measures one rule after another from the same equilibrium."""

    def __init__(self, exact: Any, configured: Any, probe: Probe, states: dict[str, Tensor]) -> None:
        self.exact = exact
        self.configured = configured
        self.probe = probe
        self.states = states
        self.reference: Gradient = self._at_rest("implicit").params

    def _at_rest(self, rule: str, **settings: Any) -> Any:
        """A rule's gradient from the equilibrium, in float64."""
        start = {name: value.clone() for name, value in self.states.items()}
        return self.exact.gradients(self.probe.clamps, self.probe.targets, rule, steps=0, states=start, allow_biased=True, **settings)

    def rule(self, rule: str, faithful: bool) -> RuleFidelity:
        """Both columns of a rule."""
        limit, sweep, law, good = _LIMITS[rule](self)
        whole = measure_all(limit, self.reference)
        real = self.configured.gradients(self.probe.clamps, self.probe.targets, rule, allow_biased=True)
        passed = not faithful or (whole.cosine > FAITHFUL and good)
        return RuleFidelity(
            rule,
            whole,
            measure_all(real.params, self.reference),
            law,
            passed,
            measure_each(limit, self.reference),
            measure_each(real.params, self.reference),
            sweep,
            real.beta,
        )

    # ------------------------------------------------------------ limits

    def contrast(self, rule: str, order: int) -> tuple[Gradient, Sweep, str, bool]:
        """The nudged phases converged, beta swept downwards over powers of two; the best point is the limit."""
        top = 64 * self._at_rest(rule, nudge_steps=None).beta
        points, best, limit = [], math.inf, self.reference
        for k in range(0, 44, 2):
            beta = top / 2**k
            found = self._at_rest(rule, beta=beta, nudge_steps=None).params
            error = measure_all(found, self.reference).relative_error
            if math.isfinite(error):
                points.append((beta, error))
                if error < best:
                    best, limit = error, found
            if error > 1e3 * best:
                break
        sweep = Sweep("beta", tuple(points))
        slope = sweep.slope()
        law = f"beta^{order}" + (f" (measured {slope:.2f})" if slope is not None else " (below rounding)")
        return limit, sweep, law, slope is None or slope > order - 1.3 or best < 1e-7

    def adjoint(self) -> tuple[Gradient, Sweep, str, bool]:
        """The adjoint's own iteration, converged: it has no small number."""
        found = self._at_rest("adjoint", nudge_steps=None).params
        error = measure_all(found, self.reference).relative_error
        return found, Sweep("steps", ((math.inf, error),)), "exact", error < 1e-6

    def truncated(self) -> tuple[Gradient, Sweep, str, bool]:
        """Backpropagation through more and more steps from the equilibrium."""
        points, limit, k = [], self.reference, 1
        while k <= 4096:
            found = self.exact.gradients(
                self.probe.clamps, self.probe.targets, "tbptt", steps=k, states=self.states, nudge_steps=k, allow_biased=True
            ).params
            error = measure_all(found, self.reference).relative_error
            points.append((float(k), error))
            limit = found
            if error < 1e-8 or k * sum(v.numel() for v in self.states.values()) > 4e7:
                break
            k *= 2
        return limit, Sweep("steps", tuple(points)), "falls with the steps", True

    def unrolled(self) -> tuple[Gradient, Sweep, str, bool]:
        """Backpropagation through more and more steps from the start."""
        points, limit, k = [], self.reference, 8
        while k <= 4096:
            found = self.exact.gradients(self.probe.clamps, self.probe.targets, "bptt", steps=k, allow_biased=True).params
            error = measure_all(found, self.reference).relative_error
            points.append((float(k), error))
            limit = found
            if error < 1e-8 or k * sum(v.numel() for v in self.states.values()) > 4e7:
                break
            k *= 2
        return limit, Sweep("steps", tuple(points)), "falls with the steps", True

    def differences(self) -> tuple[Gradient, Sweep, str, bool]:
        """The implicit gradient against central differences of the relaxed cost along random directions."""
        points = []
        for seed in range(3):
            exact, found = self._along(seed)
            points.append((float(seed), abs(found - exact) / (abs(exact) or 1.0)))
        worst = max(error for _, error in points)
        return self.reference, Sweep("direction", tuple(points)), f"finite differences to {worst:.0e}", worst < 1e-4

    def _along(self, seed: int) -> tuple[float, float]:
        """The slope of the mean cost along a random direction: by the gradient, and by moving the params."""
        random = torch.Generator().manual_seed(seed)
        params = {n: p for n, p in self.exact.params.items() if n in self.reference}
        ways = {n: torch.randn(p.shape, generator=random, dtype=p.dtype).to(p.device) * (p.detach().abs().mean() + 1e-3) for n, p in params.items()}
        slope = sum(float((self.reference[n] * w).sum()) for n, w in ways.items())
        h = 1e-6
        return slope, (self._cost(params, ways, h) - self._cost(params, ways, -h)) / (2 * h)

    def _cost(self, params: Mapping[str, Tensor], ways: Mapping[str, Tensor], h: float) -> float:
        kept = {n: p.detach().clone() for n, p in params.items()}
        with torch.no_grad():
            for n, p in params.items():
                p.add_(h * ways[n])
        try:
            start, before = {n: v.clone() for n, v in self.states.items()}, math.inf
            for _ in range(100):
                found = self.exact.relax(self.probe.clamps, steps=100, states=start)
                start = found.states
                now = float(found.residual.max())
                if now < 1e-14 or now > 0.9 * before:
                    break
                before = now
            return float(self.exact.cost(start, self.probe.clamps, self.probe.targets).mean())
        finally:
            with torch.no_grad():
                for n, p in params.items():
                    p.copy_(kept[n])


_LIMITS: dict[str, Callable[[_Judge], tuple[Gradient, Sweep, str, bool]]] = {
    "ep": lambda judge: judge.contrast("ep", 1),
    "centered-ep": lambda judge: judge.contrast("centered-ep", 2),
    "vf": lambda judge: judge.contrast("vf", 2),
    "aep": lambda judge: judge.contrast("aep", 2),
    "tracking-aep": lambda judge: judge.contrast("tracking-aep", 2),
    "adjoint": lambda judge: judge.adjoint(),
    "holomorphic-ep": lambda judge: judge.contrast("holomorphic-ep", judge.exact.points),
    "holomorphic-aep": lambda judge: judge.contrast("holomorphic-aep", judge.exact.points),
    "tbptt": lambda judge: judge.truncated(),
    "bptt": lambda judge: judge.unrolled(),
    "implicit": lambda judge: judge.differences(),
}
