"""Shrinks the sizes of a force until a full Jacobian is affordable, consistently with its convolution windows.

A dim that occurs only as an axis of tensors, or in comparisons of positions along one dim, may have any size: its
nominal size is cut to ``SMALLEST``. A dim under a window must keep the overhang of the window, so that a witness at
small sizes is a witness for the same network. All other dims keep their nominal size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from energyc.mathematics.ir import Add, Coefficient, Einsum, Indicator, Node, walk
from energyc.mathematics.ir.indexing import Affine, IndexExpr
from energyc.proofs.fields.conditions import Linear, linear
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.structured import NONE, Structures, turned, with_room

SMALLEST = 3
#: The largest size of a dim whose conditions may be proved at that size only.
SMALL = 12
Sizes = tuple[tuple[str, int], ...]
#: The most multiplications of one numerical experiment on a force.
WORK = 2e7


@dataclass(frozen=True)
class Window:
    """``position along target == affine in other axes``, with the dims of those axes."""

    target: str
    form: Affine
    dims: tuple[str, ...]

    def reach(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The least and the largest position that the affine form takes."""
        ends = [(0, stride * (sizes[self.dims[k]] - 1)) for k, stride in self.form.strides]
        return self.form.offset + sum(min(e) for e in ends), self.form.offset + sum(max(e) for e in ends)


