"""The measurements of ``verify`` for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

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
        Verification,
    )

#: Rules side by side in one table of params.
SIDE_BY_SIDE = 4
#: So many stretches of steps are told apart.
RANGES = 5
#: Where the output goes to no terminal; tables that need more are wider, there and on a terminal.
WIDTH = 110


def print_report(found: Verification, *, sweep: bool = False, color: bool = False) -> None:
    """Write the report to standard output; ``sweep`` adds the points of each rule's sweep."""
    parts = report(found, sweep=sweep)
    terminal = Console(no_color=not color, highlight=False)
    least = terminal.width if terminal.is_terminal else WIDTH
    roomy = terminal.options.update(width=10_000)
    needed = (terminal.measure(part, options=roomy).maximum for part in parts if isinstance(part, Table))
    Console(width=max([least, *needed]), no_color=not color, highlight=False).print(*parts, sep="\n", soft_wrap=False)


def report(found: Verification, *, sweep: bool = False) -> list[RenderableType]:
    """What was measured, how the network settles, the rules, the params, the sweeps, what rounding does."""
    fidelity = found.fidelity
    parts: list[RenderableType] = [Text("\n".join([*_head(found), *_free_phase(fidelity), *_spectrum(fidelity)]))]
    parts += _rules(fidelity)
    parts += _remarks(fidelity)
    parts += _params(fidelity)
    if sweep:
        parts += _sweeps(fidelity)
    if fidelity.looseness is not None:
        parts.append(Text("Lowest cosine of a param, the nudged phases starting from a free phase that was cut off"))
        parts += [_looseness(fidelity.looseness), Text("\n".join(_verdicts(fidelity.looseness)) + "\n")]
    if found.precision is not None:
        parts += _rounding(found.precision, fidelity)
    return parts


# ------------------------------------------------------------------ the network


def _head(found: Verification) -> Iterator[str]:
    sizes = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
    preset = f" (preset {found.preset})" if found.preset else ""
    gain = f", weights times {found.gain:g}" if found.gain != 1 else ""
    yield f"network {found.network} at {sizes}{preset}{gain}"
    if found.checkpoint is not None:
        yield from _run(found.checkpoint)


def _run(at: MeasuredCheckpoint) -> Iterator[str]:
    """Which checkpoint of a run it is, and what the log says of how the run settled."""
    yield f"checkpoint of step {at.step}, {_which(at)}; measured on {at.samples}"
    yield from (f"  log: {line}" for line in _log(at.log))
    if at.log.last > at.newest:
        yield f"  log: it goes on to step {at.log.last}, which no checkpoint holds (train.save_every makes more)"


def _which(at: MeasuredCheckpoint) -> str:
    if at.step == at.best:
        return "the best and the newest" if at.step == at.newest else f"the best (newest: step {at.newest})"
    if at.step < at.newest:
        return f"not the newest (step {at.newest})"
    return "the newest" if at.best is None else f"the newest (--checkpoint best: step {at.best})"


def _log(log: Record) -> Iterator[str]:
    """Where the free phase ended above a limit, and whether it did with the weights that are measured."""
    crossed = [found for found in log.crossings if found.evaluations.count + found.updates.count]
    for found in crossed:
        for above, where in ((found.evaluations, "evaluations"), (found.updates, "updates")):
            if above.count:
                over = f"above the {found.name} {found.limit:.0e} (residual up to {above.worst:.1e})"
                yield f"{above.count} of {above.rows} {where} ended {over}: {_steps(above.ranges)}"
    if log.crossings and not crossed:
        limits = _listed([f"the {found.name} {found.limit:.0e}" for found in log.crossings])
        yield f"the free phase always ended within {limits}"
    if crossed and log.residual is None:
        yield f"it has no residual of the weights of step {log.step}"
    elif crossed:
        yield f"step {log.step} is {'' if log.loose else 'not '}one of these: residual {log.residual:.1e}"


