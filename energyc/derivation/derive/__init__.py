"""The derivatives of a network as graphs: forces, parameter gradients, adjoints.

It knows every derivative that a rule may need, but not which rule needs which.

Imports: ``calculus``, ``diagnostics``, ``ir``, ``network``.
"""

from collections.abc import Mapping
from dataclasses import replace

from energyc.derivation.derive.blocks import Blocks
from energyc.derivation.derive.derivation import Derivation, Output, Routine, derive
from energyc.derivation.derive.exact_blocks import check_blocks
from energyc.derivation.derive.predictions import NoPredictions, Prediction, predictions
from energyc.derivation.derive.proximal import Corner, Kinks, Norm, Proximal
from energyc.language.network import Network

__all__ = [
    "Blocks",
    "Corner",
    "Derivation",
    "Kinks",
    "NoPredictions",
    "Norm",
    "Output",
    "Prediction",
    "Proximal",
    "Routine",
    "check_blocks",
    "derive",
    "predictions",
    "proximal_of",
]


def proximal_of(network: Network) -> Mapping[str, Proximal]:
    """The kinks of a network that move proximally, of each state that has any."""
    return derive(replace(network, graph=network.graph.fork())).proximal
