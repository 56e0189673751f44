"""Places: what stands in the bracket of an element, and the integers they are made of."""

from __future__ import annotations

from typing import cast

from energyc.language.diagnostics import Remedy, Span, did_you_mean, writing
from energyc.language.resolve.clashes import Element
from energyc.language.resolve.context import Scope, Tensor, run_over, unbound
from energyc.language.resolve.names import Entry
from energyc.language.resolve.read.exact import integers_fit
from energyc.language.resolve.terms import Window, plain_index, position_of
from energyc.language.syntax import ast
from energyc.mathematics.ir import IndexExpr, Input
from energyc.mathematics.ir.indexing import integer

#: The kinds that may hold integers.
INTEGERS = ("clamp", "target", "step")


def read_integer(scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """An expression made of indices, dims, integers and integer inputs; None where it is not, which is reported."""
    value = _read_integer(scope, expr)
    if value is None or integers_fit(scope.context, value):
        return value
    scope.reporter.error("E0704", "this integer is too large", expr.span)
    return None


def _read_integer(scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    match expr:
        case ast.Number(value=value) if value.denominator == 1:
            return integer(int(value))
        case ast.Unary(op="-", operand=operand):
            return combined("neg", read_integer(scope, operand))
        case ast.Binary(op="+" | "-" | "*"):
            return _read_chain(scope, expr)
        case ast.Apply(arguments=None, prime=False):
            return _read_named(scope, expr)
        case ast.Apply(name=ast.Name(text="abs"), slots=None, arguments=(ast.Argument(keyword=None, value=inner),)):
            return combined("abs", read_integer(scope, inner))
    _report_not_integer(scope, expr.span)
    return None


def _report_not_integer(scope: Scope, span: Span) -> None:
    help = "a position is made of indices, integers, dims, integer clamps and + - *"
    scope.reporter.error("E0310", "this is not an integer expression", span, help=help)


def combined(op: str, *parts: IndexExpr | None) -> IndexExpr | None:
    """An operation on parts; None if one of them is."""
    valid = tuple(part for part in parts if part is not None)
    return IndexExpr(op, valid) if len(valid) == len(parts) else None


def _read_chain(scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """A left-leaning chain, without recursion along it."""
    first, operations = ast.chain(expr, "+-*")
    total = read_integer(scope, first)
    for binary in operations:
        total = combined(binary.op, total, read_integer(scope, binary.right))
    return total


def _read_named(scope: Scope, expr: ast.Apply) -> IndexExpr | None:
    name = expr.name.text
    index = scope.indices.get(name) if expr.slots is None else None
    if index is not None:
        return position_of(index)
    entry = scope.names.get(name)
    if entry is not None and entry.kind == "dim" and expr.slots is None:
        scope.context.sizes.used.add(name)
        return IndexExpr("size", (name,)) if scope.context.sizes.size(name) else None
    if entry is not None and entry.kind in INTEGERS:
        return _read_input(scope, expr, entry)
    if entry is None and expr.slots is None:
        inputs = [declared.name for declared in scope.names.of_kind(*INTEGERS, "dim")]
        help = None if name in scope.names.indices else did_you_mean(name, [*scope.indices, *inputs], at=expr.name.span)
        if help is None:
            return position_of(unbound(scope, expr.name))
        scope.reporter.error("E0201", f"there is no index `{name}`", expr.name.span, help=help)
        return None
    _report_not_integer(scope, expr.span)
    return None


def _read_input(scope: Scope, expr: ast.Apply, entry: Entry) -> IndexExpr | None:
    """An element of an integer clamp or target."""
    tensor = scope.tensor(expr.name)
    if tensor is None:
        return None
    if tensor.over is None:
        scope.reporter.error(
            "E0404",
            f"`{tensor.name}` is real, and guards and index expressions read only indices and integer inputs",
            expr.span,
            labels=[entry.label()],
            help="a weight multiplies: write it as a factor",
        )
        return None
    places = read_places(scope, expr, tensor)
    return None if places is None else IndexExpr("read", (cast(Input, tensor.node), *places))


# ---------------------------------------------------------------- the bracket of an element


def read_places(scope: Scope, expr: ast.Apply, tensor: Tensor) -> tuple[IndexExpr, ...] | None:
    """One index expression for each axis, its plain indices bound to the axes' dims."""
    slots = expr.slots or ()
    if len(slots) != len(tensor.dims):
        _report_count(scope, expr, tensor)
        return None
    if expr.guard is not None:
        help = f"write `where(CONDITION, {tensor.name}[...], 0)`"
        scope.reporter.error("E0307", "only a reduction takes a guard", expr.guard.span, help=help)
        return None
    element = Element(tensor.name, tensor.kind, tensor.dims, tuple(map(_slot_text, slots)), expr.span)
    places = [_read_place(scope, slot, tensor, axis, element) for axis, slot in enumerate(slots)]
    valid = tuple(place for place in places if place is not None)
    return valid if len(valid) == len(places) else None


def _slot_text(slot: ast.Slot) -> str:
    name = ast.plain_name(slot.expr)
    return "..." if name is None else name.text


def _report_count(scope: Scope, expr: ast.Apply, tensor: Tensor) -> None:
    expected, found = len(tensor.dims), len(expr.slots or ())
    declared = f"{tensor.name}[{', '.join(tensor.dims)}]" if expected else tensor.name
    indices = {0: "no index", 1: "one index"}.get(expected, f"{expected} indices")
    example = tensor.with_indices()
    text = f"write each element with its indices, `{example}`" if expected else f"write `{example}` alone"
    is_diagonal = len(set(tensor.dims)) < expected  # `W[n, n]` shows the form and is not what was meant
    scope.reporter.error(
        "E0304",
        f"`{tensor.name}` has {indices} and is " + (f"given {found}" if found else "written without any"),
        expr.span,
        labels=[scope.names.entries[tensor.name].label(f"`{declared}` is declared here")],
        help=text if is_diagonal else Remedy(text, writing(example, expr.span)),
    )


def _read_place(scope: Scope, slot: ast.Slot, tensor: Tensor, axis: int, element: Element) -> IndexExpr | None:
    if slot.dim is not None:
        help = "write it at the sum or on the left side"
        scope.reporter.error("E0302", "`in` belongs where an index is bound", slot.dim.span, help=help)
        return None
    name = ast.plain_name(slot.expr)
    if name is not None and not _is_scalar_input(scope, name):
        return _read_index(scope, name, tensor, axis, element)
    place = read_integer(scope, slot.expr)
    index = plain_index(place) if place is not None else None
    if index is not None:
        run_over(scope.context, index, tensor.dims[axis], slot.span, tensor.places[axis])
    elif place is not None and place.op == "read":
        _check_gather(scope, place, tensor, axis, slot.span)
    elif place is not None:
        scope.frame.windows.append(Window(place, tensor.dims[axis], tensor.name, scope.conditions, slot.span))
    return place


def _is_scalar_input(scope: Scope, name: ast.Name) -> bool:
    """Whether a name is that of a scalar integer input, which picks one position for a whole sample."""
    entry = scope.names.get(name.text)
    if name.text in scope.indices or entry is None or entry.kind not in INTEGERS:
        return False
    tensor = scope.context.definitions.tensor(name.text)
    return tensor is not None and not tensor.dims and tensor.over is not None


def _read_index(scope: Scope, name: ast.Name, tensor: Tensor, axis: int, element: Element) -> IndexExpr | None:
    index = scope.indices.get(name.text)
    if index is None:
        entry = scope.names.get(name.text)
        if entry is not None:
            _report_not_index(scope, name, entry, tensor)
            return None
        index = unbound(scope, name, tensor.dims[axis])
    place = tensor.places[axis] if tensor.places else None
    run_over(scope.context, index, tensor.dims[axis], name.span, place, element, axis)
    return position_of(index)


def _report_not_index(scope: Scope, name: ast.Name, entry: Entry, tensor: Tensor) -> None:
    message = f"`{name.text}` is {entry.with_article}, not an index"
    help: str | None = None
    if entry.kind == "dim":
        bound = [index for index in scope.indices if index.lower() == name.text.lower()]
        message = f"`{name.text}` is a dim, and the bracket of an element holds indices"
        index = bound[0] if bound else name.text.lower()
        help = Remedy(f"did you mean `{index}`?" if bound else f"write `{index}`", writing(index, name.span))
    elif entry.kind in ("clamp", "target"):
        help = f"read its element: `{tensor.name}[{entry.name}[t]]`"
    scope.reporter.error("E0305", message, name.span, labels=[entry.label()], help=help)


def _check_gather(scope: Scope, place: IndexExpr, tensor: Tensor, axis: int, span: Span) -> None:
    """Report an integer input whose values lie in another dim than the axis it picks from."""
    source, dim = cast(Input, place.args[0]), tensor.dims[axis]
    if source.over != dim:
        scope.reporter.error(
            "E0309",
            f"`{source.name}` holds positions in {source.over}, and this axis of `{tensor.name}` is {dim}",
            span,
            labels=[scope.names.entries[source.name].label(f"declared over {source.over} here")],
        )
