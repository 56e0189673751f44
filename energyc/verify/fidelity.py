"""The fidelity of each rule, in two columns (rules.md, section 8).

*Limit*: float64, both phases converged, the rule's own small number swept; this decides whether a rule is faithful.
*As configured*: the spec's own dtype, steps and beta, which is what training sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from energyc.verify.compare import Measure, measure_all
from energyc.verify.drift import warning
from energyc.verify.limits import Laboratory, Limit
from energyc.verify.looseness import Looseness, looseness
from energyc.verify.probe import Probe
from energyc.verify.rest import Rest, rest
from energyc.verify.settling import Settling, at_the_end, settling
from energyc.verify.spectrum import Spectrum, slowest
from energyc.verify.sweep import Sweep
from energyc.verify.symmetry import Symmetry, symmetry
from energyc.verify.work import EVALUATIONS, OutOfWork, Progress, budget, silent

#: A faithful rule's cosine in the limit.
FAITHFUL = 0.9999
#: Why there is nothing to measure on a param.
ZERO = "the exact gradient is zero beside rounding: nothing was measured"
#: The verdict on a rule of which faithfulness is expected.
EXACT = "exact"


@dataclass(frozen=True)
class RuleFidelity:
    """One rule: both columns over all params and for each, and the law that its error follows.

    ``verdict`` is what the analysis says of it: ``exact``, ``biased`` or ``unproved``. ``fault`` says why
    a rule that should be faithful is not, ``note`` why a column is empty.
    """

    rule: str
    limit: Measure | None
    configured: Measure | None
    law: str
    fault: str = ""
    limit_params: Mapping[str, Measure] = field(default_factory=dict)
    configured_params: Mapping[str, Measure] = field(default_factory=dict)
    sweep: Sweep | None = None
    beta: float | None = None
    note: str = ""
    verdict: str = EXACT

    @property
    def passed(self) -> bool:
        """Whether it is as faithful as it should be."""
        return not self.fault

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
        sweep = self.sweep.to_json() if self.sweep else None
        return {
            "verdict": self.verdict,
            "limit": limit,
            "configured": configured,
            "passed": self.passed,
            "fault": self.fault,
            "note": self.note,
            "params": params,
            "sweep": sweep,
        }


@dataclass(frozen=True)
class Fidelity:
    """The report of ``verify``; ``residual`` is the free phase's in float64, ``looseness`` is of a swept one.

    On the params ``zero`` nothing was measured: their exact gradient is zero. ``symmetry`` is that of J at the
    equilibria; None where a rule detaches, or J is too large.
    """

    rules: Mapping[str, RuleFidelity]
    spectrum: Spectrum | None
    residual: float
    samples: int
    settled: int
    settling: Settling
    looseness: Looseness | None = None
    zero: tuple[str, ...] = ()
    symmetry: Symmetry | None = None

    @property
    def passed(self) -> bool:
        """Whether every rule that should be faithful is."""
        return all(rule.passed for rule in self.rules.values())

    def to_json(self) -> dict[str, Any]:
        """The object of interface.md."""
        phase = {"residual": self.residual, "samples": self.samples, "settled": self.settled}
        return {
            "rules": {name: rule.to_json() for name, rule in self.rules.items()},
            "spectrum": self.spectrum.to_json() if self.spectrum else None,
            "free_phase": {**phase, "configured": self.settling.to_json()},
            "residual_sweep": self.looseness.to_json() if self.looseness else None,
            "symmetry": self.symmetry.to_json() if self.symmetry else None,
            "not_measured": dict.fromkeys(self.zero, ZERO),
            "passed": self.passed,
        }


def measure_fidelity(
    exact: Any,
    configured: Any,
    probe: Probe,
    rules: Sequence[str],
    *,
    verdicts: Mapping[str, str] = MappingProxyType({}),
    most_steps: int = 20_000,
    sweep_residual: bool = False,
    detaches: bool = False,
    evaluations: int = EVALUATIONS,
    progress: Progress = silent,
) -> Fidelity:
    """Measure rules on a network.

    Args:
        exact: the network in float64, with every rule of ``rules`` and ``implicit``.
        configured: the same network with the same weights in the dtype that it trains in.
        probe: clamps and targets; samples that find no fixed point are left out and counted.
        rules: the rules to measure.
        verdicts: what the analysis says of them, ``exact`` where it is left out; of others no faithfulness is expected.
        most_steps: the budget of the free phase.
        sweep_residual: whether to cut the free phase off at a row of residuals too.
        detaches: whether the network cuts derivatives by ``detach``, so that differences of the cost are no measure.
        evaluations: of the force, in which the limit of a rule is to be measured.
        progress: called with a word on what is measured next.
    """
    progress("the free phase")
    found = rest(exact, probe, most_steps)
    progress("the Jacobian at rest")
    settled = (found.states, found.probe.clamps)
    at = slowest(exact, *settled, exact.relax_step) if found.settled else at_the_end(exact, probe, found)
    judged = settling(exact, configured, probe, found, at)
    lab, reason = _laboratory(exact, found, at, detaches, progress)
    phase = (at, found.worst, found.samples, found.settled, judged)
    if lab is None or reason:
        lost = {rule: _unmeasured(rule, verdicts.get(rule, EXACT), reason) for rule in rules}
        return Fidelity(lost, *phase, zero=lab.zero if lab else ())
    measured = {rule: _measured(lab, configured, rule, verdicts.get(rule, EXACT), evaluations) for rule in rules}
    loose = looseness(lab, rules) if sweep_residual else None
    symmetric = None if detaches else symmetry(exact, found.states, found.probe, found.step)
    return Fidelity(measured, *phase, loose, lab.zero, symmetric)


def _laboratory(
    exact: Any, found: Rest, at: Spectrum | None, detaches: bool, progress: Progress
) -> tuple[Laboratory | None, str]:
    """Where rules are measured, None where there is no such place, and why nothing can be measured."""
    if not found.settled:
        return None, "no fixed point was found"
    try:
        lab = Laboratory(exact, found, at, detaches, progress)
    except RuntimeError as error:
        return None, str(error)
    return lab, "" if lab.nonzero else ZERO


def _unmeasured(rule: str, verdict: str, reason: str) -> RuleFidelity:
    """A rule that was not measured; where the exact gradient is zero that is no fault."""
    fault = reason if verdict == EXACT and reason != ZERO else ""
    return RuleFidelity(rule, None, None, "", fault, note=reason, verdict=verdict)


def _measured(lab: Laboratory, configured: Any, rule: str, verdict: str, evaluations: int) -> RuleFidelity:
    """Both columns of a rule."""
    lab.progress(rule)
    try:
        with budget(lab.net, evaluations):
            limit = lab.limit(rule)
    except OutOfWork:
        return _unmeasured(rule, verdict, f"its limit takes more than {evaluations:,} evaluations of the force")
    overall = measure_all(limit.gradient, lab.reference)
    try:
        real = configured.gradients(lab.probe.clamps, lab.probe.targets, rule, allow_biased=True)
    except RuntimeError as error:  # the implicit solve, where the free phase as configured is far from rest
        real, note = None, str(error)
    else:
        note = _lost(real) or warning(configured, real, lab.probe, rule)
        real = real if bool(real.kept.any()) else None
    return RuleFidelity(
        rule,
        overall,
        None if real is None else measure_all(real.params, lab.reference),
        limit.law,
        _fault(overall, limit) if verdict == EXACT else "",
        lab.each(limit.gradient),
        {} if real is None else lab.each(real.params),
        limit.sweep,
        None if real is None else real.beta,
        note,
        verdict,
    )


def _lost(real: Any) -> str:
    """In words, that samples as configured have no contrast; empty where all have."""
    count, kept = len(real.kept), int(real.kept.sum())
    if kept:
        return f"as configured the nudged phases of {count - kept} of {count} samples diverged" if kept < count else ""
    phases = "nudged phases" if bool(real.residual.isfinite().any()) else "free phase and so the nudged phases"
    return f"as configured the {phases} of all {count} samples diverged"


def _fault(overall: Measure, limit: Limit) -> str:
    if not math.isfinite(overall.cosine):
        return limit.breach or "its gradient is not finite"
    low = "" if overall.cosine > FAITHFUL else f"cosine too low: {overall.cosine:.6f}, not over {FAITHFUL}"
    return "; ".join(filter(None, [limit.breach, low]))
