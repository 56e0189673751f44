"""From the tree of a spec to the typed network: ``resolve``."""

from energyc.resolve.network import Network
from energyc.resolve.resolution import resolve

__all__ = ["Network", "resolve"]
