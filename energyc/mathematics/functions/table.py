"""All functions by their names, each complete: what an entry leaves out follows from its formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from energyc.mathematics.expressions import Call, Expression
from energyc.mathematics.functions import elementary, gelu_tanh, logistic, normal, piecewise, rational
from energyc.mathematics.functions.deduced import Derivative, Parity, is_analytic
from energyc.mathematics.functions.entry import DEDUCED, Form, ScalarFunction, deduced
from energyc.mathematics.functions.forms import Writer, deduced_forms
from energyc.mathematics.functions.power import power
from energyc.mathematics.functions.values import value_by

FAMILIES = (elementary, piecewise, logistic, normal, gelu_tanh, rational)


def table(entries: Mapping[str, ScalarFunction]) -> Mapping[str, ScalarFunction]:
    """The entries, complete. Raises ValueError for one that neither has a formula nor states its value and slope."""
    done: dict[str, ScalarFunction] = {}

    def function(name: str) -> ScalarFunction:
        if name not in done:
            done[name] = _complete(entries[name], function)
        return done[name]

    return MappingProxyType({name: function(name) for name in entries})


def _complete(entry: ScalarFunction, functions: Callable[[str], ScalarFunction]) -> ScalarFunction:
    upright = entry.name.replace("_", r"\_")
    latex = entry.latex or rf"\operatorname{{{{{upright}}}}}({{0}})"
    if not any(form.target == "energy" for form in entry.forms):
        entry = replace(entry, forms=(*entry.forms, Form("energy", f"{entry.text}({{u}})")))
    formula = entry.formula
    if formula is None:
        if entry.value is deduced or entry.derivative is DEDUCED:
            raise ValueError(f"{entry.name} states neither a formula nor its value and derivative")
        return replace(entry, latex=latex)
    return replace(
        entry,
        latex=latex,
        value=value_by(formula, lambda name: functions(name).value) if entry.value is deduced else entry.value,
        derivative=_derivative(entry, functions),
        parity=entry.parity or Parity(lambda name: functions(name).parity)(formula),
        analytic=entry.analytic and is_analytic(formula, functions),
        forms=(*entry.forms, *deduced_forms(entry, functions)),
    )


def _derivative(entry: ScalarFunction, functions: Callable[[str], ScalarFunction]) -> Expression:
    assert entry.formula is not None
    stated = entry.derivative is not DEDUCED
    return entry.derivative if stated else Derivative(lambda name: functions(name).derivative)(entry.formula)


FUNCTIONS: Mapping[str, ScalarFunction] = table(
    {function.name: function for family in FAMILIES for function in family.FUNCTIONS}
)


def scalar_function(name: str, exponent: Fraction | None = None) -> ScalarFunction:
    """A function of the table, or the power of an exponent. Raises KeyError for a name that is not there."""
    return FUNCTIONS[name] if exponent is None else power(exponent)


def written_out(function: ScalarFunction) -> str | None:
    """The formula as a spec writes it; None where there is none, or it is of functions that a spec cannot name."""
    called = [] if function.formula is None else [part for part in function.formula.walk() if isinstance(part, Call)]
    nameable = all(FUNCTIONS[str(part.function)].nameable for part in called)
    return Writer("energy", scalar_function)(function.formula)[0] if function.formula and nameable else None


def definitions(target: str) -> list[str]:
    """The helpers of a target that follow from formulas, each after those that it calls."""
    texts: dict[str, str] = {}

    def visit(function: ScalarFunction) -> None:
        helper = next((form.definition for form in function.forms if form.target == target), "")
        if helper and function.name not in texts and function.formula is not None:
            for part in function.formula.walk():
                if isinstance(part, Call):
                    visit(FUNCTIONS[str(part.function)])
            texts[function.name] = helper

    for function in FUNCTIONS.values():
        visit(function)
    return list(texts.values())