def _steps(ranges: Sequence[tuple[int, int]]) -> str:
    """The first few ranges of steps in words."""
    shown = [f"{first}" if first == last else f"{first} to {last}" for first, last in ranges[:RANGES]]
    more = f", and {len(ranges) - RANGES} more stretches" if len(ranges) > RANGES else ""
    return f"step{'s' * (ranges != ((ranges[0][0],) * 2,))} {', '.join(shown)}{more}"


def _free_phase(fidelity: Fidelity) -> Iterator[str]:
    count = f"{fidelity.settled} of {fidelity.samples} samples settled"
    yield f"free phase in float64: residual {fidelity.residual:.1e}, {count}"
    yield from _settling(fidelity.settling)


def _settling(found: Settling) -> Iterator[str]:
    aim = "" if found.tolerance is None else f" (tolerance {found.tolerance:.0e})"
    yield f"free phase as configured: residual {found.residual:.1e} after {found.steps} steps{aim}"
    yield from (f"  why: {reason}" for reason in found.why)
    yield from (f"  what helps: {remedy}" for remedy in found.helps)


def _spectrum(fidelity: Fidelity) -> Iterator[str]:
    found = fidelity.spectrum
    if found is None:
        return
    where = "at the equilibrium of the slowest sample" if fidelity.settled else "where the slowest sample ended"
    how = ", eigenvalues estimated by Arnoldi's method" if found.estimated else ""
    yield f"Jacobian {where}, {found.size} states{how}"
    yield f"  spectral radius of a step   {_value(found.step_radius)}{_pace(found)}"
    yield f"  largest real part           {_value(found.largest_real_part)}"
    if found.departure_from_normality is not None:
        yield f"  departure from normality    {found.departure_from_normality:.2e}"
    if found.asymmetry is not None:
        yield f"  asymmetry                   {found.asymmetry:.2e}"
    if found.stable_factor is not None:
        yield f"  stable with steps times     {found.stable_factor:.3g}"


def _value(eigenvalue: float) -> str:
    return "not found" if math.isnan(eigenvalue) else f"{eigenvalue:.4g}"


def _pace(found: Spectrum) -> str:
    steps = found.steps_for(10)
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
    """The table of the rules; a line where none could be measured."""
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
    """Why rules are not faithful, or could not be measured: a line for each reason."""
    rules: dict[str, list[str]] = {}
    for name, rule in fidelity.rules.items():
        for remark in dict.fromkeys(filter(None, [rule.fault, rule.note])):
            rules.setdefault(remark, []).append(name)
    if rules:
        yield Text("\n".join(f"{', '.join(names)}: {remark}" for remark, names in rules.items()) + "\n")


def _limit(rule: RuleFidelity) -> tuple[str, str, str]:
    return (*_measured(rule.limit), rule.law)


def _configured(rule: RuleFidelity) -> tuple[str, str, str]:
    return (*_measured(rule.configured), "" if rule.beta is None else f"{rule.beta:.3g}")


