"""The scalar functions of the language, each one entry: all that any pass needs to know of it.

A family of functions is a file. What an entry does not state follows from its formula, an expression over simpler
functions. It knows nothing of graphs, notations and generated modules: what a target writes is a template of text.

Imports: ``expressions``; libraries: ``numpy``, ``scipy``.
"""

from energyc.mathematics.functions.entry import Domain, Form, Homogeneous, ScalarFunction
from energyc.mathematics.functions.table import FUNCTIONS, definitions, scalar_function, written_out
from energyc.mathematics.functions.values import RELATIONS

__all__ = [
    "FUNCTIONS",
    "RELATIONS",
    "Domain",
    "Form",
    "Homogeneous",
    "ScalarFunction",
    "definitions",
    "scalar_function",
    "written_out",
]
