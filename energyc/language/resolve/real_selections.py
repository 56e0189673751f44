"""Where the sides of a selection by real values meet: what is to vanish for ``where(z > c, a, b)`` to be continuous.

At an edge of the condition ``a - b`` must be 0. An edge is solved for a part of it, as ``z = c``, or ``z = c`` and
``z = -c`` for ``abs(z) < c``, and what it is solved for is put into ``a - b``. If that is 0 for all values of
everything in it, it is 0 at the edge. A product is solved as a whole, or for a factor where it is not 0, and where it
is 0 one of its factors is; a function that rises everywhere, by its inverse.

The slopes meet too if ``a - b`` does not change to first order beside the edge: as the condition is ``beside`` 0 and
not 0, what a part is then is put into ``a - b``, and the slope of that by ``beside`` is to be 0 as well. Along an edge
at which ``a - b`` is 0 it has no slope, so that this one, across the edge, is all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, product

import numpy as np

from energyc.language.diagnostics import Source, Span
from energyc.language.network import ContinuityCondition, RealSelection
from energyc.language.resolve.algebra import add, divide, multiply, negate, number, power
from energyc.language.resolve.context import Context
from energyc.language.resolve.lower import Lowering
from energyc.language.resolve.read.exact import exact_value, is_positive, known_value
from energyc.language.resolve.terms import (
    BodySlope,
    Call,
    Chosen,
    Element,
    InverseSize,
    OverBatch,
    Power,
    Product,
    Reduction,
    Scalar,
    Selection,
    Stopped,
    Sum,
    Term,
    Whole,
    walk_terms,
)
from energyc.mathematics.calculus import substitute, tangent
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Function, Node, Stop, is_mask, walk

HALF = Fraction(1, 2)
#: The ways to solve an edge that are tried, and the parts that a side may have.
MOST_WAYS, MOST_PARTS = 8, 2_000
#: The inverses of functions that have one in the table.
INVERSES = {"exp": "log", "log": "exp"}
#: What is put in the place of a part.
Solution = tuple[tuple[Term, Term], ...]


def real_selections(context: Context, lowering: Lowering, source: Source) -> tuple[RealSelection, ...]:
    """The conditions under which each selection is continuous; those that cannot jump at all are left out.

    Nothing is known of the conditions in slopes of functions, as ``f'(z)`` with ``f(u) = where(u > 0, u, 0)``.
    """
    found = [_Selected(context, lowering, selection).conditions(source) for selection in context.selections]
    bare = masks_in(lowering.slopes)
    return (*found, *([RealSelection(bare, "a slope of a function", ((),), ((),))] if bare else []))


def masks_in(nodes: Sequence[Node]) -> frozenset[Node]:
    """The nodes that are 1 where a condition on real values holds, else 0."""
    return frozenset(n for n in walk(nodes) if is_mask(n))


@dataclass
class _Selected:
    context: Context
    lowering: Lowering
    selection: Selection

    def conditions(self, source: Source) -> RealSelection:
        """All ways to solve each edge; without a place the sides meet by construction."""
        place = self.selection.place
        values = [self.lowering.value(mask).node for mask in self.selection.masks]
        masks = masks_in(values)
        if place is None:
            return RealSelection(masks, "", ())
        edges = tuple(self._conditions(edge) for edge in self.selection.edges)
        sides = [self.lowering.value(side).node for side in (self.selection.if_true, self.selection.if_false)]
        if any(isinstance(node, Stop) for node in walk(sides)):  # it moves, and has no part in a slope
            return RealSelection(masks, source.slice(place), edges)
        slopes = tuple(self._conditions(edge, self._beside) for edge in self.selection.edges)
        return RealSelection(masks, source.slice(place), edges, slopes)

    @cached_property
    def _sides(self) -> tuple[Term, Term]:
        """Both sides as they are where they are selected."""
        written = AtEdge(self.context, self.lowering, ())
        return written.term(self.selection.if_true), written.term(self.selection.if_false)

    @cached_property
    def _beside(self) -> Element:
        """How far a condition is from its edge."""
        return Element(self.selection.if_true.span, self.lowering.graph.input("beside", "argument"), ())

    def _conditions(self, edge: Term, value: Term | None = None) -> tuple[ContinuityCondition, ...]:
        """The ways to show that the sides are equal where an edge is 0; with a ``value`` beside 0, their slopes too."""
        if self._is_large():
            return ()
        solutions = islice(self._solved(edge, value or number(0, edge.span)), MOST_WAYS)
        conditions = (self._condition(cases) for cases in solutions)
        return tuple(conditions if value is None else map(self._with_slopes, conditions))

    def _with_slopes(self, condition: ContinuityCondition) -> ContinuityCondition:
        """A condition beside an edge at the edge, and that what is 0 there has no slope across it."""
        graph, beside = self.lowering.graph, self._beside.node
        slopes = tangent(graph, condition.gaps, {beside: graph.constant(1)})
        gaps, positive = (
            tuple(substitute(graph, node, {beside: graph.zero(())}) for node in nodes)
            for nodes in ((*condition.gaps, *slopes), condition.positive)
        )
        return ContinuityCondition(gaps, positive)

    def _exact(self, value: Term) -> Fraction | None:
        """The value of a number at the edge."""
        return exact_value(self.context, self._at_edge(value))

    def _is_positive(self, value: Term) -> bool:
        return is_positive(self.context, self._at_edge(value))

    def _at_edge(self, value: Term) -> Term:
        return AtEdge(self.context, self.lowering, ((self._beside, number(0, value.span)),)).term(value)

    def _is_large(self) -> bool:
        return (
            sum(1 for side in (self.selection.if_true, self.selection.if_false) for _ in walk_terms(side)) > MOST_PARTS
        )

    def _condition(self, cases: Sequence[Solution]) -> ContinuityCondition:
        gaps: list[Node] = []
        positive: list[Node] = []
        for case in cases:
            at_edge = AtEdge(self.context, self.lowering, case, self._beside)
            a, b = (at_edge.term(side) for side in self._sides)
            gaps.append(self.lowering.value(add([(1, a), (-1, b)], a.span)).node)
            positive += [self.lowering.value(argument).node for argument in at_edge.positive]
        return ContinuityCondition(tuple(gaps), tuple(positive))

    def _solved(self, term: Term, value: Term) -> Iterator[tuple[Solution, ...]]:
        """The ways to read ``term = value``; each is a list of cases of which one holds."""
        match term:
            case Scalar() | InverseSize():
                return
            case Sum(terms=terms):
                for k, part in enumerate(terms):
                    others = [(-1, other) for other in (*terms[:k], *terms[k + 1 :])]
                    yield from self._solved(part, add([(1, value), *others], term.span))
            case Product(factors=factors):
                varying = [factor for factor in factors if not isinstance(factor, Scalar)]
                scalars = [factor for factor in factors if isinstance(factor, Scalar)]
                scale = multiply([number(1, term.span), *scalars], term.span)
                value = divide(value, scale, term.span)
                yield from self._solved(varying[0], value) if len(varying) == 1 else self._of_product(varying, value)
            case Whole(value=inner) | Chosen(argument=inner):
                yield from self._solved(inner, value)
            case Call(function=Function(name="abs", slope=None), argument=inner, slope=False):
                yield from (_with(term, value, cases) for cases in self._of_both_signs(inner, value))
            case Power(base=inner, exponent=exponent) if exponent == 2:
                yield from self._of_square(term, inner, value)
            case _:
                for argument, inside, known in self._inverted(term, value):
                    solutions = self._solved(argument, inside)
                    yield from (_with(term, value, cases) for cases in solutions) if known else solutions
                yield (((term, value),),)

    def _of_square(self, term: Term, inner: Term, value: Term) -> Iterator[tuple[Solution, ...]]:
        """The ways to read a square; beside a known one its root is as far off."""
        beside = self._is_beside(value)
        known = self._at_edge(value) if beside else value
        root = power(known, HALF, term.span, positive=self._is_positive(known))
        if beside:
            root = add([(1, root), (1, value), (-1, known)], term.span)
        for cases in self._of_both_signs(inner, root):
            yield cases if beside else _with(term, value, cases)

    def _of_both_signs(self, inner: Term, value: Term) -> Iterator[tuple[Solution, ...]]:
        for right, left in product(self._solved(inner, value), self._solved(inner, negate(value))):
            yield (*right, *left)

    def _of_product(self, factors: Sequence[Term], value: Term) -> Iterator[tuple[Solution, ...]]:
        """The ways to read a product of several factors."""
        span = factors[0].span
        yield (((multiply(factors, span), value),),)
        known = self._exact(value)
        if known == 0:
            yield from (tuple(chain(*ways)) for ways in product(*(self._solved(f, value) for f in factors)))
        elif known is not None or self._is_positive(value):
            for k, factor in enumerate(factors):
                yield from self._solved(factor, divide(value, multiply([*factors[:k], *factors[k + 1 :]], span), span))

    def _inverted(self, term: Term, value: Term) -> Iterator[tuple[Term, Term, bool]]:
        """The argument of a function that never takes a value twice, with what it is where the function is one.

        And whether the function has that value then. Beside an edge at which the inverse is known alone, the argument
        moves by as much as the value, and the function is what it then is.
        """
        match term:
            case Power(base=base, exponent=exponent):
                if self._exact(value) == 0 and exponent > 0:
                    beside = self._is_beside(value)
                    yield base, value if beside else number(0, term.span), not beside
                elif exponent.denominator > 1 or exponent == -1:
                    yield base, power(value, 1 / exponent, term.span), True
            case Call(function=Function(slope=None) as function, argument=argument, slope=False):
                entry = FUNCTIONS[function.name]
                if not entry.strictly_monotone:
                    return
                if isinstance(value, Call) and value.function == function and not value.slope:
                    yield argument, value.argument, True
                elif function.name in INVERSES:
                    yield argument, applied(self.context, Function(INVERSES[function.name]), value, term.span), True
                else:
                    zero = number(0, term.span)
                    known = value_of(self.context, function, zero)
                    if known is not None and self._exact(value) == known:
                        beside = self._is_beside(value)
                        gap = add([(1, value), (-1, number(known, term.span))], term.span)
                        yield argument, gap if beside else zero, not beside

    def _is_beside(self, value: Term) -> bool:
        """Whether a value is a number at the edge, but not beside it."""
        return exact_value(self.context, value) is None and self._exact(value) is not None


def _with(term: Term, value: Term, cases: Sequence[Solution]) -> tuple[Solution, ...]:
    """Cases in each of which a term has a value besides."""
    return tuple(((term, value), *case) for case in cases)


@dataclass
class AtEdge:
    """Terms where some of their parts have the values that a solution gives them, which may read how far ``beside``.

    ``positive`` collects what must be positive there for a function of it to have a value.
    """

    context: Context
    lowering: Lowering
    solution: Solution
    beside: Element | None = None
    positive: list[Term] = field(default_factory=list)
    _known: dict[int, tuple[Term, Term]] = field(default_factory=dict)

    def term(self, term: Term) -> Term:
        """A term at the edge."""
        if id(term) not in self._known:
            self._known[id(term)] = (term, self._replaced(term) or self._rebuilt(term))
        return self._known[id(term)][1]

    def _replaced(self, term: Term) -> Term | None:
        for part, value in self.solution:
            if part is term or (type(part) is type(term) and self._is_same(part, term)):
                return value
            if isinstance(part, Product) and isinstance(term, Product):
                left = self._without(term.factors, part.factors)
                if left is not None:
                    return multiply([value, *map(self.term, left)], term.span)
        return None

    def _without(self, factors: Sequence[Term], divisor: Sequence[Term]) -> list[Term] | None:
        """The factors left after division by others, None where these are not among them."""
        left = list(factors)
        for part in divisor:
            found = next((f for f in left if f is part or (type(f) is type(part) and self._is_same(f, part))), None)
            if found is None:
                return None
            left.remove(found)
        return left

    def _is_same(self, part: Term, term: Term) -> bool:
        if isinstance(part, Element) and isinstance(term, Element):
            return part.node is term.node and part.places == term.places
        first, second = self.lowering.value(part), self.lowering.value(term)
        return first.node is second.node and first.axes == second.axes

    def _rebuilt(self, term: Term) -> Term:
        span = term.span
        match term:
            case Sum(terms=terms):
                return add([(1, self.term(part)) for part in terms], span)
            case Product(factors=factors):
                return multiply([self.term(factor) for factor in factors], span)
            case Power(base=base, exponent=exponent):
                at = self.term(base)
                if exponent < 0 or exponent.denominator != 1:
                    self.positive.append(at)
                return power(at, exponent, span)
            case Call(function=function, argument=argument, slope=slope):
                return self._applied(term, function, self.term(argument), slope)
            case BodySlope(body=body, argument=argument):
                return BodySlope(span, body, self.term(argument))
            case Reduction(kind=kind, indices=indices, guard=guard, body=body):
                return Reduction(span, kind, indices, guard, self.term(body))
            case Stopped(mode=mode, body=body):
                return Stopped(span, mode, self.term(body))
            case OverBatch(kind=kind, body=body):
                return OverBatch(span, kind, self.term(body))
            case Whole(value=value):
                return self.term(value)
            case Chosen(argument=argument):
                return self.term(argument)
        return term

    def _applied(self, term: Call, function: Function, argument: Term, slope: bool) -> Term:
        """A function of what it is applied to at the edge; its value where that is a number."""
        if function.slope is None and FUNCTIONS[function.name].domain is not None:
            self.positive.append(argument)
        if self.beside is not None and function.slope is None and not slope:
            at_edge = AtEdge(self.context, self.lowering, ((self.beside, number(0, term.span)),)).term(argument)
            known = known_value(self.context, at_edge)
            if known and (there := on_one_side(function, argument, known > 0)) is not None:
                return there
        return applied(self.context, function, argument, term.span) if not slope else replace(term, argument=argument)


def on_one_side(function: Function, argument: Term, positive: bool) -> Term | None:
    """What a function with an edge at 0 is on the one side of it; None for any other."""
    span = argument.span
    if function.is_condition:
        return number(int(positive), span)
    if function.name in ("abs", "relu"):
        return argument if positive else number(0, span) if function.name == "relu" else negate(argument)
    return None


def applied(context: Context, function: Function, argument: Term, span: Span) -> Term:
    """A function of a term; its value where that is a number."""
    value = value_of(context, function, argument)
    return Call(span, function, argument) if value is None else number(value, span)


def value_of(context: Context, function: Function, argument: Term) -> Fraction | None:
    """The value of a condition, and of any function of the table at 0 where it is 0, a half or 1."""
    if function.slope is not None:
        return None
    if function.is_condition:
        known = known_value(context, argument)
        return None if known is None else Fraction(int(known > 0 or (known == 0 and function.name == "reached")))
    exact = exact_value(context, argument)
    if function.name == "log":
        return Fraction(0) if exact == 1 else None
    if exact != 0:
        return None
    value = Fraction(float(FUNCTIONS[function.name].value(np.zeros(1))[0]))
    return value if value in (0, HALF, 1) else None
