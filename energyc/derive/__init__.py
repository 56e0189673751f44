"""The derivatives of a network as graphs: forces, parameter gradients, adjoints.

It knows every derivative that a rule may need, but not which rule needs which.

Imports: ``calculus``, ``ir``, ``resolve``.
"""

from energyc.derive.derivation import Derivation, Output, Routine, derive
from energyc.derive.predictions import NoPredictions, Prediction, predictions

__all__ = ["Derivation", "NoPredictions", "Output", "Prediction", "Routine", "derive", "predictions"]
