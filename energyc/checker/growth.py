"""How fast the products of a formula grow with the states, and which of their powers confine the states."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from energyc.checker.algebra import Atom, Poly, Product, lone, moved, seen
from energyc.checker.bounds import Bounds
from energyc.checker.case import require
from energyc.checker.far import STILL, Far, Speed, rest_of, speed_of
from energyc.checker.forms import Forms, is_semidefinite, matrix_of, shifted
from energyc.checker.ranges import NONE, number
from energyc.checker.syntax import NotCovered

#: States, and a power p of a bound C (1 + |z|^p) by the largest of them.
Growth = tuple[frozenset[str], Any]
_STILL: Growth = frozenset(), 0
#: By how much a form is above 0 at least, of vectors of norm 1, if it is called positive.
LEAST = Fraction(1, 10**9)
_LINEAR = ("lcosh", "max", "entry")
#: A logarithm grows by less than any power above 0, such as this one.
SLOW = Fraction(1, 1000)


class Growths:
    """The growth of polynomials by the states in ``moving``; all else is held or bounded."""

    def __init__(self, bounds: Bounds, moving: Collection[str]) -> None:
        self.bounds, self.spec, self.moving = bounds, bounds.spec, moving

    def of(self, poly: Poly) -> Growth:
        """A bound on the absolute value. Raises NotCovered where there is none."""
        parts = [self.of_product(factors) for (_, factors), _ in poly]
        states = frozenset[str]().union(*(states for part in parts for states, _ in part))
        return states, max((sum(power for _, power in part) for part in parts), default=0)

    def of_product(self, factors: Iterable[tuple[Atom, Any]]) -> list[Growth]:
        """The growth of each factor, without shares of sums, such as softmax, which are at most 1."""
        left = dict(factors)
        for atom, exponent in [*left.items()]:
            if atom.name == "power" and exponent == -1 and (share := self.share(atom.args[0], left)) is not None:
                left = {a: e for a, e in left.items() if a != atom and a not in share}
        return [self.of_power(atom, exponent) for atom, exponent in left.items()]

    def share(self, whole: Poly, factors: Mapping[Atom, Any]) -> Collection[Atom] | None:
        """The factors that are one term of a sum of what is nowhere negative, at some of their own indices."""
        if not all(self.is_nonnegative(form[1], value) for form, value in whole):
            return None
        own = frozenset[Atom]().union(*(seen(atom)[0] for atom in factors))
        for (bound, term), _ in whole:
            for chosen in product(*([i for i in own if i.below == index.below] for index in bound)):
                at = moved(Poly([(((), term), 1)]), dict(zip(bound, map(lone, chosen), strict=True)))
                found = next((form[1] for form, _ in at), frozenset()) if len(at) == 1 else frozenset()
                if found and all(factors.get(atom) == exponent for atom, exponent in found):
                    return {atom for atom, _ in found}
        return None

    def of_power(self, atom: Atom, exponent: Any) -> Growth:
        """The growth of a power of an atom. Raises NotCovered where there is none."""
        if exponent > 0 and atom.kind == "element":
            return (frozenset({atom.name}), exponent) if atom.name in self.moving else _STILL
        known = self.bounds.of_atom(atom)
        bounded = known.away if exponent < 0 else known.bounded or atom.name == "sign"
        if known.reads == NONE or bounded:
            return _STILL
        if atom.name == "log" and exponent == 1:
            positive = self.bounds.of_poly(atom.args[0])
            if positive.away and positive.low >= 0:
                states, power = self.of(atom.args[0])
                return states, power * SLOW
            return self.of(Poly((form, 1) for form in self.logarithm(atom.args[0])))
        inner = self.of(atom.args[0]) if exponent > 0 and atom.name in ("power", "exp", *_LINEAR) else None
        if inner is None or (atom.name == "exp" and inner[1] > 0):
            raise NotCovered(f"how fast the function {atom.name} grows")
        return inner[0], inner[1] * exponent

    def logarithm(self, poly: Poly) -> Iterable[Any]:
        """The exponents in a sum of exponentials: the logarithm grows as the largest of them."""
        for (_, factors), value in poly:
            exponentials = [atom for atom, _ in factors if (atom.kind, atom.name) == ("function", "exp")]
            rest = [atom for atom, _ in factors if atom not in exponentials]
            if value <= 0 or not all(atom.kind == "size" or is_condition(atom) for atom in rest):
                raise NotCovered("the logarithm of what is no sum of exponentials")
            yield from (form for atom in exponentials for form, _ in atom.args[0])

    def is_nonnegative(self, factors: Iterable[tuple[Atom, Any]], value: Any) -> bool:
        """Whether a product is nowhere negative."""
        return value > 0 and all(exponent % 2 == 0 or self.bounds.of_atom(atom).low >= 0 for atom, exponent in factors)

    def is_positive(self, factors: Iterable[tuple[Atom, Any]]) -> bool:
        """Whether a product of what no state is in is positive."""
        known = [self.bounds.of_atom(atom) for atom, _ in factors]
        return all(each.positive and each.reads == NONE for each in known)

    def gain(
        self, bound: Collection[Atom], factors: Collection[tuple[Atom, Any]], value: Any
    ) -> tuple[str, Any] | None:
        """z and p of a positive multiple of ``|z|^p``, summed over all elements of z."""
        ends = [factor for factor in factors if factor[0].kind == "element" and factor[0].name in self.moving]
        if len(ends) != 1 or value <= 0 or not self.bounds.is_each(ends[0][0], bound):
            return None
        (state, power), sign = ends[0], (Atom("function", "sign", (lone(ends[0][0]),)), 1)
        rest = [factor for factor in factors if factor not in (ends[0], sign)]
        even = Fraction(power).denominator == 1 and (power + (sign in factors)) % 2 == 0
        known = even or (sign not in factors and self.bounds.of_atom(state).low >= 0)
        return (state.name, Fraction(power)) if power > 0 and known and self.is_positive(rest) else None

    def is_damping(self, bound: Collection[Atom], factors: frozenset[tuple[Atom, Any]], value: Any, name: str) -> bool:
        """Whether a product is a positive multiple of ``z w``, summed over all elements of z, w being its direction."""
        for direction in (atom for atom, _ in factors if atom.name == f"w.{name}"):
            ends = {(direction, 1), (direction._replace(name=name), 1)}
            each = ends <= factors and self.bounds.is_each(direction, bound)
            return value > 0 and each and self.is_positive(factors - ends)
        return False

    def confined(self, poly: Poly) -> dict[str, Any]:
        """The powers of states that outgrow all else. Raises Refused where they do not."""
        gains: dict[str, Any] = {}
        others = []
        for (bound, factors), value in poly:
            if (found := self.gain(bound, factors, value)) is not None:
                gains[found[0]] = max(found[1], gains.get(found[0], 0))
            else:
                others.append((factors, value))
        return self.outgrowing("outgrown", gains, others)

    def outgrowing(self, rule: str, gains: dict[str, Any], others: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        """Powers that outgrow all products that may be negative. Raises Refused for those that do not."""
        for factors, value in others:
            outgrown = self.is_nonnegative(factors, value) or is_outgrown(self.of_product(factors), gains)
            require(outgrown, f"the rule {rule}: no powers of the states outgrow a product")
        return gains

    def weighed(self, poly: Poly) -> dict[str, Any]:
        """The same by the products of two states, which norms show to be positive together; none where they may be 0.

        Raises Refused where they may be negative, or do not outgrow all else.
        """
        forms = Poly(form for form in poly if self.is_form(*form))
        blocks = Forms(self.bounds).blocks(
            Poly(((bound, self.turned(factors)), value) for (bound, factors), value in forms)
        )
        states = sorted({name for pair in blocks for name in pair})
        low = matrix_of(blocks, states, 0)
        definite = bool(states) and is_semidefinite(shifted(low, [-LEAST] * len(states), 1))
        require(definite or is_semidefinite(low), "the rule norms: products of states may be negative")
        gains: dict[str, Any] = dict.fromkeys(states, 2) if definite else {}
        return self.outgrowing("norms", gains, ((factors, value) for (_, factors), value in poly - forms))

    def alone(self, poly: Poly) -> dict[str, Any]:
        """The powers, 1, of states of which each product reads one element at most, and which are driven back far out.

        Raises Refused where on some way out what falls is not outgrown by what rises.
        """
        found: dict[tuple[str, int], dict[Any, Any]] = {}
        for (bound, factors), value in poly:
            own = {element for atom, _ in factors for element in self.elements(atom)}
            if len(own) > 1:
                raise NotCovered("a product of two elements")
            for end, way in ((element, way) for element in own for way in self.ways(element)):
                outer, each = tuple(i for i in bound if lone(i) not in end.args), self.bounds.is_each(end, bound)
                so_far = found.setdefault((end.name, way), {})
                for (inner, grown), much in Far(self.bounds).of(Poly([(((), factors), value)]), end, way):
                    key = speed_of(grown), rest_of(grown), outer + inner, each
                    so_far[key] = so_far.get(key, 0) + much
        for at in ((name, way) for name in self.moving for way in self.ways(Atom("element", name))):
            driven = self.is_driven_back(found.get(at, {}))
            require(driven, f"the rule alone: {at[0]} is not driven back far out")
        return dict.fromkeys(self.moving, 1)

    def is_driven_back(self, products: Mapping[Any, Any]) -> bool:
        """Whether those that rise outgrow each that may fall, or all that are as fast rise together."""
        gains, loads, least = list[Speed](), list[Speed](), dict[Speed, Any]()
        for (speed, rest, bound, each), much in ((key, much) for key, much in products.items() if much):
            low = (number(much) * self.bounds.of_product(bound, rest)).low
            if each and speed > STILL and (low > 0 or (much > 0 and self.is_positive(rest))):
                gains.append(speed)
            elif low < 0:
                loads.append(speed)
            least[speed] = least.get(speed, 0) + (low if each else min(low, 0))
        fastest = max(loads, default=STILL)
        return bool(gains) and (fastest < max(gains) or (fastest == max(gains) and least[fastest] > 0))

    def ways(self, end: Atom) -> list[int]:
        """The ways out of an element: up, down."""
        known = self.bounds.element(end.name)
        return [way for way, limit in ((1, known.high), (-1, -known.low)) if limit == math.inf]

    def elements(self, atom: Atom) -> set[Atom]:
        """The elements of states that move in an atom."""
        inner = (part for poly in atom.args for (_, factors), _ in poly for part, _ in factors)
        return {atom} if self.is_end(atom) else {element for part in inner for element in self.elements(part)}

    def is_form(self, form: Product, _: Any) -> bool:
        """Whether a product has two elements of states that move, or the square of one."""
        return sum(exponent for atom, exponent in form[1] if self.is_end(atom)) == 2

    def is_end(self, atom: Atom) -> bool:
        """Whether an atom is an element of a state that moves."""
        return atom.kind == "element" and atom.name in self.moving

    def turned(self, factors: Iterable[tuple[Atom, Any]]) -> frozenset[tuple[Atom, Any]]:
        """The factors with directions in the place of the states that move."""
        return frozenset((a._replace(name=f"w.{a.name}") if self.is_end(a) else a, e) for a, e in factors)


def is_condition(atom: Atom) -> bool:
    """Whether an atom is 1 or 0, by indices."""
    return atom.kind == "function" and atom.name in ("above", "eq", "le")


def is_outgrown(load: Iterable[Growth], powers: Mapping[str, Any]) -> bool:
    """Whether powers of the states outgrow a product of factors that grow so (Young's inequality)."""
    moving = [(states, power) for states, power in load if power > 0]
    if not all(states <= powers.keys() for states, _ in moving):
        return False
    return sum(power / Fraction(min(powers[state] for state in states)) for states, power in moving) < 1
