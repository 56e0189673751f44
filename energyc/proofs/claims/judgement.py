"""The result of a rule of inference: a verdict, and the proof or the witness behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from energyc.mathematics.ir import Node

if TYPE_CHECKING:
    from energyc.proofs.conservativeness.certified import Symmetries

Word = Literal["proved", "refuted", "undecided"]
#: A proof as a rule tree (docs/certificates.md).
Tree = dict[str, Any]
#: How a node is written in a statement.
Write = Callable[[Node], str]


class Found(NamedTuple):
    """Numbers that the checker finds, from ``low`` to ``high``, for all sizes or at those that are named."""

    low: Fraction | float
    high: Fraction | float
    sizes: Mapping[str, int]

    def __str__(self) -> str:
        """The interval, rounded outward, and the sizes."""
        low, high = (_rounded(end, way) for end, way in ((self.low, ROUND_FLOOR), (self.high, ROUND_CEILING)))
        return f"[{low}, {high}] {at_sizes(self.sizes.items())}".rstrip()


class Kernel(Protocol):
    """The independent checker, asked for what it shows by its own rules alone."""

    @property
    def symmetries(self) -> Symmetries:
        """What it shows of symmetries."""

    def shown(self, kind: str, proof: Step) -> Tree | str:
        """The tree by which a rule shows a statement of a kind, or the reason why it does not."""

    def slope(self, state: str) -> Found | None:
        """The slope of a step of a state by itself, element by element; None where the force jumps or they interact."""


@dataclass(frozen=True)
class Step:
    """A step of a proof: a ``statement``, the ``rule`` by which it follows, and the steps that it rests on.

    The rules are those of docs/claims.md; ``about`` are names in the spec that the statement is about, ``by`` is what
    found the proof, and ``tree`` how the kernel shows it.
    """

    rule: str
    statement: str
    premises: tuple[Step, ...] = ()
    about: tuple[str, ...] = ()
    by: object = field(default=None, compare=False, repr=False)
    tree: Tree | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The step with all that it rests on."""
        entry: dict[str, Any] = {"rule": self.rule, "statement": self.statement}
        return {**entry, "premises": [step.to_json() for step in self.premises]} if self.premises else entry


#: That a step of the spec takes all states closer to one another, by the norms of its Jacobian.
LIPSCHITZ = Step("lipschitz", "states are closer after a step")


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason in words; ``numbers`` are a witness or bounds, ``condition`` is where it is proved."""

    verdict: Word
    because: str
    proof: Step | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    condition: str | None = None


def _rounded(end: Fraction | float, rounding: str) -> str:
    """A number to nine digits, rounded up or down."""
    if math.isinf(end):
        return str(end)
    exact = Fraction(end)
    quotient = Context(prec=9, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{float(quotient):.9g}"


def undecided(because: str) -> Judgement:
    """No rule decides."""
    return Judgement("undecided", because)


def at_sizes(sizes: Iterable[tuple[str, int]]) -> str:
    """For which sizes a witness is, in words."""
    written = ", ".join(f"{dim} = {size}" for dim, size in sizes)
    return f"at {written}" if written else ""
