"""The definition of a legal graph, as code; run between passes. A failure is a bug of the compiler, not of the user."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.mathematics.expressions import NoRule
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir.coefficient import Coefficient
from energyc.mathematics.ir.indexing import BOOLEAN, NUMERIC, IndexExpr
from energyc.mathematics.ir.node import TRUTHS, Input, Node, walk
from energyc.mathematics.ir.nodes import (
    Add,
    BatchStatistic,
    Einsum,
    Function,
    Indicator,
    Map,
    Position,
    Reduction,
    Stop,
)


class IRError(AssertionError):
    """A graph that no pass may make."""

    def __init__(self, node: Node, problem: str) -> None:
        """``problem`` says what is wrong with ``node``."""
        super().__init__(f"illegal {node!r}: {problem}")
        self.node = node


def verify(roots: Iterable[Node]) -> None:
    """Raise IRError for the first illegal node under ``roots``."""
    _verify(roots, body=False)


def _verify(roots: Iterable[Node], *, body: bool) -> None:
    for node in walk(roots):
        _require(all(child.number < node.number for child in node.children), node, "it is older than a child")
        if not isinstance(node, Input):
            _require(node.batched == _should_be_batched(node), node, f"batched is {node.batched}")
        _check(node, body=body)


def _require(condition: bool, node: Node, problem: str) -> None:
    if not condition:
        raise IRError(node, problem)


def _should_be_batched(node: Node) -> bool:
    if isinstance(node, BatchStatistic):
        return False
    bodies = node.function.bodies if isinstance(node, Map) else ()
    return any(child.batched for child in (*node.children, *bodies))


def _check(node: Node, *, body: bool) -> None:
    match node:
        case Input():
            _require(body or node.kind != "argument", node, "an argument outside a function's body")
            _require(node.kind != "argument" or node.dims == (), node, "an argument has no dims")
        case Einsum():
            _einsum(node)
        case Add():
            _add(node)
        case Map():
            _require(node.dims == node.argument.dims, node, "its dims are not its argument's")
            _function(node, node.function)
        case Reduction():
            _reduction(node)
        case Indicator():
            _require(node.condition.is_condition, node, "its condition is a number")
            _index(node, node.condition)
        case Position():
            _require(not node.value.is_condition, node, "its value is a truth value")
            _index(node, node.value)
        case Stop():
            _require(node.mode in ("frozen", "detach", "barrier"), node, f"the mode {node.mode}")
            _require(node.dims == node.argument.dims, node, "its dims are not its argument's")
        case BatchStatistic():
            _require(node.kind in ("mean", "median"), node, f"the kind {node.kind}")
            _require(node.argument.batched, node, "a statistic of the batch of what is the same for all samples")
            _require(node.dims == node.argument.dims, node, "its dims are not its argument's")
        case _:
            raise NoRule("verifier", node)


def _einsum(node: Einsum) -> None:
    known = range(len(node.labels))
    _coefficient(node, node.coefficient)
    _require(not node.coefficient.is_zero or not node.operands, node, "a product with zero")
    _require(len(set(node.out)) == len(node.out), node, f"a label twice in the result {node.out}")
    _require(all(a in known for a in node.out), node, "an unbound label in the result")
    _require(node.dims == tuple(node.labels[a] for a in node.out), node, "its dims are not its labels'")
    for operand in node.operands:
        _require(all(a in known for a in operand.axes), node, f"an unbound label on {operand.node!r}")
        dims = tuple(node.labels[a] for a in operand.axes)
        _require(dims == operand.node.dims, node, f"{operand.node!r} is indexed over {dims}")
    used = {*node.out, *(a for operand in node.operands for a in operand.axes)}
    _require(used == set(known), node, f"labels without use: {sorted(set(known) - used)}")


def _add(node: Add) -> None:
    _require(len(node.terms) > 1, node, "a sum of fewer than two terms")
    _require(len(set(node.terms)) == len(node.terms), node, "a term twice")
    for coefficient, term in node.terms:
        _coefficient(node, coefficient)
        _require(not coefficient.is_zero, node, "a term times zero")
        _require(term.dims == node.dims, node, f"the term {term!r} has other dims")


def _coefficient(node: Node, coefficient: Coefficient) -> None:
    names = [name for name, _ in coefficient.powers]
    _require(all(power for _, power in coefficient.powers), node, f"a zero power in {coefficient}")
    _require(names == sorted(set(names)), node, f"unsorted symbols in {coefficient}")


def _function(node: Map, function: Function) -> None:
    if not function.bodies:
        _require(function.name != "power" or function.exponent is not None, node, "a power without its exponent")
        _require(function.name in {*FUNCTIONS, "power"}, node, f"the function {function.name} is not in the table")
    for body in function.bodies:
        _require(body.dims == (), node, f"the body of {function.name} has dims")
        _verify([body], body=True)


def _reduction(node: Reduction) -> None:
    rank = range(len(node.argument.dims))
    _require(node.axes == tuple(sorted(set(node.axes))), node, f"the axes {node.axes} are not sorted")
    _require(bool(node.axes) and all(a in rank for a in node.axes), node, f"axes {node.axes} of {len(rank)}")
    _require(node.dims == tuple(node.argument.dims[k] for k in node.remaining), node, "dims that do not fit its axes")
    if node.guard is not None:
        axes, dims = node.guard.axes, node.guard.indicator.dims
        _require(len(set(axes)) == len(axes) == len(dims), node, f"the guard's axes {axes}")
        _require(all(a in rank for a in axes), node, f"the guard's axes {axes} of {len(rank)}")
        _require(tuple(node.argument.dims[a] for a in axes) == dims, node, f"a guard over {dims}")


def _index(node: Indicator | Position, expr: IndexExpr) -> None:
    for part in expr.walk():
        _require(part.op in NUMERIC | BOOLEAN, node, f"the index operation {part.op}")
        if part.op == "axis":
            _require(part.args[0] in range(len(node.dims)), node, f"axis {part.args[0]} of {len(node.dims)}")
        elif part.op in ("read", "related"):
            _read(node, part)
        elif part.op not in ("int", "size"):
            truth = part.op in ("and", "or", "not")
            _require(all(p.is_condition == truth for p in part.parts), node, f"mixed operands of {part.op}")


def _read(node: Node, expr: IndexExpr) -> None:
    source = expr.args[0]
    _require(isinstance(source, Input) and source.over is not None, node, "a read of what holds no integers")
    assert isinstance(source, Input)
    _require((source.over == TRUTHS) == (expr.op == "related"), node, f"{expr.op} of {source.name}")
    _require(len(expr.parts) == len(source.dims), node, f"{len(expr.parts)} indices into {source.name}")
    _require(not any(part.is_condition for part in expr.parts), node, f"a truth value indexes {source.name}")
