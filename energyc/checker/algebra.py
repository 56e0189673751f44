"""Sums of products of powers of atoms in one form: equal forms are equal functions wherever all has a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain, groupby, permutations
from itertools import product as choices
from math import factorial, gcd, inf, isqrt, lcm, prod
from operator import mul
from typing import Any, NamedTuple

from energyc.checker.ranges import root
from energyc.checker.syntax import NotCovered


class Pole(NotCovered):
    """A power or the logarithm of 0."""


class TooLong(NotCovered):
    """A case that takes more steps than it may."""


class Atom(NamedTuple):
    """What is not multiplied out: an ``index``, an ``element``, a ``size``, ``pi``, or a ``function`` of ``args``.

    One with ``below`` is a whole number from 0 to below the size of this dim.
    """

    kind: str
    name: str
    args: tuple[Poly, ...] = ()
    below: str = ""


#: Its bound indices, and its atoms with their exponents.
Product = tuple[tuple[Atom, ...], frozenset[tuple[Atom, Any]]]
_KINKS = ("sign", "max", "entry", "first")
_EVEN, _ODD, _CONDITIONS = ("cos", "lcosh", "impulse"), ("sin", "sign", "tanh", "erf"), ("eq", "le", "training")
#: The most orders of indices that look alike, terms of a product, and of a case new indices, and products with their
#: factors; the largest exponent; the most bits of a number; and the most signs by which cases are told apart.
ORDERS, TERMS, INDICES, FACTORS, EXPONENT, BITS, CASES = 720, 1_000, 10_000, 300_000, 1000, 20_000, 4
_named_so_far, _most_names, _factors_left = [0], [inf], [inf]


class Poly(frozenset[tuple[Product, Any]]):
    """A sum of products with coefficients."""

    def __new__(cls, terms: Iterable[tuple[Product, Any]]) -> Poly:
        found: dict[Product, Any] = {}
        for form, value in terms:
            found[form] = found.get(form, 0) + value
        return super().__new__(cls, (item for item in found.items() if _is_kept(item[1])))

    def __add__(self, other: Poly) -> Poly:
        return Poly(chain(self, other))

    def __neg__(self) -> Poly:
        return self.scaled(-1)

    def __sub__(self, other: Poly) -> Poly:  # type: ignore[override]
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        for one, rest in ((self, other), (other, self)):
            if (value := one.constant()) is not None:
                return rest.scaled(value)
        if len(self) * len(other) > TERMS:
            raise NotCovered("a product of too many terms")
        pairs = choices([*opened(self)], [*opened(other)])
        return total(product(i + j, chain(f, g), x * y) for (i, f, x), (j, g, y) in pairs)

    def __pow__(self, exponent: Any) -> Poly:
        """A small whole one is multiplied out; any other is one of each factor of a product, or left as an atom."""
        if exponent == 1:
            return self
        exponent = Fraction(exponent)
        whole = exponent.denominator == 1
        if whole and 0 <= exponent <= 6:
            return times([self] * int(exponent))
        if not self:
            raise Pole("a power of 0")
        if abs(exponent) * max(map(_bits, (value for _, value in self))) > BITS:
            raise NotCovered("a very large number")
        factor, root = Fraction(1), 1 if whole else exponent.denominator
        content = self.content() if whole else abs(self.content())
        base = Fraction(isqrt(content.numerator), isqrt(content.denominator)) if root == 2 else content
        if base**root == content:
            factor, self = base ** int(exponent * root), self.scaled(1 / content)
        ((bound, factors), one), *others = self
        positive = all(atom.kind in ("size", "pi") or atom.name == "exp" for atom, _ in factors)
        positive = one == 1 and (positive or [exponent for _, exponent in factors] == [1])
        if others or bound or not (whole or positive):
            factors = frozenset({(Atom("function", "power", (self,)), 1)})
        return product((), [(atom, e * exponent) for atom, e in factors], factor)

    def scaled(self, by: Any) -> Poly:
        """A multiple."""
        return self if by == 1 else Poly((form, value * by) for form, value in self)

    def content(self) -> Fraction:
        """The common factor of all coefficients, with the sign of one."""
        values = [Fraction(value) for _, value in self]
        factor = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
        return factor if min(self, key=lambda term: hash(term[0]))[1] > 0 else -factor

    def constant(self) -> Fraction | None:
        """The value of one without atoms; None of any other."""
        ((_, factors), value), *others = self or [(((), ()), 0)]
        return None if factors or others else Fraction(value)

    def is_whole(self) -> bool:
        """Whether it is a whole number at all indices."""
        factors = [factor for (_, factors), _ in self for factor in factors]
        products = all(not form[0] and Fraction(value).denominator == 1 for form, value in self)
        return products and all((atom.below or atom.kind == "size") and e > 0 for atom, e in factors)


def _bits(value: Any) -> int:
    """How long a number is."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _is_kept(value: Any) -> bool:
    """Whether a coefficient is not 0. Raises NotCovered for a very large one."""
    if _bits(value) > BITS:
        raise NotCovered("a very large number")
    return bool(value)


