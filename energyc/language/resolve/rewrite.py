"""Suggestions: an expression of the spec rewritten as a help shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from energyc.language.diagnostics import Source, Span
from energyc.language.resolve.context import Scope, Tensor
from energyc.language.resolve.names import TENSORS
from energyc.language.syntax import ast

LONGEST = 100
#: Text put in at an offset.
Insertion = tuple[int, str]


def edited(source: Source, span: Span, insertions: Sequence[Insertion]) -> str:
    """The text of a span with insertions; ``...`` where that is too long for a help."""
    text = source.slice(span)
    for offset, inserted in sorted(insertions, key=lambda insertion: insertion[0], reverse=True):
        at = offset - span.start
        text = text[:at] + inserted + text[at:]
    return text if len(text) <= LONGEST and "\n" not in text else "..."


# ------------------------------------------------------------------ sums around the terms that hold an index


def with_sums(expr: ast.Expr, uses: Mapping[str, Sequence[Span]]) -> list[Insertion]:
    """The insertions that sum over each index around the terms that hold it, and around no other term.

    ``uses`` gives the places of each index that nothing binds. A sum is moved inwards only through sums, differences
    and single factors, where that does not change the value.
    """
    names = [name for name, spans in uses.items() if any(_contains(expr.span, span) for span in spans)]
    if not names:
        return []
    parts = _linear_parts(expr, uses)
    if parts:
        return [insertion for part in parts for insertion in with_sums(part, uses)]
    if isinstance(expr, ast.Apply) and expr.name.text == "sum" and expr.slots:
        return [(expr.slots[-1].span.end, "," + ",".join(names))]
    return [(expr.span.start, f"sum[{','.join(names)}]("), (expr.span.end, ")")]


def _linear_parts(expr: ast.Expr, uses: Mapping[str, Sequence[Span]]) -> list[ast.Expr]:
    """The parts of an expression around each of which a sum has the value of a sum around the whole."""
    match expr:
        case ast.Binary(op="+" | "-", left=left, right=right):
            return [left, right]
        case ast.Unary(op="-", operand=operand):
            return [operand]
        case ast.Binary(op="*", left=left, right=right):
            holding = [factor for factor in (left, right) if _holds(factor, uses)]
            return holding if len(holding) == 1 and _is_sum(holding[0]) else []
        case ast.Apply(name=ast.Name(text="sum"), guard=None, arguments=(ast.Argument(keyword=None, value=body),)):
            return [body] if _linear_parts(body, uses) else []
    return []


def _is_sum(expr: ast.Expr) -> bool:
    """Whether an expression adds terms, so that a sum over another index can move inside."""
    match expr:
        case ast.Binary(op="+" | "-") | ast.Apply(name=ast.Name(text="sum")):
            return True
        case ast.Binary(op="*", left=left, right=right):
            return _is_sum(left) or _is_sum(right)
    return False


def _holds(expr: ast.Expr, uses: Mapping[str, Sequence[Span]]) -> bool:
    return any(_contains(expr.span, span) for spans in uses.values() for span in spans)


def _contains(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


# ------------------------------------------------------------------ elements in place of whole tensors


def with_indices(scope: Scope, expr: ast.Expr) -> list[Insertion]:
    """The insertions that give each tensor written without indices those of its dims: ``s`` becomes ``s[j]``."""
    return [(apply.name.span.end, _bracket(tensor)) for apply, tensor in _whole_tensors(scope, expr)]


def free_indices(scope: Scope, expr: ast.Expr) -> list[str]:
    """The indices that an expression holds, or would hold with those of its whole tensors, in order."""
    bound = {name.text for tree in ast.walk(expr) for name in _bound_by(tree)}
    names: dict[str, None] = {}
    for tree in ast.walk(expr):
        if isinstance(tree, ast.Apply) and tree.arguments is None:
            slots = [ast.plain_name(slot.expr) for slot in tree.slots or ()]
            names |= dict.fromkeys(name.text for name in slots if name is not None)
    for _, tensor in _whole_tensors(scope, expr):
        names |= dict.fromkeys(dim.lower() for dim in tensor.dims)
    return [name for name in names if name not in bound and scope.names.get(name) is None]


def _bound_by(tree: ast.Tree) -> Iterator[ast.Name]:
    if isinstance(tree, ast.Apply) and tree.arguments is not None:
        yield from (name for slot in tree.slots or () if (name := ast.plain_name(slot.expr)) is not None)


def _whole_tensors(scope: Scope, expr: ast.Expr) -> Iterator[tuple[ast.Apply, Tensor]]:
    """The tensors with dims that are written without a bracket."""
    for tree in ast.walk(expr):
        if isinstance(tree, ast.Apply) and tree.slots is None and tree.arguments is None:
            entry = scope.names.get(tree.name.text)
            shadowed = tree.name.text in scope.arguments or tree.name.text in scope.indices
            tensor = None if shadowed or entry is None or entry.kind not in TENSORS else _tensor(scope, entry.name)
            if tensor is not None and tensor.dims:
                yield tree, tensor


def _tensor(scope: Scope, name: str) -> Tensor | None:
    return scope.context.definitions.tensor(name)


def _bracket(tensor: Tensor) -> str:
    return tensor.with_indices().removeprefix(tensor.name)
