"""The entries of the table of functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from energyc.mathematics.expressions import Constant, Expression, Power, Product

Array = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """How a target writes a function: templates, where ``{u}`` is the argument and ``{atom}`` the same in parentheses.

    ``complex`` is for complex arguments; with ``extends`` the plain text serves for those too. ``binds`` is how tightly
    the text binds. ``definition`` is the helper that the text calls, where it follows from the function's formula.
    """

    target: str
    text: str
    complex: str | None = None
    extends: bool = False
    binds: Literal["atom", "power", "product"] = "atom"
    definition: str = ""

    @property
    def takes_complex(self) -> bool:
        """Whether the target computes the function's analytic continuation."""
        return self.extends or self.complex is not None

    def of(self, argument: str, atom: str) -> str:
        """The text for an argument, which is ``atom`` where it must bind tightly."""
        texts = {"{u}": argument, "{atom}": atom}
        return re.sub(r"\{u\}|\{atom\}", lambda match: texts[match[0]], self.text)


@dataclass(frozen=True)
class Homogeneous:
    """``left * u^degree`` for negative u, ``right * u^degree`` for positive u: degree 1 is a kink, degree 0 a jump."""

    left: Fraction | int
    right: Fraction | int
    degree: int


@dataclass(frozen=True)
class Domain:
    """The positive reals, and 0 if ``zero``; left of 0 there is a gap at least.

    ``rule`` tells a user whose argument is outside.
    """

    zero: bool
    rule: str


def deduced(u: Array) -> Array:
    """Stands for the value of an entry that leaves it to its formula, until the table is made."""
    raise NotImplementedError


#: Stands for what an entry leaves to its formula, until the table is made.
DEDUCED = Expression()


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalarFunction:
    """A function of one real and everything that is known of it.

    The value, the derivative, the LaTeX, the parity and the forms follow from the ``formula``. An entry states one of
    them where that form loses digits, or where the function has no formula.

    ==============  =========================================================================================
    value           in NumPy: stable for every float64, and for a complex argument the analytic continuation
                    of the branch that its real part selects (``relu`` is ``u`` where ``Re u > 0``)
    accurate        whether the relative rounding error of ``value`` is below 1e-13 for every argument
    derivative      in terms of functions of the table
    antiderivative  likewise, None where no closed form is known
    formula         the function by simpler ones: equal in exact arithmetic; a form that is stated does not cancel
    latex           ``{0}`` is the argument
    forms           how a target writes it
    nameable        whether a spec may use it by its name
    yields          whether a spec may declare the name itself, as those may that came late
    derivative_of   the function whose derivative it is written as: ``relu'``, not ``step``
    definition      how a spec would define a function that it cannot name
    description     what messages call such a function
    alternative     the function to use where this one is refused
    low, high       bounds of its values on the real line
    monotone        1 where it never falls, -1 where it never rises, else 0
    lipschitz       bound on its derivative; intervals need it of a function that is not monotone
    parity          1 for ``f(-u) = f(u)``, -1 for ``f(-u) = -f(u)``, else 0
    positive        whether it is above 0 ``everywhere``, or ``right`` of 0
    domain          where it is defined, None for the whole line
    kinks           where it is not differentiable
    analytic        whether it is analytic beside its kinks
    homogeneous     its two sides, where each is a power
    continuous      whether it has no jump
    exponent        of a fixed power
    asymptotes      (c, p) on the left and on the right, where ``f(u) - c u^p`` is bounded there, else None
    ==============  =========================================================================================
    """

    name: str
    value: Callable[[Array], Array] = deduced
    derivative: Expression = DEDUCED
    latex: str = ""
    forms: tuple[Form, ...] = ()
    accurate: bool = True
    antiderivative: Expression | None = None
    formula: Expression | None = None
    nameable: bool = False
    yields: bool = False
    derivative_of: str | None = None
    definition: str | None = None
    description: str | None = None
    alternative: str | None = None
    low: float = -math.inf
    high: float = math.inf
    monotone: int = 0
    lipschitz: float | None = None
    parity: int = 0
    positive: Literal["everywhere", "right"] | None = None
    domain: Domain | None = None
    kinks: tuple[float, ...] = ()
    analytic: bool = True
    homogeneous: Homogeneous | None = None
    continuous: bool = True
    exponent: Fraction | None = None
    asymptotes: tuple[tuple[Fraction | int, int], tuple[Fraction | int, int]] | None = None

    @property
    def holomorphic(self) -> bool:
        """Whether it is analytic in a neighbourhood of its real domain."""
        return self.analytic and not self.kinks

    @property
    def strictly_monotone(self) -> bool:
        """Whether it always rises, or always falls: what is analytic and constant somewhere is constant."""
        return bool(self.monotone) and self.holomorphic and self.homogeneous is None

    @property
    def spelling(self) -> tuple[str, int]:
        """The name that formulas write it with, and the number of primes after it."""
        return (self.derivative_of, 1) if self.derivative_of else (self.name, 0)

    @property
    def text(self) -> str:
        """The name with its primes: ``relu'`` for ``step``."""
        name, primes = self.spelling
        return name + "'" * primes

    @property
    def rational_formula(self) -> Expression | None:
        """The formula where its coefficients are exact, so that a graph can hold it."""
        irrational = self.formula is None or any(map(_is_irrational, self.formula.walk()))
        return None if irrational else self.formula

    def is_written_in(self, target: str) -> bool:
        """Whether a target can write the function: by a form of its own, or by the formula."""
        return self.formula is not None or any(form.target == target for form in self.forms)

    def form(self, target: str) -> Form:
        """How a target writes the function. Raises NotImplementedError for a target that does not."""
        for form in self.forms:
            if form.target == target:
                return form
        raise NotImplementedError(f"{self.name} has no form for the target {target}")


def _is_irrational(part: Expression) -> bool:
    """Whether a part is a constant with a name, or a root of a number."""
    root = isinstance(part, Power) and part.exponent.denominator > 1 and isinstance(part.base, Product)
    return isinstance(part, Constant) or (root and part.base.is_number)  # type: ignore[attr-defined]
