"""The sweeps in the report of ``verify``: the error against beta or steps, the fidelity against the residual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.report.verify_numbers import cosine
from energyc.surfaces.tables import Cell, Styled, Table

if TYPE_CHECKING:
    from energyc.studies.verify import Fidelity, Looseness


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
