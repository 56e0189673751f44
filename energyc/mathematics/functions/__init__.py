"""The scalar functions of the language, each one entry: all that any pass needs to know of it.

A family of functions is a file. It knows nothing of graphs, notations and generated modules: a derivative is
an :class:`Expression`, and what a target writes is a template of text.

Imports: nothing; libraries: ``numpy``, ``scipy``.
"""

from energyc.mathematics.functions.entry import Domain, Form, Homogeneous, ScalarFunction
from energyc.mathematics.functions.expression import Argument, Call, Expression, Power, Product, Real, Sum
from energyc.mathematics.functions.table import FUNCTIONS, scalar_function

__all__ = [
    "FUNCTIONS",
    "Argument",
    "Call",
    "Domain",
    "Expression",
    "Form",
    "Homogeneous",
    "Power",
    "Product",
    "Real",
    "ScalarFunction",
    "Sum",
    "scalar_function",
]
