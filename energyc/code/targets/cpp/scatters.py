"""Sums over edges in C++, and totals over samples: one after the other, which is the order of the sums."""

from __future__ import annotations

import math
from collections.abc import Iterator

from energyc.code.loops.nest import Scatter
from energyc.code.targets.cpp.expressions import Expressions, Here, real
from energyc.code.targets.cpp.statements import LABELS, SAMPLES, loops, remark
from energyc.code.targets.sums import size, times, total
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.mathematics.ir.indexing import axis


def scattered(block: Scatter, expressions: Expressions) -> Iterator[s.Statement]:
    """The neutral value in all places, then what each edge adds."""
    target = block.target
    if target.kind == "total":
        yield from _totalled(block, expressions)
        return
    sample = [times(target.size, e.Name("b"))] if target.batched else []
    first = total([e.Name(expressions.names[target]), *sample])
    neutral = real(0.0 if block.fold == "sum" else -math.inf)
    fills = s.Do(e.call("std::fill_n", first, size(target.size), neutral))
    read = [k for place in block.place for k in sorted(place.axes())]
    order = list(dict.fromkeys([*read, *range(len(block.extents))]))
    neighbours = block.place[-1] == axis(order[-1])  # they go to neighbours
    turns = [(LABELS[k], block.extents[k]) for k in order]
    edges = loops(turns, [*remark(block.label), _added(block, expressions)], "#pragma omp simd" if neighbours else "")
    yield from loops([SAMPLES] if target.batched else [], [fills, *edges])


def _totalled(block: Scatter, expressions: Expressions) -> Iterator[s.Statement]:
    """What each sample adds; the labels of its places are those of the inner loops."""
    read = dict.fromkeys(k for place in block.place for k in sorted(place.axes()))
    order = [*(k for k in range(len(block.extents)) if k not in read), *read]
    neighbours = order and block.place and block.place[-1] == axis(order[-1])
    turns = [SAMPLES, *((LABELS[k], block.extents[k]) for k in order)]
    body = [*remark(block.label), _added(block, expressions)]
    yield from loops(turns, body, "#pragma omp simd" if neighbours else "")


def _added(block: Scatter, expressions: Expressions) -> s.Statement:
    """The statement that adds an entry to its place, or keeps the larger of both."""
    here = Here(tuple(map(e.Name, LABELS[: len(block.extents)])))
    value, entry = expressions.of(block.expr, here), expressions.entry(block.target, block.place, here)
    if block.fold == "max":
        return s.Assign(entry, e.call("std::max", entry, value))
    return s.Augment("+", entry, value)
