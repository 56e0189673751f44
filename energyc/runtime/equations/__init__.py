"""The equations of one network as a generated module states them, and a user's inputs and results.

The base class of equations; the records that the rooms pass to each other; the inputs of a user, checked; the averages
that make gradients of what a rule measured. Parts that a setting chooses are registered in ``parts``.

Imports: ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.equations import families, noise, penalties

__all__ = ["families", "noise", "penalties"]
