"""Explain why a network does not settle, and what helps ("why did it not converge")."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from energyc.running.training.feeds import Batch
from energyc.running.training.network import assign, params_kept
from energyc.runtime import NonConvergence, causes
from energyc.studies.verify.rest import CONVERGED, Rest, rest
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
    """The free phase as configured, with its ``causes`` if the network does not settle.

    ``residual`` is that of the worst sample after ``steps`` steps, and ``tolerance`` its goal, if any.
    """

    residual: float
    steps: int
    tolerance: float | None
    step: tuple[float, ...]
    causes: tuple[NonConvergence, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons, in words."""
        return tuple(cause.why for cause in self.causes if cause.why)

    @property
    def helps(self) -> tuple[str, ...]:
        """The remedies, in words."""
        return tuple(cause.helps for cause in self.causes if cause.helps)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        numbers = {"residual": self.residual, "steps": self.steps, "tolerance": self.tolerance, "step": self.step}
        return {**numbers, "why": self.why, "helps": self.helps}


def settling(exact: Any, configured: Any, probe: Batch, endpoint: Rest, spectrum: Spectrum | None) -> Settling:
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
        frozen = all(bool(x.isfinite().all()) for x in configured_phase.states.values())
        reasons = iter([causes.exploded(str(configured.dtype), frozen)])
    elif phase.tolerance is not None and not _meets_tolerance(phase):
        reasons = _too_few_steps(phase, spectrum, configured)
    else:
        return phase
    return replace(phase, causes=tuple(reasons))


def settling_unknown(configured: Any) -> Settling:
    """Return the free phase as configured if there was no time to run it."""
    return Settling(math.nan, 0, configured.relax_tolerance, tuple(configured.relax_step))


def _meets_tolerance(phase: Settling) -> bool:
    """Whether the phase has a tolerance and reaches it."""
    return phase.tolerance is not None and phase.residual <= phase.tolerance


def last_spectrum(net: Any, probe: Batch, endpoint: Rest) -> Spectrum | None:
    """Return the spectrum at the end of a free phase that did not settle; None if its states are not finite."""
    if not all(bool(value.isfinite().all()) for value in endpoint.last.values()):
        return None
    return slowest(net, endpoint.last, probe.clamps, net.relax_step)


def _none_settled(exact: Any, probe: Batch, endpoint: Rest, spectrum: Spectrum | None) -> Iterator[NonConvergence]:
    """Explain why no sample settles at any step size."""
    yield causes.no_fixed_point(endpoint.worst, endpoint.steps)
    found = exact.non_convergence(probe.clamps)
    if found is not None and found.cause in SEEN:
        yield found
        return
    if spectrum is not None and spectrum.largest_real_part > 0 and not spectrum.held:
        yield causes.unstable(spectrum.largest_real_part, "no step size holds it where it ended")
    elif spectrum is not None and spectrum.held:
        yield causes.unstable_on_sets(spectrum.held, spectrum.step_radius)
    elif spectrum is not None and math.isfinite(spectrum.largest_real_part):
        yield causes.long_way(_stability_text(spectrum))
    yield causes.lower_gain(_settling_gain(exact, probe))


def _some_unsettled(exact: Any, probe: Batch, endpoint: Rest) -> Iterator[NonConvergence]:
    """Explain why some samples do not settle, by running these alone."""
    rows = (~(endpoint.residual <= CONVERGED)).nonzero()[:, 0]
    unsettled = probe.select(rows)
    yield causes.some_unsettled(len(rows), endpoint.samples)
    retry = rest(exact, unsettled, GENTLER_STEPS)
    if retry.settled and retry.factor < 1:
        yield causes.settle_with(retry.step[0], retry.settled)
    else:
        yield from _none_settled(exact, unsettled, retry, last_spectrum(exact, unsettled, retry))


def _stability_text(spectrum: Spectrum) -> str:
    """Describe what is known of the real parts if none above 0 was found."""
    if not spectrum.estimated:
        return "all real parts are negative"
    if math.isnan(spectrum.largest_real_part):
        return "the real parts are not known (Arnoldi's method did not converge)"
    return "no real part over 0 was found (by Arnoldi's method, which estimates the largest)"


def _settling_gain(net: Any, probe: Batch) -> float | None:
    """Return the largest of a few multiples of the weights with which all samples settle; restore the weights."""
    params = dict(net.named_parameters())
    with params_kept(params) as weights:
        for factor in GENTLER:
            assign(params, {name: factor * value for name, value in weights.items()})
            with torch.no_grad():
                net.project_params()
            endpoint = rest(net, probe, GENTLER_STEPS)
            if endpoint.settled == endpoint.samples and endpoint.factor == 1.0:
                return factor
    return None


def _too_large_a_step(phase: Settling, spectrum: Spectrum) -> Iterator[NonConvergence]:
    """Explain that the step, or the sweep, does not stay at a fixed point."""
    yield causes.step_leaves(spectrum.step_radius, spectrum.move)
    if spectrum.sweeps:
        yield causes.no_stable_sweep()
    elif spectrum.stable_factor is not None:
        limits = [h * spectrum.stable_factor for h in dict.fromkeys(phase.step)]
        stability = _stability_text(spectrum) if spectrum.largest_real_part < 0 else ""
        yield causes.stable_below(limits, stability, spectrum.estimated)
    elif spectrum.largest_real_part > 0 and not spectrum.held:
        yield causes.unstable(spectrum.largest_real_part, "no step size helps", "a lower gain")
    else:
        yield causes.no_stable_step("sets act there" if spectrum.held else _stability_text(spectrum))


def _too_few_steps(phase: Settling, spectrum: Spectrum | None, configured: Any) -> Iterator[NonConvergence]:
    """Explain that the network needs more steps, or that rounding keeps it above the tolerance."""
    goal = phase.tolerance or 0.0
    if causes.rounds_away(goal, torch.finfo(configured.dtype).eps):
        yield causes.within_rounding(goal)
        return
    yield causes.above_tolerance(phase.residual, phase.steps, goal)
    more = math.inf if spectrum is None else spectrum.steps_for(phase.residual / goal)
    yield causes.remaining(math.ceil(1.1 * (phase.steps + more)) if more < MOST_STEPS else None, more)
