"""Where the buffers of a tile live: two that are not needed at the same time share their memory."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from energyc.code.loops.nest import Block, Buffer, written

#: Entries between the starts of buffers are multiples of this, so that each begins a line of the cache.
ALIGNMENT = 16


@dataclass(frozen=True)
class Layout:
    """Where each buffer starts, and how many entries they take together.

    ``follows`` is the buffer behind which one starts, for all that do not start the memory. ``last`` ends it.
    """

    offsets: Mapping[Buffer, int]
    entries: int
    follows: Mapping[Buffer, Buffer]
    last: Buffer | None

    def behind(self, buffer: Buffer | None) -> list[Buffer]:
        """The buffers from the start of the memory to a buffer, this one included, each behind the one before."""
        chain = list[Buffer]()
        while buffer is not None:
            chain.append(buffer)
            buffer = self.follows.get(buffer)
        return chain[::-1]


def layout(body: Sequence[Block], before: Sequence[Block] = ()) -> Layout:
    """Places for the scratch buffers of a step: the first gap that is free from the first write to the last read.

    What is written ``before`` all steps and read by one stays.
    """
    offsets: dict[Buffer, int] = {}
    follows: dict[Buffer, Buffer] = {}
    entries, largest = 0, None
    taken: list[tuple[int, int, int, Buffer]] = []  # where those begin and stop that are alive, their last blocks
    for buffer, (first, last) in _lives(before, body).items():  # the first written first
        taken = [place for place in taken if place[2] >= first]
        at = 0
        for start, stop, _, other in taken:
            if start - at >= _room(buffer):
                break
            if stop > at:
                at, follows[buffer] = stop, other
        offsets[buffer] = at
        insort(taken, (at, at + _room(buffer), last, buffer), key=lambda place: place[0])
        if at + _room(buffer) > entries:
            entries, largest = at + _room(buffer), buffer
    return Layout(offsets, entries, follows, largest)


def _room(buffer: Buffer) -> int:
    return -(-buffer.size // ALIGNMENT) * ALIGNMENT


def _lives(before: Sequence[Block], body: Sequence[Block]) -> dict[Buffer, tuple[int, int]]:
    """The blocks from the first that writes a buffer to the last that reads it."""
    lives: dict[Buffer, tuple[int, int]] = {}
    end = len(before) + len(body)
    for number, block in enumerate((*before, *body)):
        targets = written(block)
        for buffer in targets:
            if buffer.kind == "scratch":
                lives.setdefault(buffer, (number, number))
        for buffer in (*targets, *block.reads):
            if buffer in lives:
                first = lives[buffer][0]
                lives[buffer] = (first, end if first < len(before) <= number else number)
    return lives
