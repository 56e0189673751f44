"""Why a network settles or does not, and what would help (rules.md, section 7: "why did it not converge")."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from energyc.verify.probe import Probe
from energyc.verify.rest import CONVERGED, Rest, rest, rows_of
from energyc.verify.spectrum import Spectrum, slowest

#: Multiples of the weights that are tried in search of a fixed point, and the budget of each try.
GENTLER = (0.9, 0.75, 0.5, 0.25)
GENTLER_STEPS = 2000
#: More steps than this are never advised.
MOST_STEPS = 1e6


@dataclass(frozen=True)
class Settling:
    """The free phase as configured, and what the spectrum says of it.

    ``residual`` is that of the worst sample after ``steps`` steps, ``tolerance`` what it was to reach (None: nothing).
    ``why`` says what is the matter, ``helps`` what to change; both are empty where the network settles.
    """

    residual: float
    steps: int
    tolerance: float | None
    step: tuple[float, ...]
    why: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def settling(exact: Any, configured: Any, probe: Probe, found: Rest, spectrum: Spectrum | None) -> Settling:
    """Judge the free phase of ``configured``; ``found`` and ``spectrum`` are of ``exact``, its copy in float64.

    Where no sample settled the spectrum is that at the last states.
    """
    free = configured.relax(probe.clamps)
    residual, steps = float(free.residual.max()), int(free.steps.max())
    phase = Settling(residual, steps, configured.relax_tolerance, tuple(configured.relax_step))
    if not found.settled:
        reasons = _without_rest(exact, probe, found, spectrum)
    elif spectrum is not None and spectrum.step_radius >= 1:
        reasons = _too_large_a_step(phase, spectrum)
    elif found.settled < found.samples and not _within(phase):
        reasons = _some_without_rest(exact, probe, found)
    elif not math.isfinite(residual):
        reasons = _not_finite(configured, all(bool(x.isfinite().all()) for x in free.states.values()))
    elif phase.tolerance is not None and not _within(phase):
        reasons = _too_few_steps(phase, spectrum, configured)
    else:
        return phase
    why, helps = zip(*reasons, strict=True)
    return Settling(residual, steps, phase.tolerance, phase.step, _not_empty(why), _not_empty(helps))


def _within(phase: Settling) -> bool:
    """Whether it was to reach a tolerance and does."""
    return phase.tolerance is not None and phase.residual <= phase.tolerance


def at_the_end(net: Any, probe: Probe, found: Rest) -> Spectrum | None:
    """The spectrum where a free phase that did not settle ended; None where that is not finite."""
    if not all(bool(value.isfinite().all()) for value in found.last.values()):
        return None
    return slowest(net, found.last, probe.clamps, net.relax_step)


def _not_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


Reasons = Iterator[tuple[str, str]]


def _without_rest(exact: Any, probe: Probe, found: Rest, spectrum: Spectrum | None) -> Reasons:
    """No sample settled at any step size."""
    finite = math.isfinite(found.worst)
    where = f"the residual is {found.worst:.1e} after {found.steps} steps" if finite else "the states exploded"
    yield f"no fixed point was found: {where}, and smaller steps found none either", ""
    if spectrum is not None and spectrum.largest_real_part > 0 and not spectrum.held:
        yield f"{_unstable(spectrum)}: no step size holds it where it ended", ""
    elif spectrum is not None and spectrum.held:
        sets = f"where it ended, on the sets of {', '.join(spectrum.held)},"
        yield f"{sets} a step multiplies errors by {spectrum.step_radius:.4g}", ""
    elif spectrum is not None and math.isfinite(spectrum.largest_real_part):
        why = f"where it ended {_stable(spectrum)}: the way is long, or it circles"
        yield why, "more steps: --set relax.max_steps"
    calmer = _settling_gain(exact, probe)
    if calmer is not None:
        yield "", f"a lower gain: it settles with {calmer:g} times these weights (start smaller, or raise the penalty)"
    else:
        yield "", "a lower gain, or more damping in the energy"


def _some_without_rest(exact: Any, probe: Probe, found: Rest) -> Reasons:
    """Some samples settled: the others are judged alone, since the equilibria of those say nothing of them."""
    rows = (~(found.residual <= CONVERGED)).nonzero()[:, 0]
    lost = Probe(rows_of(probe.clamps, rows), rows_of(probe.targets, rows))
    yield f"{len(rows)} of {found.samples} samples do not settle", ""
    again = rest(exact, lost, GENTLER_STEPS)
    if again.settled and again.factor < 1:
        why = f"with steps of {again.step[0]:.3g} {again.settled} of these settle: the step is too large"
        yield why, f"a smaller step: --set relax.step={again.step[0]:.3g}"
    else:
        yield from _without_rest(exact, lost, again, at_the_end(exact, lost, again))


def _unstable(spectrum: Spectrum) -> str:
    return f"the Jacobian has an eigenvalue with real part {spectrum.largest_real_part:.3g} > 0"


def _stable(spectrum: Spectrum) -> str:
    """What is known of the real parts where none above 0 was found."""
    if not spectrum.estimated:
        return "all real parts are negative"
    if math.isnan(spectrum.largest_real_part):
        return "the real parts are not known (Arnoldi's method did not converge)"
    return "no real part over 0 was found (by Arnoldi's method, which estimates the largest)"


def _settling_gain(net: Any, probe: Probe) -> float | None:
    """The largest multiple of the weights, of a few, with which all samples settle; the weights are put back."""
    weights = [param.detach().clone() for param in net.parameters()]
    try:
        for factor in GENTLER:
            with torch.no_grad():
                for param, value in zip(net.parameters(), weights, strict=True):
                    param.copy_(factor * value)
            tried = rest(net, probe, GENTLER_STEPS)
            if tried.settled == tried.samples and tried.factor == 1.0:
                return factor
        return None
    finally:
        with torch.no_grad():
            for param, value in zip(net.parameters(), weights, strict=True):
                param.copy_(value)


def _too_large_a_step(phase: Settling, spectrum: Spectrum) -> Reasons:
    """There is a fixed point, and the step jumps over it."""
    yield f"a step multiplies errors at the fixed point by {spectrum.step_radius:.4g}: it cannot stay there", ""
    if spectrum.stable_factor is not None:
        about = "about " if spectrum.estimated else ""
        sizes = " and ".join(f"{h * spectrum.stable_factor:.3g}" for h in dict.fromkeys(phase.step))
        why = (
            f"{_stable(spectrum)}: the step is too large" if spectrum.largest_real_part < 0 else "the step is too large"
        )
        yield why, f"a smaller step: it is stable below {about}{sizes}"
    elif spectrum.largest_real_part > 0 and not spectrum.held:
        yield f"{_unstable(spectrum)}: no step size helps", "a lower gain"
    else:
        parts = "sets act there" if spectrum.held else _stable(spectrum)
        yield f"{parts}, and no smaller step was found to be stable", "a smaller step, or a lower gain"


def _not_finite(configured: Any, states_are: bool) -> Reasons:
    """The free phase as configured exploded, though that in float64 settles."""
    if states_are:
        frozen = f"the states grew until rounding in {configured.dtype} froze them: an explosion, not convergence"
        yield f"the residual is set to infinity: {frozen}", "a lower gain, a smaller step, or train.dtype = float64"
    else:
        why = f"the states are no longer finite in {configured.dtype}"
        yield why, "a lower gain, a smaller step, or train.dtype = float64"


def _too_few_steps(phase: Settling, spectrum: Spectrum | None, configured: Any) -> Reasons:
    """It settles, later than it is given time for; or float32 does not reach that tolerance."""
    goal = phase.tolerance or 0.0
    if goal < 8 * torch.finfo(configured.dtype).eps:
        helps = "a higher tolerance, or train.dtype = float64"
        yield f"the tolerance {goal:.1e} is within rounding of {configured.dtype}", helps
        return
    more = math.inf if spectrum is None else spectrum.steps_for(phase.residual / goal)
    yield (
        f"the residual is {phase.residual:.1e} after {phase.steps} steps, above the tolerance {goal:.1e}",
        "",
    )
    total = math.ceil(1.1 * (phase.steps + more)) if more < MOST_STEPS else None
    if total is not None:
        yield "it settles slowly", f"more steps: about {total} (--set relax.max_steps={total})"
    elif math.isfinite(more):
        yield f"it would take about {more:.1g} steps more", "a lower gain, or more damping in the energy"
    else:
        yield "it settles slowly", "more steps: --set relax.max_steps"
