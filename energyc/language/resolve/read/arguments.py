"""The arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.language.diagnostics import Remedy, Span, listed, removing
from energyc.language.resolve.context import Scope
from energyc.language.resolve.terms import Term
from energyc.language.syntax import ast


def read_arguments(
    scope: Scope, expr: ast.Apply, parameters: Sequence[str], *, indexed: bool = False
) -> dict[str, Term] | None:
    """The arguments by parameter; None where the call is not of that form, which is reported."""
    matched = match_arguments(scope, expr, parameters, indexed=indexed)
    return None if matched is None else {name: scope.real(value) for name, value in matched.items()}


def match_arguments(
    scope: Scope, expr: ast.Apply, parameters: Sequence[str], options: Sequence[str] = (), *, indexed: bool = False
) -> dict[str, ast.Expr] | None:
    """The arguments' trees by parameter, and those given by keyword by option; None as in ``read_arguments``.

    ``indexed`` says that the function takes indices in a bracket.
    """
    name = expr.name.text
    positional = [argument.value for argument in expr.arguments or () if argument.keyword is None]
    keywords = {argument.keyword.text: argument for argument in expr.arguments or () if argument.keyword is not None}
    unknown = next((keyword for keyword in keywords if keyword not in options), None)
    span = expr.span
    help: str | None
    if expr.slots and not indexed:
        message, help = f"`{name}` works element by element and takes no index", _without_indices(expr)
    elif len(positional) != len(parameters):
        message, help = f"`{name}` takes {_count(len(parameters))}, not {len(positional)}", None
        if len(positional) > len(parameters) and name in ("sum", "max", "mean"):
            help = "to add or compare several quantities write them out: `a + b`"
    elif unknown is not None:
        message, span = f"`{name}` has no option `{unknown}`", keywords[unknown].span
        help = f"it takes {listed(options)}" if options else "it takes none"
    else:
        return {
            **dict(zip(parameters, positional, strict=True)),
            **{keyword: argument.value for keyword, argument in keywords.items()},
        }
    scope.reporter.error("E0405", message, span, help=help)
    return None


def _count(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"


def _without_indices(expr: ast.Apply) -> str:
    slots, arguments = expr.slots or (), expr.arguments or ()
    bracket = Span(
        expr.name.span.end + expr.prime, arguments[0].span.start - 1 if arguments else slots[-1].span.end + 1
    )
    return Remedy(f"write `{expr.name.text}(...)`", removing("[...]", bracket))