def number(value: Any) -> Poly:
    """A constant."""
    return Poly([(((), frozenset()), value)])


def lone(atom: Atom, exponent: Any = 1) -> Poly:
    """A power of an atom, as it is."""
    return Poly([(((), frozenset({(atom, exponent)})), 1)])


def total(polys: Iterable[Poly]) -> Poly:
    """The sum of all."""
    return Poly(chain.from_iterable(polys))


def times(polys: Iterable[Poly]) -> Poly:
    """The product of all."""
    found = list(polys)
    return reduce(mul, found) if found else number(1)


def within(place: Poly, dim: str) -> Poly:
    """1 where a place is in a dim, else 0."""
    return times(function("le", gap) for gap in _gaps(place, dim))


def _gaps(place: Poly, dim: str) -> tuple[Poly, Poly]:
    """What is not above 0 where a place is in a dim."""
    return -place, place + number(1) - lone(Atom("size", dim))


def function(name: str, argument: Poly) -> Poly:
    """A function, or whether the argument is ``eq`` to 0 or ``le``: a constant is decided, a sign leaves."""
    value = argument.constant()
    if name == "power" or (name == "held" and value is not None):
        return argument
    if name in ("eq", "le") and value is not None:
        return number(int(value == 0 or (value < 0 and name == "le")))
    atoms = [atom for (_, factors), _ in argument for atom, _ in factors]
    if name == "le" and any(argument in _gaps(lone(atom), atom.below) for atom in atoms if atom.below):
        return number(1)
    if name == "le" and _is_never_above(argument):
        return number(1)
    if name == "eq" and _is_never_0(argument):
        return number(0)
    if name == "le" and _is_turned(argument):
        return number(1) - function("le", number(1) - argument)
    if name == "exp":
        return times(_exponential(form) ** value for form, value in argument)
    if value == 0 and name == "log":
        raise Pole("the logarithm of 0")
    if value == 0 and name in (*_ODD, "cos"):
        return number(int(name == "cos"))
    content = argument.content() if argument and name in (*_EVEN, *_ODD, "eq") else Fraction(1)
    argument = argument.scaled(1 / content if name in ("sign", "eq", "impulse") else content / abs(content))
    if name == "impulse":
        return lone(Atom("function", name, (argument,))).scaled(1 / abs(content))
    if name == "sign" and argument.is_whole():
        return (function("le", -argument) - function("le", argument)).scaled(content / abs(content))
    return lone(Atom("function", name, (argument,))).scaled(-1 if content < 0 and name in _ODD else 1)


def _exponential(form: Product) -> Poly:
    """The exponential of a product; of a logarithm what it is of."""
    ((atom, exponent), *others) = form[1] or [(Atom("", ""), 0)]
    if (atom.kind, atom.name, exponent) == ("function", "log", 1) and not others and not form[0]:
        return atom.args[0]
    return lone(Atom("function", "exp", (Poly([(form, 1)]),)))


def _is_never_0(whole: Poly) -> bool:
    """Whether what is added to multiples of a whole number is no multiple of it, as in 2 i = 1."""
    moving = [Fraction(value) for form, value in whole if form != ((), frozenset())]
    added = sum(Fraction(value) for form, value in whole if form == ((), frozenset()))
    return whole.is_whole() and bool(moving) and added % gcd(*(value.numerator for value in moving)) != 0


