"""Groups as kernels in Triton: a block of places and of the entries of their rows for each program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import LONGEST_ROW, passes
from energyc.code.loops.nest import Group, Kernel, Statement, Tile
from energyc.code.targets.functions import constants_of, is_local, outside
from energyc.code.targets.names import POINTER, Names
from energyc.code.targets.sums import ZERO, size
from energyc.code.targets.triton.dots import PRECISION, Dots, Row
from energyc.code.targets.triton.expressions import REAL, Expressions, full, number
from energyc.code.targets.triton.places import ACROSS, LETTERS, Blocks, Places, arange, digits
from energyc.code.targets.triton.values import PLACES, ROW, Along, Index, Value, both
from energyc.code.tree import expressions as e
from energyc.code.tree import facts
from energyc.code.tree import statements as s

#: The type of a parameter that is known when a kernel is compiled.
CONSTANT = e.name("tl.constexpr")
#: So few entries have places of 32 bits.
FEW = 2**31

#: The number of steps that a kernel makes, where it makes all of a phase.
STEPS = e.Name("steps")
_START, _SCALARS, _SAMPLES = e.Name("start"), e.Name("scalars"), e.Name("samples")


class GroupWriter:
    """Writes the kernel of a group; ``names`` are free in it."""

    def __init__(self, kernel: Kernel, group: Group, names: Names) -> None:
        self.kernel, self.group, self.names = kernel, group, names
        self.depth, self.blocks, self.alone = len(group.outer), Blocks.of(group), is_alone(kernel)
        self.buffers, self.scalars = outside(kernel, group)
        self.in_place = dict(zip(kernel.moves, kernel.states, strict=True)) if self.alone else {}
        given = [buffer for buffer in self.buffers if buffer not in self.in_place]
        pointers = {buffer: names.new(buffer.name, POINTER) for buffer in given}
        pointers |= {move: pointers[state] for move, state in self.in_place.items() if state in pointers}
        self.places = Places(self.blocks, names)
        self.expressions = Expressions(kernel, pointers, names)
        self.expressions.sample = self.places.sample
        self.dots = Dots(self.expressions, self.places, self.blocks.rows)
        self.rows_known: dict[tuple[int, ...], tuple[Sequence[Index], Index | None]] = {}
        self.sums: dict[Statement, e.Name] = {}
        self.made_rows: dict[Tile, tuple[e.Name, Row]] = {}

    # ------------------------------------------------------------ the whole

    def function(self, name: str) -> s.Function:
        """The kernel."""
        before, body = [*self.places.lines, *self._scalars()], list[s.Statement]()
        for loop, width in zip(passes(self.group), self.blocks.widths, strict=True):
            body += self._pass(loop, width)
        for tile in self.group.tiles.of:
            body += self._made(tile, of_rows=True)
            body.append(self.dots.stored(tile, *self.made_rows[tile]))
        body = [*before, *(self._repeated(body) if self.alone else body)]
        if REAL.id in facts.reads(*body):
            body.insert(0, s.Assign(REAL, self._real()))
        written = dict.fromkeys(x.target.name for x in self.group.steps if x.target in self.buffers)
        doc = (f"{', '.join(written)}.",)
        live = facts.live(body)
        asked = facts.reads(*live)
        given = list(dict.fromkeys(self.expressions.pointers[buffer] for buffer in self.buffers))
        given += [x.id for x in (_SCALARS, _SAMPLES, STEPS) if x.id in asked]
        sizes = [s.Parameter(dim, CONSTANT) for dim in (*constants_of(self.kernel), PRECISION.id) if dim in asked]
        parameters = (*map(s.Parameter, given), *sizes)
        return s.Function(name, parameters, live, doc=doc, before=(e.Name("jit"),))

    def _made(self, tile: Tile, *, of_rows: bool) -> list[s.Statement]:
        """The statements that make a product, of what is in memory or ``of_rows`` of the group, and keep it."""
        product = tile.product
        inner, width = product.columns.sizes, product.columns.count
        lines = self._row(inner, width, None)
        row = Row(*self.rows_known[tuple(inner)], self.blocks.wide(width))
        held = self.expressions.held
        if of_rows:
            made, name = self.dots.of(tile, held[product.left], row)
        else:
            made, name = self.dots.read(tile, row, held[product.target].code if product.adds else None)
        held[product.target] = Value(name, PLACES | ROW)
        self.made_rows[tile] = name, row
        return [*lines, *made]

    def _repeated(self, body: Sequence[s.Statement]) -> list[s.Statement]:
        """All steps of a phase: what differs from one to the next in a loop, in which all is read before it is written.

        Loads ahead, from the step before, would be of states that are not there yet.
        """
        moving = {self.expressions.pointers[state] for state in self.in_place.values() if state in self.buffers}
        times = Counter(name for statement in body for name in facts.assigned(statement))
        moving |= {name for name, count in times.items() if count > 1}
        once, each, last, remarks = list[s.Statement](), list[s.Statement](), list[s.Statement](), list[s.Statement]()
        for statement in body:
            if isinstance(statement, s.Comment):
                remarks.append(statement)
                continue
            names = facts.reads(statement) | facts.assigned(statement)
            stores = isinstance(statement, s.Do)
            if not stores and moving.isdisjoint(names):
                once.append(statement)
                continue
            (last if stores else each).extend((*remarks, statement))
            moving |= facts.assigned(statement)
            remarks.clear()
        barrier = s.Do(e.call("tl.debug_barrier"))
        turns = e.call("tl.range", e.Number(0), STEPS, num_stages=e.Number(1))
        return [*once, s.For(e.Name("_"), turns, (*each, barrier, *last, barrier))]

    def _real(self) -> e.Expr:
        """The type of the states, in which the group computes; what lies between blocks may be bfloat16."""
        reals = [b for b in reversed(self.buffers) if b.integers is None]
        beside = {b for x in self.group.statements for b in (*x.reads, x.target)}  # products may read given matrices so
        kept = [e.Name(self.expressions.pointers[b]) for b in reals if b.kind != "scratch" and b in beside]
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
                sample = self.places.sample
                sign = e.call("tl.where", e.Comparison("<", sample.code, turned), number(1.0), number(-1.0))
                value, along = e.Binary("*", value, sign), sample.along
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
            name = self._sum(statement)
            self.expressions.held[statement.target] = Value(name, PLACES)
            if (rounded := self._as_stored(statement, name)) is not name:
                lines.append(s.Assign(name, rounded))
            lines += self._stored(statement, name)
        return lines

    def _row(self, inner: Sequence[int], width: int, start: e.Expr | None) -> list[s.Statement]:
        """The labels of a row, once for all passes along it."""
        if tuple(inner) in self.rows_known:
            return []
        block = min(self.blocks.wide(width), LONGEST_ROW)
        entry = e.Name(self.names.new("r", "{}"))
        entries = arange(block, *ACROSS)
        if any(buffer.size >= FEW for buffer in self.buffers):
            entries = entries.method("to", e.name("tl.int64"))
        lines: list[s.Statement] = [s.Assign(entry, e.Binary("+", start, entries) if start else entries)]
        labels = list[Index]()
        for k, (extent, digit) in enumerate(zip(inner, digits(entry, inner, whole=True), strict=True)):
            if extent == 1:
                labels.append(Index(ZERO))
            elif extent == width:
                labels.append(Index(entry, ROW))
            else:
                label = e.Name(self.names.new(LETTERS[(self.depth + k) % len(LETTERS)], "{}"))
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
        places = self.places.inside
        self.expressions.labels = [*self.places.outer, *labels]
        self.expressions.masks = {PLACES: places, ROW: mask, PLACES | ROW: both(places, mask)}

    # ------------------------------------------------------------ statements

    def _statements(self, loop: Sequence[Statement], *, walks: bool) -> list[s.Statement]:
        """The lines of statements, each under what it computes; ``walks`` says that a loop goes along the row."""
        lines: list[s.Statement] = []
        tiles = self.group.tiles
        for statement in loop:
            for tile in (*tiles.reads, *tiles.within):
                if tile.product.target in statement.reads and tile not in self.made_rows:
                    lines += self._made(tile, of_rows=tile in tiles.within)
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
        return [s.Assign(name, self._as_stored(statement, value.code)), *self._stored(statement, name)]

    def _as_stored(self, statement: Statement, code: e.Expr) -> e.Expr:
        """What is folded as others read it from memory, which may round: a group goes on with that."""
        if not statement.fold or statement.target.kind != "scratch":
            return code
        kept = _element(e.Name(self.expressions.pointers[statement.target]))
        return code.method("to", kept).method("to", REAL)

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
        elif value.along.shape != Along(self.places.many, width > 1):
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


def is_alone(kernel: Kernel) -> bool:
    """Whether a step is one group, each place of which is a sample, so that a program can make all steps of its own."""
    block = kernel.body[0]
    if len(kernel.body) > 1 or kernel.before or not isinstance(block, Group) or kernel.number is not None:
        return False
    moved = {statement.target for statement in block.statements if not is_local(statement.target)}
    short = max(Blocks.of(block).widths) <= LONGEST_ROW
    return block.batched and not block.outer and short and moved == set(kernel.moves)


def function(kernel: Kernel, group: Group, names: Names, name: str) -> s.Function:
    """The kernel of a group."""
    return GroupWriter(kernel, group, names).function(name)


def _element(pointer: e.Expr) -> e.Expr:
    """The type of what is behind a pointer."""
    return pointer.attribute("dtype").attribute("element_ty")


def _neutral(statement: Statement) -> e.Expr:
    return number(-math.inf if statement.fold == "max" else 0.0)
