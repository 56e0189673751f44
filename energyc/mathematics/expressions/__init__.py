"""Expressions of real numbers: one tree for the definitions of functions, formulas to print and the bodies of loops.

Nodes are sums, products, powers, calls, selections and reductions; the leaves are those of whoever uses it. A
:class:`Traverser` computes something of a tree by a rule for each kind of node.

Imports: nothing.
"""

from energyc.mathematics.expressions.evaluation import Evaluation
from energyc.mathematics.expressions.nodes import (
    PI,
    ZERO,
    Argument,
    Call,
    Clip,
    Comparison,
    Constant,
    Expression,
    IndexValue,
    Power,
    Product,
    Reduction,
    Sum,
    U,
    Where,
    call,
    expression,
    split,
    where,
)
from energyc.mathematics.expressions.traverser import NoRule, Rewriter, Traverser, rule

__all__ = [
    "PI",
    "ZERO",
    "Argument",
    "Call",
    "Clip",
    "Comparison",
    "Constant",
    "Evaluation",
    "Expression",
    "IndexValue",
    "NoRule",
    "Power",
    "Product",
    "Reduction",
    "Rewriter",
    "Sum",
    "Traverser",
    "U",
    "Where",
    "call",
    "expression",
    "rule",
    "split",
    "where",
]
