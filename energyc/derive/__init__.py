"""What a network owes its rules: forces, parameter gradients, adjoints; each a graph.

It knows every derivative that a rule may need, not which rule needs which.

Imports: ``calculus``, ``ir``, ``resolve``.
"""

from energyc.derive.derivation import Derivation, Output, Routine, derive

__all__ = ["Derivation", "Output", "Routine", "derive"]
