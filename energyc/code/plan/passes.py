"""The optimisations that can be switched on and off; none changes a result beyond rounding."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Passes:
    """The passes of a plan.

    ``hoist`` computes what depends only on clamps and params once per relaxation. ``separate`` writes tables of sums
    over several indices, and their sines and cosines, as products over fewer, where that costs less. ``segments`` keeps
    what a guard as ``dst[e] == n`` lets through by e, so that no table of n by e is made.
    """

    hoist: bool = True
    separate: bool = True
    segments: bool = True

    @staticmethod
    def plain() -> Passes:
        """No optimisation, only the correct order."""
        return Passes(hoist=False, separate=False, segments=False)

    def __str__(self) -> str:
        on = [f.name for f in fields(self) if getattr(self, f.name)]
        return ", ".join(on) or "none"
