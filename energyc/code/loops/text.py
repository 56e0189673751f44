"""Kernels as text: what runs together, over which loops, and where its results live."""

from __future__ import annotations

from collections.abc import Iterator

from energyc.code.loops.nest import Block, Buffer, Group, Kernel, MatrixProduct, Scatter, Statement
from energyc.code.loops.work import Work, total


def kernel_text(kernel: Kernel) -> str:
    """A line for each matrix product and each statement of a group."""
    moves = ", ".join(f"{state.name} -> {moved.name}" for state, moved in zip(kernel.states, kernel.moves, strict=True))
    if kernel.like:
        how = "whose samples stop where they rest" if kernel.walk == "settle" else "whose states are kept"
        return f"{kernel.name}: the steps of {kernel.like}, {how}\n"
    lines = [f"{kernel.name}: {moves}"]
    lines += [f"  reads {', '.join(_typed(buffer) for _, buffer in kernel.given)}"] if kernel.given else []
    for block in kernel.before:
        lines += [f"  once: {line}" for line in _block(block)]
    for block in kernel.body:
        lines += [f"  {line}" for line in _block(block)]
    lines.append(f"  {_work(total(kernel))}")
    return "\n".join(lines) + "\n"


def _work(work: Work) -> str:
    operations, entries = work.operations, work.entries
    each = f"{operations.each:,} operations and {entries.each:,} entries through memory a sample"
    once = f"{operations.once:,} and {entries.once:,} once" if operations.once else f"{entries.once:,} entries once"
    return f"a step: {each}, {once}" if entries.once or operations.once else f"a step: {each}"


def _typed(buffer: Buffer) -> str:
    sizes = [*(["n"] if buffer.batched else []), *map(str, buffer.sizes)]
    return f"{buffer.name}[{', '.join(sizes)}]" if sizes else buffer.name


def _block(block: Block) -> Iterator[str]:
    match block:
        case Group():
            yield from _group(block)
        case MatrixProduct():
            yield from _product(block)
        case Scatter():
            yield _scatter(block)


def _scatter(block: Scatter) -> str:
    read = ", ".join(buffer.name for buffer in block.reads)
    edges = ", ".join(node.name for place in block.place for node in place.inputs)
    each = " x ".join(map(str, block.extents)) or "one"
    if block.target.kind == "total" and not edges:
        return f"total {_typed(block.target)}: sum of {each} and over samples, from {read or 'nothing'}"
    return f"scatter {_typed(block.target)}: {block.fold} by {edges} of {each}, from {read or 'nothing'}"


def _product(block: MatrixProduct) -> Iterator[str]:
    shape = f"{block.rows.count} x {block.columns.count}, {block.inner.count} terms"
    times = f", {block.outer.count} times" if block.outer.count > 1 else ""
    packed = (", packed once" if block.packed_once else "") + (", in bfloat16" if block.rounds else "")
    sign, over = "+=" if block.adds else "=", " over samples" if block.target.kind == "total" else ""
    yield f"product {_typed(block.target)} {sign} {block.left.name} @ {block.right.name}{over}: {shape}{times}{packed}"


def _group(group: Group) -> Iterator[str]:
    sizes = [*(["n"] if group.batched else []), *map(str, group.outer)]
    yield f"group over {' x '.join(sizes) or 'one place'}"
    if group.products:
        made = (f"{_typed(x.target)} = {x.left.name} @ {x.right.name}" for x in group.products)
        yield f"  along its rows: {', '.join(made)}, packed once"
    for statement in group.statements:
        yield f"  {_statement(statement, len(group.outer))}"


def _statement(statement: Statement, depth: int) -> str:
    target, over = statement.target, " x ".join(map(str, statement.extents[depth:]))
    kinds = {"scratch": "", "state": "", "given": "", "number": "", "row": "row ", "value": "value ", "total": ""}
    read = ", ".join(buffer.name for buffer in statement.reads) or "nothing"
    each = f"{statement.fold} over {over}" if statement.fold else f"each of {over}" if over else "one"
    return f"{kinds[target.kind]}{target.name}: {each}, from {read}"
