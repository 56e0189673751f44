"""Measure the fidelity of each rule, in two columns.

*Limit*: float64, both phases converged, the rule's own small number swept; this decides whether a rule is faithful.
*As configured*: the spec's own dtype, steps and beta, as in training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from energyc.language.diagnostics import is_out_of_memory
from energyc.language.network import Network
from energyc.mathematics.calculus import depends, is_cut
from energyc.mathematics.ir import walk
from energyc.running.training.diagnosis import drift_warning
from energyc.running.training.feeds import Batch
from energyc.studies.verify.compare import Measure, Sweep, measure_all
from energyc.studies.verify.guarantees import WITHIN, Guarantee, guarantee
from energyc.studies.verify.limits import Gradient, Laboratory, Limit
from energyc.studies.verify.looseness import Looseness, looseness
from energyc.studies.verify.rest import Rest, rest
from energyc.studies.verify.settling import Settling, last_spectrum, settling, settling_unknown
from energyc.studies.verify.spectrum import Spectrum, slowest
from energyc.studies.verify.symmetry import Symmetry, symmetry
from energyc.studies.verify.work import EVALUATIONS, Progress, Work, silent

#: The cosine that a faithful rule exceeds in the limit.
FAITHFUL = 0.9999
#: Why a param is not measured.
ZERO = "the exact gradient is zero beside rounding: nothing was measured"
#: The names of measurements that all others need.
FREE_PHASE, REFERENCE = "the free phase", "the implicit gradient"
#: The verdict on a rule that must be faithful.
EXACT = "exact"
#: The verdict on a rule that must be faithful to another objective than the cost.
SURROGATE = "surrogate"


@dataclass(frozen=True)
class RuleFidelity:
    """The fidelity of one rule: both columns, overall and for each param, and the law that its error follows.

    ``verdict`` is that of the analysis: ``exact``, ``surrogate``, ``biased`` or ``unproved``. Both columns compare with
    the gradient of the cost; the ``law`` of a surrogate is about what it follows. ``fault`` explains why a rule that
    should be faithful is not, and ``note`` why a column is empty or doubtful. A network of layers has the same for the
    params of each copy of a layer together, and for those around the layers.
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
    limit_layers: Mapping[str, Measure] = field(default_factory=dict)
    configured_layers: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the rule has no fault."""
        return not self.fault

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of interface.md."""
        limit = {**self.limit.to_json(), "law": self.law} if self.limit else None
        configured = {**self.configured.to_json(), "beta": self.beta} if self.configured else None
        sweep = self.sweep.to_json() if self.sweep else None
        return {
            "verdict": self.verdict,
            "limit": limit,
            "configured": configured,
            "passed": self.passed,
            "fault": self.fault,
            "note": self.note,
            "params": _beside(self.limit_params, self.configured_params),
            **({"layers": _beside(self.limit_layers, self.configured_layers)} if self.limit_layers else {}),
            "sweep": sweep,
        }


def _beside(limit: Mapping[str, Measure], configured: Mapping[str, Measure]) -> dict[str, Any]:
    """Return both columns of each name as plain values."""
    others = {name: measure.to_json() for name, measure in configured.items()}
    return {name: {"limit": own.to_json(), "configured": others.get(name)} for name, own in limit.items()}


@dataclass(frozen=True)
class Fidelity:
    """The fidelity of all rules.

    ``residual`` is that of the float64 free phase, and ``looseness`` the result of sweeping it. The params in ``zero``
    are not measured, because their exact gradient is zero. ``symmetry`` is that of J at the equilibria; it is None if
    the network detaches or J is too large. ``left_out`` are the measurements that the budget ended. ``guarantee`` is
    what is proved at these params and samples.
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
    left_out: tuple[str, ...] = ()
    guarantee: Guarantee | None = None

    @property
    def passed(self) -> bool:
        """Whether every rule that should be faithful is."""
        return all(rule.passed for rule in self.rules.values())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of interface.md."""
        phase = {"residual": self.residual, "samples": self.samples, "settled": self.settled}
        return {
            "rules": {name: rule.to_json() for name, rule in self.rules.items()},
            "spectrum": self.spectrum.to_json() if self.spectrum else None,
            "free_phase": {**phase, "configured": self.settling.to_json()},
            "residual_sweep": self.looseness.to_json() if self.looseness else None,
            "symmetry": self.symmetry.to_json() if self.symmetry else None,
            "guarantee": self.guarantee.to_json() if self.guarantee else None,
            "not_measured": dict.fromkeys(self.zero, ZERO),
            "left_out": list(self.left_out),
            "passed": self.passed,
        }


