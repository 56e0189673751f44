"""The rules in the report of ``verify``: their fidelity, overall and for each param, with remarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from energyc.language.diagnostics import listed
from energyc.surfaces.tables import Cell, Styled, Table, Verdict

if TYPE_CHECKING:
    from energyc.studies.verify import Fidelity, Measure, RuleFidelity, Symmetry

    #: The measures in the limit and as configured, by name.
    Columns = tuple[Mapping[str, Measure], Mapping[str, Measure]]

#: The most rules in one table of params.
SIDE_BY_SIDE = 4
#: The verdicts on rules that are not proved exact.
UNPROVED = ("biased", "unproved")
#: Reasons why a contrast is exact although J is not proved symmetric.
EXACT_BECAUSE = {
    "jacobian": "J is symmetric",
    "sets": "J is symmetric along the sets that hold the states",
    "cost": "J is not symmetric, but acts on this cost's adjoint as its transpose does",
}


def rules_part(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the table of the rules, remarks on them, and the tables of their params."""
    yield from rules_table(fidelity)
    yield from remarks(fidelity)
    yield from symmetry(fidelity)
    yield from params(fidelity)


def rules_table(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield the table of the rules, or a line if none could be measured."""
    if all(rule.limit is None for rule in fidelity.rules.values()):
        yield Text("\nNOT MEASURED, neither in the limit nor as configured:", "bold red")
        return
    yield Text("\nEach rule in the limit (float64, converged, beta swept), and as configured")
    columns = ("rule", "verdict", "cosine", "error", "law", "configured", "error", "beta", "")
    yield Table(columns, tuple(_row(name, rule) for name, rule in fidelity.rules.items()))


def _row(name: str, rule: RuleFidelity) -> tuple[Cell, ...]:
    return name, Verdict(rule.verdict), *_limit(rule), *_configured(rule), Styled(((_failure(rule), "bold red"),))


def _failure(rule: RuleFidelity) -> str:
    if rule.limit is None:
        return "NOT MEASURED"
    return "" if rule.passed else "NOT FAITHFUL"


def remarks(fidelity: Fidelity) -> Iterator[Text]:
    """Yield a line for each reason why rules are not faithful, or could not be measured."""
    rules: dict[str, list[str]] = {}
    for name, rule in fidelity.rules.items():
        for remark in dict.fromkeys(filter(None, [rule.fault, rule.note])):
            rules.setdefault(remark, []).append(name)
    if rules:
        yield Text("\n".join(f"{', '.join(names)}: {remark}" for remark, names in rules.items()) + "\n")


def symmetry(fidelity: Fidelity) -> Iterator[Text]:
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
    return number(measure.cosine, ".6f"), number(measure.relative_error, ".1e")


def params(fidelity: Fidelity) -> Iterator[RenderableType]:
    """Yield tables of the cosine of each layer and of each param, for a few rules each, if there are any."""
    yield from _cosines(fidelity, "layer", lambda rule: (rule.limit_layers, rule.configured_layers))
    yield from _cosines(fidelity, "param", lambda rule: (rule.limit_params, rule.configured_params))
    if fidelity.zero and any(rule.limit_params for rule in fidelity.rules.values()):
        yield Text(f"{listed(fidelity.zero)}: the exact gradient is zero beside rounding: nothing was measured\n")


def _cosines(fidelity: Fidelity, kind: str, columns: Callable[[RuleFidelity], Columns]) -> Iterator[RenderableType]:
    """Yield tables of the cosines of one kind."""
    found = {name: columns(rule) for name, rule in fidelity.rules.items()}
    rules = [name for name, measures in found.items() if _has_cosines(measures)]
    if rules:
        yield Text(f"Cosine of each {kind}: in the limit, as configured")
    for start in range(0, len(rules), SIDE_BY_SIDE):
        chosen = rules[start : start + SIDE_BY_SIDE]
        rows: Iterator[tuple[Cell, ...]] = (
            (each, *(_cell(found[rule], each) for rule in chosen)) for each in found[chosen[0]][0]
        )
        yield Table((kind, *chosen), tuple(rows))


def _has_cosines(columns: Columns) -> bool:
    return any(math.isfinite(measure.cosine) for column in columns for measure in column.values())


def _cell(columns: Columns, name: str) -> Styled:
    limit, configured = columns[0][name], columns[1].get(name)
    beside = cosine(math.nan if configured is None else configured.cosine)
    return Styled((cosine(limit.cosine), ("  ", ""), beside))


def number(value: float, form: str) -> str:
    """Return a number in a form, a dash for NaN."""
    return "-" if math.isnan(value) else format(value, form)


def cosine(value: float) -> tuple[str, str]:
    """Return a cosine with its style, coloured if low, or a dash for NaN."""
    style = "" if math.isnan(value) or value >= 0.99 else "yellow" if value >= 0.9 else "red"
    return number(value, ".4f").rjust(7), style
