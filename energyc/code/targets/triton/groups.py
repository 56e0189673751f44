"""Groups as kernels in Triton: a block of places and of the entries of their rows for each program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import LONGEST_ROW, passes
from energyc.code.loops.nest import Group, Kernel, Statement
from energyc.code.targets.functions import constants_of, outside
from energyc.code.targets.names import POINTER, Names
from energyc.code.targets.sums import ZERO, size, times
from energyc.code.targets.triton.expressions import REAL, Expressions, full, number
from energyc.code.targets.triton.values import PLACES, ROW, Along, Index, Value, both
from energyc.code.tree import expressions as e
from energyc.code.tree import facts
from energyc.code.tree import statements as s

#: The entries of a program where its rows are short.
PROGRAM_ENTRIES = 1024
#: So few entries have places of 32 bits.
FEW = 2**31

_LETTERS = "ijkmpqrstuvw"
_PLACE, _SAMPLE, _START, _SCALARS = e.Name("place"), e.Name("sample"), e.Name("start"), e.Name("scalars")


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
    def widest(self) -> int:
        """The entries of a row that are at hand at once."""
        return min(LONGEST_ROW, max(map(_power, self.widths)))

    @property
    def rows(self) -> int:
        """The places of a program."""
        return max(1, PROGRAM_ENTRIES // self.widest) if self.group.batched or self.group.outer else 1

    @property
    def split(self) -> bool:
        """Whether programs share a row, which is long and read by nothing else of the group."""
        alone = len(self.widths) == 1 and not any(x.fold for x in self.group.statements)
        return alone and self.widths[0] > LONGEST_ROW

    def places(self, samples: str) -> e.Expr:
        """The number of places."""
        count = math.prod(self.group.outer)
        if not self.group.batched:
            return size(count)
        return times(count, e.Name(samples))

    def programs(self) -> e.Expr:
        """How many programs are launched, along one axis or two."""
        places = self.places("n")
        first = places if self.rows == 1 else e.call("cdiv", places, e.Number(self.rows))
        second = [e.Number(-(-self.widths[0] // LONGEST_ROW))] if self.split else []
        return e.Tuple((first, *second))

    @property
    def warps(self) -> int:
        """The warps of a program."""
        return 4 if self.rows * self.widest <= 1024 else 8


class GroupWriter:
    """Writes the kernel of a group; ``names`` are free in it."""

    def __init__(self, kernel: Kernel, group: Group, names: Names) -> None:
        self.kernel, self.group, self.names = kernel, group, names
        self.depth, self.blocks = len(group.outer), Blocks.of(group)
        self.buffers, self.scalars = outside(kernel, group)
        pointers = {buffer: names.new(buffer.name, POINTER) for buffer in self.buffers}
        self.expressions = Expressions(kernel, pointers, names)
        self.outer: list[Index] = []
        self.rows_known: dict[tuple[int, ...], tuple[Sequence[Index], Index | None]] = {}
        self.sums: dict[Statement, e.Name] = {}

    # ------------------------------------------------------------ the whole

    def function(self, name: str) -> s.Function:
        """The kernel."""
        body = [*self._places_here(), *self._scalars()]
        for loop, width in zip(passes(self.group), self.blocks.widths, strict=True):
            body += self._pass(loop, width)
        if REAL.id in facts.reads(*body):
            body.insert(0, s.Assign(REAL, self._real()))
        given = [self.expressions.pointers[buffer] for buffer in self.buffers]
        given += [*(["scalars"] if self.scalars else []), *(["samples"] if self.group.batched else [])]
        written = dict.fromkeys(x.target.name for x in self.group.statements if x.target in self.buffers)
        doc = (f"{', '.join(written)}.",)
        live = facts.live(body)
        read = facts.reads(*live)
        sizes = [s.Parameter(dim, e.name("tl.constexpr")) for dim in constants_of(self.kernel) if dim in read]
        parameters = (*map(s.Parameter, given), *sizes)
        return s.Function(name, parameters, live, doc=doc, before=(e.Name("jit"),))

    def _places_here(self) -> Iterator[s.Statement]:
        """The statements that number the places of this program, and those that give the labels of each."""
        outer, rows = self.group.outer, self.blocks.rows
        if not self.group.batched and not outer:
            return
        first: e.Expr = e.call("tl.program_id", e.Number(0)).method("to", e.name("tl.int64"))
        if rows > 1:
            first = e.Binary("*", first, e.Number(rows))
        yield s.Assign(_PLACE, e.Binary("+", first, _arange(rows, e.Slice(), e.Constant(None))))
        if self.group.batched:  # a product with the number of samples would be one of 32 bits
            yield s.Assign(_SAMPLE, _divided(_PLACE, math.prod(outer)))
        within = (_SAMPLE, e.Name("samples")) if self.group.batched else (_PLACE, self.blocks.places("samples"))
        yield s.Assign(e.Name("inside"), e.Comparison("<", *within))
        digits = _digits(_PLACE, outer, whole=not self.group.batched)
        for k, digit in enumerate(digits):
            if outer[k] == 1:
                self.outer.append(Index(ZERO))
                continue
            label = e.Name(self.names.new(_LETTERS[k % len(_LETTERS)], "{}"))
            self.outer.append(Index(label, PLACES))
            yield s.Assign(label, digit)

    def _real(self) -> e.Expr:
        """The type of the states, in which the group computes; what lies between blocks may be bfloat16."""
        reals = [b for b in reversed(self.buffers) if b.integers is None]
        kept = [e.Name(self.expressions.pointers[b]) for b in reals if b.kind != "scratch"]
        kept += [_SCALARS] if self.scalars else []
        if kept:
            return _element(kept[0])
        between = _element(e.Name(self.expressions.pointers[reals[0]]))
        return e.Conditional(e.Comparison("==", between, e.name("tl.bfloat16")), e.name("tl.float32"), between)

    def _scalars(self) -> Iterator[s.Statement]:
        for name in self.scalars:
            value, along = self._scalar(self.kernel.scalars.index(name)), Along()
            if (self.kernel.name, name) == ("nudged", "beta"):
                turned = self._scalar(len(self.kernel.scalars))
                sign = e.call("tl.where", e.Comparison("<", _SAMPLE, turned), number(1.0), number(-1.0))
                value, along = e.Binary("*", value, sign), PLACES
            known = e.Name(self.names.new(name))
            self.expressions.scalars[name] = Value(known, along)
            yield s.Assign(known, value)

    def _scalar(self, at: int) -> e.Expr:
        return e.call("tl.load", e.Binary("+", _SCALARS, e.Number(at)) if at else _SCALARS)

    # ------------------------------------------------------------ passes

    def _pass(self, loop: Sequence[Statement], width: int) -> list[s.Statement]:
        """The statements of one pass over the row."""
        inner = loop[0].extents[self.depth :]
        if width > LONGEST_ROW and not self.blocks.split:
            return self._long(loop, width)
        lines: list[s.Statement] = []
        start = None
        if width > LONGEST_ROW:
            start = _START
            part = e.call("tl.program_id", e.Number(1))
            lines.append(s.Assign(start, e.Binary("*", part, e.Number(LONGEST_ROW))))
        lines += self._row(inner, width, start) if inner else []
        self._stand(inner)
        return [*lines, *self._statements(loop, walks=False)]

    def _long(self, loop: Sequence[Statement], width: int) -> list[s.Statement]:
        """A walk along a row that is longer than what is at hand at once."""
        inner = loop[0].extents[self.depth :]
        shape = e.integers(self.blocks.rows, 1)
        lines: list[s.Statement] = [s.Assign(self._sum(x), full(shape, _neutral(x))) for x in loop if x.fold]
        before, loaded = dict(self.rows_known), dict(self.expressions.loaded)
        body = self._row(inner, width, _START)
        self._stand(inner)
        body += self._statements(loop, walks=True)
        self.rows_known, self.expressions.loaded = before, loaded
        for statement in loop:
            self.expressions.held.pop(statement.target, None)
        turns = e.call("range", e.Number(0), size(width), e.Number(LONGEST_ROW))
        lines.append(s.For(_START, turns, tuple(body)))
        self._stand(())
        for statement in (x for x in loop if x.fold):
            self.expressions.held[statement.target] = Value(self._sum(statement), PLACES)
            lines += self._stored(statement, self._sum(statement))
        return lines

    def _row(self, inner: Sequence[int], width: int, start: e.Expr | None) -> list[s.Statement]:
        """The labels of a row, once for all passes along it."""
        if tuple(inner) in self.rows_known:
            return []
        block = min(_power(width), LONGEST_ROW)
        entry = e.Name(self.names.new("r", "{}"))
        entries = _arange(block, e.Constant(None), e.Slice())
        if any(buffer.size >= FEW for buffer in self.buffers):
            entries = entries.method("to", e.name("tl.int64"))
        lines: list[s.Statement] = [s.Assign(entry, e.Binary("+", start, entries) if start else entries)]
        labels = list[Index]()
        for k, (extent, digit) in enumerate(zip(inner, _digits(entry, inner, whole=True), strict=True)):
            if extent == 1:
                labels.append(Index(ZERO))
            elif extent == width:
                labels.append(Index(entry, ROW))
            else:
                label = e.Name(self.names.new(_LETTERS[(self.depth + k) % len(_LETTERS)], "{}"))
                lines.append(s.Assign(label, digit))
                labels.append(Index(label, ROW))
        if all(not label.along.row for label in labels):
            self.rows_known[tuple(inner)] = labels, None
            return []
        mask = None if block == width else Index(e.Comparison("<", entry, size(width)), ROW)
        self.rows_known[tuple(inner)] = labels, mask
        return lines

    def _stand(self, inner: Sequence[int]) -> None:
        """Tell the expressions which labels are at hand."""
        labels, mask = self.rows_known[tuple(inner)] if inner else ((), None)
        places = Index(e.Name("inside"), PLACES) if self.group.batched or self.group.outer else None
        self.expressions.labels = [*self.outer, *labels]
        self.expressions.masks = {PLACES: places, ROW: mask, PLACES | ROW: both(places, mask)}

    # ------------------------------------------------------------ statements

    def _statements(self, loop: Sequence[Statement], *, walks: bool) -> list[s.Statement]:
        """The lines of statements, each under what it computes; ``walks`` says that a loop goes along the row."""
        lines: list[s.Statement] = []
        for statement in loop:
            value = self.expressions.typed(self.expressions.of(statement.expr))
            if statement.fold:
                value = self._folded(statement, value)
            last = self._added(statement, value) if statement.fold and walks else self._kept(statement, value)
            lines += [*([s.Comment(statement.label)] if statement.label else []), *self.expressions.lines, *last]
            self.expressions.lines.clear()
        return lines

    def _kept(self, statement: Statement, value: Value) -> list[s.Statement]:
        """The statements that keep a value in registers, and in memory where others read it."""
        name = e.Name(self.names.new(statement.target.name))
        self.expressions.held[statement.target] = Value(name, value.along)
        return [s.Assign(name, value.code), *self._stored(statement, name)]

    def _added(self, statement: Statement, value: Value) -> list[s.Statement]:
        """The statement that folds a part of a long row into its sum or largest entry."""
        name = self._sum(statement)
        if statement.fold == "sum":
            return [s.Augment("+", name, value.code)]
        return [s.Assign(name, e.call("tl.maximum", name, value.code))]

    def _folded(self, statement: Statement, value: Value) -> Value:
        """The sum or the largest of a row, padding left out."""
        code, masks, width = value.code, self.expressions.masks, math.prod(statement.reduced)
        mask = masks[PLACES | ROW]
        if masks[ROW] is not None and mask is not None:
            code = e.call("tl.where", mask.code, code, _neutral(statement))
        elif value.along != Along(masks[PLACES] is not None, width > 1):
            code = e.call("tl.broadcast_to", code, e.integers(self.blocks.rows, width))
        return Value(e.call(f"tl.{statement.fold}", code, e.Number(1), keep_dims=e.Constant(True)), PLACES)

    def _stored(self, statement: Statement, value: e.Expr) -> list[s.Statement]:
        if statement.target.kind in ("row", "value"):
            return []
        return [self.expressions.store(statement.target, labels_of(len(statement.outer)), value)]

    def _sum(self, statement: Statement) -> e.Name:
        """The name of what is folded along a long row."""
        if statement not in self.sums:
            self.sums[statement] = e.Name(self.names.new(statement.target.name))
        return self.sums[statement]


def function(kernel: Kernel, group: Group, names: Names, name: str) -> s.Function:
    """The kernel of a group."""
    return GroupWriter(kernel, group, names).function(name)


def _digits(number: e.Expr, sizes: Sequence[int], *, whole: bool) -> Iterator[e.Expr]:
    """The labels that a place in order stands for; the first one is what is left where it is ``whole``."""
    for k, extent in enumerate(sizes):
        rest = _divided(number, math.prod(sizes[k + 1 :]))
        yield rest if whole and k == 0 else e.Binary("%", rest, size(extent))


def _divided(number: e.Expr, step: int) -> e.Expr:
    return e.Binary("//", number, size(step)) if step > 1 else number


def _arange(count: int, *at: e.Expr) -> e.Expr:
    """``tl.arange(0, count)`` along one of two axes."""
    return e.call("tl.arange", e.Number(0), e.Number(count))[at]


def _element(pointer: e.Expr) -> e.Expr:
    """The type of what is behind a pointer."""
    return pointer.attribute("dtype").attribute("element_ty")


def _power(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length() if count > 1 else 1


def _neutral(statement: Statement) -> e.Expr:
    return number(-math.inf if statement.fold == "max" else 0.0)
