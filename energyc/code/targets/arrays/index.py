"""Guards and positions: index expressions over the axes of their node, broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from energyc.code.targets.arrays.code import ALL, Code, Part, tree
from energyc.code.tree.expressions import Binary, Comparison, Unary
from energyc.mathematics.ir import IndexExpr, Input, Node
from energyc.mathematics.ir.indexing import Affine
from energyc.mathematics.ir.interpreter import INDEX_OPERATIONS

_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})


class IndexWriter:
    """Writes the index expressions of one node with axes of the given sizes."""

    def __init__(
        self,
        extents: Sequence[int],
        sizes: Mapping[str, int],
        read: Callable[[Node], Code],
        kind: type[Code],
    ) -> None:
        self.extents = extents
        self.sizes = sizes
        self.read = read
        self.kind = kind

    def write(self, expr: IndexExpr) -> Code:
        """The expression; its tensor has the node's axes (some of size 1) behind a batch axis if it reads a sample.

        What reads neither axes nor inputs is a Python number or truth value.
        """
        if (known := constant(expr, self.sizes)) is not None:
            return self.kind(tree(known))
        parts = [self.write(part) for part in expr.parts]
        match expr.op:
            case "axis":
                at, rank = number_of(expr), len(self.extents)
                return self.kind.positions(self.extents[at], at, rank)
            case "read" | "related":
                return self._read(expr, parts)
            case "neg":
                return self.kind(Unary("-", parts[0].expr))
            case "abs":
                return parts[0].magnitude()
            case "not":
                return self.kind(Unary("~", parts[0].expr))
            case "+" | "-" | "*":
                return self.kind(Binary(expr.op, parts[0].expr, parts[1].expr))
            case "and" | "or":
                return self._logical(expr, parts)
            case op if op in _COMPARE:
                return self.kind(Comparison(op, parts[0].expr, parts[1].expr))
        raise TypeError(f"no form of the index operation {expr.op!r}")

    def _read(self, expr: IndexExpr, parts: Sequence[Code]) -> Code:
        """``idx[t]``: the input's own axes moved to where the node has them."""
        node = expr.args[0]
        assert isinstance(node, Node)
        name = self.read(node)
        if not expr.parts and not node.batched:
            return name
        if (slots := self._slots(expr, parts, node)) is not None:
            return name.at(ALL, *slots) if any(slot is not ALL for slot in slots) else name
        if all(
            self._inside(part, size)
            for part, size in zip(expr.parts, map(self.sizes.__getitem__, node.dims), strict=True)
        ):
            return name.at(ALL, *parts)
        at = [self._of_a_sample(part, code) for part, code in zip(expr.parts, parts, strict=True)]
        return self.kind.called("element", name, *at)

    def _slots(self, expr: IndexExpr, parts: Sequence[Code], node: Node) -> list[Part] | None:
        """The subscripts, behind the batch, of whole axes in their order and of places that are numbers.

        An axis that the input does not have is inserted with size 1. None where another place is among them.
        """
        slots: list[Part] = []
        following = 0
        for part, code, dim in zip(expr.parts, parts, node.dims, strict=True):
            size = self.sizes[dim]
            if part.op == "axis" and following <= (at := number_of(part)) and self.extents[at] == size:
                slots += [*[None] * (at - following), ALL]
                following = at + 1
            elif self._is_step(part, dim) or (not part.axes() and self._inside(part, size)):
                slots.append(code)
            else:
                return None
        return [*slots, *[None] * (len(self.extents) - following)]

    def is_certain(self, place: IndexExpr, dim: str) -> bool:
        """Whether a place is sure to be in its dim: an element read outside of its input is -1."""
        if place.op != "read":
            return self._inside(place, self.sizes[dim])
        source = place.args[0]
        assert isinstance(source, Input)
        return source.over == dim and all(map(self.is_certain, place.parts, source.dims))

    def _is_step(self, place: IndexExpr, dim: str) -> bool:
        """Whether a place is the number of the step, which runs over the dim."""
        return place.op == "read" and all(read.kind == "step" and read.over == dim for read in place.inputs)

    def _of_a_sample(self, place: IndexExpr, code: Code) -> Code:
        """A place with the batch in front, of size 1 where it is the same for all samples; the step is a number."""
        if (known := constant(place, self.sizes)) is not None:
            shape = (1,) * (1 + len(self.extents))
            return self.kind.full(shape, known, "int")
        return code.at(None) if place.axes() and not any(read.batched for read in place.inputs) else code

    def _inside(self, place: IndexExpr, size: int) -> bool:
        """Whether a place is sure to be in ``0 ... size - 1``."""
        affine = Affine.of(place, self.sizes)
        if affine is None:
            return False
        reach = [stride * (self.extents[k] - 1) for k, stride in affine.strides]
        low, high = (affine.offset + sum(bound(0, r) for r in reach) for bound in (min, max))
        return low >= 0 and high < size

    def _logical(self, expr: IndexExpr, parts: Sequence[Code]) -> Code:
        """``a & b``; a part that is known says nothing or decides: then the others still give axes and batch."""
        known = [constant(part, self.sizes) for part in expr.parts]
        open_parts = [code for code, value in zip(parts, known, strict=True) if value is None]
        decisive = expr.op == "or"
        if decisive in [value for value in known if value is not None]:
            open_parts.append(self.kind(tree(decisive)))
        whole = open_parts[0].expr
        for part in open_parts[1:]:
            whole = Binary("|" if decisive else "&", whole, part.expr)
        return self.kind(whole)


def constant(expr: IndexExpr, sizes: Mapping[str, int]) -> int | bool | None:
    """The value of an expression that is the same everywhere, as far as its form shows."""
    parts = [constant(part, sizes) for part in expr.parts]
    match expr.op:
        case "axis" | "read" | "related":
            return None
        case "int":
            return number_of(expr)
        case "size":
            return sizes[str(expr.args[0])]
        case "true":
            return True
    if any(part is None for part in parts):
        return None
    result = INDEX_OPERATIONS[expr.op](*parts)
    return bool(result) if expr.is_condition else int(result)


def number_of(expr: IndexExpr) -> int:
    """The number that an axis or an integer holds."""
    (held,) = expr.args
    assert isinstance(held, int)
    return held


def axes_missing(expr: IndexExpr, rank: int) -> bool:
    """Whether some axis of the node does not occur, so that the result must be expanded."""
    return expr.axes() != set(range(rank))
