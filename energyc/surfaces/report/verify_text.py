"""Present the result of ``verify`` as text and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.report.verify_network import network_lines
from energyc.surfaces.report.verify_rounding import products_part, rounding_part
from energyc.surfaces.report.verify_rules import rules_part
from energyc.surfaces.report.verify_sweeps import residual_part, sweeps

if TYPE_CHECKING:
    from energyc.studies.verify import Verification

#: The width if the output is not a terminal; wider tables exceed it, as on a terminal.
WIDTH = 110


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