def _is_never_above(whole: Poly) -> bool:
    """Whether sizes, which are at least 1, keep it from exceeding 0."""
    moving = [(form, value) for form, value in whole if form != ((), frozenset())]
    sizes = all(not bound and all(a.kind == "size" and e > 0 for a, e in factors) for (bound, factors), _ in moving)
    return sizes and all(value < 0 for _, value in moving) and sum(value for _, value in whole) <= 0


def _is_turned(whole: Poly) -> bool:
    """Whether p <= 0 is written as the opposite of p >= 1; a place that is in its range is not."""
    sizes = [value for (_, factors), value in whole if any(atom.kind == "size" for atom, _ in factors)]
    if sizes:
        return all(value > 0 for value in sizes)
    return sum(value for (_, factors), value in whole if factors) > 0


def product(bound: tuple[Atom, ...], factors: Iterable[tuple[Atom, Any]], value: Any = 1) -> Poly:
    """A number times a product of powers, summed over ``bound``, which are new names."""
    powers: dict[Atom, Any] = {}
    _factors_left[0] -= 1
    for atom, exponent in factors:
        powers[atom] = powers.get(atom, 0) + exponent
        _factors_left[0] -= 1
    if _factors_left[0] < 0:
        raise TooLong("it takes too many products")
    for atom, exponent in [(a, e) for a, e in powers.items() if a.kind == "function"]:
        if atom.name in _CONDITIONS:
            powers[atom] = 1
        elif atom.name == "sign":
            powers[atom] = exponent % 2 or (2 if exponent > 0 and is_kinked(atom.args[0]) else 0)
        elif atom.name == "power" and Fraction(exponent).denominator == 1 and (exponent > 0 or atom.args[0].constant()):
            del powers[atom]
            return summed(bound, product((), powers.items(), value) * atom.args[0] ** exponent)
    if not bound:
        return Poly([(((), frozenset(item for item in powers.items() if item[1])), value)])
    for equation, index, place in sorted(_solutions(bound, powers), key=lambda found: found[1].below)[:1]:
        others = [(atom, exponent) for atom, exponent in powers.items() if atom != equation]
        with suppress(Pole):  # there is a pole at its solution, so that it stays, as in sum[m | m != n](1/(m - n))
            rest = times(rebuilt(atom, {index: place}) ** exponent for atom, exponent in others)
            return summed(tuple(i for i in bound if i != index), rest * within(place, index.below)).scaled(value)
    used = frozenset[Atom]().union(*(seen(atom)[0] for atom, exponent in powers.items() if exponent))
    for unused in (Atom("size", index.below) for index in bound if index not in used):
        powers[unused] = powers.get(unused, 0) + 1
    return _named(tuple(i for i in bound if i in used), frozenset(item for item in powers.items() if item[1]), value)


@lru_cache(50_000)
def is_kinked(poly: Poly) -> bool:
    """Whether it may be 0 near a place without being 0 everywhere, as ``relu(z)`` is: its sign is not 1 or -1 there."""
    atoms = [atom for (_, factors), _ in poly for atom, _ in factors if atom.kind == "function"]
    kinks = any(atom.name in _KINKS or atom.name.startswith("integral ") for atom in atoms)
    return kinks or any(is_kinked(part) for atom in atoms for part in atom.args)


def _solutions(bound: tuple[Atom, ...], powers: Iterable[Atom]) -> Iterator[tuple[Atom, Atom, Poly]]:
    """The equations that give a bound index as a whole number, without negative coefficients."""
    equations = [atom for atom in powers if atom.kind == "function" and atom.name == "eq"]
    for atom, index, sign in choices(equations, bound, (1, -1)):
        place = lone(index) - atom.args[0].scaled(sign)
        if place.is_whole() and index not in free(place) and all(value > 0 for form, value in place if form[1]):
            yield atom, index, place


def summed(indices: tuple[Atom, ...], poly: Poly) -> Poly:
    """The sum over indices, which are new names."""
    return total(product(indices + own, factors, value) for own, factors, value in opened(poly)) if indices else poly


