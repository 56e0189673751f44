"""From the tree of a spec to the typed network: ``resolve``.

It knows what a spec declares. It classifies nothing, differentiates for warnings alone, and is handed what data
adapters accept.

Imports: ``calculus``, ``diagnostics``, ``expressions``, ``functions``, ``ir``, ``network``, ``settings``, ``sparse``,
``syntax``; libraries: ``numpy``.
"""

from energyc.language.resolve.references import Declaration, References
from energyc.language.resolve.resolution import Resolved, resolve, resolve_partly
from energyc.language.resolve.untrained import BY_RULE, untrained_by

__all__ = ["BY_RULE", "Declaration", "References", "Resolved", "resolve", "resolve_partly", "untrained_by"]
