"""Derivatives on the graph: forward mode, reverse mode, of scalar functions; integrals of these; monomials,
dependence and signs of nodes.

It knows nodes; whether one is an energy, a force or a cost is not its concern.

Imports: ``expressions``, ``ir``.
"""

from energyc.mathematics.calculus.adjoint import adjoint, gradient
from energyc.mathematics.calculus.dependence import DoesNotOccur, depends, is_cut, reached, readers
from energyc.mathematics.calculus.difference import difference
from energyc.mathematics.calculus.integral import integral
from energyc.mathematics.calculus.linear import Linear, linear_in, moving
from energyc.mathematics.calculus.monomials import Monomial, monomials
from energyc.mathematics.calculus.scalar import antiderivative, derivative
from energyc.mathematics.calculus.signs import Bounds, Signs
from energyc.mathematics.calculus.substitute import lift, substitute
from energyc.mathematics.calculus.tangent import tangent

__all__ = [
    "Bounds",
    "DoesNotOccur",
    "Linear",
    "Monomial",
    "Signs",
    "adjoint",
    "antiderivative",
    "depends",
    "derivative",
    "difference",
    "gradient",
    "integral",
    "is_cut",
    "lift",
    "linear_in",
    "monomials",
    "moving",
    "reached",
    "readers",
    "substitute",
    "tangent",
]
