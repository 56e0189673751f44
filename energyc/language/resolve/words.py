"""The words of the language that are not statement words: functions, sets, laws."""

from __future__ import annotations

import math

from energyc.mathematics.functions import FUNCTIONS

#: Scalar functions of one argument.
SCALAR = tuple(name for name, function in FUNCTIONS.items() if function.nameable)
#: Reductions whose indices go.
REDUCTIONS = ("sum", "mean", "max", "min", "variance", "logsumexp")
#: Reductions that without a bracket take the values themselves: ``max(a, b)``.
OF_VALUES = ("max", "min")
#: What is taken over the batch, of which some along an index as well.
OVER_BATCH = ("mean", "median")
STATISTICS = tuple(name for name in OVER_BATCH if name not in REDUCTIONS)
#: What works along its index and keeps it.
NORMALISERS = ("softmax", "layernorm", "rmsnorm", "standardize")
#: Answers compared with integer targets.
SCORES = ("cross_entropy", "correct")
#: Functions made of straight lines between bounds.
BOUNDED = ("clip", "leaky_relu")
OTHERS = ("where", "frozen", "detach", "grad")
#: Every function of the language.
LANGUAGE_FUNCTIONS = frozenset((*SCALAR, *REDUCTIONS, *STATISTICS, *NORMALISERS, *SCORES, *BOUNDED, *OTHERS))
#: Those that a spec may declare itself, as many did before the language had them; its declaration takes their place.
YIELDING = frozenset({"min", *(name for name in SCALAR if FUNCTIONS[name].yields), *BOUNDED})
#: Those that a spec cannot declare.
RESERVED_FUNCTIONS = LANGUAGE_FUNCTIONS - YIELDING
#: Consts of the language, unless a spec declares the name.
CONSTANTS = {"pi": math.pi}
#: What works along an index.
INDEXED = frozenset((*REDUCTIONS, *STATISTICS, *NORMALISERS, *SCORES))

#: The sets of states, of params, and all of them, beside a box.
STATE_SETS = ("standardized", "sphere", "simplex", "nonnegative")
PARAM_SETS = ("nonnegative", "symmetric", "zero_diagonal", "orthogonal", "sphere", "norm")
SETS = tuple(dict.fromkeys((*STATE_SETS, *PARAM_SETS)))
LAWS = {"normal": (0, 1), "uniform": (1, 2), "glorot": (0, 0), "kaiming": (0, 0), "zeros": (0, 0), "ones": (0, 0)}
