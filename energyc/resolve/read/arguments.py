"""The arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.resolve.context import Context, Scope
from energyc.resolve.reporter import listed
from energyc.resolve.terms import Term
from energyc.syntax import ast


def read(
    context: Context, scope: Scope, expr: ast.Apply, wanted: Sequence[str], options: Sequence[str] = ()
) -> dict[str, Term] | None:
    """The arguments by the names wanted, and the options given by keyword; None where the call is not of that form."""
    given = match(context, expr, wanted, options)
    if given is None:
        return None
    return {name: context.real(scope, value) for name, value in given.items()}


def read_named(
    context: Context, scope: Scope, expr: ast.Apply, wanted: Sequence[str], *, indexed: bool
) -> dict[str, Term] | None:
    """The arguments of a function of the file."""
    given = match(context, expr, wanted, indexed=indexed)
    return None if given is None else {name: context.real(scope, value) for name, value in given.items()}


def match(
    context: Context, expr: ast.Apply, wanted: Sequence[str], options: Sequence[str] = (), *, indexed: bool = False
) -> dict[str, ast.Expr] | None:
    """The same as trees."""
    if expr.slots and not indexed:
        context.reporter.error(
            "E0405",
            f"`{expr.name.text}` works on each element alone and takes no index",
            expr.span,
            help=f"write `{expr.name.text}(...)`",
        )
        return None
    plain = [a.value for a in expr.arguments or () if a.keyword is None]
    if len(plain) != len(wanted):
        context.reporter.error(
            "E0405",
            f"`{expr.name.text}` takes {_count(len(wanted))} and is given {len(plain)}",
            expr.span,
            help=_sums_help(expr) if len(plain) > len(wanted) else None,
        )
        return None
    found = dict(zip(wanted, plain, strict=True))
    for argument in expr.arguments or ():
        if argument.keyword is None:
            continue
        if argument.keyword.text not in options:
            takes = f"it takes {listed(options)}" if options else "it takes none"
            context.reporter.error(
                "E0405",
                f"`{expr.name.text}` has no option `{argument.keyword.text}`",
                argument.keyword.span,
                help=takes,
            )
            return None
        found[argument.keyword.text] = argument.value
    return found


def _count(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"


def _sums_help(expr: ast.Apply) -> str | None:
    return (
        "to add or compare several quantities write them out: `a + b`"
        if expr.name.text in ("sum", "max", "mean")
        else None
    )