def new_index(dim: str) -> Atom:
    """An index that occurs nowhere else in a case."""
    _named_so_far[0] += 1
    if _named_so_far[0] > _most_names[0]:
        raise TooLong("too many steps")
    return Atom("index", f"#{_named_so_far[0]}", (), dim)


@contextmanager
def limited(share: float = 1) -> Iterator[None]:
    """A case: the steps in it are limited, to a share of them. Outside of one they are not."""
    _most_names[0], _factors_left[0] = _named_so_far[0] + share * INDICES, share * FACTORS
    try:
        yield
    finally:
        _most_names[0] = _factors_left[0] = inf


def cleared(poly: Poly) -> Poly:
    """Times the denominators that no bound index enters."""
    for bound, (atom, exponent) in [(bound, factor) for (bound, factors), _ in poly for factor in factors]:
        if atom.name == "power" and atom.kind == "function" and exponent < 0 and not seen(atom)[0] & {*bound}:
            return cleared(poly * lone(atom, -exponent))
    return poly


def integrands(poly: Poly) -> Iterator[Poly]:
    """What is summed over indices of the same dims, taken together: where all of these vanish, the polynomial does."""
    groups: dict[tuple[str, ...], tuple[list[Atom], list[Poly]]] = {}
    for (bound, factors), value in poly:
        ordered = sorted(bound, key=lambda index: index.below)
        dims = tuple(index.below for index in ordered)
        indices, parts = groups.setdefault(dims, ([*map(new_index, dims)], []))
        parts.append(moved(Poly([(((), factors), value)]), dict(zip(ordered, map(lone, indices), strict=True))))
    yield from (total(parts) for _, parts in groups.values())


@lru_cache(500_000)
def seen(atom: Atom) -> tuple[frozenset[Atom], int]:
    """The free indices of an atom, and how deep sums are nested in it."""
    if atom.kind == "index":
        return frozenset({atom}), 0
    parts = [(form[0], *seen(inner)) for poly in atom.args for form, _ in poly for inner, _ in form[1]]
    indices = frozenset(index for bound, inside, _ in parts for index in inside.difference(bound))
    return indices, max((depth + bool(bound) for bound, _, depth in parts), default=0)


def free(poly: Poly) -> frozenset[Atom]:
    """The free indices."""
    return seen(Atom("function", "", (poly,)))[0]


def without(indices: tuple[Atom, ...], poly: Poly) -> Poly:
    """The products that read none of the indices."""
    return Poly((form, value) for form, value in poly if not free(Poly([(form, value)])) & {*indices})


def has_gathered(poly: Poly, equal: bool = False) -> bool:
    """Whether an equation reads an index that an element gives."""
    atoms = [atom for (_, factors), _ in poly for atom, _ in factors]
    inner = ((part, atom.name == "eq" and atom.kind == "function") for atom in atoms for part in atom.args)
    gathered = equal and any(atom.below and atom.kind == "element" for atom in atoms)
    return gathered or any(has_gathered(part, within) for part, within in inner)


def spread(poly: Poly) -> Poly:
    """With a sum over an index in the place of each index that an element gives: ``f(i[e])`` is the sum of those
    ``f(n)`` for which ``i[e]`` is ``at`` n. Two elements that an equation makes the same are then at one index.
    """
    return total(_spread(bound, product((), factors, value)) for bound, factors, value in opened(poly))


def _spread(bound: tuple[Atom, ...], poly: Poly) -> Poly:
    """The same of products under sums over ``bound``: first of what depends on none of the sums inside of atoms."""
    given = next((atom for atom in _apart(poly, _gives) if not any(any(_apart(p, _gives)) for p in atom.args)), None)
    if given is None:
        return summed(bound, _each(poly, lambda atom: remade(atom, spread)))
    index = new_index(given.below)
    at = lone(Atom("at", "", (lone(given), lone(index))))
    return _spread((*bound, index), exchanged(poly, given, lone(index)) * at)


def _gives(atom: Atom) -> bool:
    """Whether an element gives an index."""
    return atom.kind == "element" and bool(atom.below)


