"""Matrix products as calls of torch on strided views, into memory that is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.loops.matrices import walk_of
from energyc.code.loops.nest import Buffer, Load, MatrixProduct, Run, Scatter
from energyc.code.module.runtime import runtime
from energyc.code.targets.sums import size, times
from energyc.code.tree import expressions as e
from energyc.mathematics.ir import Node

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Label:
    """Labels that move as one: how many places, of each sample where ``sampled``; how far it moves in each matrix."""

    size: int
    left: int
    right: int
    out: int
    sampled: bool = False

    @property
    def count(self) -> e.Expr:
        """The number of places."""
        return times(self.size, e.Name("n")) if self.sampled else size(self.size)


def product(block: MatrixProduct, names: Mapping[Buffer, str]) -> e.Expr:
    """The call that computes a product.

    It is a product of two matrices, or of a batch of them, written where it belongs, if each of rows, columns and what
    is summed over is one label; else an einsum, whose result is copied or added.
    """
    outer = _merged([*_sample(block), *labels_of(block.outer, block.rows, block.columns)])
    inner = labels_of(block.inner)
    batch = [x for x in outer if x.left and x.right]
    rows = [x for x in outer if x.left and not x.right]
    columns = [x for x in outer if x.right and not x.left]
    plain = all(x.left and x.right for x in inner) and all(x.left or x.right for x in outer)
    if plain and max(map(len, (batch, rows, columns, inner))) <= 1:
        return _in_place(block, names, batch, rows, columns, inner)
    return _einsum(block, names, outer, inner)


def _sample(block: MatrixProduct) -> list[Label]:
    if not block.target.batched:
        return []
    left, right = (b.size if b.batched else 0 for b in (block.left, block.right))
    return [Label(1, left, right, block.target.size, sampled=True)]


def labels_of(*runs: Run) -> list[Label]:
    """The labels of runs, those that move as one merged."""
    return _merged(Label(*label) for run in runs for label in run.labels)


def _merged(labels: Iterable[Label]) -> list[Label]:
    """The labels with neighbours as one where each matrix is as if they were."""
    found: list[Label] = []
    for label in sorted(labels, key=lambda x: (not x.sampled, -x.out, -x.left, -x.right)):
        last = found[-1] if found else None
        steps = (label.left, label.right, label.out)
        if last is not None and (last.left, last.right, last.out) == tuple(s * label.size for s in steps):
            found[-1] = Label(last.size * label.size, *steps, last.sampled)
        else:
            found.append(label)
    return found


def _in_place(
    block: MatrixProduct,
    names: Mapping[Buffer, str],
    batch: Sequence[Label],
    rows: Sequence[Label],
    columns: Sequence[Label],
    inner: Sequence[Label],
) -> e.Expr:
    one = [Label(1, 1, 1, 1)]
    rows, columns, inner = rows or one, columns or one, inner or one
    target = _view(names[block.target], [(x.count, x.out) for x in (*batch, *rows, *columns)])
    left = _view(names[block.left], [(x.count, x.left) for x in (*batch, *rows, *inner)], block.left_at)
    right = _view(names[block.right], [(x.count, x.right) for x in (*batch, *inner, *columns)], block.right_at)
    return e.call(runtime("put_product"), target, left, right, **_how(block))


def _einsum(
    block: MatrixProduct, names: Mapping[Buffer, str], outer: Sequence[Label], inner: Sequence[Label]
) -> e.Expr:
    labels = [*outer, *inner]
    letter = dict(zip(map(id, labels), _LETTERS, strict=False))
    assert len(letter) == len(labels)
    lefts = [x for x in labels if x.left or not x.right]
    rights = [x for x in labels if x.right]
    left = _view(names[block.left], [(x.count, x.left) for x in lefts], block.left_at)
    right = _view(names[block.right], [(x.count, x.right) for x in rights], block.right_at)
    target = _view(names[block.target], [(x.count, x.out) for x in outer])
    spelt = ["".join(letter[id(x)] for x in part) for part in (lefts, rights, outer)]
    equation = e.String(f"{spelt[0]},{spelt[1]}->{spelt[2]}")
    return e.call(runtime("put_einsum"), target, equation, left, right, **_how(block))


def _how(block: MatrixProduct) -> dict[str, e.Expr]:
    """Whether a product is added to what is there, and its factor."""
    adds = {"adds": e.Constant(True)} if block.adds else {}
    return {**adds, **({"factor": e.literal(block.factor)} if block.factor != 1 else {})}


def scattered(
    block: Scatter, names: Mapping[Buffer, str], integers: Mapping[Node, Buffer], sizes: Mapping[str, int]
) -> e.Expr:
    """The call that brings entries to the places that an integer input gives: torch's own, along one axis."""
    (at,) = (k for k, place in enumerate(block.place) if place.op != "axis")
    target, read = block.target, block.place[at]
    kept = len(target.sizes) - 1
    edges = integers[read.args[0]]  # type: ignore[index]
    assert isinstance(block.expr, Load)
    moves = zip(block.place, target.strides, strict=True)
    own = {k: stride for place, stride in moves if place is not read for k in place.axes()}
    goal = [(size(block.extents[k]), own[k]) for k in range(kept)]
    goal.append((size(target.sizes[at]), target.strides[at]))
    walk = walk_of(Load(edges, read.parts), sizes)
    entries = walk_of(block.expr, sizes)
    assert walk is not None and entries is not None
    labels = range(len(block.extents))
    along = [(size(block.extents[k]), walk.of(k)) for k in labels]
    values = [(size(block.extents[k]), entries.of(k)) for k in labels]
    if target.batched:
        goal.insert(0, (e.Name("n"), target.size))
        along.insert(0, (e.Name("n"), edges.size if edges.batched else 0))
        values.insert(0, (e.Name("n"), block.expr.buffer.size if block.expr.buffer.batched else 0))
    views = [_view(names[target], goal), _view(names[edges], along, walk.at), _view(names[block.expr.buffer], values)]
    return e.call(runtime("scatter"), *views, e.String(block.fold))


def _view(name: str, labels: Sequence[tuple[e.Expr, int]], at: int = 0) -> e.Expr:
    counts, strides = e.Tuple(tuple(count for count, _ in labels)), e.Tuple(tuple(size(step) for _, step in labels))
    return e.call(runtime("matrix"), e.Name(name), counts, strides, *([size(at)] if at else []))
