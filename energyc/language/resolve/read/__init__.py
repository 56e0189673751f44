"""Reading an expression: names, indices and kinds are resolved, dims are found; the result is a ``terms.Term``."""

from energyc.language.resolve.read.expressions import read_real

__all__ = ["read_real"]