def measure_fidelity(
    exact: Any,
    configured: Any,
    probe: Batch,
    rules: Sequence[str],
    *,
    verdicts: Mapping[str, str] = MappingProxyType({}),
    most_steps: int = 20_000,
    sweep_residual: bool = False,
    evaluations: int = EVALUATIONS,
    progress: Progress = silent,
    network: Network | None = None,
    within: float = WITHIN,
) -> Fidelity:
    """Measure rules on a network.

    Args:
        exact: the network in float64, with every rule of ``rules`` and ``implicit``.
        configured: the same network with the same weights in the dtype that it trains in.
        probe: clamps and targets; samples without a fixed point are excluded and counted.
        rules: the rules to measure.
        verdicts: the verdict of the analysis on each rule, ``exact`` by default; only exact rules must be faithful.
        most_steps: the largest number of steps of the free phase.
        sweep_residual: whether to stop the free phase early at several residuals too.
        evaluations: the largest number of evaluations of the force for each measurement.
        progress: called with the name of each measurement before it starts.
        network: the network as it is typed, of which is proved what can be; nothing without it.
        within: the error of centered-ep for which the largest beta that is proved to keep to it is looked for.
    """
    work = Work((exact, configured), evaluations, progress)
    detached = network is not None and detaches(network)
    progress(FREE_PHASE)
    endpoint = rest(exact, probe, most_steps, evaluations)
    if endpoint.cut_short:
        work.left_out.append(f"{FREE_PHASE} after {endpoint.steps:,} steps")
    spectrum = work.measure("the Jacobian at rest", lambda: _spectrum_at(exact, probe, endpoint))
    diagnosis = work.measure(
        "why samples do not settle", lambda: settling(exact, configured, probe, endpoint, spectrum)
    )
    lab, reason = _open_laboratory(exact, endpoint, spectrum, detached, work)
    phase = (spectrum, endpoint.worst, endpoint.samples, endpoint.settled, diagnosis or settling_unknown(configured))
    if lab is None or reason:
        unmeasured = {rule: _without_measurement(rule, verdicts.get(rule, EXACT), reason) for rule in rules}
        return Fidelity(unmeasured, *phase, zero=lab.zero if lab else (), left_out=tuple(work.left_out))
    fidelities = {rule: _measure_rule(lab, configured, rule, verdicts.get(rule, EXACT), work) for rule in rules}
    residual_sweep = looseness(lab, rules, work) if sweep_residual else None
    symmetry_at_rest = None if detached else work.measure("the symmetry of J", lambda: _symmetry_at(exact, endpoint))
    proved = None
    if network is not None:
        sweep = fidelities["centered-ep"].sweep if "centered-ep" in fidelities else None
        proved = work.measure(
            "what is proved",
            lambda: guarantee(network, exact, lab.probe, lab.states, lab.reference, sweep, within),
        )
    return Fidelity(fidelities, *phase, residual_sweep, lab.zero, symmetry_at_rest, tuple(work.left_out), proved)


def detaches(network: Network) -> bool:
    """Whether a term or the cost uses ``detach`` or a statistic of the batch on what depends on a state or param.

    Finite differences of the cost do not see what it cuts.
    """
    roots = [term.node for term in network.terms.values()] + ([network.cost.node] if network.cost else [])
    cut = {node.argument for node in walk(roots) if is_cut(node, "detach")}
    moving = {state.node for state in network.states.values()} | {param.node for param in network.params.values()}
    return not cut.isdisjoint(depends(cut, moving))


def _spectrum_at(exact: Any, probe: Batch, endpoint: Rest) -> Spectrum | None:
    """Return the spectrum where the free phase settled, or where it ended if no sample did."""
    if endpoint.settled:
        return slowest(exact, endpoint.states, endpoint.probe.clamps, exact.relax_step)
    return last_spectrum(exact, probe, endpoint)


def _symmetry_at(exact: Any, endpoint: Rest) -> Symmetry | None:
    return symmetry(exact, endpoint.states, endpoint.probe, endpoint.step)


