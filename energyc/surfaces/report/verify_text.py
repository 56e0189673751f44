"""The report of ``verify`` as text and tables: its parts, the sweeps, rounding, a network beside its reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.running.training.outcome import CHOSEN_BY
from energyc.surfaces.report.verify_rules import cosine, number, rules_part
from energyc.surfaces.tables import Cell, Styled, Table

if TYPE_CHECKING:
    from energyc.studies.verify import (
        Fidelity,
        Guarantee,
        Looseness,
        MeasuredCheckpoint,
        PrecisionTable,
        ProductsCost,
        Record,
        Settling,
        Spectrum,
        Verification,
    )
    from energyc.studies.verify.reference import HeldAgainst


def report(verification: Verification, *, sweep: bool = False) -> list[RenderableType]:
    """Return the parts of the report: network, settling, rules, params, sweeps, rounding, what was left out."""
    return list(_parts(verification, sweep))


def _parts(verification: Verification, sweep: bool) -> Iterator[RenderableType]:
    fidelity = verification.fidelity
    yield Text("\n".join(network_lines(verification)))
    yield from rules_part(fidelity)
    if sweep:
        yield from sweeps(fidelity)
    if fidelity.looseness is not None:
        yield from residual_part(fidelity.looseness)
    if verification.precision is not None:
        yield from rounding_part(verification.precision, fidelity)
    if verification.products is not None:
        yield from products_part(verification.products)
    if fidelity.left_out:
        yield Text(f"The budget ended {listed(fidelity.left_out)}: a larger --budget measures them", "yellow")


# ------------------------------------------------------------------ sweeps


def residual_part(looseness: Looseness) -> Iterator[RenderableType]:
    """Yield the table of a sweep of the residual and what it shows."""
    yield Text("Lowest cosine of a param, the nudged phases starting from a free phase that was cut off")
    yield looseness_table(looseness)
    yield Text("\n".join(looseness_verdicts(looseness)) + "\n")


def sweeps(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the points of each rule's sweep."""
    lines = []
    for name, rule in fidelity.rules.items():
        if rule.sweep is not None and rule.sweep.points:
            lines.append(f"{name}: error against {rule.sweep.name}")
            lines += [f"  {x:<12.4g} {error:.2e}" for x, error in rule.sweep.points]
    if lines:
        yield Text("\n".join(lines) + "\n")


def looseness_table(looseness: Looseness) -> Table:
    """Return the lowest cosine of a param for each rule, with a row for each length of the free phase."""
    rows: list[tuple[Cell, ...]] = []
    for row in zip(*looseness.rules.values(), strict=True):
        cells = [_lowest_cosine(point.worst.cosine, point.param, point.kept) for point in row]
        rows.append((f"{row[0].residual:.0e}", str(row[0].steps), *cells))
    return Table(("residual", "steps", *looseness.rules), tuple(rows))


def _lowest_cosine(value: float, param: str, share: float) -> Styled:
    if share < 1:
        return Styled(((f"{1 - share:.0%} diverged", "red"),))
    return Styled(((f"{param} ", ""), cosine(value)))


def looseness_verdicts(looseness: Looseness) -> Iterator[str]:
    """Describe the residual that each rule needs, and which rules fail at a residual of 1e-2."""
    for rule in looseness.rules:
        threshold = looseness.threshold(rule)
        needs = "at no residual that was tried" if threshold is None else f"from a residual of {threshold:.0e} down"
        yield f"{rule}: the cosine of every param is at least 0.8 {needs}"
    loose = {
        rule: next((point.faithful for point in points if point.residual <= 1e-2), None)
        for rule, points in looseness.rules.items()
        if rule != "implicit"
    }
    fails, holds = ([rule for rule, faithful in loose.items() if faithful == wanted] for wanted in (False, True))
    if fails and holds:
        verbs = "fails" if len(fails) == 1 else "fail", "does" if len(holds) == 1 else "do"
        yield f"with a loose free phase (residual 1e-2) {listed(fails)} {verbs[0]}, {listed(holds)} {verbs[1]} not"


# ------------------------------------------------------------------ rounding


def rounding_part(precision: PrecisionTable, fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the nudge in ulps, a warning if it is lost in rounding, and each param's error."""
    yield Text(_nudge_line(precision))
    if precision.faint:
        yield Text(_rounding_warning(precision), "bold red")
    if not math.isfinite(precision.residual):
        yield Text(f"  not compared: the states exploded in {precision.dtype}\n")
        return
    aim = fidelity.settling.tolerance
    if not fidelity.settled if aim is None else precision.residual > aim:
        yield Text(f"  from states that have not settled: residual {precision.residual:.1e}")
    if precision.rows:
        yield _errors(precision)


def products_part(cost: ProductsCost) -> Iterator[RenderableType]:
    """Yield what rounded products cost: the gradient beside the one without them, and both beside the exact one."""
    settings = listed(cost.settings)
    beside = f"cosine {number(cost.beside.cosine, '.6f')}, error {number(cost.beside.relative_error, '.1e')}"
    yield Text(f"{cost.rule} with {settings}, beside products in float32: {beside}")
    rows = []
    for name, found in (("as set", cost.rounded), ("float32", cost.plain)):
        exact = found.exact
        row = (number(exact.cosine, ".6f"), number(exact.relative_error, ".1e"), number(found.residual, ".1e"))
        rows.append((name, *row, str(found.steps)))
    yield Table(("products", "cosine to the exact gradient", "error", "residual", "steps"), tuple(rows))


def _nudge_line(precision: PrecisionTable) -> str:
    ulps = {name: value for name, value in precision.nudge_ulps.items() if math.isfinite(value)}
    nudges = "".join(f", the nudge on {name} {value:.3g} ulps a step" for name, value in ulps.items())
    beta = "" if precision.beta is None else f", beta {precision.beta:.3g}"
    against = "" if precision.dtype == "float64" else " against float64"
    return f"{precision.rule} in {precision.dtype}{against}{beta}{nudges}"


def _rounding_warning(precision: PrecisionTable) -> str:
    states = listed([f"{name} ({precision.nudge_ulps[name]:.2g} ulps a step)" for name in precision.faint])
    return f"warning: the nudge is lost in rounding on {states}: a larger nudge.beta, or train.dtype = float64"


def _errors(precision: PrecisionTable) -> Table:
    """Return the table of the rounding error of each param's gradient, without gradients of zero."""
    rows = ((row.param, number(row.error, ".1e"), number(row.share, ".1e")) for row in precision.rows)
    return Table(("param", "error", "share"), tuple(rows))


# ------------------------------------------------------------------ a reference


def reference_parts(held: HeldAgainst) -> list[RenderableType]:
    """Return a table of the largest difference of each quantity, and a line that says what is beyond its limit."""
    rows = (
        (row.quantity, f"{row.error:.1e}", f"{row.limit:.0e}", "" if row.passed else "differs") for row in held.rows
    )
    header = ("", "largest difference", "limit", "")
    wrong = [row.quantity for row in held.rows if not row.passed]
    said = f"differs in {', '.join(wrong)}" if wrong else f"agrees in all {len(held.rows)} quantities"
    return [Table(header, tuple(rows), f"{held.network} beside {held.path}"), f"{held.network} {said}"]


# ---------------------------------------------------------------- the network


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
