"""The loops in which products spend their time, disassembled: each vector is read once, and none goes to the stack."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from energyc.runtime.kernels.library import FLAGS, expanded
from tests.emit.kernels import SPEC_OF, kernel_module, needs_compiler, shipped

COMPILER = os.environ.get("CXX", "c++").split()
FUNCTION = re.compile(r"^(_Z\w+)[\w.]*:")
LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"^\s+j\w+\s+(\.L\w+)")
DOTS = re.compile(r"7dots_ofI[fd]Li(\d)ELi(\d)E")
MULTIPLY_ADD = re.compile(r"vfmadd\w+p[sd]\s")
#: Instruction sets and what a compiler takes to tune for, each with the rows of a panel.
PROCESSORS = {
    "-march=haswell": 6,
    "-march=haswell -mtune=znver1": 6,
    "-march=znver3": 6,
    "-march=icelake-server -mno-avx512f": 6,
    "-march=skylake-avx512": 8,
    "-march=sapphirerapids": 8,
}


@dataclass(frozen=True)
class Loop:
    """An innermost loop of a function."""

    function: str
    instructions: tuple[str, ...]

    @property
    def products(self) -> int:
        """Vectors that are multiplied and added."""
        return sum(MULTIPLY_ADD.match(line) is not None for line in self.instructions)

    @property
    def references(self) -> list[str]:
        """Instructions that read or write memory."""
        return [line for line in self.instructions if "(" in line and not line.startswith(("lea", "nop"))]

    @property
    def on_the_stack(self) -> list[str]:
        """References to what did not fit into registers."""
        return [line for line in self.references if "(%rsp" in line]


def innermost_loops(assembly: str) -> Iterator[Loop]:
    """The loops without a jump inside: from a label to the jump back to it."""
    function, label, body = "", None, list[str]()
    for line in assembly.splitlines():
        if found := FUNCTION.match(line):
            function, label, body = found[1], None, []
        elif found := LABEL.match(line):
            label, body = found[1], []
        elif found := JUMP.match(line):
            if found[1] == label:
                yield Loop(function, tuple(body))
            label = None
        elif line.startswith("\t") and not line.startswith("\t."):
            body.append(line.strip())


def assembly(source: str, real: str, flags: str) -> str:
    """The assembly of kernels. Skips the test where the compiler does not know the processor."""
    others = [flag for flag in FLAGS if flag != "-shared"]
    command = [*COMPILER, *others, f"-DREAL={real}", *flags.split(), "-S", "-o", "-", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode and "-march" in done.stderr:
        pytest.skip(f"{COMPILER[0]} does not know {flags}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_loop_with_a_reference_to_the_stack_is_found() -> None:
    text = """
_ZN5panelIfLi2EEEv.constprop.0:
\tjmp\t.L9
.L3:
\tvmovups\t(%rdx), %ymm1
\tvfmadd231ps\t%ymm0, %ymm1, %ymm3
\tvmovaps\t%ymm3, 32(%rsp)
\tjne\t.L3
\tret
"""
    (loop,) = innermost_loops(text)
    assert loop.function == "_ZN5panelIfLi2EEEv" and loop.products == 1
    assert loop.references == ["vmovups\t(%rdx), %ymm1", "vmovaps\t%ymm3, 32(%rsp)"]
    assert loop.on_the_stack == ["vmovaps\t%ymm3, 32(%rsp)"]


@needs_compiler
@pytest.mark.abridged(every=12)
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("flags", PROCESSORS)
def test_products_read_each_vector_once(flags: str, real: str) -> None:
    """A term of a panel takes an index, an entry of each row and two vectors of columns, and nothing else.

    A vector of terms of a product with few columns takes one of each row and of each column.
    """
    source = expanded(kernel_module(shipped(SPEC_OF["thick"]), ["tracking-aep"]).kernels.source)
    loops = list(innermost_loops(assembly(source, real, flags)))
    rows, vectors = PROCESSORS[flags], 2
    panels = [loop for loop in loops if "5panelI" in loop.function and loop.products == rows * vectors]
    dots = [loop for loop in loops if loop.products == rows_and_columns(loop)[0] * rows_and_columns(loop)[1] > 1]
    assert panels and dots
    for loop in panels:
        assert not loop.on_the_stack, loop.on_the_stack
        assert len(loop.references) <= 1 + rows + vectors, loop.references
    for loop in dots:
        assert not loop.on_the_stack, loop.on_the_stack
        assert len(loop.references) <= sum(rows_and_columns(loop)), loop.references


def rows_and_columns(loop: Loop) -> tuple[int, int]:
    """How many rows and columns a loop of ``dots_of`` sums at once; zeros for other functions."""
    found = DOTS.search(loop.function)
    return (int(found[1]), int(found[2])) if found else (0, 0)
