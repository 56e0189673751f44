"""From the tree of a spec to the typed network: ``resolve``.

It knows what a spec declares. It neither derives nor classifies, and is handed what data adapters accept.

Imports: ``calculus``, ``diagnostics``, ``functions``, ``ir``, ``network``, ``settings``, ``sparse``, ``syntax``;
libraries: ``numpy``.
"""

from energyc.language.resolve.resolution import Resolved, resolve, resolve_partly

__all__ = ["Resolved", "resolve", "resolve_partly"]
