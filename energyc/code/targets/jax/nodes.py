"""The writer of nodes as expressions of JAX."""

from __future__ import annotations

from typing import ClassVar

from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.jax.code import JaxCode
from energyc.code.targets.jax.functions import form
from energyc.mathematics.functions import Form, ScalarFunction


class JaxWriter(ArrayWriter):
    """Writes nodes as expressions of JAX of what is already named."""

    kind: ClassVar[type[Code]] = JaxCode

    def form(self, function: ScalarFunction) -> Form:
        """How JAX writes a function."""
        return form(function)
