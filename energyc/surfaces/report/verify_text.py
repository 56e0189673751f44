"""The report of ``verify`` as text and tables: its parts, the sweeps, rounding, a network beside its reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.report.verify_network import network_lines
from energyc.surfaces.report.verify_rules import cosine, number, rules_part
from energyc.surfaces.tables import Cell, Styled, Table

if TYPE_CHECKING:
    from energyc.studies.verify import Fidelity, Looseness, PrecisionTable, ProductsCost, Verification
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
