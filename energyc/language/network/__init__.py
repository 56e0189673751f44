"""A typed network: what ``resolve`` gives and every later pass reads.

Imports: ``diagnostics``, ``ir``, ``settings``, ``syntax``.
"""

from energyc.language.network.declarations import (
    Binding,
    Const,
    ConstraintSet,
    DataInput,
    Noise,
    Param,
    Size,
    StartLaw,
    State,
    Structure,
    Tie,
)
from energyc.language.network.equations import ContinuityCondition, Quantity, RealSelection, Slope, Term
from energyc.language.network.network import Layer, Network, Repeat, Stream, index_names, under_linear_cost

__all__ = [
    "Binding",
    "Const",
    "ConstraintSet",
    "ContinuityCondition",
    "DataInput",
    "Layer",
    "Network",
    "Noise",
    "Param",
    "Quantity",
    "RealSelection",
    "Repeat",
    "Size",
    "Slope",
    "StartLaw",
    "State",
    "Stream",
    "Structure",
    "Term",
    "Tie",
    "index_names",
    "under_linear_cost",
]
