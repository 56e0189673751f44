"""A typed network: what ``resolve`` gives and every later pass reads.

Imports: ``diagnostics``, ``ir``, ``settings``, ``syntax``.
"""

from energyc.language.network.network import (
    Binding,
    Const,
    ConstraintSet,
    DataInput,
    Layer,
    Meeting,
    Network,
    Noise,
    Param,
    Quantity,
    Repeat,
    Size,
    Slope,
    StartLaw,
    State,
    Stream,
    Structure,
    Term,
    Tie,
    Way,
    index_names,
)

__all__ = [
    "Binding",
    "Const",
    "ConstraintSet",
    "DataInput",
    "Layer",
    "Meeting",
    "Network",
    "Noise",
    "Param",
    "Quantity",
    "Repeat",
    "Size",
    "Slope",
    "StartLaw",
    "State",
    "Stream",
    "Structure",
    "Term",
    "Tie",
    "Way",
    "index_names",
]
