"""Elements of tensors: plain indices, windows, fixed positions, gathers."""

from __future__ import annotations

from energyc.language.diagnostics import Remedy, Span, did_you_mean, writing
from energyc.language.resolve.context import Scope, Tensor, unbound
from energyc.language.resolve.names import TENSORS, Entry
from energyc.language.resolve.read.places import read_places
from energyc.language.resolve.terms import Bad, Element, Term
from energyc.language.resolve.words import INDEXED, SCALAR, STATISTICS
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart


def read_element(scope: Scope, expr: ast.Apply) -> Term:
    """``z[n, d]``, ``x[c, 2*i + p]``, ``tok[idx[t], d]``, or a tensor without dims by its name alone."""
    tensor = _tensor(scope, expr)
    if tensor is None:
        return Bad(expr.span)
    if tensor.over is not None:
        scope.reporter.error(
            "E0403",
            f"`{tensor.name}` holds integers and cannot be used in arithmetic",
            expr.span,
            labels=[scope.names.entries[tensor.name].label()],
            help="use it as an index, `tok[idx[t], d]`, or compare with it, `where(k == label, 1, 0)`",
        )
        return Bad(expr.span)
    places = read_places(scope, expr, tensor)
    return Bad(expr.span) if places is None else Element(expr.span, tensor.node, places)


def _tensor(scope: Scope, expr: ast.Apply) -> Tensor | None:
    """The tensor that is named; None where there is none or its definition is wrong."""
    name = expr.name.text
    entry = scope.names.get(name)
    if entry is not None and entry.kind in TENSORS and not expr.prime:
        return scope.tensor(expr.name)
    if entry is not None and entry.kind in TENSORS:
        _report_transpose(scope, expr.name, expr.slots)
    elif entry is not None:
        _report_no_value(scope, entry, expr)
    elif name == "training":
        help = "write `where(training, a, b)`, or `where(training, 1, 0)` for a number"
        scope.reporter.error("E0401", "expected a number, found a condition", expr.span, help=help)
    elif name == "batch":
        help = "the batch axis is never written; `mean[batch](...)` is a mean over it"
        scope.reporter.error("E0205", "`batch` has no value here", expr.name.span, help=help)
    elif name in INDEXED or name in SCALAR:
        along = "[batch]" if name in STATISTICS else "[k]" if name in INDEXED else ""
        form = f"{name}{along}(...)"
        scope.reporter.error(
            "E0205", f"`{name}` is a function and needs an argument", expr.name.span, help=f"write `{form}`"
        )
    elif expr.slots is None and name in scope.names.indices.keys() | scope.names.unsupported:
        unbound(scope, expr.name)
    else:
        report_unknown(scope, expr.name)
    return None


def _report_transpose(scope: Scope, name: ast.Name, slots: tuple[ast.Slot, ...] | None) -> None:
    reversed_slots = ",".join(scope.reporter.source.slice(slot.span) for slot in reversed(slots or ()))
    element = f"{name.text}[{reversed_slots}]"
    help = f"write the indices in the other order: `{element}`"
    if slots and len(slots) > 1:
        help = Remedy(help, writing(element, name.span.to(Span(name.span.end, slots[-1].span.end + 1))))
    scope.reporter.error(
        "E0127",
        f"`{name.text}'` is not a transpose: a prime is the slope of a function",
        name.span,
        help=help if slots and len(slots) > 1 else "write each element with its indices: `sum[j](W[i,j] * s[j])`",
    )


def _report_no_value(scope: Scope, entry: Entry, expr: ast.Apply) -> None:
    help = {
        "dim": f"a dim is a number: write `{entry.name}` without brackets",
        "const": f"a const is a number: write `{entry.name}` without brackets",
        "fn": f"a function is applied: write `{entry.name}(...)`",
        "layer": f"read what is at rest in it: `{entry.name}.x[...]`",
        "data": f"declare a clamp that reads it: `clamp x[...] = {entry.name}.FIELD`",
    }.get(entry.kind, "name the quantity with `let` and use that in both places")
    scope.reporter.error(
        "E0205",
        f"`{entry.name}` is {entry.with_article} and has no value here",
        expr.name.span,
        labels=[entry.label()],
        help=help,
    )


def report_unknown(scope: Scope, name: ast.Name) -> None:
    """Report a name that is not declared, or that is declared inside of a block."""
    if (block := scope.names.hidden.get(name.text)) is not None:
        said = f"`{name.text}` is declared inside of {block} and cannot be read outside"
        what = "outside of a layer `NAME.x` is its state x; of a `repeat` its states can be read, after the last copy"
        scope.reporter.error("E0201", said, name.span, help=what)
        return
    declared = [entry.name for entry in scope.names.of_kind(*TENSORS, "dim", "const")]
    head, _, indices = name.text.rpartition("_")
    if indices and head in declared and set(indices) <= scope.names.indices.keys():
        element = f"{head}[{','.join(indices)}]"
        help: str | None = Remedy(f"indices are in square brackets: `{element}`", writing(element, name.span))
    else:
        similar = did_you_mean(name.text, [*declared, *scope.indices, *scope.arguments], at=name.span)
        help = similar or counterpart("names", name.text)
    scope.reporter.error("E0201", f"`{name.text}` is not declared", name.span, help=help)
