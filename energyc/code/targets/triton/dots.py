"""Products inside of a group's kernel: of rows of a left matrix that are loaded, or of the rows that the group has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from energyc.code.loops.nest import Buffer, MatrixProduct, Tile
from energyc.code.loops.tiles import FEWEST, block_size
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, address, size
from energyc.code.targets.triton.expressions import Expressions, full, moved, number
from energyc.code.targets.triton.places import ACROSS, DOWN, Places, arange, digits
from energyc.code.targets.triton.products import labels_of
from energyc.code.targets.triton.values import PLACES, PLAIN, ROW, Index, Value, both
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: How operands in float32 are rounded, by the name of the parameter of a kernel.
PRECISION = e.Name("precision")
_START = e.Name("start")

_Moves = Iterable[tuple[int, e.Expr]]


@dataclass(frozen=True)
class Row:
    """The entries of a row: the labels of each, the mask of padding, and how many there are with it."""

    labels: Sequence[Index]
    mask: Index | None
    width: int


class Dots:
    """Writes the products of one group, whose programs have so many ``rows``."""

    def __init__(self, expressions: Expressions, places: Places, rows: int) -> None:
        self.expressions, self.places, self.rows, self.names = expressions, places, rows, expressions.names

    def read(self, tile: Tile, row: Row, before: e.Expr | None) -> tuple[list[s.Statement], e.Name]:
        """The statements that make a product from rows in memory, added to what is there ``before``, and its name."""
        product = tile.product
        terms = _Terms(product, self.names)
        walks, numbers = terms.count > FEWEST, arange(FEWEST)  # more at once need more registers
        step = [s.Assign(terms.name, e.Binary("+", _START, numbers) if walks else numbers), *terms.lines()]
        left = [*self._start(product.left, product.left_at), *self._outer(tile.left), *terms.moves("left", ACROSS)]
        one = self._loaded(product.left, left, both(self.places.inside, terms.mask(FEWEST, ACROSS)), step)
        other = self._right(tile, terms, FEWEST, row, step)
        total = e.Name(self.names.new(product.target.name))
        nothing = full(e.integers(self.rows, row.width), number(0.0))
        first = nothing if before is None or product.factor != 1 else before
        made = s.Assign(total, e.call("block_dot", one, other, total if walks else first, PRECISION))
        if walks:
            turns = e.call("range", e.Number(0), size(terms.count), e.Number(FEWEST))
            step = [s.Assign(total, first), s.For(_START, turns, (*step, made))]
        else:
            step.append(made)
        step += _scaled(product, total)
        if before is not None and product.factor != 1:
            step.append(s.Augment("+", total, before))
        return [*_remarks(product), *step], total

    def of(self, tile: Tile, value: Value, row: Row) -> tuple[list[s.Statement], e.Name]:
        """The statements that multiply rows of the group, which are in registers, and the name of what that gives."""
        product = tile.product
        terms = _Terms(product, self.names)
        many = block_size(terms.count)
        lines: list[s.Statement] = [s.Assign(terms.name, arange(many)), *terms.lines()]
        other = self._right(tile, terms, many, row, lines)
        made = e.Name(self.names.new(product.target.name))
        nothing = full(e.integers(self.rows, row.width), number(0.0))
        rows = self._whole(value, many, terms.mask(many, ACROSS))
        lines.append(s.Assign(made, e.call("block_dot", rows, other, nothing, PRECISION)))
        return [*_remarks(product), *lines, *_scaled(product, made)], made

    def stored(self, tile: Tile, made: e.Name, row: Row) -> s.Statement:
        """The statement that writes a product to memory."""
        target = tile.product.target
        out = [*self._start(target, 0), *self._outer(tile.out), *self._labels(tile.product.columns.out, row.labels)]
        at = moved(self.expressions.pointers[target], address(out))
        return s.Do(e.call("tl.store", at, made, **_masked(both(self.places.inside, row.mask))))

    def _right(self, tile: Tile, terms: _Terms, many: int, row: Row, lines: list[s.Statement]) -> e.Name:
        """A block of the right matrix, loaded by a line: some terms, and all columns."""
        product = tile.product
        moves = [*self._start(product.right, product.right_at), *self._outer(tile.right), *terms.moves("right", DOWN)]
        moves += self._labels(product.columns.right, row.labels)
        return self._loaded(product.right, moves, both(terms.mask(many, DOWN), row.mask), lines)

    def _whole(self, value: Value, width: int, mask: Index | None) -> e.Expr:
        """The rows with 0 in their padding, which a product sums over too."""
        code = value.code
        if mask is not None:
            code = e.call("tl.where", mask.code, code, number(0.0))
        if (value.along | (PLAIN if mask is None else ROW)).shape != PLACES | ROW:
            code = e.call("tl.broadcast_to", code, e.integers(self.rows, width))
        return code

    def _loaded(self, buffer: Buffer, moves: _Moves, mask: Index | None, lines: list[s.Statement]) -> e.Name:
        """A block of a buffer, loaded by a line; where it is not, it is 0."""
        name = e.Name(self.names.new(buffer.name))
        at = moved(self.expressions.pointers[buffer], address(moves))
        other = {} if mask is None else {"other": e.Number(0.0)}
        lines.append(s.Assign(name, e.call("tl.load", at, **_masked(mask), **other)))
        return name

    def _start(self, buffer: Buffer, at: int) -> Iterator[tuple[int, e.Expr]]:
        if buffer.batched:
            yield buffer.size, self.expressions.sample.code
        if at:
            yield (1 if at > 0 else -1), e.Number(abs(at))

    def _outer(self, strides: Sequence[int]) -> Iterator[tuple[int, e.Expr]]:
        return self._labels(strides, self.places.outer)

    def _labels(self, strides: Sequence[int], labels: Sequence[Index]) -> Iterator[tuple[int, e.Expr]]:
        pairs = zip(strides, labels, strict=True)
        return ((stride, label.code) for stride, label in pairs if stride and label.code != ZERO)


class _Terms:
    """What a product sums over: its labels, those that move as one merged."""

    def __init__(self, product: MatrixProduct, names: Names) -> None:
        self.found = labels_of(product.inner)
        self.count = math.prod(label.size for label in self.found)
        self.name = e.Name(names.new("t", "{}"))
        several = len(self.found) > 1
        self.labels = [e.Name(names.new("t", "{}")) if several else self.name for _ in self.found]

    def lines(self) -> Iterator[s.Statement]:
        """The statements that part the number of a term into labels."""
        sizes = [label.size for label in self.found]
        if len(sizes) > 1:
            for label, digit in zip(self.labels, digits(self.name, sizes, whole=True), strict=True):
                yield s.Assign(label, digit)

    def mask(self, many: int, at: tuple[e.Expr, ...]) -> Index | None:
        """What tells terms from padding, along one of two axes; None where blocks of so many have none."""
        if self.count % many == 0:
            return None
        return Index(e.Comparison("<", self.name[at], size(self.count)), PLACES if at == DOWN else ROW)

    def moves(self, side: Literal["left", "right"], at: tuple[e.Expr, ...]) -> Iterator[tuple[int, e.Expr]]:
        """How far each label moves a matrix."""
        steps = (getattr(label, side) for label in self.found)
        return ((step, label[at]) for label, step in zip(self.labels, steps, strict=True) if step)


def _remarks(product: MatrixProduct) -> list[s.Statement]:
    return [s.Comment(product.label)] if product.label else []


def _scaled(product: MatrixProduct, name: e.Name) -> list[s.Statement]:
    return [s.Augment("*", name, number(product.factor))] if product.factor != 1 else []


def _masked(mask: Index | None) -> dict[str, e.Expr]:
    return {} if mask is None else {"mask": mask.code}