def _apart(poly: Poly, wanted: Callable[[Atom], bool], hidden: frozenset[Atom] = frozenset()) -> Iterator[Atom]:
    """The atoms of a kind that read no bound and no ``hidden`` index; none of those that are ``at`` one."""
    for (bound, factors), _ in poly:
        for atom in (atom for atom, _ in factors if atom.kind != "at"):
            if wanted(atom) and not seen(atom)[0] & hidden.union(bound):
                yield atom
            for part in atom.args:
                yield from _apart(part, wanted, hidden.union(bound))


def vanishes(poly: Poly, cases: int = CASES) -> bool:
    """Whether a polynomial is 0 by its form, or is for each value of each of its signs and conditions.

    Denominators are cleared. A sign is 1 or -1 off a set without interior, and 0 as well where its argument may be 0
    beside that; a condition is 1 or 0: ``where(c, f(where(c, u, 0)), 0)`` is ``where(c, f(u), 0)``.
    """
    poly = cleared(poly)
    deciding = next(_apart(poly, _decides), None) if poly and cases else None
    if deciding is None:
        return not poly
    sides = ((exchanged(poly, deciding, value), value) for value in map(number, _values(deciding)))
    return all(vanishes(exchanged(side, deciding, value), cases - 1) for side, value in sides)


def _decides(atom: Atom) -> bool:
    """Whether an atom is a sign or a condition with none inside, of which it may be a function."""
    if atom.kind != "function" or atom.name not in ("sign", *_CONDITIONS):
        return False
    return not any(True for part in atom.args for _ in _apart(part, _decides))


def _values(atom: Atom) -> tuple[int, ...]:
    """Those of a condition, or of a sign."""
    if atom.name in _CONDITIONS:
        return 1, 0
    return (1, -1, 0) if is_kinked(atom.args[0]) else (1, -1)


def replaced(poly: Poly, new: Callable[[Atom], Poly | None]) -> Poly:
    """A polynomial with others in the place of the atoms for which there are ``new`` ones, wherever these are."""

    def part(inner: Poly) -> Poly:
        return replaced(inner, new)

    return _each(poly, lambda atom: remade(atom, part) if (found := new(atom)) is None else found)


def exchanged(poly: Poly, old: Atom, new: Poly) -> Poly:
    """A polynomial with another in the place of an atom that reads no bound index, wherever that is."""
    return replaced(poly, {old: new}.get)


def occurs(name: str, factors: Iterable[tuple[Atom, Any]]) -> bool:
    """Whether an atom with a name is in a product, at any depth."""
    atoms = [atom for atom, _ in factors]
    inner = (form[1] for atom in atoms for part in atom.args for form, _ in part)
    return any(atom.name == name for atom in atoms) or any(occurs(name, each) for each in inner)


def unfolded(poly: Poly, name: str, indices: tuple[Atom, ...], body: Poly) -> Poly:
    """A polynomial with a formula of ``indices`` in the place of the elements of a name, wherever these are."""

    def own(atom: Atom) -> Poly | None:
        element = (atom.kind, atom.name) == ("element", name)
        return moved(body, dict(zip(indices, atom.args, strict=True))) if element else None

    return replaced(poly, own)


def released(poly: Poly) -> Poly:
    """A polynomial with what is ``held`` in the place of the atoms that hold it."""
    held = any(occurs("held", form[1]) for form, _ in poly)
    return replaced(poly, lambda atom: released(atom.args[0]) if atom.name == "held" else None) if held else poly


def at_sizes(poly: Poly, sizes: Mapping[str, int]) -> Poly:
    """A polynomial where some dims have sizes: sums over these are written out."""

    def own(atom: Atom) -> Poly | None:
        return number(sizes[atom.name]) if atom.kind == "size" and atom.name in sizes else None

    def part(inner: Poly) -> Poly:
        return at_sizes(inner, sizes)

    def written_out(bound: tuple[Atom, ...], term: Poly) -> Poly:
        index = next((index for index in bound if index.below in sizes), None)
        if index is None:
            return summed(bound, _each(term, lambda atom: own(atom) or remade(atom, part)))
        rest, places = tuple(each for each in bound if each != index), range(sizes[index.below])
        return total(written_out(rest, moved(term, {index: number(place)})) for place in places)

    return total(written_out(bound, product((), factors, value)) for bound, factors, value in opened(poly))


