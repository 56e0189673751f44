"""Nodes of the graph written in the notation of a spec: as text, as LaTeX, as MathML.

It knows how a formula reads, not what is reported about it.

Imports: ``expressions``, ``functions``, ``ir``, ``network``, ``syntax``.
"""

from energyc.derivation.notation.contraction import at
from energyc.derivation.notation.formula import Derivative, Formula, Reference, name
from energyc.derivation.notation.notation import Definition, Notation, left_side
from energyc.derivation.notation.of_network import of_network
from energyc.mathematics.expressions import Product, Reduction, Sum

__all__ = [
    "Definition",
    "Derivative",
    "Formula",
    "Notation",
    "Product",
    "Reduction",
    "Reference",
    "Sum",
    "at",
    "left_side",
    "name",
    "of_network",
]
