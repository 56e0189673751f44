"""Derivatives on the graph: forward mode, reverse mode, derivatives and antiderivatives of scalar functions.

It knows nodes; whether one is an energy, a force or a cost is not its concern.

Imports: ``expressions``, ``ir``.
"""

from energyc.mathematics.calculus.adjoint import adjoint, gradient
from energyc.mathematics.calculus.dependence import DoesNotOccur, depends, is_cut, reached, readers
from energyc.mathematics.calculus.difference import difference
from energyc.mathematics.calculus.linear import Linear, linear_in, moving
from energyc.mathematics.calculus.scalar import antiderivative, derivative
from energyc.mathematics.calculus.substitute import lift, substitute
from energyc.mathematics.calculus.tangent import tangent

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
    "readers",
    "substitute",
    "tangent",
]
