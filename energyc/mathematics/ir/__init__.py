"""The index-notation graph that carries every quantity of a network, from its energy to its updates.

It knows tensors and operators; specs and networks are unknown to it.

Imports: ``expressions``, ``functions``; libraries: ``numpy``.
"""

from energyc.mathematics.expressions import NoRule
from energyc.mathematics.ir.coefficient import ONE, Coefficient, nearest
from energyc.mathematics.ir.graph import Graph
from energyc.mathematics.ir.indexing import IndexExpr, Value
from energyc.mathematics.ir.node import TRUTHS, Facts, Input, Node, walk
from energyc.mathematics.ir.nodes import (
    Add,
    ArgMax,
    BatchStatistic,
    Einsum,
    Function,
    Guard,
    Indicator,
    LogSumExp,
    Map,
    Max,
    Operand,
    Position,
    Reduction,
    Softmax,
    Stop,
    is_mask,
)

__all__ = [
    "ONE",
    "TRUTHS",
    "Add",
    "ArgMax",
    "BatchStatistic",
    "Coefficient",
    "Einsum",
    "Facts",
    "Function",
    "Graph",
    "Guard",
    "IndexExpr",
    "Indicator",
    "Input",
    "LogSumExp",
    "Map",
    "Max",
    "NoRule",
    "Node",
    "Operand",
    "Position",
    "Reduction",
    "Softmax",
    "Stop",
    "Value",
    "is_mask",
    "nearest",
    "walk",
]
