"""Present the result of ``verify`` as text and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from energyc.diagnostics import listed

if TYPE_CHECKING:
    from energyc.verify import (
        Fidelity,
        Looseness,
        Measure,
        MeasuredCheckpoint,
        PrecisionTable,
        Record,
        RuleFidelity,
        Settling,
        Spectrum,
        Symmetry,
        Verification,
    )

#: The most rules in one table of params.
SIDE_BY_SIDE = 4
#: The most ranges of steps in a list.
RANGES = 5
#: The width if the output is no terminal; wider tables exceed it, as on a terminal.
WIDTH = 110


#: The verdicts on rules that are not proved exact.
UNPROVED = ("biased", "unproved")
#: Reasons why a contrast is exact although J is not proved symmetric.
EXACT_BECAUSE = {
    "jacobian": "J is symmetric",
    "sets": "J is symmetric along the sets that hold the states",
    "cost": "J is not symmetric, but acts on this cost's adjoint as its transpose does",
}


def print_report(verification: Verification, *, sweep: bool = False, color: bool = False) -> None:
    """Write the report to standard output; ``sweep`` adds the points of each rule's sweep."""
    parts = report(verification, sweep=sweep)
    terminal = Console(no_color=not color, highlight=False)
    min_width = terminal.width if terminal.is_terminal else WIDTH
    options = terminal.options.update(width=10_000)
    table_widths = (terminal.measure(part, options=options).maximum for part in parts if isinstance(part, Table))
    Console(width=max([min_width, *table_widths]), no_color=not color, highlight=False).print(
        *parts, sep="\n", soft_wrap=False
    )


def report(verification: Verification, *, sweep: bool = False) -> list[RenderableType]:
    """Return the parts of the report: network, settling, rules, params, sweeps and rounding."""
    fidelity = verification.fidelity
    parts: list[RenderableType] = [
        Text("\n".join([*_title(verification), *_free_phase(fidelity), *_spectrum(fidelity)]))
    ]
    parts += _rules(fidelity)
    parts += _remarks(fidelity)
    parts += _symmetry(fidelity)
    parts += _params(fidelity)
    if sweep:
        parts += _sweeps(fidelity)
    if fidelity.looseness is not None:
        parts.append(Text("Lowest cosine of a param, the nudged phases starting from a free phase that was cut off"))
        parts += [_looseness(fidelity.looseness), Text("\n".join(_verdicts(fidelity.looseness)) + "\n")]
    if verification.precision is not None:
        parts += _rounding(verification.precision, fidelity)
    return parts


# ------------------------------------------------------------------ the network


def _title(verification: Verification) -> Iterator[str]:
    sizes = ", ".join(f"{name} = {size}" for name, size in verification.sizes.items())
    preset = f" (preset {verification.preset})" if verification.preset else ""
    gain = f", weights times {verification.gain:g}" if verification.gain != 1 else ""
    yield f"network {verification.network} at {sizes}{preset}{gain}"
    if verification.checkpoint is not None:
        yield from _checkpoint(verification.checkpoint)


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
        return (
            "the best and the newest"
            if checkpoint.step == checkpoint.newest
            else f"the best (newest: step {checkpoint.newest})"
        )
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
    yield f"  spectral radius of a step   {_eigenvalue(spectrum.step_radius)}{_steps_for_a_tenth(spectrum)}"
    yield f"  largest real part           {_eigenvalue(spectrum.largest_real_part)}{_held(spectrum)}"
    if spectrum.departure_from_normality is not None:
        yield f"  departure from normality    {spectrum.departure_from_normality:.2e}"
    if spectrum.asymmetry is not None:
        yield f"  asymmetry                   {spectrum.asymmetry:.2e}"
    if spectrum.stable_factor is not None:
        yield f"  stable with steps times     {spectrum.stable_factor:.3g}"


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
    return f", so {count:.4g} step{'s' * (count > 1)} for a tenth of the residual"


# ------------------------------------------------------------------ rules and params


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right", no_wrap=True)
    return table


