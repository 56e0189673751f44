"""Kernels in C++: loops over tiles of samples, over steps, and over what one step computes."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from energyc.code.emit.cpp_text import Names, Text, bare, comment, number
from energyc.code.loops.affine import labels_of
from energyc.code.loops.expressions import changed
from energyc.code.loops.fuse import passes
from energyc.code.loops.memory import layout
from energyc.code.loops.nest import (
    Block,
    Buffer,
    Call,
    Choice,
    Clip,
    Count,
    Expr,
    Group,
    Kernel,
    Product,
    Quotient,
    Run,
    Scalar,
    Scatter,
    Statement,
    Times,
    Total,
    indices,
    loads,
    walk,
)
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import Affine, axis

#: What a tile may take of the second cache, in entries.
TILE_ENTRIES = 96 * 1024
#: The most samples of a tile.
LARGEST_TILE = 32

#: What loops are called, where no tensor has the name.
_LABELS = "ijklmpqstuvw"


class KernelWriter:
    """Writes one kernel as a ``struct``; the tables of places that it needs are in ``tables``."""

    def __init__(self, kernel: Kernel, struct: str, sizes: Mapping[str, int], tables: dict[str, str]) -> None:
        self.kernel, self.struct = kernel, struct
        self.tables = tables
        names = self.free = Names()
        names.new(struct)
        self.names: dict[Buffer, str] = {}
        for scalar in kernel.scalars:
            names.new(scalar)
        given = [buffer for _, buffer in kernel.given]
        self.layout = layout(kernel.body)
        for buffer in [*kernel.states, *kernel.moves, *given, *self.layout.offsets, *_locals(kernel)]:
            self.names[buffer] = names.new(buffer.name)
        self.labels = [names.new(label) for label in _LABELS]
        self.row = names.new("r")
        integers = {node: buffer for node, buffer in kernel.given if buffer.integers is not None}
        self.text = Text(self.names, integers, sizes)
        self.entries = self.layout.entries
        entries = self.entries + 2 * sum(state.size for state in kernel.states)
        self.tile = max(1, min(LARGEST_TILE, TILE_ENTRIES // max(1, entries)))
        self.packed = [block for block in kernel.body if isinstance(block, Product) and block.packed_once]
        self.panels = [block for block in kernel.body if isinstance(block, Product) and not block.packed_once]

    # ------------------------------------------------------------ the whole

    def write(self) -> list[str]:
        """The struct of the kernel, and its entry point for the type that the library is built for."""
        kernel = self.kernel
        lines = ["namespace {", "", f"// {kernel.doc}", "template <class T>", f"struct {self.struct} {{"]
        body = [f"static constexpr Int tile = {self.tile};", "", *self._inputs(), "", *self._step(), "", *self._run()]
        lines += [f"    {line}".rstrip() for line in body]
        lines += ["};", "", "}  // namespace", ""]
        head = f'extern "C" void {kernel.name}_phase(Int samples, Int steps, Real* const* states,'
        lines += [head, "    const void* const* given, const Real* scalars, Real* change, Int threads) {"]
        lines += [
            f"    {self.struct}<Real>::run(samples, steps, states, given, scalars, change, threads);",
            "}",
            "",
        ]
        return lines

    def _inputs(self) -> Iterator[str]:
        """The members: what the caller gives, for the tile at hand."""
        for _, buffer in self.kernel.given:
            kind = "Int" if buffer.kind == "number" else f"const {_kind(buffer)}*"
            yield f"{kind} {self.names[buffer]};"
        for name in self.kernel.scalars:
            yield f"T {name};"
        yield "T* memory;"
        if self.packed:
            yield "const T* packed;"
        if self.panels:
            yield "T* panel_memory;"

    def _step(self) -> Iterator[str]:
        """One step of n samples, from the states ``now`` to ``next``."""
        yield "void step(Int n, T* const* now, T* const* next) const {"
        for k, (state, moved) in enumerate(zip(self.kernel.states, self.kernel.moves, strict=True)):
            yield f"    const T* const {self.names[state]} = now[{k}];"
            yield f"    T* const {self.names[moved]} = next[{k}];"
        for buffer, offset in self.layout.offsets.items():
            yield f"    T* const {self.names[buffer]} = memory{f' + {offset} * tile' if offset else ''};"
        for block in self.kernel.body:
            yield from (f"    {line}" for line in self._block(block))
        yield "}"

    def _run(self) -> Iterator[str]:
        kernel, entries = self.kernel, self.entries
        given = [buffer for _, buffer in kernel.given]
        states = sum(b.size for b in kernel.states)
        yield "static void run(Int samples, Int steps, T* const* states, const void* const* given, const T* scalars,"
        yield "                T* change, Int threads) {"
        if self.packed:
            yield f"    T* const packed = workspace<T>({' + '.join(map(_packed_size, self.packed))}, 0);"
            yield from (f"    {line}" for line in self._packing())
        panel = f" + {_largest_panel(self.panels)}" if self.panels else ""
        yield "    threads = std::max<Int>(1, std::min(threads, samples));"
        yield f"    const Int room = ({entries + 2 * states} * tile{panel} + 15) / 16 * 16;"
        yield "    T* const rooms = workspace<T>(threads * room, 1);"
        yield "    share(samples, threads, [=](Int thread, Int first, Int count) {"
        yield "        T* const memory = rooms + thread * room;"
        yield "        for (Int start = first; start < first + count; start += tile) {"
        yield "            const Int n = std::min(tile, first + count - start);"
        sizes = ", ".join(str(state.size) for state in kernel.states)
        count = len(kernel.states)
        yield f"            const Int sizes[{count}] = {{{sizes}}};"
        yield f"            T* now[{count}];"
        yield f"            T* next[{count}];"
        yield f"            T* place = memory + {entries} * tile;"
        yield f"            for (int k = 0; k < {count}; ++k) {{"
        yield "                now[k] = place;"
        yield "                next[k] = place + sizes[k] * tile;"
        yield "                place += 2 * sizes[k] * tile;"
        yield "                std::copy_n(states[k] + start * sizes[k], n * sizes[k], now[k]);"
        yield "            }"
        const = "const " if kernel.number is None else ""
        yield f"            {const}{self.struct} phase{{{', '.join(self._arguments())}}};"
        yield "            for (Int number = 0; number < steps; ++number) {"
        yield "                phase.step(n, now, next);"
        if kernel.number is not None:
            yield f"                ++phase.{self.names[given[kernel.number]]};"
        yield f"                for (int k = 0; k < {count}; ++k) std::swap(now[k], next[k]);"
        yield "            }"
        yield f"            for (int k = 0; k < {count}; ++k)"
        yield "                std::copy_n(now[k], n * sizes[k], states[k] + start * sizes[k]);"
        yield "            if (change == nullptr) continue;"
        yield "            phase.step(n, now, next);"
        yield "            for (Int b = 0; b < n; ++b) {"
        yield "                change[start + b] = 0;"
        yield f"                for (int k = 0; k < {count}; ++k)"
        yield "                    change[start + b] = relative_change(now[k] + b * sizes[k], next[k] + b * sizes[k],"
        yield "                                                        sizes[k], change[start + b]);"
        yield "            }"
        yield "        }"
        yield "    });"
        yield "}"

    def _arguments(self) -> Iterator[str]:
        """The members of the tile at hand."""
        for k, (_, buffer) in enumerate(self.kernel.given):
            moved = f" + start * {buffer.size}" if buffer.batched else ""
            read = "*" if buffer.kind == "number" else ""
            yield f"{read}(const {_kind(buffer)}*)given[{k}]{moved}"
        yield from (f"scalars[{k}]" for k in range(len(self.kernel.scalars)))
        yield "memory"
        if self.packed:
            yield "packed"
        if self.panels:
            entries = self.entries + 2 * sum(state.size for state in self.kernel.states)
            yield f"memory + {entries} * tile"

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case Group():
                return self._group(block)
            case Product():
                return self._product(block)
        return self._scatter(block)

    # ------------------------------------------------------------ matrix products

    def _packing(self) -> Iterator[str]:
        """Packs what is the same for all samples and steps, once."""
        yield "T* to = packed;"
        numbers = {buffer: k for k, (_, buffer) in enumerate(self.kernel.given)}
        for block in self.packed:
            moving = [k for k, stride in enumerate(block.outer.right) if stride]
            names = [self.labels[k] for k in moving]
            loops = [_loop(name, block.outer.sizes[k]) for name, k in zip(names, moving, strict=True)]
            at = _offset(block.right_at, [(block.outer.right[k], n) for n, k in zip(names, moving, strict=True)])
            inner, columns = self._table(block.inner, "right"), self._table(block.columns, "right")
            source = f"(const T*)given[{numbers[block.right]}]{at}"
            yield from comment(f"{self.names[block.right]}, packed")
            yield from _nested(loops, [f"pack({source}, {inner}, {columns}, to);", f"to += {_place_size(block)};"])

    def _product(self, block: Product) -> Iterator[str]:
        """A matrix product for each place of its outer labels, and for each sample where both are its own."""
        left, right, target = block.left, block.right, block.target
        apart = right.batched
        stacked = target.batched and left.batched and not apart
        names = [self.labels[k] for k in range(len(block.outer.sizes))]
        by_sample = apart or (target.batched and not left.batched)
        loops = [_loop("b", "n")] if by_sample else []
        loops += [_loop(name, size) for name, size in zip(names, block.outer.sizes, strict=True)]
        rows = Run(
            ((self.tile,) if stacked else ()) + block.rows.sizes,
            ((left.size,) if stacked else ()) + block.rows.left,
            ((0,) if stacked else ()) + block.rows.right,
            ((target.size,) if stacked else ()) + block.rows.out,
        )
        count = f"n * {block.rows.count}" if stacked and block.rows.count > 1 else "n" if stacked else block.rows.count

        def start(buffer: Buffer, at: int, strides: Sequence[int], own: bool) -> str:
            sample = [(buffer.size, "b")] if buffer.batched and own and by_sample else []
            return self.names[buffer] + _offset(at, [*sample, *zip(strides, names, strict=True)])

        lines = []
        if block.packed_once:
            moving = [k for k, stride in enumerate(block.outer.right) if stride]
            place = "0"
            for k in moving:
                place = f"({place}) * {block.outer.sizes[k]} + {names[k]}" if place != "0" else names[k]
            earlier = self.packed[: self.packed.index(block)]
            begin = " + ".join(map(_packed_size, earlier))
            panels = f"packed{' + ' + begin if begin else ''}"
            panels += f" + ({place}) * {_place_size(block)}" if moving else ""
        else:
            panels = "panel_memory"
            source = start(right, block.right_at, block.outer.right, True)
            inner, columns = self._table(block.inner, "right"), self._table(block.columns, "right")
            lines.append(f"pack({source}, {inner}, {columns}, panel_memory);")
        lines.append(
            f"multiply<T>({start(left, block.left_at, block.outer.left, not stacked)}, {self._table(rows, 'left')}, "
            f"{count}, {self._table(block.inner, 'left')}, {panels}, "
            f"{start(target, 0, block.outer.out, not stacked)}, {self._table(rows, 'out')}, {block.columns.count}, "
            f"{number(block.factor)}, {'true' if block.adds else 'false'});"
        )
        yield from comment(block.label)
        yield from _nested(loops, lines)

    def _table(self, run: Run, side: str) -> str:
        """The table of places along a side of a matrix."""
        strides = getattr(run, side)
        labels = ", ".join(f"{{{size}, {stride}}}" for size, stride in zip(run.sizes, strides, strict=True))
        return self.tables.setdefault(f"{{{labels}}}", f"places_{len(self.tables) + 1}")

    # ------------------------------------------------------------ scattered

    def _scatter(self, block: Scatter) -> Iterator[str]:
        """The neutral value, then an edge after the other: the order of the sums is that of the edges."""
        target = block.target
        start = number(0.0 if block.fold == "sum" else -math.inf)
        first = self.names[target] + (f" + {target.size} * b" if target.batched else "")
        read = [k for place in block.place for k in sorted(place.axes())]
        order = list(dict.fromkeys([*read, *range(len(block.extents))]))
        loops = [_loop(self.labels[k], block.extents[k]) for k in order]
        if block.place[-1] == axis(order[-1]):
            loops[-1] = f"#pragma omp simd\n{loops[-1]}"  # neighbours go to neighbours
        labels = self.labels[: len(block.extents)]
        value = bare(self.text.expr(block.expr, labels, 0))
        entry = self.text.entry(target, block.place, labels, 0)
        added = f"{entry} = std::max({entry}, {value});" if block.fold == "max" else f"{entry} += {value};"
        lines = [f"std::fill_n({first}, {target.size}, {start});", *_nested(loops, [*comment(block.label), added])]
        yield from _nested([_loop("b", "n")] if target.batched else [], lines)

    # ------------------------------------------------------------ groups

    def _group(self, group: Group) -> Iterator[str]:
        depth = len(group.outer)
        outer = list(self.labels[:depth])
        loops = [_loop("b", "n")] if group.batched else []
        loops += [_loop(name, size) for name, size in zip(outer, group.outer, strict=True)]
        lines: list[str] = []
        for statement in group.statements:
            target = statement.target
            if target.kind == "row":
                size = target.size
                for extent in group.outer:
                    size //= extent
                lines.append(f"alignas(64) T {self.names[target]}[{size}];")
        for loop in passes(group):
            lines += self._pass(loop, outer)
        yield from _nested(loops, lines)

    def _pass(self, loop: Sequence[Statement], outer: Sequence[str]) -> Iterator[str]:
        """One loop over a row, or what is computed once for a row."""
        depth = len(outer)
        inner = loop[0].extents[depth:]
        if inner:
            loop = yield from self._held(loop, outer)
        flat = self._flattens(loop, depth)
        labels = self.labels[depth : depth + len(inner)]
        names = ["0"] * (len(inner) - 1) + [self.row] if flat and inner else list(labels)
        labels = [*outer, *names]
        folds = [s for s in loop if s.fold]
        for statement in folds:
            start = number(float("-inf") if statement.fold == "max" else 0.0)
            yield f"T {self._fold_name(statement)} = {start};"
        lines = []
        for statement in loop:
            lines += [*comment(statement.label), *self._statement(statement, labels, depth)]
        if not inner:
            yield from lines
        else:
            count = 1
            for size in inner:
                count *= size
            extents = [count] if flat else inner
            used = [name for name in names if name != "0"]
            loops = [_loop(name, size) for name, size in zip(used, extents, strict=True)]
            kinds = {"sum": "+", "max": "max"}
            clauses = "".join(f" reduction({kinds[s.fold]} : {self._fold_name(s)})" for s in folds)
            loops[-1] = f"#pragma omp simd{clauses}\n{loops[-1]}"
            yield from _nested(loops, lines)
        for statement in folds:
            if statement.target.kind != "value":
                place = [*statement.outer]
                entry = self.text.entry(statement.target, labels_of(len(place)), labels, depth)
                yield f"{entry} = {self._fold_name(statement)};"

    def _held(self, loop: Sequence[Statement], outer: Sequence[str]) -> Generator[str, None, list[Statement]]:
        """The statements with what a function gives alike along the row computed before it."""
        written = {statement.target for statement in loop}
        depth, held = len(outer), list[tuple[Expr, str]]()
        lines: list[str] = []

        def without(part: Expr) -> Expr:
            if isinstance(part, Call) and self._is_alike(part, depth, written):
                if part not in (known for known, _ in held):
                    name = self.free.new("held")
                    lines.append(f"const T {name} = {bare(self.text.expr(part, outer, depth))};")
                    held.append((part, name))
                return Scalar(next(name for known, name in held if known == part))
            return changed(part, without) if isinstance(part, Total | Times | Call | Clip | Quotient) else part

        found = [replace(statement, expr=without(statement.expr)) for statement in loop]
        yield from lines
        return found

    def _is_alike(self, part: Call, depth: int, written: Collection[Buffer]) -> bool:
        """Whether a function's value is the same along the row, and nothing in the loop goes into it."""
        labels = {label for index in indices(part) for label in index.axes()}
        return max(labels, default=-1) < depth and not any(load.buffer in written for load in loads(part))

    def _fold_name(self, statement: Statement) -> str:
        name = self.names[statement.target]
        return name if statement.target.kind == "value" else f"{name}_here"

    def _statement(self, statement: Statement, labels: Sequence[str], depth: int) -> Iterator[str]:
        value = self.text.expr(statement.expr, labels, depth)
        value = value[1:-1] if value.startswith("(") and _closes_last(value) else value
        if statement.fold == "sum":
            yield f"{self._fold_name(statement)} += {value};"
        elif statement.fold == "max":
            name = self._fold_name(statement)
            yield f"const T {name}_entry = {value};"
            yield f"{name} = {name}_entry > {name} ? {name}_entry : {name};"
        elif statement.target.kind == "value":
            yield f"const T {self.names[statement.target]} = {value};"
        else:
            entry = self.text.entry(statement.target, labels_of(len(statement.outer)), labels, depth)
            yield f"{entry} = {value};"

    def _flattens(self, loop: Sequence[Statement], depth: int) -> bool:
        """Whether the inner labels can be one: everywhere they move as one through what is read and written."""
        inner = loop[0].extents[depth:]
        if len(inner) < 2:
            return True
        wanted, stride = [], 1
        for size in reversed(inner):
            wanted.append(stride)
            stride *= size
        wanted.reverse()
        for statement in loop:
            if any(set(range(depth, depth + len(inner))) & e.axes() for e in _conditions(statement)):
                return False
            places = [(load.buffer, load.place) for load in loads(statement.expr)]
            if not statement.fold:
                places.append((statement.target, labels_of(len(statement.outer))))
            for buffer, place in places:
                total = Affine(0, ())
                for index, step in zip(place, buffer.strides, strict=True):
                    form = Affine.of(index, self.text.sizes)
                    if form is None:
                        return False
                    total = total.plus(form.times(step))
                moves = [dict(total.strides).get(depth + k, 0) for k in range(len(inner))]
                if any(moves) and moves != [moves[-1] * w for w in wanted]:
                    return False
        return True


