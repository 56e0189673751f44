"""Places: what stands in the bracket of an element, and the integers they are made of."""

from __future__ import annotations

from typing import cast

from energyc.diagnostics import Label, Span
from energyc.ir import IndexExpr, Input
from energyc.ir.indexing import integer
from energyc.resolve.context import Context, Scope, Tensor, run_over, unbound
from energyc.resolve.names import Entry
from energyc.resolve.reporter import did_you_mean
from energyc.resolve.terms import Window, plain_index, position_of
from energyc.resolve.trees import plain_name
from energyc.syntax import ast


def read_integer(context: Context, scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """An expression as an integer made of indices, dims, whole numbers and integer inputs; None where it is none."""
    match expr:
        case ast.Number(value=value) if value.denominator == 1:
            return integer(int(value))
        case ast.Unary(op="-", operand=operand):
            return combine("neg", [read_integer(context, scope, operand)])
        case ast.Binary(op="+" | "-" | "*"):
            return _chain(context, scope, expr)
        case ast.Apply(arguments=None, prime=False):
            return _name(context, scope, expr)
        case ast.Apply(name=ast.Name(text="abs"), slots=None, arguments=(ast.Argument(keyword=None, value=inner),)):
            return combine("abs", [read_integer(context, scope, inner)])
    _refuse(context, expr.span)
    return None


def _refuse(context: Context, span: Span) -> None:
    context.reporter.error(
        "E0310",
        "this is no index expression",
        span,
        help="an index expression holds indices, whole numbers, dims, integer clamps and + - *",
    )


def combine(op: str, parts: list[IndexExpr | None]) -> IndexExpr | None:
    """An operation on parts that may be wrong."""
    known = tuple(part for part in parts if part is not None)
    return IndexExpr(op, known) if len(known) == len(parts) else None


def _chain(context: Context, scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """A left-leaning chain without recursion along it."""
    pending: list[ast.Binary] = []
    while isinstance(expr, ast.Binary) and expr.op in ("+", "-", "*"):
        pending.append(expr)
        expr = expr.left
    total = read_integer(context, scope, expr)
    for binary in reversed(pending):
        total = combine(binary.op, [total, read_integer(context, scope, binary.right)])
    return total


def _name(context: Context, scope: Scope, expr: ast.Apply) -> IndexExpr | None:
    name = expr.name.text
    if expr.slots is None and name in scope.indices:
        return position_of(scope.indices[name])
    entry = context.names.get(name)
    if entry is not None and entry.kind == "dim" and expr.slots is None:
        context.sizes.used.add(name)
        return IndexExpr("size", (name,)) if context.sizes.size(name) else None
    if entry is not None and entry.kind in ("clamp", "target"):
        return _input(context, scope, expr)
    if entry is None and expr.slots is None:
        return _unknown(context, scope, expr.name)
    _refuse(context, expr.span)
    return None


def _unknown(context: Context, scope: Scope, name: ast.Name) -> IndexExpr | None:
    if name.text in context.names.indices:
        return position_of(unbound(scope, name))
    context.reporter.error(
        "E0201", f"there is no index `{name.text}`", name.span, "unknown", help=did_you_mean(name.text, scope.indices)
    )
    return None


def _input(context: Context, scope: Scope, expr: ast.Apply) -> IndexExpr | None:
    """An element of an integer clamp or target."""
    tensor = context.definitions.tensor(expr.name.text)
    scope.frame.reads.setdefault(expr.name.text, expr.name.span)
    if tensor is None:
        return None
    if getattr(tensor.node, "over", None) is None:
        entry = context.names.entries[expr.name.text]
        context.reporter.error(
            "E0404",
            f"`{tensor.name}` is real, and guards and index expressions read indices and integer inputs alone",
            expr.span,
            labels=[Label(entry.span, "declared here")],
            help="a weight multiplies: write it as a factor",
        )
        return None
    places = read_places(context, scope, expr, tensor)
    return None if places is None else IndexExpr("read", (cast(Input, tensor.node), *places))


# ---------------------------------------------------------------- the bracket of an element


def read_places(context: Context, scope: Scope, expr: ast.Apply, tensor: Tensor) -> tuple[IndexExpr, ...] | None:
    """One index expression for each axis, its plain indices bound to the axes' dims."""
    slots = expr.slots or ()
    if len(slots) != len(tensor.dims):
        _report_count(context, scope, expr, tensor)
        return None
    if expr.guard is not None:
        context.reporter.error(
            "E0307",
            "a guard belongs in a reduction",
            expr.guard.span,
            help=f"write `where(CONDITION, {tensor.name}[...], 0)`",
        )
        return None
    places = [_place(context, scope, slot, tensor, k) for k, slot in enumerate(slots)]
    return None if any(place is None for place in places) else tuple(place for place in places if place)


def _report_count(context: Context, scope: Scope, expr: ast.Apply, tensor: Tensor) -> None:
    wanted, given = len(tensor.dims), len(expr.slots or ())
    entry = context.names.entries[tensor.name]
    form = f"{tensor.name}[{', '.join(tensor.dims)}]" if wanted else tensor.name
    example = f"{tensor.name}[{', '.join(_lower(d) for d in tensor.dims)}]" if wanted else tensor.name
    said = f"has {_indices(wanted)}" + (f" and is given {given}" if given else " and is written without any")
    context.reporter.error(
        "E0304",
        f"`{tensor.name}` {said}",
        expr.span,
        labels=[Label(entry.span, f"`{form}` is declared here")],
        help=f"write each element with its indices, `{example}`" if wanted else f"write `{tensor.name}` alone",
    )


def _indices(count: int) -> str:
    return {0: "no index", 1: "one index"}.get(count, f"{count} indices")


def _lower(dim: str) -> str:
    return dim.lower()


def _place(context: Context, scope: Scope, slot: ast.Slot, tensor: Tensor, axis: int) -> IndexExpr | None:
    dim = tensor.dims[axis]
    if slot.dim is not None:
        context.reporter.error(
            "E0302",
            "`in` belongs where an index is bound",
            slot.dim.span,
            help="write it at the sum or on the left side",
        )
        return None
    name = plain_name(slot.expr)
    if name is not None and not _is_chosen(context, scope, name):
        return _plain(context, scope, name, tensor, axis)
    place = read_integer(context, scope, slot.expr)
    if place is None:
        return None
    index = plain_index(place)
    if index is not None:
        run_over(context, index, dim, slot.span, tensor.places[axis])
    elif not _gather(context, place, dim, slot.span, tensor):
        scope.frame.windows.append(Window(place, dim, tensor.name, scope.conditions, slot.span))
    return place


def _is_chosen(context: Context, scope: Scope, name: ast.Name) -> bool:
    """Whether a name is that of a scalar integer input, which picks one position for a whole sample."""
    entry = context.names.get(name.text)
    if name.text in scope.indices or entry is None or entry.kind not in ("clamp", "target"):
        return False
    tensor = context.definitions.tensor(name.text)
    return tensor is not None and not tensor.dims and getattr(tensor.node, "over", None) is not None


def _plain(context: Context, scope: Scope, name: ast.Name, tensor: Tensor, axis: int) -> IndexExpr | None:
    dim = tensor.dims[axis]
    index = scope.indices.get(name.text)
    if index is None:
        entry = context.names.get(name.text)
        if entry is not None:
            _report_declared(context, scope, name, entry, tensor)
            return None
        index = unbound(scope, name)
    run_over(context, index, dim, name.span, tensor.places[axis] if tensor.places else None)
    return position_of(index)


def _report_declared(context: Context, scope: Scope, name: ast.Name, entry: Entry, tensor: Tensor) -> None:
    if entry.kind == "dim":
        help = f"an equation holds indices: write `{entry.name.lower()}`"
        meant = [name for name in scope.indices if name.lower() == entry.name.lower()]
        if meant:
            help = f"an equation holds indices: did you mean `{meant[0]}`?"
        said = f"`{name.text}` is a dim, and the bracket of an element holds indices"
    elif entry.kind in ("clamp", "target"):
        help = f"read its element: `{tensor.name}[{entry.name}[t]]`"
        said = f"`{name.text}` is {entry.spoken}, not an index"
    else:
        help = None
        said = f"`{name.text}` is {entry.spoken}, not an index"
    context.reporter.error("E0305", said, name.span, labels=[Label(entry.span, "declared here")], help=help)


def _gather(context: Context, place: IndexExpr, dim: str, span: Span, tensor: Tensor) -> bool:
    """Whether a place is an element of an integer input; its dim is checked."""
    if place.op != "read":
        return False
    source = place.args[0]
    if source.over != dim:  # type: ignore[union-attr]
        entry = context.names.entries[source.name]  # type: ignore[union-attr]
        context.reporter.error(
            "E0309",
            f"`{entry.name}` holds positions in {source.over}, and this axis of `{tensor.name}` is {dim}",  # type: ignore[union-attr]
            span,
            labels=[Label(entry.span, f"declared over {source.over} here")],  # type: ignore[union-attr]
        )
    return True
