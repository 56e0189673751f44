"""The index-notation graph that carries every quantity of a network, from its energy to its updates.

It knows tensors and operators; specs and networks are unknown to it.

Imports: nothing; libraries: ``numpy``, ``scipy``.
"""

from energyc.ir.coefficient import ONE, Coefficient
from energyc.ir.graph import Graph
from energyc.ir.indexing import IndexExpr, Value
from energyc.ir.nodes import (
    Add,
    ArgMax,
    Einsum,
    Function,
    Guard,
    Indicator,
    Input,
    LogSumExp,
    Map,
    Max,
    Node,
    Operand,
    Position,
    Softmax,
    Stop,
    walk,
)

__all__ = [
    "ONE",
    "Add",
    "ArgMax",
    "Coefficient",
    "Einsum",
    "Function",
    "Graph",
    "Guard",
    "IndexExpr",
    "Indicator",
    "Input",
    "LogSumExp",
    "Map",
    "Max",
    "Node",
    "Operand",
    "Position",
    "Softmax",
    "Stop",
    "Value",
    "walk",
]