def _measured(found: Measure | None) -> tuple[str, str]:
    """The cosine and the error over all params; dashes where they are no numbers."""
    if found is None:
        return "", ""
    return _number(found.cosine, ".6f"), _number(found.relative_error, ".1e")


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _params(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Tables of the cosine of each param, a few rules side by side; nothing where there is no cosine."""
    rules = [name for name, rule in fidelity.rules.items() if _has_cosines(rule)]
    if rules:
        yield Text("Cosine of each param: in the limit, as configured")
    for first in range(0, len(rules), SIDE_BY_SIDE):
        chosen = rules[first : first + SIDE_BY_SIDE]
        table = _table("param", *chosen)
        for param in fidelity.rules[chosen[0]].limit_params:
            table.add_row(param, *(_cell(fidelity.rules[rule], param) for rule in chosen))
        yield table


def _has_cosines(rule: RuleFidelity) -> bool:
    found = (*rule.limit_params.values(), *rule.configured_params.values())
    return any(math.isfinite(measure.cosine) for measure in found)


def _cell(rule: RuleFidelity, param: str) -> Text:
    limit, real = rule.limit_params[param], rule.configured_params.get(param)
    return Text.assemble(_cosine(limit.cosine), "  ", _cosine(math.nan if real is None else real.cosine))


def _cosine(value: float) -> tuple[str, str]:
    """A cosine, coloured where it is low; a dash where there is none."""
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


def _looseness(found: Looseness) -> Table:
    """The lowest cosine of a param for each rule, a row for each place where the free phase was cut off."""
    table = _table("residual", "steps", *found.rules)
    for row in zip(*found.rules.values(), strict=True):
        cells = [_lowest(point.worst.cosine, point.param, point.kept) for point in row]
        table.add_row(f"{row[0].residual:.0e}", str(row[0].steps), *cells)
    return table


def _lowest(cosine: float, param: str, kept: float) -> Text:
    if kept < 1:
        return Text(f"{1 - kept:.0%} diverged", "red")
    return Text.assemble(f"{param} ", _cosine(cosine))


def _verdicts(found: Looseness) -> Iterator[str]:
    """In words: the residual that each rule needs, and what they make of a residual of 1e-2."""
    for rule in found.rules:
        threshold = found.threshold(rule)
        needs = "at no residual that was tried" if threshold is None else f"from a residual of {threshold:.0e} down"
        yield f"{rule}: the cosine of every param is at least 0.8 {needs}"
    loose = {rule: next((p for p in points if p.residual <= 1e-2), None) for rule, points in found.rules.items()}
    fails = [rule for rule, point in loose.items() if point is not None and not point.good and rule != "implicit"]
    holds = [rule for rule, point in loose.items() if point is not None and point.good and rule != "implicit"]
    if fails and holds:
        said = f"{_listed(fails)} {_fail(fails)}, {_listed(holds)} {_do(holds)} not"
        yield f"with a loose free phase (residual 1e-2) {said}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _fail(names: Sequence[str]) -> str:
    return "fails" if len(names) == 1 else "fail"


def _do(names: Sequence[str]) -> str:
    return "does" if len(names) == 1 else "do"


# ------------------------------------------------------------------ rounding


def _rounding(found: PrecisionTable, fidelity: Fidelity) -> Iterator[RenderableType]:
    """What the dtype does to a rule: the nudge in ulps, a warning where that is too faint, each param's error."""
    yield Text(_nudges(found))
    if found.faint:
        yield Text(_faint(found), "bold red")
    if not math.isfinite(found.residual):
        yield Text(f"  not compared: the states exploded in {found.dtype}\n")
        return
    aim = fidelity.settling.tolerance
    if not fidelity.settled if aim is None else found.residual > aim:
        yield Text(f"  from states that have not settled: residual {found.residual:.1e}")
    if found.rows:
        yield _precision(found)


def _nudges(found: PrecisionTable) -> str:
    ulps = {name: value for name, value in found.nudge_ulps.items() if math.isfinite(value)}
    nudges = "".join(f", the nudge on {name} {value:.3g} ulps a step" for name, value in ulps.items())
    beta = "" if found.beta is None else f", beta {found.beta:.3g}"
    against = "" if found.dtype == "float64" else " against float64"
    return f"{found.rule} in {found.dtype}{against}{beta}{nudges}"


def _faint(found: PrecisionTable) -> str:
    states = _listed([f"{name} ({found.nudge_ulps[name]:.2g} ulps a step)" for name in found.faint])
    return f"warning: the nudge is lost in rounding on {states}: a larger nudge.beta, or train.dtype = float64"


def _precision(found: PrecisionTable) -> Table:
    """What rounding does to each param's gradient; one of zero is not listed."""
    table = _table("param", "error", "share")
    for row in found.rows:
        table.add_row(row.param, _number(row.error, ".1e"), _number(row.share, ".1e"))
    return table
