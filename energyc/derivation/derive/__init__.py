"""The derivatives of a network as graphs: forces, parameter gradients, adjoints.

It knows every derivative that a rule may need, but not which rule needs which.

Imports: ``calculus``, ``ir``, ``network``.
"""

from energyc.derivation.derive.derivation import Derivation, Output, Routine, derive
from energyc.derivation.derive.predictions import NoPredictions, Prediction, predictions

__all__ = ["Derivation", "NoPredictions", "Output", "Prediction", "Routine", "derive", "predictions"]
