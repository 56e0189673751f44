"""Rounding in the report of ``verify``: the nudge in ulps, and the error of each param's gradient in float32."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.report.verify_numbers import number
from energyc.surfaces.tables import Table

if TYPE_CHECKING:
    from energyc.studies.verify import Fidelity, PrecisionTable, ProductsCost


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
