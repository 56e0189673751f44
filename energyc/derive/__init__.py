"""What a network owes its rules: forces, parameter gradients, adjoints; each a graph."""

from energyc.derive.derivation import Derivation, Output, Routine, derive

__all__ = ["Derivation", "Output", "Routine", "derive"]
