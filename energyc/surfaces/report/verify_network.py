"""The network in the report of ``verify``: its sizes, its checkpoint, how it settles, its Jacobian."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from energyc.language.diagnostics import listed
from energyc.running.training.outcome import CHOSEN_BY

if TYPE_CHECKING:
    from energyc.studies.verify import Fidelity, Guarantee, MeasuredCheckpoint, Record, Settling, Spectrum, Verification

#: The most ranges of steps in a list.
RANGES = 5


def network_lines(verification: Verification) -> Iterator[str]:
    """Yield the lines on the network, its free phase and its Jacobian."""
    fidelity = verification.fidelity
    yield from _title(verification)
    yield from _free_phase(fidelity)
    yield from _spectrum(fidelity)
    ep = fidelity.rules.get("centered-ep")
    yield from _guarantee(fidelity.guarantee, ep.beta if ep is not None else None)


def _title(verification: Verification) -> Iterator[str]:
    sizes = ", ".join(f"{name} = {size}" for name, size in verification.sizes.items())
    preset = f" (preset {verification.preset})" if verification.preset else ""
    gain = f", weights times {verification.gain:g}" if verification.gain != 1 else ""
    yield f"network {verification.network} at {sizes}{preset}{gain}"
    if verification.checkpoint is not None:
        yield from _checkpoint(verification.checkpoint)
    elif verification.inputs != "drawn inputs":
        yield f"measured on {verification.inputs}"


def _checkpoint(checkpoint: MeasuredCheckpoint) -> Iterator[str]:
    """Describe the measured checkpoint of a run, and how the run settled."""
    yield f"checkpoint of step {checkpoint.step}, {_rank(checkpoint)}; measured on {checkpoint.samples}"
    log = checkpoint.log
    yield from (f"  log: {line}" for line in _log(log))
    yield f"  health: {checkpoint.health}"
    yield from (f"  warning: {symptom}" for symptom in checkpoint.health.symptoms)
    if log.last > checkpoint.newest:
        yield f"  log: it continues to step {log.last}, which no checkpoint holds (train.save_every makes more)"


def _rank(checkpoint: MeasuredCheckpoint) -> str:
    if checkpoint.step == checkpoint.best:
        best = f"the best {CHOSEN_BY[checkpoint.best_by]}"
        is_newest = checkpoint.step == checkpoint.newest
        return f"{best} and the newest" if is_newest else f"{best} (newest: step {checkpoint.newest})"
    if checkpoint.step < checkpoint.newest:
        return f"not the newest (step {checkpoint.newest})"
    return "the newest" if checkpoint.best is None else f"the newest (--checkpoint best: step {checkpoint.best})"


def _log(log: Record) -> Iterator[str]:
    """Describe where the free phase ended above a limit, and whether it did with the measured weights."""
    crossed = [crossing for crossing in log.crossings if crossing.evaluations.count + crossing.updates.count]
    for crossing in crossed:
        for above, where in ((crossing.evaluations, "evaluations"), (crossing.updates, "updates")):
            if above.count:
                over = f"above the {crossing.name} {crossing.limit:.0e} (residual up to {above.worst:.1e})"
                yield f"{above.count} of {above.rows} {where} ended {over}: {_ranges_text(above.ranges)}"
    if log.crossings and not crossed:
        limits = listed([f"the {crossing.name} {crossing.limit:.0e}" for crossing in log.crossings])
        yield f"the free phase always ended within {limits}"
    if crossed and log.residual is None:
        yield f"it has no residual of the weights of step {log.step}"
    elif crossed:
        yield f"step {log.step} is {'' if log.loose else 'not '}one of these: residual {log.residual:.1e}"


def _ranges_text(ranges: Sequence[tuple[int, int]]) -> str:
    """Describe the first few ranges of steps."""
    shown = [f"{first}" if first == last else f"{first} to {last}" for first, last in ranges[:RANGES]]
    more = f", and {len(ranges) - RANGES} more stretches" if len(ranges) > RANGES else ""
    return f"step{'s' * (ranges != ((ranges[0][0],) * 2,))} {', '.join(shown)}{more}"


def _free_phase(fidelity: Fidelity) -> Iterator[str]:
    count = f"{fidelity.settled} of {fidelity.samples} samples settled"
    yield f"free phase in float64: residual {fidelity.residual:.1e}, {count}"
    yield from _settling(fidelity.settling)


def _settling(settling: Settling) -> Iterator[str]:
    aim = "" if settling.tolerance is None else f" (tolerance {settling.tolerance:.0e})"
    yield f"free phase as configured: residual {settling.residual:.1e} after {settling.steps} steps{aim}"
    yield from (f"  why: {reason}" for reason in settling.why)
    yield from (f"  what helps: {remedy}" for remedy in settling.helps)


def _spectrum(fidelity: Fidelity) -> Iterator[str]:
    spectrum = fidelity.spectrum
    if spectrum is None:
        return
    where = "at the equilibrium of the slowest sample" if fidelity.settled else "where the slowest sample ended"
    method = ", eigenvalues estimated by Arnoldi's method" if spectrum.estimated else ""
    yield f"Jacobian {where}, {spectrum.size} states{method}"
    radius = f"spectral radius of a {spectrum.move}"
    yield f"  {radius:<28}{_eigenvalue(spectrum.step_radius)}{_steps_for_a_tenth(spectrum)}"
    yield f"  largest real part           {_eigenvalue(spectrum.largest_real_part)}{_held(spectrum)}"
    if spectrum.departure_from_normality is not None:
        yield f"  departure from normality    {spectrum.departure_from_normality:.2e}"
    if spectrum.asymmetry is not None:
        yield f"  asymmetry                   {spectrum.asymmetry:.2e}"
    if spectrum.stable_factor is not None:
        yield f"  stable with steps times     {spectrum.stable_factor:.3g}"


def _guarantee(proved: Guarantee | None, beta: float | None) -> Iterator[str]:
    """Describe what is proved at these params and samples, beside what is measured, with ``beta`` as configured."""
    if proved is None:
        return
    if not proved.m > 0:
        yield f"Proved at these params and samples: nothing, {proved.why}"
        return
    yield "Proved at these params and samples"
    above = f" <= {proved.most:.4g} |v|^2" if math.isfinite(proved.most) else ""
    yield f"  one equilibrium             {proved.m:.4g} |v|^2 <= -v . J v{above}"
    if proved.predicted is None:
        yield f"  steps converge              not proved: {proved.why}"
    else:
        made = "not as soon, a bug in energyc" if proved.measured is None else f"measured {proved.measured}"
        rate = f"states are {proved.rate:.4g} times as far apart after one"
        yield f"  steps converge              {rate}; {proved.predicted} for a millionth, {made}"
    for each in proved.nudged:
        error = f"{each.bound:.1e} of the gradient's norm at beta {each.beta:.2e}, measured {each.error:.1e}"
        yield f"  error of centered-ep        at most {error}"
    if proved.strongest is not None:
        own = "" if beta is None else f"; as configured it is {beta:.2e}"
        yield f"  largest beta                {proved.strongest:.2e} for an error of at most {proved.within:g}{own}"
    if proved.unbounded:
        yield f"  error of centered-ep        no bound: {proved.unbounded}"


def _eigenvalue(eigenvalue: float) -> str:
    return "not found" if math.isnan(eigenvalue) else f"{eigenvalue:.4g}"


def _held(spectrum: Spectrum) -> str:
    """Describe whether sets hold the states against positive eigenvalues."""
    if not spectrum.held or not spectrum.largest_real_part > 0:
        return ""
    stays = spectrum.step_radius < 1 or spectrum.stable_factor is not None
    sets = f"of J alone; the set{'s' * (len(spectrum.held) > 1)} of {listed(spectrum.held)}"
    return f", {sets} hold{'s' * (len(spectrum.held) == 1)} these states" if stays else f", {sets} do not hold them"


def _steps_for_a_tenth(spectrum: Spectrum) -> str:
    steps = spectrum.steps_for(10)
    if not math.isfinite(steps):
        return ""
    count = max(1, round(steps))
    return f", so {count:.4g} {spectrum.move}{'s' * (count > 1)} for a tenth of the residual"
