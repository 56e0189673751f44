"""Derivatives on the graph: forward mode, reverse mode, derivatives and antiderivatives of scalar functions.

It knows nodes; whether one is an energy, a force or a cost is not its concern.

Imports: ``functions``, ``ir``.
"""

from energyc.calculus.adjoint import adjoint, gradient
from energyc.calculus.dependence import DoesNotOccur, depends, is_cut, reached
from energyc.calculus.difference import difference
from energyc.calculus.linear import Linear, linear_in, moving
from energyc.calculus.scalar import antiderivative, derivative
from energyc.calculus.substitute import lift, substitute
from energyc.calculus.tangent import tangent

__all__ = [
    "DoesNotOccur",
    "Linear",
    "adjoint",
    "antiderivative",
    "depends",
    "derivative",
    "difference",
    "gradient",
    "is_cut",
    "lift",
    "linear_in",
    "moving",
    "reached",
    "substitute",
    "tangent",
]
