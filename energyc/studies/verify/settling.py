"""Explain why a network does not settle, and what helps (rules.md, section 7: "why did it not converge")."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from energyc.studies.verify.probe import Probe
from energyc.studies.verify.rest import CONVERGED, Rest, rest, rows_of
from energyc.studies.verify.spectrum import Spectrum, slowest

#: Multiples of the weights tried in search of a fixed point, and the number of steps of each try.
GENTLER = (0.9, 0.75, 0.5, 0.25)
GENTLER_STEPS = 2000
#: The causes that are seen in the states themselves.
SEEN = ("jump", "no floor")
#: The largest number of steps that is advised.
MOST_STEPS = 1e6


@dataclass(frozen=True)
class Settling:
    """The free phase as configured, with an explanation if the network does not settle.

    ``residual`` is that of the worst sample after ``steps`` steps, and ``tolerance`` its goal, if any. ``why`` lists
    causes and ``helps`` remedies; both are empty if the network settles.
    """

    residual: float
    steps: int
    tolerance: float | None
    step: tuple[float, ...]
    why: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def settling(exact: Any, configured: Any, probe: Probe, endpoint: Rest, spectrum: Spectrum | None) -> Settling:
    """Diagnose the free phase of ``configured``; ``endpoint`` and ``spectrum`` are of ``exact``, its copy in float64.

    If no sample settled, the spectrum is that at the last states.
    """
    configured_phase = configured.relax(probe.clamps)
    residual, steps = float(configured_phase.residual.max()), int(configured_phase.steps.max())
    phase = Settling(residual, steps, configured.relax_tolerance, tuple(configured.relax_step))
    if not endpoint.settled:
        reasons = _none_settled(exact, probe, endpoint, spectrum)
    elif spectrum is not None and spectrum.step_radius >= 1:
        reasons = _too_large_a_step(phase, spectrum)
    elif endpoint.settled < endpoint.samples and not _meets_tolerance(phase):
        reasons = _some_unsettled(exact, probe, endpoint)
    elif not math.isfinite(residual):
        reasons = _not_finite(configured, all(bool(x.isfinite().all()) for x in configured_phase.states.values()))
    elif phase.tolerance is not None and not _meets_tolerance(phase):
        reasons = _too_few_steps(phase, spectrum, configured)
    else:
        return phase
    causes, remedies = zip(*reasons, strict=True)
    return Settling(residual, steps, phase.tolerance, phase.step, _not_empty(causes), _not_empty(remedies))


def settling_unknown(configured: Any) -> Settling:
    """Return the free phase as configured if there was no time to run it."""
    return Settling(math.nan, 0, configured.relax_tolerance, tuple(configured.relax_step))


def _meets_tolerance(phase: Settling) -> bool:
    """Whether the phase has a tolerance and reaches it."""
    return phase.tolerance is not None and phase.residual <= phase.tolerance


def last_spectrum(net: Any, probe: Probe, endpoint: Rest) -> Spectrum | None:
    """Return the spectrum at the end of a free phase that did not settle; None if its states are not finite."""
    if not all(bool(value.isfinite().all()) for value in endpoint.last.values()):
        return None
    return slowest(net, endpoint.last, probe.clamps, net.relax_step)


def _not_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


Reasons = Iterator[tuple[str, str]]


def _none_settled(exact: Any, probe: Probe, endpoint: Rest, spectrum: Spectrum | None) -> Reasons:
    """Explain why no sample settles at any step size."""
    finite = math.isfinite(endpoint.worst)
    where = f"the residual is {endpoint.worst:.1e} after {endpoint.steps} steps" if finite else "the states exploded"
    yield f"no fixed point was found: {where}, and smaller steps found none either", ""
    unrest = exact.unrest(probe.clamps)
    if unrest is not None and unrest.cause in SEEN:
        yield unrest.why, unrest.helps
        return
    if spectrum is not None and spectrum.largest_real_part > 0 and not spectrum.held:
        yield f"{_instability_text(spectrum)}: no step size holds it where it ended", ""
    elif spectrum is not None and spectrum.held:
        sets = f"where it ended, on the sets of {', '.join(spectrum.held)},"
        yield f"{sets} a step multiplies errors by {spectrum.step_radius:.4g}", ""
    elif spectrum is not None and math.isfinite(spectrum.largest_real_part):
        why = f"where it ended {_stability_text(spectrum)}: the way is long, or it circles"
        yield why, "more steps: --set relax.max_steps"
    calmer = _settling_gain(exact, probe)
    if calmer is not None:
        yield "", f"a lower gain: it settles with {calmer:g} times these weights (start smaller, or raise the penalty)"
    else:
        yield "", "a lower gain, or more damping in the energy"


def _some_unsettled(exact: Any, probe: Probe, endpoint: Rest) -> Reasons:
    """Explain why some samples do not settle, by running these alone."""
    rows = (~(endpoint.residual <= CONVERGED)).nonzero()[:, 0]
    unsettled = Probe(rows_of(probe.clamps, rows), rows_of(probe.targets, rows))
    yield f"{len(rows)} of {endpoint.samples} samples do not settle", ""
    retry = rest(exact, unsettled, GENTLER_STEPS)
    if retry.settled and retry.factor < 1:
        why = f"with steps of {retry.step[0]:.3g} {retry.settled} of these settle: the step is too large"
        yield why, f"a smaller step: --set relax.step={retry.step[0]:.3g}"
    else:
        yield from _none_settled(exact, unsettled, retry, last_spectrum(exact, unsettled, retry))


def _instability_text(spectrum: Spectrum) -> str:
    return f"the Jacobian has an eigenvalue with real part {spectrum.largest_real_part:.3g} > 0"


def _stability_text(spectrum: Spectrum) -> str:
    """Describe what is known of the real parts if none above 0 was found."""
    if not spectrum.estimated:
        return "all real parts are negative"
    if math.isnan(spectrum.largest_real_part):
        return "the real parts are not known (Arnoldi's method did not converge)"
    return "no real part over 0 was found (by Arnoldi's method, which estimates the largest)"


def _settling_gain(net: Any, probe: Probe) -> float | None:
    """Return the largest of a few multiples of the weights with which all samples settle; restore the weights."""
    weights = [param.detach().clone() for param in net.parameters()]
    try:
        for factor in GENTLER:
            with torch.no_grad():
                for param, value in zip(net.parameters(), weights, strict=True):
                    param.copy_(factor * value)
                net.project_params()
            endpoint = rest(net, probe, GENTLER_STEPS)
            if endpoint.settled == endpoint.samples and endpoint.factor == 1.0:
                return factor
        return None
    finally:
        with torch.no_grad():
            for param, value in zip(net.parameters(), weights, strict=True):
                param.copy_(value)


def _too_large_a_step(phase: Settling, spectrum: Spectrum) -> Reasons:
    """Explain that the step is too large to stay at a fixed point."""
    yield f"a step multiplies errors at the fixed point by {spectrum.step_radius:.4g}: it cannot stay there", ""
    if spectrum.stable_factor is not None:
        about = "about " if spectrum.estimated else ""
        sizes = " and ".join(f"{h * spectrum.stable_factor:.3g}" for h in dict.fromkeys(phase.step))
        why = (
            f"{_stability_text(spectrum)}: the step is too large"
            if spectrum.largest_real_part < 0
            else "the step is too large"
        )
        yield why, f"a smaller step: it is stable below {about}{sizes}"
    elif spectrum.largest_real_part > 0 and not spectrum.held:
        yield f"{_instability_text(spectrum)}: no step size helps", "a lower gain"
    else:
        parts = "sets act there" if spectrum.held else _stability_text(spectrum)
        yield f"{parts}, and no smaller step was found to be stable", "a smaller step, or a lower gain"


def _not_finite(configured: Any, states_finite: bool) -> Reasons:
    """Explain an explosion as configured where the free phase in float64 settles."""
    if states_finite:
        frozen = f"the states grew until rounding in {configured.dtype} froze them: an explosion, not convergence"
        yield f"the residual is set to infinity: {frozen}", "a lower gain, a smaller step, or train.dtype = float64"
    else:
        why = f"the states are no longer finite in {configured.dtype}"
        yield why, "a lower gain, a smaller step, or train.dtype = float64"


def _too_few_steps(phase: Settling, spectrum: Spectrum | None, configured: Any) -> Reasons:
    """Explain that the network needs more steps, or that rounding keeps it above the tolerance."""
    goal = phase.tolerance or 0.0
    if goal < 8 * torch.finfo(configured.dtype).eps:
        helps = "a higher tolerance, or train.dtype = float64"
        yield f"the tolerance {goal:.1e} is within rounding of {configured.dtype}", helps
        return
    remaining = math.inf if spectrum is None else spectrum.steps_for(phase.residual / goal)
    yield (
        f"the residual is {phase.residual:.1e} after {phase.steps} steps, above the tolerance {goal:.1e}",
        "",
    )
    total = math.ceil(1.1 * (phase.steps + remaining)) if remaining < MOST_STEPS else None
    if total is not None:
        yield "it settles slowly", f"more steps: about {total} (--set relax.max_steps={total})"
    elif math.isfinite(remaining):
        yield f"it would take about {remaining:.1g} steps more", "a lower gain, or more damping in the energy"
    else:
        yield "it settles slowly", "more steps: --set relax.max_steps"
