"""The optimisations that can be switched; none of them changes a result beyond rounding."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Passes:
    """``hoist``: what depends only on clamps and params is computed once a relaxation. ``share``: equal
    subexpressions once a routine. ``stack``: products of one tensor with several weights are one product.
    ``inplace``: results are written over temporaries that nothing reads any more.
    """

    hoist: bool = True
    share: bool = True
    stack: bool = True
    inplace: bool = True

    @staticmethod
    def plain() -> Passes:
        """Nothing but the correct order."""
        return Passes(hoist=False, share=False, stack=False, inplace=False)

    def __str__(self) -> str:
        on = [f.name for f in fields(self) if getattr(self, f.name)]
        return ", ".join(on) or "none"
