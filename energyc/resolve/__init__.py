"""From the tree of a spec to the typed network: ``resolve``.

It knows what a spec declares. It neither derives nor classifies, and is handed what data adapters accept.

Imports: ``calculus``, ``diagnostics``, ``functions``, ``ir``, ``settings``, ``sparse``, ``syntax``; libraries:
``numpy``.
"""

from energyc.resolve.network import Network
from energyc.resolve.resolution import Resolved, resolve, resolve_partly

__all__ = ["Network", "Resolved", "resolve", "resolve_partly"]
