"""What an entry of the table holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray

from energyc.mathematics.functions.expression import Expression, Real

Array = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """How a target writes a function: templates, where ``{u}`` is the argument and ``{atom}`` the same in parentheses.

    ``in_place`` overwrites the argument. ``complex`` is for complex arguments; with ``extends`` the plain text serves
    for those too. ``binds`` is how tightly the text binds.
    """

    target: str
    text: str
    in_place: str | None = None
    complex: str | None = None
    extends: bool = False
    binds: Literal["atom", "power", "product"] = "atom"

    @property
    def takes_complex(self) -> bool:
        """Whether the target computes the function's analytic continuation."""
        return self.extends or self.complex is not None


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


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalarFunction:
    """A function of one real and everything that is known of it.

    ==============  =========================================================================================
    value           in NumPy: stable for every float64, and for a complex argument the analytic continuation
                    of the branch that its real part selects (``relu`` is ``u`` where ``Re u > 0``)
    accurate        whether the relative rounding error of ``value`` is below 1e-13 for every argument
    derivative      in terms of functions of the table
    antiderivative  likewise, None where no closed form is known
    formula         the function by simpler ones: equal in exact arithmetic, it may cancel in floats
    latex           ``{0}`` is the argument
    forms           how each target writes it
    nameable        whether a spec may use it by its name
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
    homogeneous     its two sides, where each is a power
    continuous      whether it has no jump
    exponent        of a fixed power
    ==============  =========================================================================================
    """

    name: str
    value: Callable[[Array], Array]
    derivative: Expression
    latex: str
    forms: tuple[Form, ...]
    accurate: bool = True
    antiderivative: Expression | None = None
    formula: Expression | None = None
    nameable: bool = False
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
    homogeneous: Homogeneous | None = None
    continuous: bool = True
    exponent: Fraction | None = None

    @property
    def holomorphic(self) -> bool:
        """Whether it is analytic in a neighbourhood of its real domain, as every function without kinks is."""
        return not self.kinks

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
        irrational = self.formula is None or any(isinstance(part, Real) for part in self.formula.walk())
        return None if irrational else self.formula

    def form(self, target: str) -> Form:
        """How a target writes the function. Raises NotImplementedError for a target that does not."""
        for form in self.forms:
            if form.target == target:
                return form
        raise NotImplementedError(f"{self.name} has no form for the target {target}")
