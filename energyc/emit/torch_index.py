"""Guards and positions in PyTorch: index expressions over the axes of their node, broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from energyc.emit.code import ATOM, PRODUCT, SUM, UNARY, Code
from energyc.ir import IndexExpr, Node

#: How tightly ``&`` and comparisons bind in Python is no concern here: both sides are always atoms.
_COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})


class IndexWriter:
    """Writes the index expressions of one node with axes of the given sizes."""

    def __init__(self, extents: Sequence[int], size_of: Callable[[str], int], read: Callable[[Node], str]) -> None:
        self.extents = extents
        self.size_of = size_of
        self.read = read

    def write(self, expr: IndexExpr) -> Code:
        """The expression; its tensor has the node's axes (some of size 1) behind a batch axis if it reads a sample."""
        parts = [self.write(part) for part in expr.parts]
        match expr.op:
            case "axis":
                return Code(f"positions({self.extents[expr.args[0]]}, {expr.args[0]}, {len(self.extents)}, self.device)")  # type: ignore[index]
            case "int":
                return Code(str(expr.args[0]), ATOM if int(expr.args[0]) >= 0 else UNARY)  # type: ignore[call-overload]
            case "size":
                return Code(str(self.size_of(str(expr.args[0]))))
            case "read" | "related":
                return self._read(expr, parts)
            case "true":
                return Code("torch.ones((), dtype=torch.bool)")
            case "neg":
                return Code(f"-{parts[0].at(UNARY)}", UNARY)
            case "abs":
                return parts[0].method("abs()")
            case "not":
                return Code(f"~{parts[0].at(ATOM)}", UNARY)
            case "+" | "-":
                return Code(f"{parts[0].at(SUM)} {expr.op} {parts[1].at(PRODUCT)}", SUM)
            case "*":
                return Code(f"{parts[0].at(PRODUCT)} * {parts[1].at(UNARY)}", PRODUCT)
            case "and" | "or":
                return Code((" & " if expr.op == "and" else " | ").join(p.at(ATOM) for p in parts), 0)
            case op if op in _COMPARE:
                return Code(f"{parts[0].at(SUM)} {op} {parts[1].at(SUM)}", 0)
        raise TypeError(f"no torch form of index operation {expr.op!r}")

    def _read(self, expr: IndexExpr, parts: Sequence[Code]) -> Code:
        """``idx[t]``: the input's own axes moved to where the node has them."""
        node = expr.args[0]
        assert isinstance(node, Node)
        name = self.read(node)
        rank = len(self.extents)
        places = [part.args[0] if part.op == "axis" else None for part in expr.parts]
        if all(p is not None for p in places) and places == sorted(places):  # type: ignore[type-var]
            slots = [":" if k in places else "None" for k in range(rank)]
            if slots == [":"] * len(places) and len(places) == rank:
                return Code(name)
            return Code(f"{name}[{', '.join([':', *slots])}]")
        return Code(f"{name}[{', '.join([':', *(p.text for p in parts)])}]")


def axes_missing(expr: IndexExpr, rank: int) -> bool:
    """Whether some axis of the node does not occur, so that the result must be expanded."""
    return expr.axes() != set(range(rank))
