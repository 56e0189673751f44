"""Selections by real values, recognised in the products and sums that they were lowered to."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from energyc.derivation.notation.formula import NOTHING, UNIT, Formula, multiplied, scaled, split
from energyc.mathematics.expressions import Call, Comparison, Product, Sum, Where
from energyc.mathematics.ir import ONE, Coefficient, Function

_MIRRORED: Mapping[str, str] = MappingProxyType({">": "<", ">=": "<=", "<": ">", "<=": ">="})


def condition_of(function: Function, argument: Formula) -> Comparison:
    """``z > 1/2`` for ``above(z - 1/2)``: what is subtracted stands on the right, and so does a number."""
    terms = _terms(argument)
    added = [term for term in terms if split(term)[0].value > 0]
    subtracted = [scaled(-ONE, term) for term in terms if split(term)[0].value <= 0]
    for here, there in ((added, subtracted), (subtracted, added)):
        if not there and len(here) > 1:
            there += [scaled(-ONE, term) for term in here if _is_number(term)]
            here[:] = [term for term in here if not _is_number(term)]
    left, right = _total(added), _total(subtracted)
    relation = ">" if function.named("above") else ">="
    if _is_number(left) or (relation == ">=" and not _is_number(right)):
        return Comparison(_MIRRORED[relation], right, left)
    return Comparison(relation, left, right)


def _terms(argument: Formula) -> tuple[Formula, ...]:
    """The terms of a sum, or of minus a sum."""
    match argument:
        case Sum(terms=terms):
            return terms
        case Product(coefficient=coefficient, factors=(Sum(terms=terms),), divisors=()) if coefficient == -ONE:
            return tuple(scaled(coefficient, term) for term in terms)
    return (argument,)


def _total(terms: Sequence[Formula]) -> Formula:
    return NOTHING if not terms else terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _is_number(formula: Formula) -> bool:
    return isinstance(formula, Product) and not formula.factors and not formula.divisors


def with_cases(terms: Sequence[Formula]) -> list[Formula]:
    """The terms of a sum, each two of which one holds where the other does not written as one.

    A term takes the first one after it that holds elsewhere. That one is found by what its conditions compare: a sum
    may have thousands of terms, too many to compare each two of them.
    """
    known = [{condition: _side(condition) for condition in _conditions(term)} for term in terms]
    places: dict[Side, deque[int]] = defaultdict(deque)
    for k, sides in enumerate(known):
        for side in sides.values():
            places[side].append(k)
    taken: set[int] = set()
    written: list[Formula] = []
    for k, term in enumerate(terms):
        if k in taken:
            continue
        elsewhere = (_first(places[_opposite(side)], k, taken) for side in known[k].values())
        partner = min((place for place in elsewhere if place is not None), default=None)
        if partner is not None:
            taken.add(partner)
            term = _together(term, terms[partner], known[k], known[partner])
        written.append(term)
    return written


def _first(places: deque[int], after: int, taken: Collection[int]) -> int | None:
    """The first of some places after one, and not taken. Those before it are dropped: nobody asks for them again."""
    while places and (places[0] <= after or places[0] in taken):
        places.popleft()
    return places[0] if places else None


def _together(first: Formula, second: Formula, here: Sides, there: Sides) -> Formula:
    """Two terms as one, by the first of their conditions of which one holds where the other does not."""
    one, other = next((a, b) for a, at_a in here.items() for b, at_b in there.items() if at_a == _opposite(at_b))
    values = _without(first, one), _without(second, other)
    met, (if_true, if_false) = (one, values) if _is_strict(one) else (other, values[::-1])
    return _extreme(met, if_true, if_false) or Where(met, if_true, if_false)


def _conditions(term: Formula) -> list[Comparison]:
    factors = term.factors if isinstance(term, Product) else (term,)
    return [factor for factor in factors if isinstance(factor, Comparison)]


def _without(term: Formula, factor: Comparison) -> Formula:
    if not isinstance(term, Product):
        return UNIT
    factors = list(term.factors)
    factors.remove(factor)
    return multiplied(ONE, (Product(term.coefficient, tuple(factors), term.divisors),))


def _extreme(met: Comparison, if_true: Formula, if_false: Formula) -> Formula | None:
    """``max(a, b)`` where a is above b, or ``min(a, b)`` where it is below."""
    apart = _counted(if_true)
    apart.subtract(_counted(if_false))
    difference = {term: count for term, count in apart.items() if count}
    if difference == _difference(met):
        return Call("max", (if_true, if_false))
    return Call("min", (if_true, if_false)) if difference == _negative(_difference(met)) else None


Terms = dict[tuple[Coefficient, Formula], int]
#: On which side of a border a condition holds: what is positive there, and whether the border itself is left out.
Side = tuple[frozenset[tuple[tuple[Coefficient, Formula], int]], bool]
Sides = Mapping[Comparison, Side]


def _side(met: Comparison) -> Side:
    return frozenset(_difference(met).items()), _is_strict(met)


def _opposite(side: Side) -> Side:
    """Where a condition does not hold."""
    terms, strict = side
    return frozenset((term, -count) for term, count in terms), not strict


def _difference(met: Comparison) -> Terms:
    """The terms of what is positive where the condition holds, by how often they occur."""
    high, low = (met.left, met.right) if met.relation[0] == ">" else (met.right, met.left)
    apart = _counted(high)
    apart.subtract(_counted(low))
    return {term: count for term, count in apart.items() if count}


def _negative(terms: Terms) -> Terms:
    return {term: -count for term, count in terms.items()}


def _counted(formula: Formula) -> Counter[tuple[Coefficient, Formula]]:
    """Each term with its positive factor; a negative one counts negatively."""
    counter: Counter[tuple[Coefficient, Formula]] = Counter()
    for term in formula.terms if isinstance(formula, Sum) else (formula,):
        coefficient, rest = split(term)
        if coefficient.value:
            counter[_positive(coefficient), rest] += 1 if coefficient.value > 0 else -1
    return counter


def _positive(coefficient: Coefficient) -> Coefficient:
    """A coefficient with a positive number in front."""
    return coefficient if coefficient.value > 0 else -coefficient


def _is_strict(met: Comparison) -> bool:
    return len(met.relation) == 1
