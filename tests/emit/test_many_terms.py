"""The work of the passes grows in proportion to the number of terms: counted, since a busy machine tells no times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import FrameType

import pytest

import energyc
from benchmarks.terms import PASSES, spec
from energyc.language.diagnostics import Source
from tests.quick import few

OURS = str(Path(energyc.__file__).parent)
#: Twice the terms more may take this many times the lines more: 2 in proportion, 4 by the square.
LARGEST = 2.5


def lines_run(run: Callable[[], object]) -> int:
    """How many lines of energyc run; each turn of a comprehension is one."""
    count = 0

    def at_line(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return at_line

    def at_call(frame: FrameType, event: str, argument: object) -> object:
        return at_line if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(at_call)  # type: ignore[arg-type]
    try:
        run()
    finally:
        sys.settrace(before)
    return count


NAMES = ("resolve", "classify", "torch", "cpp", "show forces", "show plan")
SHAPES = ("one_state", "selected", "states", "lets", "params", "shared")


@pytest.mark.sampled
@pytest.mark.abridged
@pytest.mark.parametrize(
    ("shape", "name"), few(product(SHAPES, NAMES), lambda case: case[0] == "lets" or case[1] == "resolve")
)
def test_lines_grow_in_proportion(shape: str, name: str) -> None:
    counts = (2, 10, 20, 40)  # the first one fills the caches of what is the same for all
    _, few, more, many = (lines_run(PASSES[name](Source("many.energy", spec(shape, count)))) for count in counts)
    assert many - more <= LARGEST * (more - few)
