"""Ties: a second name for a param, its axes in any order."""

from __future__ import annotations

from energyc.diagnostics import Label, Span
from energyc.ir import ONE
from energyc.resolve.context import Context, Tensor
from energyc.resolve.equations import Equations
from energyc.resolve.network import Tie
from energyc.resolve.trees import plain_name
from energyc.syntax import ast


def read_tie(context: Context, equations: Equations, tree: ast.Equation) -> Tie | None:
    """``tie W2[d,f] = W1[f,d]``; what is no permutation of a param is reported."""
    name = tree.left.name.text
    equations.tensors[name] = None
    source = _source(context, equations, tree)
    if source is None:
        return None
    left = [binder.name.text for binder in tree.left.indices or ()]
    right = _indices(tree.right)
    if right is None or len(set(left)) != len(left) or sorted(left) != sorted(right) or len(right) != len(source.dims):
        _report(context, tree.span, source)
        return None
    axes = tuple(right.index(index) for index in left)
    return _entered(context, equations, tree, source, axes)


def _source(context: Context, equations: Equations, tree: ast.Equation) -> Tensor | None:
    right = tree.right
    entry = context.names.get(right.name.text) if isinstance(right, ast.Apply) and right.arguments is None else None
    if entry is None or entry.kind != "param":
        context.reporter.error(
            "E0427",
            "a tie is to the elements of a param",
            tree.right.span,
            help=f"write `tie {tree.left.name.text}[d,f] = W[f,d]`",
        )
        return None
    return equations.tensor(entry.name)


def _indices(right: ast.Expr) -> list[str] | None:
    assert isinstance(right, ast.Apply)
    names = [plain_name(slot.expr) for slot in right.slots or () if slot.dim is None]
    found = [name.text for name in names if name is not None]
    return found if right.guard is None and len(found) == len(right.slots or ()) else None


def _report(context: Context, span: Span, source: Tensor) -> None:
    context.reporter.error(
        "E0427",
        "a tie names the same indices on both sides, each once, in any order",
        span,
        labels=[
            Label(
                context.names.entries[source.name].span, f"`{source.name}[{', '.join(source.dims)}]` is declared here"
            )
        ],
        help="windows, fixed positions and diagonals cannot be tied",
    )


def _entered(context: Context, equations: Equations, tree: ast.Equation, source: Tensor, axes: tuple[int, ...]) -> Tie:
    name = tree.left.name.text
    labels = dict(enumerate(source.dims))
    node = context.graph.einsum(ONE, [(source.node, range(len(axes)))], labels, axes)
    equations.tensors[name] = Tensor(name, "tie", node, tuple(binder.span for binder in tree.left.indices or ()))
    return Tie(name, source.name, axes, node, tree.span)
