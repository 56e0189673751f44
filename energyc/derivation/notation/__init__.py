"""Nodes of the graph written in the notation of a spec: as text, as LaTeX, as MathML.

It knows how a formula reads, not what is reported about it.

Imports: ``functions``, ``ir``, ``network``, ``syntax``.
"""

from energyc.derivation.notation.contraction import at
from energyc.derivation.notation.formula import Bound, Derivative, Formula, Product, Reference, Total, name
from energyc.derivation.notation.notation import Definition, Notation, left_side
from energyc.derivation.notation.of_network import of_network

__all__ = [
    "Bound",
    "Definition",
    "Derivative",
    "Formula",
    "Notation",
    "Product",
    "Reference",
    "Total",
    "at",
    "left_side",
    "name",
    "of_network",
]
