"""Matrix products in C++: calls on packed panels, and tables of the places along the sides of a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.loops.nest import Buffer, MatrixProduct, Run
from energyc.code.targets.cpp.expressions import real
from energyc.code.targets.cpp.statements import LABELS, SAMPLES, loops, remark
from energyc.code.targets.sums import ZERO, product, size, times, total
from energyc.code.tree import cpp, facts
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

PACKED, PANEL = e.Name("packed"), e.Name("panel_memory")
#: The most columns and the fewest terms of a product whose vectors run along its terms.
FEW_COLUMNS, MANY_TERMS = 12, 64


def in_dots(block: MatrixProduct) -> bool:
    """Whether a product takes the functions of dots.h: few columns, which its right matrix has for all steps, and many
    terms, which are next to each other in the left one.
    """
    inner = block.inner
    adjacent = all(step == math.prod(inner.sizes[k + 1 :]) for k, step in enumerate(inner.left) if inner.sizes[k] > 1)
    return block.packed_once and adjacent and block.columns.count <= FEW_COLUMNS and inner.count >= MANY_TERMS


class Tables:
    """The tables of places of a module, each once."""

    def __init__(self) -> None:
        self.names: dict[e.Expr, str] = {}

    def along(self, run: Run, strides: Sequence[int]) -> e.Expr:
        """The table of the places along a side of a matrix, by its name."""
        labels = (e.SetOf((size(count), size(step))) for count, step in zip(run.sizes, strides, strict=True))
        return e.Name(self.names.setdefault(e.SetOf(tuple(labels)), f"places_{len(self.names) + 1}"))

    def statements(self) -> Iterator[s.Statement]:
        """Their definitions."""
        for labels, name in self.names.items():
            yield s.Declare("static const Places", name, e.call("places", labels))


class Matrices:
    """The matrices of a module that products read packed, each once, as rows of a table.

    Where kernels of it round, the table is one for each type of their operands.
    """

    def __init__(self, tables: Tables, rounds: bool) -> None:
        self.tables, self.rounds = tables, rounds
        self.rows: dict[e.SetOf, tuple[int, str]] = {}

    def of(self, block: MatrixProduct, place: int, name: str) -> int:
        """The number of the right matrix of a product, which is in what the caller passes at a place, under a name."""
        moving = [k for k, _ in _moving(block.outer)]
        outer = Run(*(tuple(side[k] for k in moving) for side in (block.outer.sizes, *[block.outer.right] * 3)))
        starts = self.tables.along(outer, outer.right)
        inner = self.tables.along(block.inner, block.inner.right)
        columns = self.tables.along(block.columns, block.columns.right)
        way = [e.Name("lay<T>")] if in_dots(block) else [e.Name("pack<Operand>")] if block.rounds else []
        row = e.SetOf((e.Number(place), size(block.right_at), starts, inner, columns, *way))
        return self.rows.setdefault(row, (len(self.rows), name))[0]

    @property
    def table(self) -> str:
        """The name of the table, where there is one for all kernels."""
        return "matrices" if self.rows and not self.rounds else ""

    def statements(self) -> Iterator[s.Statement]:
        """Its definition, each row with the name of the matrix."""
        if not self.rows:
            return
        rows = (
            s.Verbatim(f"{cpp.expression(row)},  // {name}", frozenset(facts.reads(row)))
            for row, (_, name) in self.rows.items()
        )
        if self.rounds:
            yield s.Directive("template <class Operand>")
        yield s.Block(tuple(rows), "static const Matrix matrices[] =")


@dataclass(frozen=True)
class Products:
    """The products of one kernel: those whose right matrix is ``packed`` once, with its number, and the others.

    ``names`` are the identifiers of buffers, ``tile`` the most samples that are computed together.
    """

    packed: Mapping[MatrixProduct, int]
    names: Mapping[Buffer, str]
    tile: int
    tables: Tables

    @property
    def matrices(self) -> list[int]:
        """The numbers of the matrices that are packed."""
        return sorted(set(self.packed.values()))

    def product(self, block: MatrixProduct) -> Iterator[s.Statement]:
        """A product for each place of its outer labels, and for each sample where both matrices are its own."""
        left, target = block.left, block.target
        if target.kind == "total":
            yield from self._totalled(block)
            return
        several = list(self._several(block))
        outer = Run() if several else block.outer
        stacked = target.batched and left.batched and not block.right.batched
        by_sample = block.right.batched or (target.batched and not left.batched)
        turns = [*([SAMPLES] if by_sample else []), *zip(LABELS, outer.sizes, strict=False)]
        rows = self._stacked(block) if stacked else block.rows
        count = times(block.rows.count, e.Name("n")) if stacked else size(block.rows.count)
        panels, packs = self._panels(block, outer, by_sample)
        dots = in_dots(block)
        multiplies = e.call(
            "dots<T>" if dots else _multiply(block),
            self._start(left, block.left_at, outer.left, by_sample and not stacked),
            self.tables.along(rows, rows.left),
            count,
            size(block.inner.count) if dots else self.tables.along(block.inner, block.inner.left),
            panels,
            self._start(target, 0, outer.out, by_sample and not stacked),
            self.tables.along(rows, rows.out),
            size(block.columns.count),
            real(block.factor),
            e.Constant(block.adds),
            *several,
        )
        yield from remark(block.label)
        yield from loops(turns, [*packs, s.Do(multiplies)])

    def _totalled(self, block: MatrixProduct) -> Iterator[s.Statement]:
        """A product that is added to a total: its terms are those of all samples of the tile."""
        inner = block.inner
        strides = [buffer.size if buffer.batched else 0 for buffer in (block.left, block.right)]
        terms = Run((self.tile, *inner.sizes), (strides[0], *inner.left), (strides[1], *inner.right))
        left, right = (
            e.call("first", self.tables.along(terms, side), times(inner.count, e.Name("n")))
            for side in (terms.left, terms.right)
        )
        source = self._start(block.right, block.right_at, block.outer.right, False)
        packs = s.Do(e.call(_pack(block), source, right, self._columns(block), PANEL))
        multiplies = e.call(
            _multiply(block),
            self._start(block.left, block.left_at, block.outer.left, False),
            self.tables.along(block.rows, block.rows.left),
            size(block.rows.count),
            left,
            PANEL,
            self._start(block.target, 0, block.outer.out, False),
            self.tables.along(block.rows, block.rows.out),
            size(block.columns.count),
            real(block.factor),
            e.Constant(True),
        )
        yield from remark(block.label)
        yield from loops(list(zip(LABELS, block.outer.sizes, strict=False)), [packs, s.Do(multiplies)])

    def _several(self, block: MatrixProduct) -> Iterator[e.Expr]:
        """Where one left matrix, which is rounded, has several right ones: how many, and how far apart they are."""
        outer = block.outer
        if block.rounds and block.packed_once and outer.left == (0,) and outer.right[0]:
            yield e.SetOf((size(outer.sizes[0]), product(_place(block)), size(outer.out[0])))

    def _stacked(self, block: MatrixProduct) -> Run:
        """The rows of all samples of a tile as those of one matrix."""
        rows = block.rows
        return Run(
            (self.tile, *rows.sizes), (block.left.size, *rows.left), (0, *rows.right), (block.target.size, *rows.out)
        )

    def _columns(self, block: MatrixProduct) -> e.Expr:
        return self.tables.along(block.columns, block.columns.right)

    def _panels(self, block: MatrixProduct, outer: Run, by_sample: bool) -> tuple[e.Expr, list[s.Statement]]:
        """Where the right matrix lies packed, and what packs it if that is not done before all steps."""
        if not block.packed_once:
            source = self._start(block.right, block.right_at, outer.right, by_sample)
            inner = self.tables.along(block.inner, block.inner.right)
            return PANEL, [s.Do(e.call(_pack(block), source, inner, self._columns(block), PANEL))]
        place: e.Expr = ZERO
        for k, _ in _moving(outer):
            name = e.Name(LABELS[k])
            place = name if place == ZERO else total([e.Binary("*", place, size(block.outer.sizes[k])), name])
        here = [] if place == ZERO else [product([place, *_place(block)])]
        return total([self.packed_at(block), *here]), []

    def packed_at(self, block: MatrixProduct) -> e.Expr:
        """Where the matrices of a product that are packed once begin."""
        return PACKED[e.Number(self.packed[block])]

    def _start(self, buffer: Buffer, at: int, strides: Sequence[int], own: bool) -> e.Expr:
        """Where a matrix starts."""
        sample = [(buffer.size, "b")] if buffer.batched and own else []
        return total([e.Name(self.names[buffer]), *_moves(at, [*sample, *zip(strides, LABELS, strict=False)])])


def _moving(outer: Run) -> Iterator[tuple[int, int]]:
    """The outer labels that move the right matrix, by number, with their strides."""
    return ((k, stride) for k, stride in enumerate(outer.right) if stride)


def _moves(at: int, moves: Sequence[tuple[int, str]]) -> list[e.Expr]:
    """The terms of how far a place is from the first one."""
    return [*([size(at)] if at else []), *(times(stride, e.Name(name)) for stride, name in moves if stride)]


def _pack(block: MatrixProduct) -> str:
    """The function that packs the right matrix of a product."""
    return "pack<Operand>" if block.rounds else "pack"


def _multiply(block: MatrixProduct) -> str:
    """The function that multiplies by packed panels."""
    return "multiply<Operand>" if block.rounds else "multiply<T>"


def _place(block: MatrixProduct, several: int = 1) -> tuple[e.Expr, ...]:
    """The factors of the entries of one packed matrix, whose terms are those of so many samples."""
    terms = product([*([size(several)] if several > 1 else []), size(block.inner.count)])
    return terms, e.call("padded<T>", size(block.columns.count))


def largest_panel(blocks: Sequence[MatrixProduct], tile: int) -> e.Expr:
    """The entries of the largest of the panels that are packed at each step; 0 where there is none."""
    several = (tile if block.target.kind == "total" else 1 for block in blocks)
    sizes = list(dict.fromkeys(product(_place(block, own)) for own, block in zip(several, blocks, strict=True)))
    return e.call("std::max", e.SetOf(tuple(sizes))) if len(sizes) > 1 else sizes[0] if sizes else ZERO
