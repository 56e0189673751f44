"""Whether samples settled, the warning where they did not, and why.

Imports: ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.convergence import short_nudges

__all__ = ["short_nudges"]