def _rules(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the table of the rules, or a line if none could be measured."""
    if all(rule.limit is None for rule in fidelity.rules.values()):
        yield Text("\nNOT MEASURED, neither in the limit nor as configured:", "bold red")
        return
    yield Text("\nEach rule in the limit (float64, converged, beta swept), and as configured")
    columns = ("rule", "verdict", "cosine", "error", "law", "configured", "error", "beta", "")
    table = _table(*columns)
    for name, rule in fidelity.rules.items():
        verdict = Text(rule.verdict, "" if rule.verdict == "exact" else "yellow")
        table.add_row(name, verdict, *_limit(rule), *_configured(rule), Text(_failure(rule), "bold red"))
    yield table


def _failure(rule: RuleFidelity) -> str:
    if rule.limit is None:
        return "NOT MEASURED"
    return "" if rule.passed else "NOT FAITHFUL"


def _remarks(fidelity: Fidelity) -> Iterator[Text]:
    """Yield a line for each reason why rules are not faithful, or could not be measured."""
    rules: dict[str, list[str]] = {}
    for name, rule in fidelity.rules.items():
        for remark in dict.fromkeys(filter(None, [rule.fault, rule.note])):
            rules.setdefault(remark, []).append(name)
    if rules:
        yield Text("\n".join(f"{', '.join(names)}: {remark}" for remark, names in rules.items()) + "\n")


def _symmetry(fidelity: Fidelity) -> Iterator[Text]:
    """Explain why unproved rules are exact at the measured equilibria, or how they would be."""
    symmetry = fidelity.symmetry
    rules = [name for name, rule in fidelity.rules.items() if rule.verdict in UNPROVED]
    if symmetry is None or not rules:
        return
    if symmetry.exact:
        yield Text(f"{EXACT_BECAUSE[symmetry.exact]}: at these equilibria {listed(rules)} {_are(rules)} exact")
    elif symmetry.symmetrisable:
        yield Text(_metric(symmetry, rules))
    if symmetry.exact or symmetry.symmetrisable:
        yield Text("(measured at these equilibria, not proved: the verdict stays)\n")


def _metric(symmetry: Symmetry, rules: Sequence[str]) -> str:
    """Describe how to write a network that descends an energy with a metric."""
    changed = {name: factors for name, factors in symmetry.metric.items() if factors != (1.0,)}
    forces = listed([f"the force on {name} times {_factors(factors)}" for name, factors in changed.items()])
    by_state = all(len(factors) == 1 for factors in changed.values())
    steps = f", and {listed([f'step.{name}' for name in changed])} divided by as much, it relaxes as before"
    same = steps if by_state else " it rests at the same states"
    return (
        f"J is symmetric once multiplied by positive factors (to {symmetry.in_metric:.0e}): the network descends an"
        f" energy there, with time scales as its metric.\nWith {forces}{same}, and {listed(rules)} {_are(rules)} exact."
        "\nAs it is, they are exact for params that only forces of factor 1"
        " read, and only if the cost reads only states of factor 1."
    )


def _factors(factors: Sequence[float]) -> str:
    return f"{factors[0]:.4g}" if len(factors) == 1 else f"{min(factors):.4g} to {max(factors):.4g} by coordinate"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _limit(rule: RuleFidelity) -> tuple[str, str, str]:
    return (*_cosine_and_error(rule.limit), rule.law)


def _configured(rule: RuleFidelity) -> tuple[str, str, str]:
    return (*_cosine_and_error(rule.configured), "" if rule.beta is None else f"{rule.beta:.3g}")


def _cosine_and_error(measure: Measure | None) -> tuple[str, str]:
    """Return the cosine and the error over all params, with dashes for NaN."""
    if measure is None:
        return "", ""
    return _number(measure.cosine, ".6f"), _number(measure.relative_error, ".1e")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _params(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield tables of the cosine of each param, for a few rules each, if there are any."""
    rules = [name for name, rule in fidelity.rules.items() if _has_cosines(rule)]
    if rules:
        yield Text("Cosine of each param: in the limit, as configured")
    for start in range(0, len(rules), SIDE_BY_SIDE):
        chosen = rules[start : start + SIDE_BY_SIDE]
        table = _table("param", *chosen)
        for param in fidelity.rules[chosen[0]].limit_params:
            table.add_row(param, *(_cell(fidelity.rules[rule], param) for rule in chosen))
        yield table
    if rules and fidelity.zero:
        yield Text(f"{listed(fidelity.zero)}: the exact gradient is zero beside rounding: nothing was measured\n")


def _has_cosines(rule: RuleFidelity) -> bool:
    measures = (*rule.limit_params.values(), *rule.configured_params.values())
    return any(math.isfinite(measure.cosine) for measure in measures)


def _cell(rule: RuleFidelity, param: str) -> Text:
    limit, configured = rule.limit_params[param], rule.configured_params.get(param)
    return Text.assemble(_cosine(limit.cosine), "  ", _cosine(math.nan if configured is None else configured.cosine))


def _cosine(value: float) -> tuple[str, str]:
    """Return a cosine with its style, coloured if low, or a dash for NaN."""
    style = "" if math.isnan(value) or value >= 0.99 else "yellow" if value >= 0.9 else "red"
    return _number(value, ".4f").rjust(7), style


# ------------------------------------------------------------------ sweeps


def _sweeps(fidelity: Fidelity) -> Iterator[RenderableType]:
    lines = []
    for name, rule in fidelity.rules.items():
        if rule.sweep is not None and rule.sweep.points:
            lines.append(f"{name}: error against {rule.sweep.name}")
            lines += [f"  {x:<12.4g} {error:.2e}" for x, error in rule.sweep.points]
    if lines:
        yield Text("\n".join(lines) + "\n")


def _looseness(looseness: Looseness) -> Table:
    """Return the lowest cosine of a param for each rule, with a row for each length of the free phase."""
    table = _table("residual", "steps", *looseness.rules)
    for row in zip(*looseness.rules.values(), strict=True):
        cells = [_lowest_cosine(point.worst.cosine, point.param, point.kept) for point in row]
        table.add_row(f"{row[0].residual:.0e}", str(row[0].steps), *cells)
    return table


def _lowest_cosine(cosine: float, param: str, share: float) -> Text:
    if share < 1:
        return Text(f"{1 - share:.0%} diverged", "red")
    return Text.assemble(f"{param} ", _cosine(cosine))


def _verdicts(looseness: Looseness) -> Iterator[str]:
    """Describe the residual that each rule needs, and which rules fail at a residual of 1e-2."""
    for rule in looseness.rules:
        threshold = looseness.threshold(rule)
        needs = "at no residual that was tried" if threshold is None else f"from a residual of {threshold:.0e} down"
        yield f"{rule}: the cosine of every param is at least 0.8 {needs}"
    at_loose_residual = {
        rule: next((point for point in points if point.residual <= 1e-2), None)
        for rule, points in looseness.rules.items()
    }
    fails = [
        rule
        for rule, point in at_loose_residual.items()
        if point is not None and not point.faithful and rule != "implicit"
    ]
    holds = [
        rule for rule, point in at_loose_residual.items() if point is not None and point.faithful and rule != "implicit"
    ]
    if fails and holds:
        verbs = "fails" if len(fails) == 1 else "fail", "does" if len(holds) == 1 else "do"
        yield f"with a loose free phase (residual 1e-2) {listed(fails)} {verbs[0]}, {listed(holds)} {verbs[1]} not"


# ------------------------------------------------------------------ rounding


def _rounding(table: PrecisionTable, fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the nudge in ulps, a warning if it is lost in rounding, and each param's error."""
    yield Text(_nudge_line(table))
    if table.faint:
        yield Text(_rounding_warning(table), "bold red")
    if not math.isfinite(table.residual):
        yield Text(f"  not compared: the states exploded in {table.dtype}\n")
        return
    aim = fidelity.settling.tolerance
    if not fidelity.settled if aim is None else table.residual > aim:
        yield Text(f"  from states that have not settled: residual {table.residual:.1e}")
    if table.rows:
        yield _precision(table)


def _nudge_line(table: PrecisionTable) -> str:
    ulps = {name: value for name, value in table.nudge_ulps.items() if math.isfinite(value)}
    nudges = "".join(f", the nudge on {name} {value:.3g} ulps a step" for name, value in ulps.items())
    beta = "" if table.beta is None else f", beta {table.beta:.3g}"
    against = "" if table.dtype == "float64" else " against float64"
    return f"{table.rule} in {table.dtype}{against}{beta}{nudges}"


def _rounding_warning(table: PrecisionTable) -> str:
    states = listed([f"{name} ({table.nudge_ulps[name]:.2g} ulps a step)" for name in table.faint])
    return f"warning: the nudge is lost in rounding on {states}: a larger nudge.beta, or train.dtype = float64"


def _precision(precision: PrecisionTable) -> Table:
    """Return the table of the rounding error of each param's gradient, without gradients of zero."""
    table = _table("param", "error", "share")
    for row in precision.rows:
        table.add_row(row.param, _number(row.error, ".1e"), _number(row.share, ".1e"))
    return table
