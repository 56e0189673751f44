"""Present the result of ``verify`` as text and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.report.verify_network import network_lines
from energyc.surfaces.report.verify_rounding import products_part, rounding_part
from energyc.surfaces.report.verify_rules import rules_part
from energyc.surfaces.report.verify_sweeps import residual_part, sweeps

if TYPE_CHECKING:
    from energyc.studies.verify import Verification


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
