"""Groups as kernels in Triton: a block of places and of the entries of their rows for each program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.emit.cpp_text import Names, bare
from energyc.code.emit.layout import broken_lines, escaped
from energyc.code.emit.triton_text import Index, Text, names_of_kernel
from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import LONGEST_ROW, passes
from energyc.code.loops.nest import Buffer, Group, Kernel, Scalar, Statement, indices, walk
from energyc.code.tree.prose import wrapped
from energyc.mathematics.ir import Node

#: The entries of a program where its rows are short.
PROGRAM_ENTRIES = 1024

_LETTERS = "ijkmpqrstuvw"


@dataclass(frozen=True)
class Launch:
    """How a group is launched: its kernel's name, its arguments, the programs, and the warps of one."""

    name: str
    buffers: tuple[Buffer, ...]
    scalars: bool
    programs: tuple[str, ...]
    warps: int


class GroupWriter:
    """Writes the kernel of a group."""

    def __init__(self, kernel: Kernel, group: Group, name: str, sizes: Mapping[str, int]) -> None:
        self.kernel, self.group, self.name = kernel, group, name
        self.depth = len(group.outer)
        self.loops = passes(group)
        self.widths = [math.prod(loop[0].extents[self.depth :]) for loop in self.loops]
        self.widest = min(LONGEST_ROW, max(map(_power, self.widths)))
        self.rows = max(1, PROGRAM_ENTRIES // self.widest) if group.batched or group.outer else 1
        written = [s.target for s in group.statements if s.target.kind not in ("row", "value")]
        integers: dict[Node, Buffer] = {node: b for node, b in kernel.given if b.integers is not None}
        read = [b for b in self._read(integers) if b.kind not in ("row", "value")]
        self.buffers = tuple(dict.fromkeys([*read, *written]))
        self.scalars = [n for n in kernel.scalars if any(Scalar(n) in walk(s.expr) for s in group.statements)]
        names = names_of_kernel()
        named = {scalar: names.new(scalar) for scalar in self.scalars}
        pointers = {buffer: names.new(buffer.name) for buffer in self.buffers}
        self.text = Text(pointers, named, names, integers, sizes)
        self.names: Names = names
        self.outer: list[Index] = []
        self.rows_known: dict[tuple[int, ...], tuple[Sequence[Index], str]] = {}
        self.sums: dict[Statement, str] = {}

    def _read(self, integers: Mapping[Node, Buffer]) -> Iterator[Buffer]:
        """The buffers that the group reads, and the integers in its indices, but for what it writes itself."""
        own = {s.target for s in self.group.statements}
        for statement in self.group.statements:
            yield from (buffer for buffer in statement.reads if buffer not in own)
            for index in indices(statement.expr):
                yield from (integers[node] for node in index.inputs)

    @property
    def split(self) -> bool:
        """Whether programs share a row, which is long and read by nothing else of the group."""
        return len(self.loops) == 1 and self.widths[0] > LONGEST_ROW and not any(s.fold for s in self.loops[0])

    def launch(self) -> Launch:
        """How the kernel is called."""
        programs = [self._places("n") if self.rows == 1 else f"cdiv({self._places('n')}, {self.rows})"]
        if self.split:
            programs.append(str(-(-self.widths[0] // LONGEST_ROW)))
        warps = 4 if self.rows * self.widest <= 1024 else 8
        return Launch(self.name, self.buffers, bool(self.scalars), tuple(programs), warps)

    def _places(self, samples: str) -> str:
        count = math.prod(self.group.outer)
        if not self.group.batched:
            return str(count)
        return samples if count == 1 else f"{count} * {samples}"

    # ------------------------------------------------------------ the whole

    def write(self) -> list[str]:
        """The kernel."""
        pointers = [self.text.pointers[b] for b in self.buffers]
        arguments = [*pointers, *(["scalars"] if self.scalars else []), *(["samples"] if self.group.batched else [])]
        body = [*self._places_here(), *self._scalars()]
        for loop, width in zip(self.loops, self.widths, strict=True):
            body += self._pass(loop, width)
        title = ", ".join(dict.fromkeys(s.target.name for s in self.group.statements if s.target in self.buffers))
        if any(re.search(r"\breal\b", line) for line in body):
            body.insert(0, f"real = {self._real()}")
        head = broken_lines([f"def {self.name}({', '.join(arguments)}):"])
        return ["@jit", *head, f'    """{escaped(title)}."""', *(f"    {line}" for line in broken_lines(body))]

    def _places_here(self) -> Iterator[str]:
        """What numbers the places of this program, and the labels of each."""
        outer = self.group.outer
        if not self.group.batched and not outer:
            return
        first = "tl.program_id(0).to(tl.int64)" + (f" * {self.rows}" if self.rows > 1 else "")
        yield f"place = {first} + tl.arange(0, {self.rows})[:, None]"
        yield f"inside = place < {self._places('samples')}"
        step = math.prod(outer)
        if self.group.batched:
            yield f"sample = place // {step}" if step > 1 else "sample = place"
        for k, size in enumerate(outer):
            step //= size
            if size == 1:
                self.outer.append(Index("0"))
                continue
            rest = "place" if step == 1 else f"place // {step}"
            whole = k == 0 and not self.group.batched
            label = self.names.new(_LETTERS[k % len(_LETTERS)])
            self.outer.append(Index(label, places=True))
            yield f"{label} = {rest}" if whole else f"{label} = {rest} % {size}"

    def _real(self) -> str:
        """The type of the states, in which the group computes; what lies between blocks may be bfloat16."""
        reals = [b for b in reversed(self.buffers) if b.integers is None]
        kept = [self.text.pointers[b] for b in reals if b.kind != "scratch"] + ["scalars"] * bool(self.scalars)
        if kept:
            return f"{kept[0]}.dtype.element_ty"
        between = f"{self.text.pointers[reals[0]]}.dtype.element_ty"
        return f"tl.float32 if {between} == tl.bfloat16 else {between}"

    def _scalars(self) -> Iterator[str]:
        for name in self.scalars:
            at, text = self.kernel.scalars.index(name), self.text.scalars[name]
            value = f"tl.load(scalars{f' + {at}' if at else ''})"
            if (self.kernel.name, name) == ("nudged", "beta"):
                value += f" * tl.where(sample < tl.load(scalars + {len(self.kernel.scalars)}), 1.0, -1.0)"
                self.text.along[text] = (True, False)
            yield f"{text} = {value}"

    # ------------------------------------------------------------ passes

    def _pass(self, loop: Sequence[Statement], width: int) -> list[str]:
        """The statements of one pass over the row."""
        inner = loop[0].extents[self.depth :]
        if width <= LONGEST_ROW:
            lines = self._row(inner, width, "") if inner else []
            self._stand(inner)
            return [*lines, *self._statements(loop, "")]
        if self.split:
            lines = [f"start = tl.program_id(1) * {LONGEST_ROW}", *self._row(inner, width, "start")]
            self._stand(inner)
            return [*lines, *self._statements(loop, "")]
        lines = [f"{self._sum(s)} = tl.full(({self.rows}, 1), {_neutral(s)}, real)" for s in loop if s.fold]
        before, loaded = dict(self.rows_known), dict(self.text.loaded)
        body = self._row(inner, width, "start")
        self._stand(inner)
        body += self._statements(loop, "start")
        self.rows_known, self.text.loaded = before, loaded
        for statement in loop:
            self.text.held.pop(statement.target, None)
        lines += [f"for start in range(0, {width}, {LONGEST_ROW}):", *(f"    {line}" for line in body)]
        folds = [s for s in loop if s.fold]
        self._stand(())
        for statement in folds:
            self.text.held[statement.target] = self._sum(statement)
            lines += self._stored(statement, self._sum(statement))
        return lines

    def _row(self, inner: Sequence[int], width: int, start: str) -> list[str]:
        """The labels of a row, once for all passes along it."""
        if tuple(inner) in self.rows_known:
            return []
        block = min(_power(width), LONGEST_ROW)
        entry = self.names.new("r")
        first = f"{start} + " if start else ""
        lines = [f"{entry} = {first}tl.arange(0, {block})[None, :]"]
        mask = "" if block == width else f"({entry} < {width})"
        labels, step = list[Index](), width
        for k, size in enumerate(inner):
            step //= size
            if size == 1:
                labels.append(Index("0"))
            elif size == width:
                labels.append(Index(entry, row=True))
            else:
                label = self.names.new(_LETTERS[(self.depth + k) % len(_LETTERS)])
                rest = entry if step == 1 else f"{entry} // {step}"
                lines.append(f"{label} = {rest}" if k == 0 else f"{label} = {rest} % {size}")
                labels.append(Index(label, row=True))
        self.rows_known[tuple(inner)] = labels, mask
        if all(not label.row for label in labels):
            self.rows_known[tuple(inner)] = labels, ""
            return []
        return lines

    def _stand(self, inner: Sequence[int]) -> None:
        """Tell the text which labels are at hand."""
        labels, mask = self.rows_known[tuple(inner)] if inner else ((), "")
        places = "inside" if self.group.batched or self.group.outer else ""
        self.text.labels = [*self.outer, *labels]
        both = " & ".join(filter(None, [places, mask]))
        self.text.masks = {(True, False): places, (False, True): mask, (True, True): both}

    def _statements(self, loop: Sequence[Statement], start: str) -> list[str]:
        """The lines of statements, each under what it computes."""
        lines: list[str] = []
        for statement in loop:
            value = self.text.expr(statement.expr)
            text = bare(value.text) if value.typed else f"tl.full((1, 1), {bare(value.text)}, real)"
            if statement.fold:
                text = self._folded(statement, text)
            if statement.fold and start:
                name = self._sum(statement)
                kind = "{0} + {1}" if statement.fold == "sum" else "tl.maximum({0}, {1})"
                last = [f"{name} = {kind.format(name, text)}"]
            else:
                stored = statement.target.kind not in ("row", "value")
                name = self.names.new(f"{statement.target.name}_here" if stored else statement.target.name)
                last = [f"{name} = {text}"]
                self.text.along[name] = (True, False) if statement.fold else self.text.shape(text)
                self.text.held[statement.target] = name
                last += self._stored(statement, name)
            lines += [*comment(statement.label), *self.text.lines, *last]
            self.text.lines.clear()
        return lines

    def _folded(self, statement: Statement, text: str) -> str:
        """The sum or the largest of a row, padding left out."""
        if self.text.masks[False, True]:
            text = f"tl.where({bare(self.text.masks[True, True])}, {text}, {_neutral(statement)})"
        elif self.text.shape(text) != (bool(self.text.masks[True, False]), math.prod(statement.reduced) > 1):
            text = f"tl.broadcast_to({text}, ({self.rows}, {math.prod(statement.reduced)}))"
        return f"tl.{statement.fold}({text}, 1, keep_dims=True)"

    def _stored(self, statement: Statement, name: str) -> list[str]:
        if statement.target.kind in ("row", "value"):
            return []
        return [self.text.store(statement.target, labels_of(len(statement.outer)), name)]

    def _sum(self, statement: Statement) -> str:
        """The name of what is folded along a long row."""
        if statement not in self.sums:
            self.sums[statement] = self.names.new(statement.target.name)
        return self.sums[statement]


def _power(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length() if count > 1 else 1


def _neutral(statement: Statement) -> str:
    return 'float("-inf")' if statement.fold == "max" else "0.0"


def comment(text: str) -> list[str]:
    """What a line computes, above it."""
    plain = escaped(" ".join(text.split()))
    return [f"# {line}" for line in wrapped(plain, "  ")] if plain else []
