"""Ties: a second name for a param, its axes in any order."""

from __future__ import annotations

from energyc.language.diagnostics import Label
from energyc.language.network import Tie
from energyc.language.resolve.context import Context, Tensor
from energyc.language.resolve.equations import Equations
from energyc.language.syntax import ast
from energyc.mathematics.ir import ONE


def read_tie(context: Context, equations: Equations, tree: ast.Equation) -> Tie | None:
    """``tie W2[d,f] = W1[f,d]``; anything but a permutation of a param is reported."""
    name = tree.left.name.text
    equations.tensors[name] = None
    source = _source(context, equations, tree)
    if source is None:
        return None
    left = [binder.name.text for binder in tree.left.indices or ()]
    right = _indices(tree.right)
    if right is None or len(set(left)) != len(left) or sorted(left) != sorted(right) or len(right) != len(source.dims):
        _report_indices(context, tree, source)
        return None
    axes = tuple(right.index(index) for index in left)
    node = context.graph.einsum(ONE, [(source.node, range(len(axes)))], dict(enumerate(source.dims)), axes)
    equations.tensors[name] = Tensor(name, "tie", node, tuple(binder.span for binder in tree.left.indices or ()))
    return Tie(name, source.name, axes, node, tree.span)


def _source(context: Context, equations: Equations, tree: ast.Equation) -> Tensor | None:
    right = tree.right
    entry = context.names.read(right.name) if isinstance(right, ast.Apply) and right.arguments is None else None
    if entry is None or entry.kind != "param":
        help = f"write `tie {tree.left.name.text}[d,f] = W[f,d]`"
        context.reporter.error("E0427", "only a param can be tied", right.span, help=help)
        return None
    if entry.name not in context.names.own:
        help = f"write the tie beside `{entry.name}`, outside of the block: it can be read there and in the block"
        message = f"a tie stands where its param is declared, and `{entry.name}` is declared around this block"
        context.reporter.error("E0427", message, right.span, labels=[entry.label()], help=help)
        return None
    return equations.tensor(entry.name)


def _indices(right: ast.Expr) -> list[str] | None:
    """The indices of an element; None where one of its places is anything else."""
    assert isinstance(right, ast.Apply)
    names = [ast.plain_name(slot.expr) for slot in right.slots or () if slot.dim is None]
    indices = [name.text for name in names if name is not None]
    return indices if right.guard is None and len(indices) == len(right.slots or ()) else None


def _report_indices(context: Context, tree: ast.Equation, source: Tensor) -> None:
    declared = f"`{source.name}[{', '.join(source.dims)}]` is declared here"
    context.reporter.error(
        "E0427",
        "a tie names the same indices on both sides, each once, in any order",
        tree.span,
        labels=[Label(context.names.entries[source.name].span, declared)],
        help="windows, fixed positions and diagonals cannot be tied",
    )
