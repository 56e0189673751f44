"""Loops in C++ and what stands in them."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.code.targets.sums import size
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: A loop's variable, and how often it runs.
Turn = tuple[str, e.Expr | int]
#: What loops are called: a name of a spec ends otherwise.
LABELS = "ijklmpqstuvw"
#: The most characters of a comment.
LONGEST_REMARK = 100
#: The loop over samples.
SAMPLES: Turn = ("b", e.Name("n"))


def loops(turns: Sequence[Turn], body: Sequence[s.Statement], pragma: str = "") -> tuple[s.Statement, ...]:
    """Statements inside loops, the ``pragma`` above the innermost one."""
    inner = tuple(body)
    for name, count in reversed(turns):
        end = size(count) if isinstance(count, int) else count
        loop = s.Loop("Int", name, e.Number(0), end, inner)
        inner = (s.Directive(pragma), loop) if pragma else (loop,)
        pragma = ""
    return inner


def remark(text: str) -> tuple[s.Statement, ...]:
    """A comment, unless there is nothing to say, or so much that the name of what is computed says more."""
    return (s.Comment(text),) if text and len(text) <= LONGEST_REMARK else ()
