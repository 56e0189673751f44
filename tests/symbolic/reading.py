"""Formulas for all sizes read as numbers: sums are run, names looked up, as somebody with a notebook would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import mpmath
import numpy as np
import sympy
from sympy import Basic, Expr, Symbol

from energyc.studies.symbolic.held import HELD
from tests.symbolic.numbers import OPERATIONS

#: Of one sample, the statistics of a batch are what they are of.
HELD_NAMES = frozenset(kind.__name__ for kind in HELD.values())


class Reader:
    """Evaluates expressions in which dims, consts and inputs have values; ``tensors`` are by their labels."""

    def __init__(self, numbers: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        self.numbers = dict(numbers)
        self.tensors = dict(tensors)

    def define(self, definitions: Mapping[Expr, Expr], sizes: Mapping[str, int]) -> None:
        """Compute what names stand for, in their order."""
        for left, right in definitions.items():
            indices, shape = (left.indices, left.base.shape) if isinstance(left, sympy.Indexed) else ((), ())
            label = left.base.label.name if isinstance(left, sympy.Indexed) else left.name
            self.tensors[label] = self.tensor(right, indices, [sizes[dim.name] for dim in shape])

    def tensor(self, expr: Expr, indices: tuple[Symbol, ...], shape: list[int]) -> np.ndarray:
        """Every entry of an expression with free indices."""
        array = np.empty(shape, dtype=object)
        for places in product(*map(range, shape)):
            array[places] = self(expr, dict(zip(indices, places, strict=True)))
        return array

    def __call__(self, expr: Any, at: Mapping[Basic, int]) -> Any:
        """The value of an expression, where indices stand somewhere."""
        match expr:
            case Symbol():
                return at[expr] if expr in at else self._named(expr.name)
            case sympy.Rational():
                return int(expr) if expr.q == 1 else mpmath.mpf(expr.p) / expr.q
            case sympy.NumberSymbol():
                return expr.evalf(30)._to_mpmath(120)
            case sympy.Indexed():
                return self.tensors[expr.base.label.name][tuple(int(self(i, at)) for i in expr.indices)]
            case sympy.Sum():
                return mpmath.fsum(self._bodies(expr, at))
            case sympy.Product():
                return mpmath.fprod(self._bodies(expr, at))
        if expr.func.__name__ in HELD_NAMES:  # a class of the file's own
            return self(expr.args[0], at)
        return OPERATIONS[type(expr)](*(self(arg, at) for arg in expr.args))

    def _named(self, name: str) -> Any:
        return self.numbers[name] if name in self.numbers else self.tensors[name].item()

    def _bodies(self, expr: Any, at: Mapping[Basic, int]) -> Iterator[Any]:
        indices = [limit[0] for limit in expr.limits]
        ranges = [range(int(self(limit[1], at)), int(self(limit[2], at)) + 1) for limit in expr.limits]
        for places in product(*ranges):
            yield self(expr.function, {**at, **dict(zip(indices, places, strict=True))})