def _open_laboratory(
    exact: Any, endpoint: Rest, spectrum: Spectrum | None, detaches: bool, work: Work
) -> tuple[Laboratory | None, str]:
    """Return the laboratory, or None, and the reason why nothing can be measured, or an empty string."""
    if not endpoint.settled:
        return None, f"{FREE_PHASE} {_over(work)}" if endpoint.cut_short else "no fixed point was found"
    try:
        lab = work.measure(REFERENCE, lambda: Laboratory(exact, endpoint, spectrum, detaches, work.progress))
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        return None, str(error)
    if lab is None:
        return None, f"{REFERENCE} {_over(work)}"
    return lab, "" if lab.nonzero else ZERO


def _over(work: Work) -> str:
    return f"takes more than {work.evaluations:,} evaluations of the force"


def _without_measurement(rule: str, verdict: str, reason: str) -> RuleFidelity:
    """Return the result for a rule that is not measured, which is not a fault if the exact gradient is zero."""
    fault = reason if verdict == EXACT and reason != ZERO else ""
    return RuleFidelity(rule, None, None, "", fault, note=reason, verdict=verdict)


def _measure_rule(lab: Laboratory, configured: Any, rule: str, verdict: str, work: Work) -> RuleFidelity:
    """Measure both columns of a rule."""
    try:
        limit = work.measure(rule, lambda: lab.limit(rule))
    except ValueError as error:  # targets that no state can be clamped to
        return _without_measurement(rule, verdict, str(error))
    if limit is None:
        return _without_measurement(rule, verdict, f"its limit {_over(work)}")
    try:
        gradients = work.measure(f"{rule} as configured", partial(_as_configured, configured, lab.probe, rule))
    except RuntimeError as error:  # the implicit solve, where the free phase as configured is far from rest
        if is_out_of_memory(error):
            raise
        gradients, note = None, str(error)
    else:
        note = f"as configured it {_over(work)}"
        if gradients is not None:
            note = divergence_note(gradients) or drift_warning(configured, gradients, lab.probe, rule)
            gradients = gradients if bool(gradients.kept.any()) else None
    return compared(rule, verdict, limit, gradients, lab.reference, lab.each, note)


def compared(
    rule: str,
    verdict: str,
    limit: Limit,
    configured: Any,
    reference: Gradient,
    each: Callable[[Gradient], dict[str, Measure]],
    note: str,
    each_layer: Callable[[Gradient], dict[str, Measure]] = lambda gradient: {},
) -> RuleFidelity:
    """Compare a rule's limit, and its gradients as configured (or None), with a reference: all, and each param."""
    overall = measure_all(limit.gradient, reference)
    found = RuleFidelity(
        rule,
        overall,
        None,
        limit.law,
        fault_of(overall, limit) if verdict == EXACT else limit.breach if verdict == SURROGATE else "",
        each(limit.gradient),
        sweep=limit.sweep,
        note=note,
        verdict=verdict,
        limit_layers=each_layer(limit.gradient),
    )
    if configured is None:
        return found
    return replace(
        found,
        configured=measure_all(configured.params, reference),
        configured_params=each(configured.params),
        beta=configured.beta,
        configured_layers=each_layer(configured.params),
    )


def _as_configured(configured: Any, probe: Batch, rule: str) -> Any:
    return configured.gradients(probe.clamps, probe.targets, rule, allow_biased=True)


def divergence_note(gradients: Any) -> str:
    """Return a note on the samples whose phases diverge as configured, or an empty string."""
    count, usable = len(gradients.kept), int(gradients.kept.sum())
    if usable:
        return (
            f"as configured the nudged phases of {count - usable} of {count} samples diverged" if usable < count else ""
        )
    phases = "nudged phases" if bool(gradients.residual.isfinite().any()) else "free phase and so the nudged phases"
    return f"as configured the {phases} of all {count} samples diverged"


def fault_of(overall: Measure, limit: Limit) -> str:
    """Return why a limit is not faithful, or an empty string."""
    if not math.isfinite(overall.cosine):
        return limit.breach or "its gradient is not finite"
    low = "" if overall.cosine > FAITHFUL else f"cosine too low: {overall.cosine:.6f}, not over {FAITHFUL}"
    return "; ".join(filter(None, [limit.breach, low]))