@dataclass(frozen=True)
class Limits:
    """The limits on shrinking the dims of a force: its windows, the dims of fixed size, and the least spans.

    ``rigid`` are the ``fixed`` dims and all dims in windows, ``pinned`` the dims with conditions on single positions.
    """

    windows: tuple[Window, ...]
    rigid: frozenset[str]
    pinned: frozenset[str]
    spans: Mapping[str, int]

    @staticmethod
    def of(roots: Iterable[Node], sizes: Mapping[str, int]) -> Limits:
        """The limits of all nodes below ``roots``."""
        indicators = [n for n in walk(list(roots)) if isinstance(n, Indicator)]
        windows = tuple(w for n in indicators for w in _windows(n, sizes))
        rigid, pinned = (frozenset(_union(map(kind, indicators))) for kind in (_rigid, _pinned))
        return Limits(windows, rigid, pinned, _spans(indicators))

    @property
    def fixed(self) -> frozenset[str]:
        """The dims that must keep their nominal size independently of the windows."""
        in_windows = {w.target for w in self.windows} | {w.dims[k] for w in self.windows for k, _ in w.form.strides}
        return self.pinned | (self.rigid - in_windows)

    def least(self, dim: str, smallest: int = SMALLEST) -> int:
        """The smallest allowed size of a dim that is in no window."""
        return max(smallest, self.spans.get(dim, 0))

    def hold(self, small: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
        """Whether the small sizes preserve the reach of the windows and the pinned dims."""
        windows = all(_same_reach(w, small, sizes) for w in self.windows)
        return windows and all(small[d] == sizes[d] for d in self.pinned)


def small_sizes(
    roots: Iterable[Node], sizes: Mapping[str, int], smallest: int = SMALLEST, structures: Structures = NONE
) -> dict[str, int]:
    """Sizes for a witness search, none above ``sizes``; rigid dims keep theirs if the windows cannot be shrunk.

    They leave room for the params on the sets ``structures``, where the windows allow it.
    """
    limits = Limits.of(roots, sizes)
    small = _small(limits, sizes, smallest)
    roomy = with_room(structures, small)
    return roomy if roomy == small or limits.hold(roomy, sizes) else dict(sizes)


def _small(limits: Limits, sizes: Mapping[str, int], smallest: int) -> dict[str, int]:
    free = {d: min(size, limits.least(d, smallest)) for d, size in sizes.items()}
    fixed = limits.fixed
    small = {d: sizes[d] if d in fixed else n for d, n in free.items()}
    return _fitted_to_windows(small, limits, sizes) or {
        d: sizes[d] if d in limits.rigid else n for d, n in free.items()
    }


def work(roots: Iterable[Node], sizes: Mapping[str, int]) -> float:
    """The approximate number of multiplications to evaluate nodes, with every product formed at once."""
    spaces = (n.labels if isinstance(n, Einsum) else n.dims for n in walk(list(roots)))
    return float(sum(math.prod(sizes[d] for d in dims) for dims in spaces))


def pinned_sizes(field: ForceField) -> Sizes:
    """Dims whose size may decide whether a force is a gradient: those of size 1, in coefficients or in conditions."""
    nodes = list(walk(field.roots))
    ones = {d for node in nodes for d in (*node.dims, *_labels(node)) if field.sizes[d] == 1}
    counted = {name for node in nodes for c in _coefficients(node) for name, _ in c.powers if name in field.sizes}
    conditions = {
        d for node in nodes if isinstance(node, Indicator) for d in (*node.dims, *_dims_named(node.condition))
    }
    small = {d for d in counted | conditions if field.sizes[d] <= SMALL}
    return tuple((d, field.sizes[d]) for d in field.sizes if d in ones | small)


def square_dims(field: ForceField, read: Iterable[Node] | None = None) -> tuple[str, ...]:
    """The dims of the orthogonal params that a force reads, or nodes, which are as high as wide at its sizes alone."""
    inputs = set(field.inputs if read is None else walk(read))
    sets = ((node, turned(node, parts, field.sizes)) for node, parts in field.structure.items() if node in inputs)
    dims = {node.dims[k] for node, parts in sets for part in parts for k in (*part.rows, *part.columns)}
    return tuple(dim for dim in field.sizes if dim in dims)


def _labels(node: Node) -> tuple[str, ...]:
    return node.labels if isinstance(node, Einsum) else ()


def _coefficients(node: Node) -> Iterator[Coefficient]:
    match node:
        case Add():
            yield from (c for c, _ in node.terms)
        case Einsum():
            yield node.coefficient


def written_sizes(sizes: Iterable[tuple[str, int]]) -> str:
    """Sizes as text, such as ``N = 3, D = 2``."""
    return ", ".join(f"{dim} = {size}" for dim, size in sizes)


def _union(sets: Iterable[set[str]]) -> set[str]:
    return set().union(*sets)


def _fitted_to_windows(small: dict[str, int], limits: Limits, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes at which every window has the same overhang over its target as at the nominal sizes, or None."""
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
    """The dims that a condition relates to numbers or to other dims, beyond differences of positions along one dim."""
    return {
        node.dims[k] for part in _leaves(node.condition) if not _leaves_sizes_free(part, node.dims) for k in part.axes()
    } | _dims_named(node.condition)


def _pinned(node: Indicator) -> set[str]:
    """The dims in conditions on a single position (``n == 0``), and those whose size occurs in a condition."""
    alone = (
        part for part in _leaves(node.condition) if len(part.axes()) == 1 and not _leaves_sizes_free(part, node.dims)
    )
    return {node.dims[k] for part in alone for k in part.axes()} | _dims_named(node.condition)


def _dims_named(expr: IndexExpr) -> set[str]:
    return {str(e.args[0]) for e in expr.walk() if e.op == "size"}


def _leaves(expr: IndexExpr) -> Iterator[IndexExpr]:
    if expr.op in ("and", "or", "not"):
        for part in expr.parts:
            yield from _leaves(part)
    else:
        yield expr


def _spans(indicators: Iterable[Indicator]) -> dict[str, int]:
    """The size at which a band like ``abs(s - t) <= 2`` has both an inside and an outside, for each dim."""
    spans: dict[str, int] = {}
    for node in indicators:
        for part in _leaves(node.condition):
            if _leaves_sizes_free(part, node.dims) and part.axes():
                offsets = [abs(n) for e in part.walk() for n in e.args if isinstance(n, int) and e.op == "int"]
                for k in part.axes():
                    spans[node.dims[k]] = max(spans.get(node.dims[k], 0), 2 * max(offsets, default=0) + 2)
    return spans


def _leaves_sizes_free(part: IndexExpr, dims: tuple[str, ...]) -> bool:
    if any(e.op in ("read", "related") for e in part.walk()):
        return True
    if len({dims[k] for k in part.axes()}) != 1 or len(part.parts) != 2:
        return False
    form = linear(IndexExpr("-", part.parts), range(len(dims)))
    return _has_differences_only(form)


def _has_differences_only(form: Linear) -> bool:
    """Whether a form depends only on differences of positions, so that it is invariant under shifts along the dim."""
    total = 0
    for key, factor in form[1]:
        match key:
            case ("axis", _):
                total += factor
            case ("abs", inner) if _has_differences_only(inner):
                pass
            case _:
                return False
    return total == 0


def _windows(node: Indicator, sizes: Mapping[str, int]) -> Iterator[Window]:
    for part in _leaves(node.condition):
        if part.op != "==" or _leaves_sizes_free(part, node.dims):
            continue
        for target, other in (part.parts, part.parts[::-1]):
            form = Affine.of(other, sizes)
            if target.op == "axis" and form is not None and form.strides and target.args[0] not in other.axes():
                yield Window(node.dims[target.args[0]], form, node.dims)  # type: ignore[index]
                break
