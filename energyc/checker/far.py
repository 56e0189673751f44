"""What a formula of one element becomes as this goes far out: exponentials, powers and logarithms of its length."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any, NamedTuple

from energyc.checker.algebra import Atom, Poly, function, lone, number, occurs, opened, replaced, summed, times, total
from energyc.checker.bounds import Bounds
from energyc.checker.ranges import NONE
from energyc.checker.syntax import NotCovered

#: The length t of the element, its exponential and its logarithm. Others of the kind ``far`` are ``small NAME``, from 0
#: to 1 and below each power of t in the end, ``near``, which tends to 1, and ``bounded``; each is one function of its
#: arguments, so that what cancels is 0.
LENGTH = Atom("far", "|z|")
GROWING = (Atom("function", "exp", (lone(LENGTH),)), LENGTH, Atom("function", "log", (lone(LENGTH),)))


class Speed(NamedTuple):
    """``exp(rate t) t^power log(t)^logs``; the larger one is the faster."""

    rate: Any = 0
    power: Any = 0
    logs: Any = 0


STILL = Speed()


class Far:
    """Expands formulas as the length of an element grows, all else held; ``bounds`` knows what else is in them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds

    def of(self, poly: Poly, end: Atom, way: int) -> Poly:
        """A polynomial as an element goes up or down. Raises NotCovered."""
        return self.expanded(replaced(poly, {end: lone(LENGTH).scaled(way)}.get))

    def expanded(self, poly: Poly) -> Poly:
        """The same of a polynomial of the length."""
        return total(
            summed(bound, times(self.atom(atom, exponent) for atom, exponent in factors).scaled(value))
            for bound, factors, value in opened(poly)
        )

    def atom(self, atom: Atom, exponent: Any) -> Poly:
        """A power of an atom."""
        if atom in GROWING or atom.kind == "far" or not occurs(LENGTH.name, [(atom, 1)]):
            return lone(atom, exponent)
        if atom.kind == "function" and len(atom.args) == 1:
            inner = self.expanded(atom.args[0])
            if atom.name == "power":
                return self.power(inner, exponent)
            if not any(occurs(LENGTH.name, factors) for (_, factors), _ in inner):
                return self.power(function(atom.name, inner), exponent)
            if (found := self.function(atom.name, inner)) is not None:
                return self.power(found, exponent)
        known = self.bounds.of_atom(atom)
        if not (known.bounded if exponent > 0 else known.away):
            raise NotCovered(f"how fast the function {atom.name} grows")
        return lone(atom, exponent)

    def function(self, name: str, inner: Poly) -> Poly | None:
        """A function of what grows, or the exponential of anything; None of any other."""
        if name == "exp":
            return times(self.exponential(Poly([(form, 1)]), value) for form, value in inner)
        speed, sign, _ = self.lead(inner)
        if name == "log" and sign > 0 and speed != STILL and not speed.logs:
            growth = lone(LENGTH).scaled(speed.rate) + lone(GROWING[2]).scaled(speed.power)
            return growth + lone(Atom("far", "bounded", (inner,)))
        if not sign or speed[:2] <= STILL[:2]:
            return None
        small = lone(Atom("far", f"small {name}", (inner.scaled(sign),)))
        if name in ("tanh", "erf"):
            return (number(1) - small).scaled(sign)
        if name == "lcosh":
            return inner.scaled(Fraction(sign, 2)) + small
        return number(sign) if name == "sign" else number(int(sign > 0)) if name == "above" else None

    def exponential(self, part: Poly, value: Any) -> Poly:
        """The exponential of a multiple of a product."""
        speed, sign, _ = self.lead(part.scaled(value))
        if part == lone(LENGTH) or speed <= STILL:
            return function("exp", part) ** value
        if sign >= 0 or speed[:2] <= STILL[:2]:
            raise NotCovered("how fast the function exp grows")
        return lone(Atom("far", "small exp", (part.scaled(value),)))

    def power(self, poly: Poly, exponent: Any) -> Poly:
        """A power: multiplied out, or that of the fastest products times what tends to 1."""
        single = len(poly) == 1 and not any(bound for (bound, _), _ in poly)
        whole = Fraction(exponent).denominator == 1
        if whole and 0 < exponent <= 2:
            return poly**exponent
        speed, sign, lead = self.lead(poly)
        if exponent < 0 and any(may_fade(factors) for (_, factors), _ in lead):
            raise NotCovered("how fast a power grows")
        if whole and single:
            return poly**exponent
        if sign <= 0:
            raise NotCovered("how fast a power grows")
        near = lone(Atom("far", "near", (poly, number(exponent))))
        grown = (lone(atom, e * Fraction(exponent)) for atom, e in zip(GROWING, speed, strict=True) if e)
        return times([lead**exponent, near, *grown])

    def lead(self, poly: Poly) -> tuple[Speed, int, Poly]:
        """How fast the fastest products of an expansion are, their sign if that is known, and what is before them."""
        groups: dict[Speed, list[Poly]] = {}
        for (bound, factors), value in poly:
            groups.setdefault(speed_of(factors), []).append(Poly([((bound, rest_of(factors)), value)]))
        fastest = max(groups, default=STILL)
        before = total(groups.get(fastest, ()))
        known = self.bounds.of_poly(before)
        sign = known.positive - (-known).positive if known.reads == NONE else 0
        return fastest, sign, before


def speed_of(factors: Collection[tuple[Atom, Any]]) -> Speed:
    """How fast a product grows; one with what is small is bounded unless there is an exponential beside it."""
    powers = dict(factors)
    speed = Speed(*(Fraction(powers.get(atom, 0)) for atom in GROWING))
    small = any(atom.kind == "far" and atom.name.startswith("small") and e > 0 for atom, e in factors)
    return min(speed, STILL) if small and speed.rate <= 0 else speed


def may_fade(factors: Collection[tuple[Atom, Any]]) -> bool:
    """Whether a product may tend to 0 beside its growth, so that one divided by it grows."""
    return any(atom.kind == "far" and atom not in GROWING and atom.name != "near" for atom, _ in factors)


def rest_of(factors: Collection[tuple[Atom, Any]]) -> frozenset[tuple[Atom, Any]]:
    """The factors of a product beside its growth."""
    return frozenset((atom, exponent) for atom, exponent in factors if atom not in GROWING)
