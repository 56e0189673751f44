"""Scalar functions: the forms of the table applied to an argument."""

from __future__ import annotations

from energyc.code.targets.arrays.code import Code
from energyc.code.tree.quotation import quote


def apply(form: str, u: Code) -> Code:
    """A function's form, as :class:`energyc.mathematics.functions.Form` has it, for an argument."""
    return type(u)(quote(form, u=u.expr, atom=u.expr), fresh=True)
