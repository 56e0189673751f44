"""Sizes small enough to write a whole Jacobian down, coherent with the windows that a force looks through.

A dim that occurs only as a tensor's axis, or in comparisons of positions along one dim, may have any size: its nominal
one is cut to ``SMALLEST``. A dim that a window ranges over must keep what the window reaches outside of it, so that a
witness at small sizes is one of the same network. What cannot be shrunk so keeps its own size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from energyc.ir import Indicator, Node, Position, walk
from energyc.ir.indexing import Affine, IndexExpr

SMALLEST = 3


@dataclass(frozen=True)
class Window:
    """``position along target == affine in other axes``, with the dims of those axes."""

    target: str
    form: Affine
    dims: tuple[str, ...]

    def reach(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The least and the largest position that it names."""
        ends = [(0, stride * (sizes[self.dims[k]] - 1)) for k, stride in self.form.strides]
        return self.form.offset + sum(min(e) for e in ends), self.form.offset + sum(max(e) for e in ends)


def small_sizes(roots: Iterable[Node], sizes: Mapping[str, int], smallest: int = SMALLEST) -> dict[str, int]:
    """Sizes to search for a witness at, none above the given ones; the ones given where nothing can be shrunk."""
    indicators = [n for n in walk(list(roots)) if isinstance(n, Indicator | Position)]
    rigid = set().union(*(_rigid(n) for n in indicators)) if indicators else set()
    windows = [w for n in indicators for w in _windows(n, sizes)]
    fixed = rigid - {w.target for w in windows} - {d for w in windows for k, _ in w.form.strides for d in [w.dims[k]]}
    small = {d: size if d in fixed else min(size, smallest) for d, size in sizes.items()}
    return _settled(small, windows, sizes) or {d: size if d in rigid else min(size, smallest) for d, size in sizes.items()}


def _settled(small: dict[str, int], windows: list[Window], sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes at which every window reaches as far outside of its target as at the nominal ones."""
    for _ in range(4):
        for window in windows:
            _, top = window.reach(small)
            over = window.reach(sizes)[1] - (sizes[window.target] - 1)
            small[window.target] = max(1, min(sizes[window.target], top - over + 1))
    return small if all(_same_reach(w, small, sizes) for w in windows) else None


def _same_reach(window: Window, small: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
    low, top = window.reach(small)
    low_nominal, top_nominal = window.reach(sizes)
    return low == low_nominal and top - small[window.target] == top_nominal - sizes[window.target]


def _rigid(node: Indicator | Position) -> set[str]:
    """The dims that a condition ties to numbers or to one another beyond a comparison of two plain axes of one dim."""
    if isinstance(node, Position):
        return set()
    return {node.dims[k] for part in _leaves(node.condition) if not _plain(part, node.dims) for k in part.axes()} | _named(node.condition)


def _named(expr: IndexExpr) -> set[str]:
    return {str(e.args[0]) for e in expr.walk() if e.op == "size"}


def _leaves(expr: IndexExpr) -> Iterator[IndexExpr]:
    if expr.op in ("and", "or", "not"):
        for part in expr.parts:
            yield from _leaves(part)
    else:
        yield expr


def _plain(part: IndexExpr, dims: tuple[str, ...]) -> bool:
    if any(e.op in ("read", "related") for e in part.walk()):
        return True
    sides = part.parts
    return len(sides) == 2 and all(s.op == "axis" for s in sides) and len({dims[k] for k in part.axes()}) == 1


def _windows(node: Indicator | Position, sizes: Mapping[str, int]) -> Iterator[Window]:
    if isinstance(node, Position):
        return
    for part in _leaves(node.condition):
        if part.op != "==" or _plain(part, node.dims):
            continue
        for target, other in (part.parts, part.parts[::-1]):
            form = Affine.of(other, sizes)
            if target.op == "axis" and form is not None and form.strides and target.args[0] not in other.axes():
                yield Window(node.dims[target.args[0]], form, node.dims)  # type: ignore[index]
                break
