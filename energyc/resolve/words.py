"""The words of the language that are no statement words: functions, sets, laws."""

from __future__ import annotations

from energyc.functions import FUNCTIONS

#: Scalar functions of one argument.
SCALAR = tuple(name for name, function in FUNCTIONS.items() if function.nameable)
#: Reductions whose indices go.
REDUCTIONS = ("sum", "mean", "max", "variance", "logsumexp")
#: What is taken over the batch, of which some along an index as well.
OVER_BATCH = ("mean", "median")
STATISTICS = tuple(name for name in OVER_BATCH if name not in REDUCTIONS)
#: What works along its index and keeps it.
NORMALISERS = ("softmax", "layernorm", "rmsnorm", "standardize")
#: Answers compared with integer targets.
SCORES = ("cross_entropy", "correct")
OTHERS = ("where", "frozen", "detach", "grad")
#: Every name that a spec cannot declare.
RESERVED_FUNCTIONS = frozenset((*SCALAR, *REDUCTIONS, *STATISTICS, *NORMALISERS, *SCORES, *OTHERS))
#: What works along an index.
INDEXED = frozenset((*REDUCTIONS, *STATISTICS, *NORMALISERS, *SCORES))

SETS = ("standardized", "sphere", "simplex", "nonnegative")
#: The sets of params, beside a box.
PARAM_SETS = ("nonnegative", "symmetric", "zero_diagonal", "orthogonal", "sphere")
LAWS = {"normal": (0, 1), "uniform": (1, 2), "glorot": (0, 0), "kaiming": (0, 0), "zeros": (0, 0), "ones": (0, 0)}
