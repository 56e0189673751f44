"""The derivatives of a network as graphs: forces, parameter gradients, adjoints.

It knows every derivative that a rule may need, but not which rule needs which.

Imports: ``calculus``, ``ir``, ``resolve``.
"""

from energyc.derive.derivation import Derivation, Output, Routine, derive

__all__ = ["Derivation", "Output", "Routine", "derive"]