def _conditions(statement: Statement) -> Iterator[IndexExpr]:
    """The conditions and positions of a statement."""
    for part in walk(statement.expr):
        if isinstance(part, Choice):
            yield part.condition
        elif isinstance(part, Count):
            yield part.value


def _closes_last(text: str) -> bool:
    depth = 0
    for k, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return k == len(text) - 1
    return False


def _locals(kernel: Kernel) -> list[Buffer]:
    """Rows and values."""
    groups = [block for block in kernel.body if isinstance(block, Group)]
    return [s.target for g in groups for s in g.statements if s.target.kind in ("row", "value")]


def _kind(buffer: Buffer) -> str:
    return "Int" if buffer.integers is not None else "T"


def _loop(name: str, count: int | str) -> str:
    return f"for (Int {name} = 0; {name} < {count}; ++{name})"


def _nested(loops: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """Lines inside loops."""
    for depth, loop in enumerate(loops):
        brace = " {" if depth == len(loops) - 1 else ""
        *before, last = loop.split("\n")
        yield from (f"{'    ' * depth}{line}" for line in before)
        yield f"{'    ' * depth}{last}{brace}"
    indent = "    " * len(loops)
    yield from (f"{indent}{line}" for line in lines)
    if loops:
        yield f"{'    ' * (len(loops) - 1)}}}"


def _offset(at: int, moves: Sequence[tuple[int, str]]) -> str:
    terms = [f" + {stride} * {name}" if stride != 1 else f" + {name}" for stride, name in moves if stride]
    return "".join([f" + {at}" if at else "", *terms])


def _place_size(block: Product) -> str:
    return f"{block.inner.count} * padded<T>({block.columns.count})"


def _packed_size(block: Product) -> str:
    places = 1
    for size, stride in zip(block.outer.sizes, block.outer.right, strict=True):
        places *= size if stride else 1
    return f"{places} * {_place_size(block)}" if places > 1 else _place_size(block)


def _largest_panel(blocks: Sequence[Product]) -> str:
    sizes = list(dict.fromkeys(map(_place_size, blocks)))
    return sizes[0] if len(sizes) == 1 else f"std::max({{{', '.join(sizes)}}})"
