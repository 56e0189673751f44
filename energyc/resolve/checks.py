"""What is true of a network as a whole."""

from __future__ import annotations

from energyc.resolve.bindings import Bindings
from energyc.resolve.context import Context
from energyc.resolve.equations import Equations
from energyc.resolve.network import Network


def check_network(context: Context, equations: Equations, bindings: Bindings, network: Network) -> None:
    """Placeholder."""
