"""Sizes small enough to write a whole Jacobian down, coherent with the windows that a force looks through.

A dim that occurs only as a tensor's axis, or in comparisons of positions along one dim, may have any size: its nominal
one is cut to ``SMALLEST``. A dim that a window ranges over must keep what the window reaches outside of it, so that a
witness at small sizes is one of the same network. What cannot be shrunk so keeps its own size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from energyc.analysis.conditions import Linear, linear
from energyc.analysis.problem import ForceField
from energyc.ir import Add, Coefficient, Einsum, Indicator, Node, walk
from energyc.ir.indexing import Affine, IndexExpr

SMALLEST = 3
#: Of what size dims may be whose conditions are proved at that size alone.
SMALL = 12
Sizes = tuple[tuple[str, int], ...]
#: What one look at a force may cost.
WORK = 2e7


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


@dataclass(frozen=True)
class Limits:
    """What keeps the dims of a force from shrinking: its windows, dims that must stay whole, and those with a span.

    ``rigid`` are ``kept`` and all that windows name, ``pinned`` those that have positions of their own.
    """

    windows: tuple[Window, ...]
    rigid: frozenset[str]
    pinned: frozenset[str]
    spans: Mapping[str, int]

    @staticmethod
    def of(roots: Iterable[Node], sizes: Mapping[str, int]) -> Limits:
        """Those of nodes."""
        indicators = [n for n in walk(list(roots)) if isinstance(n, Indicator)]
        windows = tuple(w for n in indicators for w in _windows(n, sizes))
        rigid, pinned = (frozenset(_union(map(kind, indicators))) for kind in (_rigid, _pinned))
        return Limits(windows, rigid, pinned, _spans(indicators))

    @property
    def kept(self) -> frozenset[str]:
        """The dims that must stay whole whatever becomes of the windows."""
        in_windows = {w.target for w in self.windows} | {w.dims[k] for w in self.windows for k, _ in w.form.strides}
        return self.pinned | (self.rigid - in_windows)

    def least(self, dim: str, smallest: int = SMALLEST) -> int:
        """The smallest size of a dim that is no window's."""
        return max(smallest, self.spans.get(dim, 0))

    def hold(self, small: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
        """Whether what is seen at small sizes is what is seen at the given ones."""
        windows = all(_same_reach(w, small, sizes) for w in self.windows)
        return windows and all(small[d] == sizes[d] for d in self.pinned)


def small_sizes(roots: Iterable[Node], sizes: Mapping[str, int], smallest: int = SMALLEST) -> dict[str, int]:
    """Sizes to search for a witness at, none above the given ones; the ones given where nothing can be shrunk."""
    limits = Limits.of(roots, sizes)
    free = {d: min(size, limits.least(d, smallest)) for d, size in sizes.items()}
    kept = limits.kept
    small = {d: sizes[d] if d in kept else n for d, n in free.items()}
    return _settled(small, limits, sizes) or {d: sizes[d] if d in limits.rigid else n for d, n in free.items()}


def work(roots: Iterable[Node], sizes: Mapping[str, int]) -> float:
    """About the multiplications that evaluating nodes takes, with every product formed at once."""
    spaces = (n.labels if isinstance(n, Einsum) else n.dims for n in walk(list(roots)))
    return float(sum(math.prod(sizes[d] for d in dims) for dims in spaces))


def pinned_sizes(field: ForceField) -> Sizes:
    """Dims whose size may decide whether a force is a gradient: one of size 1, and those in numbers and conditions."""
    nodes = list(walk(field.roots))
    ones = {d for node in nodes for d in (*node.dims, *_labels(node)) if field.sizes[d] == 1}
    counted = {name for node in nodes for c in _coefficients(node) for name, _ in c.powers if name in field.sizes}
    conditions = {d for node in nodes if isinstance(node, Indicator) for d in (*node.dims, *_named(node.condition))}
    small = {d for d in counted | conditions if field.sizes[d] <= SMALL}
    return tuple((d, field.sizes[d]) for d in field.sizes if d in ones | small)


def _labels(node: Node) -> tuple[str, ...]:
    return node.labels if isinstance(node, Einsum) else ()


def _coefficients(node: Node) -> Iterator[Coefficient]:
    match node:
        case Add():
            yield from (c for c, _ in node.terms)
        case Einsum():
            yield node.coefficient


def written_sizes(sizes: Iterable[tuple[str, int]]) -> str:
    """``N = 3, D = 2``."""
    return ", ".join(f"{dim} = {size}" for dim, size in sizes)


def _union(sets: Iterable[set[str]]) -> set[str]:
    return set().union(*sets)


def _settled(small: dict[str, int], limits: Limits, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes at which every window reaches as far outside of its target as at the nominal ones, or None."""
    for _ in range(4):
        for window in limits.windows:
            _, top = window.reach(small)
            over = window.reach(sizes)[1] - (sizes[window.target] - 1)
            small[window.target] = max(1, min(sizes[window.target], top - over + 1))
    return small if limits.hold(small, sizes) else None


def _same_reach(window: Window, small: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
    low, top = window.reach(small)
    low_nominal, top_nominal = window.reach(sizes)
    return low == low_nominal and top - small[window.target] == top_nominal - sizes[window.target]


def _rigid(node: Indicator) -> set[str]:
    """The dims that a condition ties to numbers or to one another beyond differences of positions along one dim."""
    return {
        node.dims[k] for part in _leaves(node.condition) if not _plain(part, node.dims) for k in part.axes()
    } | _named(node.condition)


def _pinned(node: Indicator) -> set[str]:
    """The dims with a position of their own (``n == 0``), and those whose size is a number in a condition."""
    alone = (part for part in _leaves(node.condition) if len(part.axes()) == 1 and not _plain(part, node.dims))
    return {node.dims[k] for part in alone for k in part.axes()} | _named(node.condition)


def _named(expr: IndexExpr) -> set[str]:
    return {str(e.args[0]) for e in expr.walk() if e.op == "size"}


def _leaves(expr: IndexExpr) -> Iterator[IndexExpr]:
    if expr.op in ("and", "or", "not"):
        for part in expr.parts:
            yield from _leaves(part)
    else:
        yield expr


def _spans(indicators: Iterable[Indicator]) -> dict[str, int]:
    """How long a dim must be for a band like ``abs(s - t) <= 2`` to have an inside and an outside."""
    spans: dict[str, int] = {}
    for node in indicators:
        for part in _leaves(node.condition):
            if _plain(part, node.dims) and part.axes():
                offsets = [abs(n) for e in part.walk() for n in e.args if isinstance(n, int) and e.op == "int"]
                for k in part.axes():
                    spans[node.dims[k]] = max(spans.get(node.dims[k], 0), 2 * max(offsets, default=0) + 2)
    return spans


def _plain(part: IndexExpr, dims: tuple[str, ...]) -> bool:
    if any(e.op in ("read", "related") for e in part.walk()):
        return True
    if len({dims[k] for k in part.axes()}) != 1 or len(part.parts) != 2:
        return False
    form = linear(IndexExpr("-", part.parts), range(len(dims)))
    return _balanced(form)


def _balanced(form: Linear) -> bool:
    """Whether a form speaks of differences of positions alone, so that it is the same wherever along the dim."""
    total = 0
    for key, factor in form[1]:
        match key:
            case ("axis", _):
                total += factor
            case ("abs", inner) if _balanced(inner):
                pass
            case _:
                return False
    return total == 0


def _windows(node: Indicator, sizes: Mapping[str, int]) -> Iterator[Window]:
    for part in _leaves(node.condition):
        if part.op != "==" or _plain(part, node.dims):
            continue
        for target, other in (part.parts, part.parts[::-1]):
            form = Affine.of(other, sizes)
            if target.op == "axis" and form is not None and form.strides and target.args[0] not in other.axes():
                yield Window(node.dims[target.args[0]], form, node.dims)  # type: ignore[index]
                break
