"""The optimisations that can be switched; none of them changes a result beyond rounding."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Passes:
    """``hoist``: what depends only on clamps and params is computed once a relaxation. ``share``: equal
    subexpressions once a routine. ``inplace``: results are written over temporaries that nothing reads any more.
    ``stack``: products of one tensor with several weights are one product. It is off: on one core of a CPU the larger
    product is not faster at the sizes of any shipped spec, and slower at some (benchmarks/README.md has the figures).
    """

    hoist: bool = True
    share: bool = True
    stack: bool = False
    inplace: bool = True

    @staticmethod
    def plain() -> Passes:
        """Nothing but the correct order."""
        return Passes(hoist=False, share=False, stack=False, inplace=False)

    def __str__(self) -> str:
        on = [f.name for f in fields(self) if getattr(self, f.name)]
        return ", ".join(on) or "none"
