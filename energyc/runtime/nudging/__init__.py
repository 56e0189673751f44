"""Nudged and clamped phases, their contrast, and how strong a nudge is.

Imports: ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.nudging import pairs, snapshots, strength

__all__ = ["pairs", "snapshots", "strength"]
