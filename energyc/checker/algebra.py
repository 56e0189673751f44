"""Sums of products of powers of atoms in one form: exact coefficients, and the bound indices of sums in one order.

A polynomial is a frozenset of (product, coefficient), a product a pair of its bound indices and a frozenset of (atom,
exponent). Equal forms are equal functions wherever all has a value; an element out of its range counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count, groupby, permutations
from itertools import product as choices
from math import factorial, gcd, isqrt, lcm, prod
from typing import Any, NamedTuple

from energyc.checker.syntax import NotCovered


class Index(NamedTuple):
    """A name that runs over a dim."""

    name: str
    dim: str


class Atom(NamedTuple):
    """What is not multiplied out: an element ``el``, an index ``ix`` as a number, a function ``fn``, a ``base``.

    Or a condition ``eq`` (p = 0) or ``le`` (p <= 0) on whole numbers, or a reduction ``red`` of ``inner`` over
    ``bound``. ``outer`` are indices and polynomials that read what is around it; an element has its ``dims``.
    """

    kind: str
    name: str
    outer: tuple[Any, ...] = ()
    bound: tuple[Index, ...] = ()
    inner: tuple[Any, ...] = ()
    dims: tuple[str, ...] = ()


Poly = frozenset[Any]
_EVEN, _ODD = ("cos", "lcosh"), ("sin", "sign", "tanh", "erf")
#: The most orders of indices that look alike, the most terms of a product, and the largest exponent.
ORDERS, TERMS, EXPONENT = 720, 20_000, 1000
_fresh = count()


def number(value: Any) -> Poly:
    """A constant."""
    return frozenset({(((), frozenset()), value)}) if value else frozenset()


def add(*polys: Iterable[Any]) -> Poly:
    """The sum."""
    total: dict[Any, Any] = {}
    for form, value in (item for poly in polys for item in poly):
        total[form] = total.get(form, 0) + value
    return frozenset(item for item in total.items() if item[1])


def scaled(poly: Poly, by: Any) -> Poly:
    """A multiple."""
    return frozenset((form, value * by) for form, value in poly if by)


def multiply(*polys: Poly) -> Poly:
    """The product. Raises NotCovered if it is too long."""
    result = number(1)
    for poly in polys:
        if len(result) * len(poly) > TERMS:
            raise NotCovered("a product of too many terms")
        parts = [
            (form, x * y, *(opened(other) if form[0] else (other[0], {(other, 1)})))
            for form, x in result
            for other, y in poly
        ]
        result = add(*(product(f[0] + b, [*f[1], *g[1]], v * w) for f, v, b, inside in parts for g, w in inside))
    return result


def new_names(indices: Iterable[Index]) -> dict[Index, Index]:
    """For each index one that occurs nowhere else."""
    return {index: Index(f"#{next(_fresh)}", index.dim) for index in indices}


def opened(form: Any, new: Mapping[Index, Any] = {}) -> tuple[tuple[Index, ...], Poly]:
    """New bound indices of a product, and the product in which these are free and others replaced."""
    fresh = new_names(form[0])
    return tuple(fresh.values()), multiply(*(_moved(atom, {**new, **fresh}, e) for atom, e in form[1]))


def bind(poly: Poly, indices: tuple[Index, ...]) -> Poly:
    """The sum over indices."""
    return add(*(product(indices + form[0], form[1], value) for form, value in poly))


def raised(poly: Poly, exponent: Any) -> Poly:
    """A power: of a product factor by factor, a small whole one multiplied out, any other left as an atom."""
    whole = Fraction(exponent).denominator == 1
    if exponent == 1 or (whole and 0 <= exponent <= 6):
        return multiply(*[poly] * int(exponent))
    if not poly:
        raise NotCovered("a power of 0")
    content, sign, rest = _primitive(poly)
    value = Fraction(isqrt(content.numerator), isqrt(content.denominator))
    if whole:
        root = (content * sign) ** int(exponent)
    elif value**2 == content and Fraction(exponent).denominator == 2:
        root, rest = value ** int(2 * exponent), scaled(rest, sign)
    else:
        root, rest = Fraction(1), poly
    ((bound, factors), one), *others = rest
    positive = one == 1 and all(atom.name.startswith(("size ", "pi ")) for atom, _ in factors)
    if not others and not bound and (whole or positive):
        return scaled(
            product((), [(a, e * exponent) for a, e in factors]), (one ** int(exponent) if whole else 1) * root
        )
    return scaled(product((), [(Atom("base", "", (rest,)), exponent)]), root)


def _primitive(poly: Poly) -> tuple[Fraction, int, Poly]:
    """A positive factor, a sign, and what they leave, which is the same of a sum and of minus it."""
    values = [Fraction(value) for _, value in poly]
    content = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    plus, minus = scaled(poly, 1 / content), scaled(poly, -1 / content)
    return (content, 1, plus) if hash(plus) <= hash(minus) else (content, -1, minus)


def constant(poly: Poly) -> Any:
    """The value of a polynomial without atoms; None of any other."""
    return dict(poly).get(((), frozenset()), None if poly else 0) if len(poly) < 2 else None


def size_of(dim: str) -> Poly:
    """The size of a dim."""
    return _alone(Atom("el", f"size {dim}"))


def is_whole(poly: Poly) -> bool:
    """Whether a polynomial is a whole number at all indices."""
    factors = [(atom, e) for (_, factors), _ in poly for atom, e in factors]
    whole = all((a.kind == "ix" or a.name.startswith("size ") or " below " in a.name) and e > 0 for a, e in factors)
    return whole and all(not form[0] and Fraction(value).denominator == 1 for form, value in poly)


def made(atom: Atom) -> Poly:
    """An atom in its own form: signs and factors leave arguments, a condition joins an element where it may be out."""
    atom = atom._replace(outer=tuple(map(_plain, atom.outer)))
    if atom.bound:
        atom = _reordered(atom, *_renamed(atom.bound, atom.inner))
        orders = _orders(atom.bound, atom.inner)
        return product((), [(min((_reordered(atom, *order) for order in orders), key=hash), 1)])
    if atom.kind in ("el", "red"):
        return multiply(_alone(atom), *map(_in_range, atom.outer, atom.dims))
    argument, sign = value_of(atom.outer[0]), 1
    if atom.kind in ("eq", "le") and (value := constant(argument)) is not None:
        return number(int(value == 0 if atom.kind == "eq" else value <= 0))
    if atom.name == "exp":
        return multiply(*(product((), [(atom._replace(outer=(frozenset({(f, 1)}),)), value)]) for f, value in argument))
    if not argument and (atom.name in _ODD or atom.name == "cos"):
        return number(int(atom.name == "cos"))
    if argument and (atom.name in _EVEN + _ODD or atom.kind == "eq"):
        content, sign, argument = _primitive(argument)
        argument, sign = scaled(argument, 1 if atom.name == "sign" else content), sign if atom.name in _ODD else 1
    return scaled(product((), [(atom._replace(outer=(argument,)), 1)]), sign)


def _reordered(atom: Atom, order: Sequence[Index], new: Mapping[Index, Index]) -> Atom:
    places = tuple(atom.outer[atom.bound.index(index)] for index in order) if atom.outer else ()
    inner = tuple(moved(poly, new) for poly in atom.inner)
    return atom._replace(outer=places, bound=tuple(new[index] for index in order), inner=inner)


def _in_range(place: Any, dim: str) -> Poly:
    """1 where a place is in a dim; an index of the dim and a gather from it always are."""
    least = value_of(place)
    atoms = [atom for (_, factors), _ in least for atom, _ in factors]
    gathered = len(atoms) == 1 and atoms[0].name.endswith(f" below {dim}") and least == _alone(atoms[0])
    if gathered or (isinstance(place, Index) and place.dim == dim):
        return number(1)
    beyond = add(least, number(1), scaled(size_of(dim), -1))
    return multiply(*(made(Atom("le", "", (poly,))) for poly in (scaled(least, -1), beyond)))


def _plain(place: Any) -> Any:
    """An index in the place of the polynomial that is it."""
    found = (
        [a.outer[0] for (_, factors), _ in place for a, _ in factors if a.kind == "ix"]
        if type(place) is frozenset
        else []
    )
    return found[0] if found and value_of(found[0]) == place else place


def value_of(place: Any) -> Poly:
    """An index as a number."""
    return _alone(Atom("ix", "", (place,))) if isinstance(place, Index) else place


def _alone(atom: Atom, exponent: Any = 1) -> Poly:
    return frozenset({(((), frozenset({(atom, exponent)})), 1)})


@lru_cache(500_000)
def seen(x: Any) -> tuple[frozenset[Index], int]:
    """The free indices of a polynomial, an atom or an index, and how deep sums are nested in it."""
    if isinstance(x, Index):
        return frozenset({x}), 0
    if isinstance(x, Atom):
        parts = [(*seen(part), ()) for part in x.outer] + [(*seen(part), x.bound) for part in x.inner]
    else:
        parts = [(*seen(atom), bound) for (bound, factors), _ in x for atom, _ in factors]
    free = frozenset().union(*(indices.difference(bound) for indices, _, bound in parts))
    return free, max((level + bool(bound) for _, level, bound in parts), default=0)


def moved(part: Any, new: Mapping[Index, Any]) -> Any:
    """A polynomial or an index with others in the place of its free indices."""
    if isinstance(part, Index):
        return new.get(part, part)
    items = frozenset((index, new[index]) for index in seen(part)[0] & new.keys())
    return _replaced(part, items) if items else part


@lru_cache(50_000)
def _replaced(poly: Poly, items: frozenset[Any]) -> Poly:
    parts = ((opened(form, dict(items)), value) for form, value in poly)
    return add(*(scaled(bind(inside, bound), value) for (bound, inside), value in parts))


def _moved(atom: Atom, new: Mapping[Index, Any], exponent: Any) -> Poly:
    if not seen(atom)[0] & new.keys():
        return _alone(atom, exponent)
    outer, inner = (tuple(moved(part, new) for part in parts) for parts in (atom.outer, atom.inner))
    plain = atom.kind in ("base", "ix")
    return raised(value_of(outer[0]) if plain else made(atom._replace(outer=outer, inner=inner)), exponent)


def product(bound: tuple[Index, ...], factors: Iterable[Any], value: Any = 1) -> Poly:
    """A number times a product of powers, summed over ``bound``, in its own form."""
    powers: dict[Atom, Any] = {}
    for atom, exponent in factors:
        powers[atom] = powers.get(atom, 0) + exponent
    for atom, exponent in list(powers.items()):
        if atom.kind in ("eq", "le") or atom.name in ("training ", "sign"):
            powers[atom] = exponent % 2 if atom.name == "sign" else 1
        elif atom.kind == "base" and exponent > 0 and Fraction(exponent).denominator == 1:
            new = new_names(bound)
            parts = [_moved(a, new, e) for a, e in powers.items() if a != atom]
            whole = raised(moved(atom.outer[0], new), exponent)
            return scaled(bind(multiply(*parts, whole), tuple(new.values())), value)
    for equation, index, place in sorted(_solutions(bound, powers), key=lambda s: s[1] not in bound)[:1]:
        fresh = new_names(i for i in bound if i != index)
        place, kept = moved(place, fresh), {} if index in bound else {equation: 1}
        parts = [_moved(a, {**fresh, index: place}, e) for a, e in powers.items() if a != equation]
        parts += [_in_range(place, index.dim), *(_moved(a, fresh, e) for a, e in kept.items())]
        return scaled(bind(multiply(*parts), tuple(fresh.values())), value)
    used = frozenset().union(*(seen(atom)[0] for atom, exponent in powers.items() if exponent))
    for size in (Atom("el", f"size {index.dim}") for index in bound if index not in used):
        powers[size] = powers.get(size, 0) + 1
    powers = {atom: exponent for atom, exponent in powers.items() if exponent}
    return _named(tuple(index for index in bound if index in used), powers, value)


def _solutions(bound: tuple[Index, ...], powers: Mapping[Atom, Any]) -> Iterator[tuple[Atom, Index, Any]]:
    """The equations that give a bound index without a negative coefficient, or a free one as another; its value."""
    for atom in (atom for atom in powers if atom.kind == "eq"):
        for (_, factors), value in atom.outer[0]:
            for part, exponent in factors:
                if part.kind == "ix" and len(factors) == exponent == abs(value) == 1:
                    (index,), rest = part.outer, add(scaled(atom.outer[0], -value), value_of(part.outer[0]))
                    place, read = _plain(rest), any(index in seen(a)[0] for a in powers if a != atom)
                    free = isinstance(place, Index) and _rank(place) < _rank(index) and read
                    if is_whole(rest) and all(c > 0 for f, c in rest if f[1]) and index not in seen(rest)[0]:
                        yield from [(atom, index, place)] * (index in bound or free)


def _rank(index: Index) -> tuple[bool, tuple[int, ...]]:
    """Of two indices that are equal the one of the outer sum stays, whose number is higher or not given yet."""
    bound = index.name.startswith("$")
    return bound, tuple(-int(part) if bound else int(part) for part in index.name[1:].split("."))


def _named(bound: tuple[Index, ...], powers: Mapping[Atom, Any], value: Any) -> Poly:
    """The form with the least hash among those that name the bound indices in an order that their use allows."""
    whole = frozenset({(((), frozenset(powers.items())), value)})
    best: dict[Any, Any] = {}
    for _, new in _orders(bound, [whole]) if bound else ():
        parts = [form for atom, exponent in powers.items() for (form,) in [tuple(_moved(atom, new, exponent))]]
        form = tuple(new.values()), frozenset(factor for (_, factors), _ in parts for factor in factors)
        sign = prod(value for _, value in parts)
        if best.setdefault(form, sign) != sign:
            return number(0)
    least = sorted(best, key=hash)[:1]
    return frozenset((form, value * best[form]) for form in least) if bound else whole


def _orders(bound: tuple[Index, ...], polys: Sequence[Poly]) -> Iterator[tuple[list[Index], dict[Index, Index]]]:
    """The orders of bound indices that what they index does not tell apart, with the names that follow."""
    colours: dict[Any, int] = {index: hash(index.dim) for index in bound}
    for _ in range(3):
        near: dict[Index, list[int]] = {index: [colours[index]] for index in bound}
        for k, poly in enumerate(polys):
            _mark(poly, k, colours, near)
        colours = {index: hash(tuple(sorted(near[index]))) for index in bound}
    alike = [list(group) for _, group in groupby(sorted(bound, key=colours.__getitem__), key=colours.__getitem__)]
    if prod(factorial(len(group)) for group in alike) > ORDERS:
        raise NotCovered("too many indices that look alike")
    for groups in choices(*map(permutations, alike)):
        yield _renamed([index for group in groups for index in group], polys)


def _renamed(order: Sequence[Index], polys: Sequence[Poly]) -> tuple[list[Index], dict[Index, Index]]:
    """Bound indices in an order, with names that follow from it and from how deep sums are nested inside."""
    level = 1 + max(seen(poly)[1] for poly in polys)
    return [*order], {index: Index(f"${level}.{k}", index.dim) for k, index in enumerate(order)}


def _mark(poly: Poly, way: int, colours: Mapping[Index, int], near: dict[Index, list[int]]) -> None:
    """Note for each bound index where it stands, and beside which others."""
    for atom, exponent in (factor for (_, factors), _ in poly for factor in factors):
        places = atom.outer if atom.kind == "el" else ()
        beside = tuple(colours.get(i, hash(i.dim)) for i in places if isinstance(i, Index))
        mark = hash((way, exponent, atom.kind, atom.name, beside))
        for k, part in enumerate(atom.outer + atom.inner):
            if not isinstance(part, Index):
                _mark(part, hash((mark, k)), colours, near)
            elif part in near:
                near[part].append(hash((mark, k * bool(places))))
