"""The measurements of ``verify`` for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from energyc.rules import Fidelity, Looseness, Measure, PrecisionTable, Settling, Spectrum


def written(head: str, fidelity: Fidelity, precision: PrecisionTable | None, sweep: bool = False) -> str:
    """The table of rules, the table of params as configured, the spectrum, what rounding does."""
    parts = [[head, *_free_phase(fidelity)], list(_rules(fidelity)), list(_params(fidelity))]
    if sweep:
        parts.append(list(_sweeps(fidelity)))
    parts += [list(_looseness(fidelity.looseness)), [*_settling(fidelity.settling), *_spectrum(fidelity.spectrum)]]
    parts += [precision.text().splitlines() if precision else []]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _free_phase(fidelity: Fidelity) -> Iterator[str]:
    found = f"{fidelity.settled} of {fidelity.samples} samples settled"
    yield f"free phase in float64: residual {fidelity.residual:.1e}, {found}"


def _rules(fidelity: Fidelity) -> Iterator[str]:
    header = ("rule", "cosine", "error", "law", "cosine", "error", "beta", "")
    rows = [
        (
            name,
            *_pair(rule.limit),
            rule.law or rule.note,
            *_pair(rule.configured),
            "" if rule.beta is None else f"{rule.beta:.3g}",
            "" if rule.passed else "NOT FAITHFUL",
        )
        for name, rule in fidelity.rules.items()
    ]
    lines = list(_table([header, *rows]))
    first = lines[0].index("cosine")
    second = lines[0].index("cosine", first + 1)
    yield " " * first + "in the limit".ljust(second - first) + "as configured"
    yield from lines


def _params(fidelity: Fidelity) -> Iterator[str]:
    rules = [name for name, rule in fidelity.rules.items() if rule.configured_params]
    if not rules:
        return
    yield "cosine of each param as configured (in the limit where it differs)"
    names = list(fidelity.rules[rules[0]].configured_params)
    yield from _table(
        [("param", *rules), *((param, *(_cell(fidelity.rules[r], param) for r in rules)) for param in names)]
    )


def _cell(rule: Any, param: str) -> str:
    real, limit = rule.configured_params[param].cosine, rule.limit_params[param].cosine
    return f"{real:.4f}" if abs(real - limit) < 5e-5 else f"{real:.4f} ({limit:.4f})"


def _sweeps(fidelity: Fidelity) -> Iterator[str]:
    for name, rule in fidelity.rules.items():
        if rule.sweep is not None:
            yield f"{name}: error against {rule.sweep.name}"
            yield from (f"  {x:<12.4g} {error:.2e}" for x, error in rule.sweep.points)


def _looseness(found: Looseness | None) -> Iterator[str]:
    """The worst param's cosine of each rule against the residual it started from."""
    if found is None:
        return
    yield "worst cosine of a param, started from a free phase that was cut off (residual, steps)"
    cuts = [(point.residual, point.steps) for point in next(iter(found.rules.values()), ())]
    header = ("rule", *(f"{residual:.0e} ({steps})" for residual, steps in cuts), "good from")
    rows = []
    for rule, points in found.rules.items():
        threshold = found.threshold(rule)
        cells = [f"{point.worst.cosine:.4f}" if point.kept == 1 else f"lost {1 - point.kept:.0%}" for point in points]
        rows.append((rule, *cells, "never" if threshold is None else f"{threshold:.0e}"))
    yield from _table([header, *rows])


def _settling(found: Settling) -> Iterator[str]:
    aim = "" if found.tolerance is None else f" (tolerance {found.tolerance:.0e})"
    yield f"free phase as configured: residual {found.residual:.1e} after {found.steps} steps{aim}"
    yield from (f"  why: {reason}" for reason in found.why)
    yield from (f"  what helps: {remedy}" for remedy in found.helps)


def _spectrum(found: Spectrum | None) -> Iterator[str]:
    if found is None:
        return
    yield f"Jacobian at the equilibrium of one sample, {found.size} states"
    yield f"  spectral radius of a step   {found.step_radius:.4f}"
    yield f"  largest real part           {found.largest_real_part:.4f}"
    if found.departure_from_normality is not None:
        yield f"  departure from normality    {found.departure_from_normality:.2e}"
    if found.asymmetry is not None:
        yield f"  asymmetry                   {found.asymmetry:.2e}"
    if found.stable_factor is not None:
        yield f"  stable with steps times     {found.stable_factor:.3g}"


def _pair(measure: Measure | None) -> tuple[str, str]:
    return ("", "") if measure is None else (f"{measure.cosine:.6f}", f"{measure.relative_error:.1e}")


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