def solved(poly: Poly) -> Iterator[list[tuple[Atom, Poly]]]:
    """The atoms that a polynomial is linear in, each with what it is where the polynomial is 0.

    Where that is said of ``|u| = u sign(u)``, u is as much times a sign, and an atom that u is linear in follows; and
    where it is of z^2, z is the root of that.
    """
    yield from _of_both_signs(poly)
    for (bound, factors), value in poly:
        rest = Poly([(((), factors), 1)]) - poly.scaled(Fraction(1) / value)
        atoms, powers = {atom for atom, _ in factors}, {exponent for _, exponent in factors}
        for atom in (atom for atom in atoms if not bound and exchanged(rest, atom, number(0)) == rest):
            sign, either = Atom("function", "sign", (lone(atom),)), _either()
            square = rest.constant() if atoms == {atom} and powers == {2} else None
            if powers == {1} and atoms == {atom}:
                yield [(atom, rest)]
            elif square is not None and square >= 0 and root(square) ** 2 == square:
                yield [(sign, either), (atom, either.scaled(root(square)))]


def _either() -> Poly:
    """A sign of which nothing is known."""
    return function("sign", lone(new_index("")))


def _of_both_signs(poly: Poly) -> Iterator[list[tuple[Atom, Poly]]]:
    """The same of a polynomial that is a multiple of ``u sign(u)`` and what neither the sign nor an atom of u is in."""
    for sign in {atom for (_, factors), _ in poly for atom, _ in factors if atom[:2] == ("function", "sign")}:
        signed, (inner,) = Poly(item for item in poly if (sign, 1) in item[0][1]), sign.args
        size = total(summed(b, product((), {*f} - {(sign, 1)}, value)) for b, f, value in opened(signed))
        if not size or size.scaled(1 / size.content()) != inner.scaled(1 / inner.content()):
            continue
        rest, either = (signed - poly).scaled(inner.content() / size.content()), _either()
        for atom, by, others in linear(inner):
            if exchanged(rest, atom, number(0)) == rest:
                yield [(sign, either), (atom, (rest * either - others).scaled(1 / by))]


def linear(poly: Poly) -> Iterator[tuple[Atom, Fraction, Poly]]:
    """The atoms a with ``poly = by * a + others``, what each is multiplied by, and the others."""
    for (bound, factors), value in poly:
        others = poly - Poly([((bound, factors), value)])
        for atom in (atom for atom, exponent in factors if exponent == 1 and len(factors) == 1 and not bound):
            if exchanged(others, atom, number(0)) == others:
                yield atom, Fraction(value), others


def _each(poly: Poly, new: Callable[[Atom], Poly]) -> Poly:
    """A polynomial with others in the place of its atoms, but for those that are ``at`` an index."""
    return total(
        summed(bound, times((lone(a) if a.kind == "at" else new(a)) ** e for a, e in factors).scaled(value))
        for bound, factors, value in opened(poly)
    )


def contracted(poly: Poly, along: Mapping[str, Collection[int]]) -> Poly:
    """With 1 or 0 in the place of sums of two entries of a matrix ``along`` an axis on which it is orthonormal."""
    if not along:
        return poly
    return total(_contracted(bound, [*factors], value, along) for bound, factors, value in opened(poly))


def _contracted(bound: tuple[Atom, ...], factors: list[Any], value: Any, along: Mapping[str, Collection[int]]) -> Poly:
    """The same of one product, by the first of its indices that two entries alone read."""
    for index in bound:
        ends = [factor for factor in factors if index in seen(factor[0])[0]]
        if [exponent for _, exponent in ends] not in ([1, 1], [2]):
            continue
        one, other = ends[0][0], ends[-1][0]
        for axis in along.get(one.name, ()) if one[:2] == other[:2] == ("element", one.name) else ():
            a, b = one.args[1 - axis], other.args[1 - axis]
            if one.args[axis] == other.args[axis] == lone(index) and index not in free(a) | free(b):
                rest = [factor for factor in factors if factor not in ends]
                left = function("eq", a - b) * product((), rest, value)
                return contracted(summed(tuple(i for i in bound if i != index), left), along)
    return summed(bound, product((), factors, value))


