"""A group as a function in C++: loops over samples and rows, and passes along each row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import passes
from energyc.code.loops.nest import Buffer, Coupling, Expr, Group, Kernel, Statement, indices, loads
from energyc.code.targets.cpp.expressions import Expressions, Here, real
from energyc.code.targets.cpp.statements import LABELS, SAMPLES, loops, remark
from energyc.code.targets.functions import is_local, outside
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, size, times, total
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.mathematics.expressions import Call, IndexValue, Where
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import Affine

#: What runs along a row as one loop.
_ROW = "r"


class GroupWriter:
    """Writes the function of a group, whose parameters are ``buffers``, then ``scalars``; ``names`` are free in it."""

    def __init__(self, kernel: Kernel, group: Group, names: Names) -> None:
        self.group, self.depth, self.sizes, self.free = group, len(group.outer), kernel.sizes, names
        self.buffers, self.scalars = outside(kernel, group)
        own = [step.target for step in group.steps if is_local(step.target)]
        self.names = {buffer: names.new(buffer.name) for buffer in (*self.buffers, *own)}
        self.panels = names.new("panels") if group.coupling else ""
        scalars = {name: names.new(name) for name in self.scalars}
        self.expressions = Expressions(kernel, self.names, scalars)
        self.outer = tuple(map(e.Name, LABELS[: self.depth]))
        self.folds = {x: self._fold_name(x) for x in group.statements if x.fold}

    def function(self, name: str) -> s.Function:
        """The function; it gives what it is called after, and may give more."""
        written = {step.target for step in self.group.steps}
        samples = [s.Parameter("n", e.Name("Int"))] if self.group.batched else []
        buffers = [s.Parameter(self.names[b], e.Name(type_of(b, b not in written))) for b in self.buffers]
        scalars = [s.Parameter(self.expressions.scalars[x], e.Name("T")) for x in self.scalars]
        panels = [s.Parameter(self.panels, e.Name("const T*"))] if self.panels else []
        pair = self.group.coupling
        parts = (step.target for step in self.group.steps if pair is None or step is not pair.spread)
        rows = [buffer for buffer in parts if buffer.kind == "row"]
        body: list[s.Statement] = [s.Declare("alignas(64) T", self.names[b], size=self._length(b)) for b in rows]
        for number, loop in enumerate(passes(self.group)):
            body += self._coupled(pair, loop) if pair and number == 0 else self._pass(loop)
        turns = [*([SAMPLES] if self.group.batched else []), *zip(LABELS, self.group.outer, strict=False)]
        parameters = (*samples, *buffers, *scalars, *panels)
        return s.Function(name, parameters, loops(turns, body))

    def _length(self, buffer: Buffer) -> e.Expr:
        """The entries of one row."""
        return size(math.prod(buffer.sizes[self.depth :]))

    # ------------------------------------------------------------ passes

    def _pass(self, loop: Sequence[Statement]) -> Iterator[s.Statement]:
        """One loop over a row, or what is computed once for a row."""
        inner = loop[0].extents[self.depth :]
        self.expressions.held.clear()
        if inner:
            yield from self._held(loop)
        flat = self._flattens(loop)
        names = _ROW if flat else LABELS[self.depth :]
        turns = list(zip(names, [math.prod(inner)] if flat and inner else inner, strict=False))
        labels = [ZERO] * (len(inner) - len(turns)) + [e.Name(name) for name, _ in turns]
        here = Here((*self.outer, *labels), self.depth)
        folds = [statement for statement in loop if statement.fold]
        for statement in folds:
            yield s.Declare("T", self.folds[statement], real(-math.inf if statement.fold == "max" else 0.0))
        body = [piece for statement in loop for piece in self._statement(statement, here)]
        if inner:
            yield from loops(turns, body, self._pragma(folds))
        else:
            yield from body
        for statement in folds:
            if statement.target.kind != "value":
                yield s.Assign(self._target(statement, here), e.Name(self.folds[statement]))

    def _coupled(self, pair: Coupling, loop: Sequence[Statement]) -> Iterator[s.Statement]:
        """The first loop over a row, a panel of the matrix in turn, with both products that it makes."""
        spread, gathered = pair.spread, pair.gathered
        self.expressions.held.clear()
        yield from self._held(loop)
        yield from remark(spread.label)
        yield from remark(gathered.label)
        first, count = (e.Name(self.free.new(name)) for name in ("first", "count"))
        self.expressions.begins[spread.target] = first
        here = Here((*self.outer, e.Name(_ROW)), self.depth)
        body = tuple(piece for statement in loop for piece in self._statement(statement, here))
        made = s.Parameter(self.names[spread.target], e.Name("const T*"))
        rows = s.Lambda(
            (s.Parameter(first.id, e.Name("Int")), s.Parameter(count.id, e.Name("auto")), made),
            (s.Directive(self._pragma([])), s.Loop("Int", _ROW, first, total([first, count]), body)),
            captures="&",
        )
        given = [self._own(spread.left), real(spread.factor), self._own(gathered.left), size(gathered.left.size)]
        given += [e.Name(self.panels), self._own(gathered.target), real(gathered.factor)]
        name = e.Template("couple<T, {few}>", (("few", size(spread.left.size)),))
        yield s.Do(e.call(name, *given, rows))

    def _own(self, buffer: Buffer) -> e.Expr:
        """Where the entries of the sample begin."""
        name = e.Name(self.names[buffer])
        return name if is_local(buffer) else total([name, times(buffer.size, e.Name("b"))])

    def _pragma(self, folds: Sequence[Statement]) -> str:
        kinds = {"sum": "+", "max": "max"}
        clauses = (f" reduction({kinds[x.fold]} : {self.folds[x]})" for x in folds)
        return f"#pragma omp simd{''.join(clauses)}"

    def _held(self, loop: Sequence[Statement]) -> Iterator[s.Statement]:
        """Declarations of function values that are the same along the row, computed before it."""
        written = {statement.target for statement in loop}
        for statement in loop:
            for part in self._alike(statement.expr, written):
                if part not in self.expressions.held:
                    name = self.free.new("held")
                    yield s.Declare("const T", name, self.expressions.of(part, Here(self.outer, self.depth)))
                    self.expressions.held[part] = e.Name(name)

    def _alike(self, expr: Expr, written: set[Buffer]) -> Iterator[Call]:
        """The calls in an expression, the outermost ones, that have one value along the row; none of a branch."""
        if isinstance(expr, Call) and self._is_alike(expr, written):
            yield expr
        elif not isinstance(expr, Where):
            for part in expr.parts:
                yield from self._alike(part, written)

    def _is_alike(self, part: Call, written: set[Buffer]) -> bool:
        """Whether no label of the row is in a call, and nothing that the loop writes."""
        labels = {label for index in indices(part) for label in index.axes()}
        return max(labels, default=-1) < self.depth and not any(load.buffer in written for load in loads(part))

    # ------------------------------------------------------------ statements

    def _fold_name(self, statement: Statement) -> str:
        """The name of a sum or a largest entry while it grows."""
        target = statement.target
        return self.names[target] if target.kind == "value" else self.free.new(f"{target.name}_here")

    def _target(self, statement: Statement, here: Here) -> e.Expr:
        return self.expressions.entry(statement.target, labels_of(len(statement.outer)), here)

    def _statement(self, statement: Statement, here: Here) -> Iterator[s.Statement]:
        yield from remark(statement.label)
        value, name = self.expressions.of(statement.expr, here), self.names[statement.target]
        if statement.fold == "sum":
            yield s.Augment("+", e.Name(self.folds[statement]), value)
        elif statement.fold == "max":
            entry = e.Name(self.free.new(f"{statement.target.name}_entry"))
            largest = e.Name(self.folds[statement])
            yield s.Declare("const T", entry.id, value)
            yield s.Assign(largest, e.Conditional(e.Comparison(">", entry, largest), entry, largest))
        elif statement.target.kind == "value":
            yield s.Declare("const T", name, value)
        else:
            yield s.Assign(self._target(statement, here), value)

    # ------------------------------------------------------------ rows of several labels

    def _flattens(self, loop: Sequence[Statement]) -> bool:
        """Whether the inner labels can be one: everywhere they move as one through what is read and written."""
        inner = loop[0].extents[self.depth :]
        if len(inner) < 2:
            return True
        wanted = [math.prod(inner[k + 1 :]) for k in range(len(inner))]
        along = set(range(self.depth, self.depth + len(inner)))
        if any(along & index.axes() for statement in loop for index in _conditions(statement)):
            return False
        return all(self._moves_as_one(*at, wanted) for statement in loop for at in _entries(statement))

    def _moves_as_one(self, buffer: Buffer, place: Sequence[IndexExpr], wanted: Sequence[int]) -> bool:
        whole = Affine(0, ())
        for index, step in zip(place, buffer.strides, strict=True):
            form = Affine.of(index, self.sizes)
            if form is None:
                return False
            whole = whole.plus(form.times(step))
        moves = [dict(whole.strides).get(self.depth + k, 0) for k in range(len(wanted))]
        return not any(moves) or moves == [moves[-1] * w for w in wanted]


def _conditions(statement: Statement) -> Iterator[IndexExpr]:
    """The conditions and positions of a statement."""
    for part in statement.expr.walk():
        if isinstance(part, Where) and isinstance(part.condition, IndexExpr):
            yield part.condition
        elif isinstance(part, IndexValue):
            yield part.value


def _entries(statement: Statement) -> Iterator[tuple[Buffer, Sequence[IndexExpr]]]:
    """The entries that a statement reads and, but for a fold, writes."""
    yield from ((load.buffer, load.place) for load in loads(statement.expr))
    if not statement.fold:
        yield statement.target, labels_of(len(statement.outer))


def type_of(buffer: Buffer, const: bool) -> str:
    """The type by which a buffer is passed."""
    if buffer.kind == "number":
        return "Int"
    return f"{'const ' if const else ''}{'T' if buffer.integers is None else 'Int'}*"


def function(kernel: Kernel, group: Group, names: Names, name: str) -> s.Function:
    """The function of a group."""
    return GroupWriter(kernel, group, names).function(name)
