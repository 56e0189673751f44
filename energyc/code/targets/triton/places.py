"""Which places of a group a program in Triton works at: how many at once, and the labels of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from energyc.code.loops.fuse import LONGEST_ROW, passes
from energyc.code.loops.nest import Group
from energyc.code.loops.tiles import ENTRIES, block_size, power, rows_at_hand
from energyc.code.module.runtime import runtime
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, size, times
from energyc.code.targets.triton.values import KNOWN, PLACES, Index
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: The entries of a program where its rows are short.
PROGRAM_ENTRIES = 1024

LETTERS = "ijkmpqrstuvw"
#: A block along the places of a program, and one along the entries of a row.
DOWN, ACROSS = (e.Slice(), e.Constant(None)), (e.Constant(None), e.Slice())
_PLACE, _SAMPLE, _MATRIX = e.Name("place"), e.Name("sample"), e.Name("matrix")


@dataclass(frozen=True)
class Blocks:
    """The blocks of a group's programs: ``rows`` places, and ``widest`` entries of the row of each."""

    group: Group
    widths: tuple[int, ...]

    @staticmethod
    def of(group: Group) -> Blocks:
        """Those of a group, which has a width for each pass."""
        depth = len(group.outer)
        return Blocks(group, tuple(math.prod(loop[0].extents[depth:]) for loop in passes(group)))

    @property
    def tiled(self) -> bool:
        """Whether the group makes products."""
        return bool(self.group.tiles.every)

    @property
    def widest(self) -> int:
        """The entries of a row that are at hand at once."""
        return min(LONGEST_ROW, max(map(self.wide, self.widths)))

    def wide(self, width: int) -> int:
        """The entries of a block for a row of so many."""
        return block_size(width) if self.tiled else power(width)

    @property
    def rows(self) -> int:
        """The places of a program."""
        if self.tiled:
            return rows_at_hand(self.group)
        return max(1, PROGRAM_ENTRIES // self.widest) if self.group.batched or self.group.outer else 1

    @property
    def split(self) -> bool:
        """Whether programs share a row, which is long and read by nothing else of the group."""
        alone = len(self.widths) == 1 and not any(x.fold for x in self.group.statements)
        return alone and self.widths[0] > LONGEST_ROW

    @property
    def matrices(self) -> tuple[int, ...]:
        """The sizes of the labels that are the same for all places of a program."""
        return tuple(n for k, n in enumerate(self.group.outer) if k in self.group.tiles.fixed)

    @property
    def moving(self) -> tuple[int, ...]:
        """The sizes of the others."""
        return tuple(n for k, n in enumerate(self.group.outer) if k not in self.group.tiles.fixed)

    def places(self, samples: str) -> e.Expr:
        """The number of places that differ within programs."""
        count = math.prod(self.moving)
        if not self.group.batched or self.group.tiles.sampled:
            return size(count)
        return times(count, e.Name(samples))

    def programs(self) -> e.Expr:
        """How many programs are launched, along one axis or two; that with the samples is first."""
        places = self.places("n")
        first = places if self.rows == 1 else e.call(runtime("cdiv"), places, e.Number(self.rows))
        second: list[e.Expr] = [e.Number(-(-self.widths[0] // LONGEST_ROW))] if self.split else []
        if self.group.tiles.sampled:
            return e.Tuple((times(math.prod(self.matrices), e.Name("n")), first))
        second += [size(math.prod(self.matrices))] if math.prod(self.matrices) > 1 else []
        return e.Tuple((first, *second))

    @property
    def options(self) -> dict[str, e.Expr]:
        """How the kernel is compiled, where that is not as usual: warps, and loads ahead of a product."""
        entries = self.rows * self.widest
        many = entries >= ENTRIES if self.tiled else entries > PROGRAM_ENTRIES
        warps = {"num_warps": e.Number(8)} if many else {}
        return {**warps, **({"num_stages": e.Number(2)} if self.tiled else {})}


class Places:
    """The statements that number the places of a program, and the labels that these give.

    ``outer`` are the group's outer labels, ``inside`` tells places from padding. There are ``many`` places, or the one
    of a group that is the same for all samples.
    """

    def __init__(self, blocks: Blocks, names: Names) -> None:
        self.blocks, self.names = blocks, names
        self.group = blocks.group
        self.many = self.group.batched or bool(self.group.outer)
        self.sample = Index(_SAMPLE, KNOWN if self.group.tiles.sampled else PLACES)
        self.inside: Index | None = None
        self.outer: list[Index] = []
        self.lines = list(self._numbered()) if self.many else []

    def _numbered(self) -> Iterator[s.Statement]:
        blocks, sampled, fixed = self.blocks, self.group.tiles.sampled, self.group.tiles.fixed
        moving, matrices = blocks.moving, blocks.matrices
        if sampled or math.prod(matrices) > 1:
            yield s.Assign(_MATRIX, _program(0 if sampled else 1))
        first = _program(1 if sampled else 0)
        if blocks.rows > 1:
            first = e.Binary("*", first, e.Number(blocks.rows))
        yield s.Assign(_PLACE, e.Binary("+", first, arange(blocks.rows, *DOWN)))
        if self.group.batched:  # a product with the number of samples would be one of 32 bits
            of, each = (_MATRIX, matrices) if sampled else (_PLACE, moving)
            yield s.Assign(_SAMPLE, divided(of, math.prod(each)))
        apart = self.group.batched and not sampled
        within = (_SAMPLE, e.Name("samples")) if apart else (_PLACE, blocks.places("samples"))
        if not sampled or math.prod(moving) % blocks.rows:
            self.inside = Index(e.Name("inside"), PLACES)
            yield s.Assign(e.Name("inside"), e.Comparison("<", *within))
        places = digits(_PLACE, moving, whole=not apart)
        kept = digits(_MATRIX, matrices, whole=not sampled)
        for k, extent in enumerate(self.group.outer):
            digit, along = (next(kept), KNOWN) if k in fixed else (next(places), PLACES)
            if extent == 1:
                self.outer.append(Index(ZERO))
                continue
            label = e.Name(self.names.new(LETTERS[k % len(LETTERS)], "{}"))
            self.outer.append(Index(label, along))
            yield s.Assign(label, digit)


def digits(number: e.Expr, sizes: Sequence[int], *, whole: bool) -> Iterator[e.Expr]:
    """The labels that a place in order stands for; the first one is what is left where it is ``whole``."""
    for k, extent in enumerate(sizes):
        rest = divided(number, math.prod(sizes[k + 1 :]))
        yield rest if whole and k == 0 else e.Binary("%", rest, size(extent))


def divided(number: e.Expr, step: int) -> e.Expr:
    """The whole part of a quotient."""
    return e.Binary("//", number, size(step)) if step > 1 else number


def arange(count: int, *at: e.Expr) -> e.Expr:
    """``tl.arange(0, count)``, along one of two axes where they are given."""
    numbers = e.call("tl.arange", e.Number(0), e.Number(count))
    return numbers[at] if at else numbers


def _program(axis: int) -> e.Expr:
    """The number of this program along an axis of the launch."""
    return e.call("tl.program_id", e.Number(axis)).method("to", e.name("tl.int64"))
