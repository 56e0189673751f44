"""Which energies are quadratic in some inputs, up to scalar functions of affine arguments.

Degrees are read off the graph's structure: what they say holds for every weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from energyc.mathematics.calculus import depends, is_cut
from energyc.mathematics.ir import Add, BatchStatistic, Einsum, Input, Map, Node, NoRule, Reduction, Stop, walk


class NotQuadratic(Exception):
    """An energy has another form; ``reason`` completes the sentence "the energy e ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Shape:
    """A scalar node that is quadratic in some inputs, but for the ``functions`` of affine arguments that it adds up."""

    functions: tuple[Map, ...]


def shape(root: Node, inputs: Collection[Input]) -> Shape:
    """Return the functions that a node adds to a quadratic form of ``inputs``. Raises NotQuadratic.

    A function of an affine argument counts as quadratic itself, so that one that is multiplied by another, or by one of
    ``inputs``, is refused.
    """
    moving = depends([root], set(inputs))
    degrees: dict[Node, int] = {}
    functions: list[Map] = []
    for node in walk([root]):
        if node not in moving:
            degrees[node] = 0
            _refuse_cut(node, inputs)
            continue
        degrees[node] = _degree(node, degrees)
        if isinstance(node, Map):
            functions.append(node)
    if degrees[root] > 2:
        raise NotQuadratic(_too_high(degrees[root], functions))
    return Shape(tuple(functions))


def _degree(node: Node, degrees: Mapping[Node, int]) -> int:
    match node:
        case Input():
            return 1
        case Add():
            return max(degrees[child] for child in node.children)
        case Einsum():
            return sum(degrees[operand.node] for operand in node.operands)
        case Map():
            if degrees[node.argument] > 1:
                raise NotQuadratic(f"takes {node.function.name} of a product of states")
            return 2
        case Reduction():
            raise NotQuadratic(f"takes {node.operator} of states")
    if isinstance(node, Stop) and node.mode == "barrier":
        return degrees[node.argument]
    if is_cut(node):
        raise NotQuadratic("holds a state fixed, so that its force is not its gradient")
    raise NoRule("degree", node)


def _refuse_cut(node: Node, inputs: Collection[Input]) -> None:
    """Raise NotQuadratic for a state behind a stop, on which no derivative depends but the energy does."""
    if is_cut(node) and any(child in inputs for child in walk([node])):
        what = "reads a statistic of the batch" if isinstance(node, BatchStatistic) else "holds a state fixed"
        raise NotQuadratic(what)


def _too_high(degree: int, functions: Collection[Map]) -> str:
    if functions:
        names = ", ".join(dict.fromkeys(node.function.name for node in functions))
        return f"multiplies {names} of a state by a function of states"
    return f"is of degree {degree} in the states"