def moved(poly: Poly, new: Mapping[Atom, Poly]) -> Poly:
    """A polynomial with others in the place of its free indices."""
    items = frozenset((index, new[index]) for index in free(poly) & new.keys())
    return _moved(poly, items) if items else poly


@lru_cache(50_000)
def _moved(poly: Poly, items: frozenset[tuple[Atom, Poly]]) -> Poly:
    return total(product(*parts) for parts in opened(poly, dict(items)))


def opened(poly: Poly, new: Mapping[Atom, Poly] = {}) -> Iterator[tuple[tuple[Atom, ...], Iterable[Any], Any]]:
    """Each product, its bound indices under new names and free ones replaced: these indices, factors, a coefficient."""
    for (bound, factors), value in poly:
        fresh = tuple(new_index(old.below) for old in bound)
        names = {**new, **dict(zip(bound, map(lone, fresh), strict=True))}
        kept = [factor for factor in factors if not seen(factor[0])[0] & names.keys()]
        moving = times(rebuilt(atom, names) ** exponent for atom, exponent in factors.difference(kept))
        for own, others, number in opened(moving) if len(kept) < len(factors) else [((), (), 1)]:
            yield fresh + own, [*kept, *others], value * number


def rebuilt(atom: Atom, new: Mapping[Atom, Poly]) -> Poly:
    """An atom with others in the place of its free indices."""
    if atom in new or not seen(atom)[0] & new.keys():
        return new[atom] if atom in new else lone(atom)
    return remade(atom, lambda argument: moved(argument, new))


def remade(atom: Atom, part: Callable[[Poly], Poly]) -> Poly:
    """An atom with others in the place of all that it is of."""
    if not atom.args:
        return lone(atom)
    args = tuple(map(part, atom.args))
    return function(atom.name, *args) if atom.kind == "function" else lone(atom._replace(args=args))


def _named(bound: tuple[Atom, ...], factors: frozenset[tuple[Atom, Any]], value: Any) -> Poly:
    """The form with the least hash among those that name the bound indices in an order that their use allows."""
    level, best = 1 + max((seen(atom)[1] for atom, _ in factors), default=0), dict[Product, Any]()
    for order in _orders(bound, factors):
        names = tuple(old._replace(name=f"${level}.{k}") for k, old in enumerate(order))
        ((_, renamed, sign),) = opened(Poly([(((), factors), 1)]), dict(zip(order, map(lone, names), strict=True)))
        if best.setdefault((names, frozenset(renamed)), sign) != sign:
            return number(0)
    least = min(best, key=hash)
    return Poly([(least, value * best[least])])


def _orders(bound: tuple[Atom, ...], factors: frozenset[tuple[Atom, Any]]) -> Iterator[tuple[Atom, ...]]:
    """The orders of bound indices that what they index does not tell apart."""
    colours, whole = {index: hash(index.below) for index in bound}, Poly([(((), factors), 1)])
    for _ in range(2):
        if len({*colours.values()}) < len(bound):
            colours = {index: _shape(whole, {**colours, index: 0}) for index in bound}
    alike = [[*group] for _, group in groupby(sorted(bound, key=colours.__getitem__), key=colours.__getitem__)]
    if prod(factorial(len(group)) for group in alike) > ORDERS:
        raise NotCovered("too many indices that look alike")
    return (tuple(chain(*groups)) for groups in choices(*map(permutations, alike)))


def _shape(part: Any, colours: Mapping[Atom, int]) -> int:
    """A hash that tells indices apart by their colours alone, and is the same of a sum and of minus it."""
    if isinstance(part, Poly):
        forms = [(abs(value), sorted((_shape(atom, colours), abs(e)) for atom, e in form[1])) for form, value in part]
        return hash(tuple(sorted(hash((value, *factors)) for value, factors in forms)))
    if part.kind == "index":
        return colours.get(part, hash((part.name.partition(".")[0], part.below)))
    if colours and not seen(part)[0] & colours.keys():
        return _shape_apart(part)
    return hash((part.name, *(_shape(argument, colours) for argument in part.args)))


@lru_cache(50_000)
def _shape_apart(atom: Atom) -> int:
    """That of an atom that none of the indices is in."""
    return _shape(atom, {})
