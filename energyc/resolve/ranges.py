"""Whether windows stay in their dims."""

from __future__ import annotations

from energyc.resolve.context import Context
from energyc.resolve.terms import Frame


def check_windows(context: Context, frame: Frame) -> bool:
    """Placeholder."""
    return True
