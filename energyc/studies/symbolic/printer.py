"""SymPy expressions as Python text that makes them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy import Expr, Integer, Rational, Symbol
from sympy.core.function import Application
from sympy.printing.str import StrPrinter

from energyc.studies.symbolic.held import HELD

#: The functions of a file's own.
OWN = frozenset(kind.__name__ for kind in HELD.values())
#: Every name of SymPy that a file may import.
IMPORTABLE = frozenset(
    "Abs Expr Function Heaviside IndexedBase Integer KroneckerDelta Max Mod Product Rational Sum Symbol "
    "cos erf exp floor log pi polylog sign sin sqrt tanh".split()
)


class Printer(StrPrinter):  # type: ignore[misc]
    """SymPy's printer, with the identifiers of a file for symbols, and without quotients of Python's own integers.

    ``used`` collects the names of SymPy and of the file's own functions that the text reads.
    """

    def __init__(self, identifiers: Mapping[Symbol, str], used: set[str]) -> None:
        super().__init__()
        self.identifiers = identifiers
        self.used = used

    def value(self, expr: Expr) -> str:
        """An expression that stands by itself: a number is one of SymPy, not of Python."""
        text: str = self.doprint(expr)
        return f"{self._use('Integer')}({text})" if isinstance(expr, Integer) else text

    def _use(self, name: str) -> str:
        if name not in IMPORTABLE | OWN:
            raise NotImplementedError(f"no Python text for {name}")
        self.used.add(name)
        return name

    def _print(self, expr: Any, **settings: Any) -> str:
        if isinstance(expr, sympy.Sum | sympy.Product | Application):
            self._use(type(expr).__name__)
        return super()._print(expr, **settings)

    def _print_Symbol(self, expr: Symbol) -> str:
        return self.identifiers[expr]

    def _print_Rational(self, expr: Rational) -> str:
        return str(expr.p) if expr.q == 1 else f"{self._use('Rational')}({expr.p}, {expr.q})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if abs(expr.exp) == sympy.S.Half:
            self._use("sqrt")
        return super()._print_Pow(expr, rational)

    def _print_Pi(self, expr: Any) -> str:
        return self._use("pi")

    def _print_Exp1(self, expr: Any) -> str:
        return f"{self._use('exp')}(1)"
