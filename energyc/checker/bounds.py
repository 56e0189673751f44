"""Reads from the formulas of a spec what is known of their values as the states move on their sets."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from itertools import product as choices
from typing import Any

from energyc.checker.algebra import CASES, EXPONENT, Atom, Poly, exchanged, lone, new_index, replaced, seen, solved
from energyc.checker.algebra import number as constant
from energyc.checker.formulas import SCORES, Formulas, items_of, name_of, primes_of, sum_of_names
from energyc.checker.functions import FUNCTIONS, OTHERS, RISING, far_out, image, preimage, reduction
from energyc.checker.ranges import COMPACT, FREE, NONE, Facts, held, number, of_ends, root
from energyc.checker.syntax import Left, NotCovered, expression, items, same

CONVEX, COMPACT_SETS = ("", "box", "nonnegative", "simplex"), ("simplex", "sphere", "standardized")
Scope = Mapping[str, Any]
_FREE = Facts(continuous=True, top=True, bottom=True)
#: The values of conditions and signs.
VALUES = {"sign": (-1, 0, 1), **dict.fromkeys(("eq", "le", "above", "training"), (0, 1))}
#: How far beyond the edge of a condition what it chooses has to be smooth for it to be so at the edge.
NEAR = Fraction(1, 2**20)


def sets_of(left: Left) -> list[tuple[str, list[str]]]:
    """The kinds of the sets that a state or a param is in, each with what stands in its brackets."""
    _, word, sets = f" {left.body}".rpartition(" in ")
    parts = [part.strip().partition("[") for part in sets.split(" and ")] if word else []
    return [(kind.strip() or "box", items(inside.rpartition("]")[0])) for kind, _, inside in parts]


def set_of(left: Left) -> tuple[str, list[str]]:
    """The box that a state or a param is in, or another set; nothing where there is none."""
    sets = sets_of(left)
    return next((each for each in sets if each[0] == "box"), sets[0] if sets else ("", []))


class Bounds:
    """What is known of the values of expressions; ``formulas`` reads the same spec.

    Some dims have ``sizes``, and some params are ``nonnegative`` beside what their sets say. With ``norms`` a norm
    counts as the largest of functions with continuous slopes, which are not finitely many. ``partial`` says whether an
    expression was met that may be without a value: a root, a logarithm, a quotient.
    """

    def __init__(
        self, formulas: Formulas, sizes: Mapping[str, int] = {}, nonnegative: Collection[str] = (), norms: bool = False
    ) -> None:
        self.formulas, self.spec, self.sizes, self.nonnegative = formulas, formulas.spec, sizes, nonnegative
        self.norms = norms
        self.known: dict[str, Facts] = {}
        self.partial = False
        #: What a condition says of expressions in one scope.
        self.assumed: tuple[Scope, dict[str, Facts]] = ({}, {})

    def of(self, tree: Any, scope: Scope) -> Facts:
        """The facts of an expression; ``scope`` gives the dims of indices, and parameters. Raises NotCovered."""
        if self.assumed[1] and scope is self.assumed[0] and (written := ast.dump(tree)) in self.assumed[1]:
            return self.assumed[1][written]
        match tree:
            case ast.Constant(value=str(digits)):
                return number(Fraction(digits))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.of(operand, scope)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.power(left, right, scope)
            case ast.BinOp(left=left, op=sign, right=right):
                a, b = self.of(left, scope), self.of(right, scope)
                if isinstance(sign, ast.Mult):
                    return self.product(left, right, a, b)
                if isinstance(sign, ast.Div):
                    self.partial |= b.zero
                    return a * b.inverse()
                return a + (b if isinstance(sign, ast.Add) else -b)
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.Compare():
                return self.condition(tree, scope)
            case ast.Call(func=ast.Subscript() as head, args=[_, *_] as bodies, keywords=options):
                return self.reduced(head, bodies, options, scope)
            case ast.Call(func=ast.Name() as head, args=[first, *rest], keywords=[]):
                return self.function(name_of(head), primes_of(head), [first, *rest], scope)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.named(tree, scope)
        raise NotCovered("an expression of another kind")

    def product(self, left: Any, right: Any, a: Facts, b: Facts) -> Facts:
        """A square, ``u * log(u)``, which has a value at 0, or another product."""
        if same(left, right):
            return a.power(Fraction(2))
        for u, known, other in ((left, a, right), (right, b, left)):
            if self.is_call(other, "log") and same([u], other.args) and known.low >= 0:
                smooth, up = known.smooth and known.positive, known.above
                found = Facts(-1, above=up, continuous=known.continuous, top=smooth, bottom=smooth, reads=known.reads)
                return found.settled()
        return a * b

    def is_call(self, tree: Any, name: str) -> bool:
        """Whether an expression is a function of the language of something."""
        return isinstance(tree, ast.Call) and name_of(tree.func) == name and name not in self.spec["functions"]

    def condition(self, tree: ast.AST, scope: Scope) -> Facts:
        """That of a condition as 1 or 0, which jumps where it reads a state."""
        match tree:
            case ast.UnaryOp(operand=operand):
                return self.condition(operand, scope)
            case ast.BoolOp(values=parts):
                return Facts(0, 1, reads=max(self.condition(part, scope).reads for part in parts)).settled()
            case ast.Compare(left=left, comparators=others):
                return Facts(0, 1, reads=max(self.of(side, scope).reads for side in (left, *others))).settled()
        return self.of(tree, scope)

    def power(self, base: Any, exponent: ast.expr, scope: Scope) -> Facts:
        """A power by a number, or of a positive number by what no state is in."""
        u, by = self.of(base, scope), self.of(exponent, scope)
        self.partial |= (by.low < 0 and u.zero) or (u.low < 0 and Fraction(by.low).denominator > 1)
        if by.low == by.high:
            is_relu = (
                isinstance(base, ast.Call) and name_of(base.func) == "relu" and "relu" not in self.spec["functions"]
            )
            return self.powered(u, by.low, self.of(base.args[0], scope) if is_relu else None)
        if not u.positive or u.reads != NONE or by.reads != NONE:
            raise NotCovered("a power by what is no number")
        return held(0, zero=False)

    def powered(self, u: Facts, exponent: Fraction, rectified: Facts | None = None) -> Facts:
        """A power by a number, from 2 on one of relu of what is ``rectified``. Raises NotCovered for a large one."""
        if max(abs(exponent.numerator), exponent.denominator) > EXPONENT:
            raise NotCovered("a very large exponent")
        found = u.power(exponent)
        if rectified is not None and exponent >= 2:
            return found._replace(top=rectified.smooth, bottom=rectified.smooth)
        return found

    # ---------------------------------------------------------------- names

    def named(self, tree: Any, scope: Scope) -> Facts:
        """That of an index, a parameter, a const, the size of a dim, or an element."""
        plain = not isinstance(tree, ast.Subscript)
        name, spec = name_of(tree if plain else tree.value), self.spec
        if plain and name in scope:
            return held(0) if isinstance(scope[name], str) else scope[name]
        if name in spec["consts"]:
            const = spec["consts"][name]
            return self.size(name) if const.word == "dim" else self.of(expression(const.body[1:]), {})
        if name not in spec["tensors"] and name in ("pi", "training") and plain:
            return held(3, 4) if name == "pi" else held(0, 1)
        dims, places = self.formulas.signature(name), [] if plain else items_of(tree)
        if len(dims) != len(places):
            raise NotCovered(f"the name {name}")
        inside = [self.place(place, scope) == dim for place, dim in zip(places, dims, strict=True)]
        element = self.element(name)
        return element if all(inside) else element.joined(number(0)).settled()

    def place(self, tree: ast.expr, scope: Scope) -> str:
        """The dim of a plain index; nothing for another place, which may be out of range. Raises NotCovered."""
        if isinstance(tree, ast.Name) and isinstance(scope.get(name_of(tree)), str):
            return str(scope[name_of(tree)])
        if self.of(tree, scope).reads != NONE:
            raise NotCovered("a place that a state gives")
        return ""

    def element(self, name: str) -> Facts:
        """That of an element of a tensor or a let, at any place in it."""
        if name not in self.known:
            tensor, let = self.spec["tensors"].get(name), self.spec["lets"].get(name)
            if name[:2] in ("u.", "w."):
                self.known[name] = held()
            elif tensor is not None:
                self.known[name] = self.tensor(tensor, name in self.spec["states"])
            elif let is not None:
                self.known[name] = self.of(expression(let.body), self.scope(let))
        return self.known[name]

    def scope(self, left: Left) -> dict[str, str]:
        """The indices of a left side with their dims."""
        return {name: dim for (name, _), dim in zip(left.indices, self.formulas.dims_of(left), strict=True)}

    def tensor(self, left: Left, moves: bool) -> Facts:
        """That of an element of a tensor, by its set."""
        kind, ends = set_of(left)
        low, high, reads = -math.inf, math.inf, NONE if not moves else COMPACT if self.is_compact(left) else FREE
        if left.word in ("param", "state") and kind == "box":
            lower, upper = (self.of(expression(end), {}) for end in ends)
            low, high = lower.low, upper.high
        elif left.word in ("param", "state"):
            bounded = {"sphere": (-1, 1), "orthogonal": (-1, 1), "simplex": (0, 1), "nonnegative": (0, math.inf)}
            low, high = bounded.get(kind, (low, high))
            if kind == "standardized":
                high = root(max(self.extent(ends or self.formulas.dims_of(left)) - 1, 0))
                low = -high
        elif left.below:
            low = 0
        if left.word == "param" and left.name in self.nonnegative:
            low, high = max(low, 0), max(high, 0)
        if "zero_diagonal" in left.body:
            low, high = min(low, 0), max(high, 0)
        return _FREE._replace(low=low, high=high, reads=reads).settled()

    def is_compact(self, left: Left) -> bool:
        """Whether the set of a state is compact."""
        return set_of(left)[0] in (*COMPACT_SETS, "box")

    def extent(self, dims: Iterable[str]) -> Any:
        """How many elements there are over some dims, at most."""
        return reduce(of_ends, (self.size(dim).high for dim in dims), 1)

    def of_one(self, bound: Iterable[Atom], factors: Iterable[tuple[Atom, Any]], end: Atom) -> Facts:
        """What stands before one element in a sum over ``bound``."""
        return self.of_product([index for index in bound if lone(index) not in end.args], factors)

    def size(self, dim: str) -> Facts:
        """That of the size of a dim."""
        return number(self.sizes[dim]) if dim in self.sizes else held(1, zero=False)

    # ---------------------------------------------------------------- polynomials

    def of_poly(self, poly: Poly) -> Facts:
        """That of a polynomial: the factors that all its products have stand before their sum."""
        shared = frozenset.intersection(*(factors for (_, factors), _ in poly)) if poly else frozenset()
        shared = frozenset(f for f in shared if not any(seen(f[0])[0] & {*bound} for (bound, _), _ in poly))
        parts = (number(value) * self.of_product(bound, factors - shared) for (bound, factors), value in poly)
        return self.of_product((), shared) * reduce(operator.add, parts, number(0))

    def of_cases(self, poly: Poly) -> Facts:
        """The same, for each value of the signs and conditions that stand before its products; some at most."""
        found = {atom for (bound, factors), _ in poly for atom, _ in factors if not seen(atom)[0] & {*bound}}
        chosen = sorted((atom for atom in found if atom.name in VALUES and atom.kind == "function"), key=str)[:CASES]
        cases = (
            self.of_poly(replaced(poly, dict(zip(chosen, map(constant, values), strict=True)).get))
            for values in choices(*(VALUES[atom.name] for atom in chosen))
        )
        return reduce(Facts.joined, cases)

    def of_product(self, bound: Iterable[Atom], factors: Iterable[tuple[Atom, Any]]) -> Facts:
        """That of a product of powers, summed over indices."""
        powers = (self.of_power(atom, Fraction(exponent)) for atom, exponent in factors)
        found = reduce(operator.mul, powers, number(1))
        for index in bound:
            found = found * self.size(index.below) if index.below in self.sizes else found.repeated(False)
        return found

    def of_power(self, atom: Atom, exponent: Fraction) -> Facts:
        """That of a power of an atom."""
        is_relu = (atom.kind, atom.name) == ("function", "relu")
        return self.powered(self.of_atom(atom), exponent, self.of_poly(atom.args[0]) if is_relu else None)

    def of_atom(self, atom: Atom) -> Facts:
        """That of an atom; of some functions nothing."""
        name = atom.name
        if atom.kind == "size":
            return self.size(name)
        if atom.kind == "far":
            return far_out(name)
        if atom.kind != "element":
            return held(3, 4) if atom.kind == "pi" else held(0) if atom.kind == "index" else self.of_function(atom)
        if " " in name:
            return self.of(expression(self.spec["consts"][name.partition(" ")[2]].body[1:]), {})
        return self.element(name)

    def sign(self, atom: Atom) -> Poly | None:
        """The value of a sign, or of an impulse, that the sets of states and params decide."""
        if atom.kind != "function" or atom.name not in ("sign", "impulse"):
            return None
        known = self.of_poly(atom.args[0])
        value = (known.positive - (-known).positive) if atom.name == "sign" else 0
        return constant(value) if known.positive or (-known).positive else None

    def of_function(self, atom: Atom) -> Facts:
        """That of a function, or of the slope of one."""
        name = atom.name
        if name in ("above", "eq", "le", "training"):
            return held(0, 1)
        inner = self.of_poly(atom.args[0]) if atom.args else Facts()
        if name == "power":
            return inner
        if name in ("abs", "relu", "leaky_relu", "log"):
            return OTHERS[name](inner)
        return image(name, inner) if name in FUNCTIONS else Facts(reads=inner.reads).settled()

    def is_each(self, element: Atom, bound: Collection[Atom]) -> bool:
        """Whether a sum over ``bound`` has each element of a tensor once or more."""
        dims = self.formulas.signature(element.name)
        indices = [next((index for index in bound if place == lone(index)), None) for place in element.args]
        return len({*indices}) == len(dims) and all(i and i.below == dim for i, dim in zip(indices, dims, strict=True))

    # ---------------------------------------------------------------- functions and reductions

    def function(self, name: str, primes: int, arguments: list[ast.expr], scope: Scope) -> Facts:
        """A function of the spec or of the language. Raises NotCovered."""
        own = self.spec["functions"].get(name)
        if name == "grad" and own is None:
            return self.gradient(arguments)
        if name == "where" and own is None:
            sides = [self.side(arguments[0], k == 0, each, scope) for k, each in enumerate(arguments[1:])]
            if None in sides and any(sides):
                return next(side for side in sides if side is not None)
            one, other = (side or self.of(each, scope) for side, each in zip(sides, arguments[1:], strict=True))
            decides = self.condition(arguments[0], scope).reads
            joined = one.joined(other)
            if decides == NONE:
                return joined
            meet, smooth = (known or None for known in self.meet(arguments[0], arguments[1:], scope))
            reads = max(joined.reads, decides)
            return joined._replace(continuous=meet, top=smooth, bottom=smooth, reads=reads).settled()
        values = [self.of(each, scope) for each in arguments]
        self.partial |= own is None and (
            (name == "log" and not values[0].positive) or (name == "sqrt" and values[0].low < 0)
        )
        if own is not None and primes <= own.primes:
            integral = primes < own.primes
            return self.integral(own, values[0]) if integral else self.applied(own, values, {})
        if primes == 1 and f"{name}'" in FUNCTIONS:
            return image(f"{name}'", values[0])
        if primes:
            raise NotCovered("the derivative of a function")
        if name in OTHERS:
            known = OTHERS[name](*values)
            return known._replace(top=True) if self.norms and self.is_norm(name, arguments, scope) else known
        if len(values) != 1:
            raise NotCovered(f"the function {name}")
        return image(name, values[0])

    def is_norm(self, name: str, arguments: list[ast.expr], scope: Scope) -> bool:
        """Whether a function is the root of a sum of squares of what has a continuous slope."""
        match name, arguments:
            case "sqrt", [ast.Call(func=ast.Subscript() as head, args=[ast.BinOp(op=ast.Pow()) as square])]:
                own, indices, _ = self.formulas.heading(head, square, scope)
                two = isinstance(square.right, ast.Constant) and square.right.value == "2"
                return own == "sum" and two and bool(self.of(square.left, {**indices, **scope}).smooth)
        return False

    def side(
        self, condition: ast.expr, holds: bool, tree: ast.expr, scope: Scope, near: Fraction = Fraction(0)
    ) -> Facts | None:
        """The facts of an expression where a condition holds, or does not; None where that is nowhere.

        And that ``near`` the edges of comparisons.
        """
        if isinstance(condition, ast.BoolOp) and holds != isinstance(condition.op, ast.And):
            parts = [self.side(part, holds, tree, scope, near) for part in condition.values]
            somewhere = [part for part in parts if part is not None]
            return reduce(Facts.joined, somewhere) if somewhere else None
        before, known = self.assumed, dict(self.assumed[1]) if self.assumed[0] is scope else {}
        self.assumed = scope, known
        try:
            for larger, smaller, strict in compared(condition, holds):
                a, b, strict = self.of(larger, scope), self.of(smaller, scope), strict and not near
                if a.high < b.low - near or (strict and a.high <= b.low):
                    return None
                over = b._replace(low=b.low - near, high=math.inf, above=False, reads=FREE)
                under = a._replace(low=-math.inf, high=a.high + near, below=False, reads=FREE)
                self.assume(larger, scope, over, strict)
                self.assume(smaller, scope, under, strict)
            return self.of(tree, scope)
        finally:
            self.assumed = before

    def meet(self, condition: ast.expr, pair: list[ast.expr], scope: Scope) -> tuple[bool, bool]:
        """Whether two expressions, and whether their slopes, are equal wherever a comparison changes.

        Its sides are continuous, and so is each expression, or its slope, where it is chosen and near there.
        """
        sides = [each for each in compared_in(condition) if any(self.of(tree, scope).reads != NONE for tree in each)]
        near = [self.side(condition, not k, tree, scope, NEAR) for k, tree in enumerate(pair)]
        known = [*near, *(self.of(tree, scope) for each in sides for tree in each)]
        if not sides or not all(each and each.continuous for each in known):
            return False, False
        parameters = [new_index("") for place in scope.values() if not isinstance(place, str)]
        others = iter(map(lone, parameters))
        atoms = {name: new_index(at) if isinstance(at, str) else next(others) for name, at in scope.items()}
        # lets that are read as names, as the slope by one may jump where none by a state does
        named, meet = Formulas(self.spec, [*self.spec["states"], *self.spec["lets"]], ()), False
        named.exchange, named.vectors = self.formulas.exchange, self.formulas.vectors
        for formulas in (named, self.formulas):
            gap = formulas.value(pair[0], atoms) - formulas.value(pair[1], atoms)
            edges = [[*solved(formulas.value(a, atoms) - formulas.value(b, atoms))] for a, b in sides]
            meet = meet or all(any(vanishing([gap], way) for way in ways) for ways in edges)
            if formulas is named and all(each and each.smooth for each in near):
                gaps = [gap, *(named.differential(gap, by) for by in (None, *parameters))]
                if all(any(vanishing(gaps, way) for way in ways) for ways in edges):
                    return True, True
        return meet, False

    def assume(self, tree: ast.expr, scope: Scope, by: Facts, strict: bool) -> None:
        """That an expression lies between the ends of ``by``, which one that is ``strict`` does not reach.

        Where it does not is no closed set: that it is nowhere 0 there keeps it off 0 only if no state moves it.
        """
        old = self.of(tree, scope)
        zero = old.zero and not (strict and (by.low >= 0 or by.high <= 0))
        low, high, below, above = max(old.low, by.low), min(old.high, by.high), by.below, by.above
        if low <= high:
            new = old._replace(low=low, high=high, zero=zero, below=old.below or below, above=old.above or above)
            new = new._replace(reads=FREE if strict and old.reads != NONE else old.reads)
            self.assumed[1][ast.dump(tree)] = new.settled()
        match tree:
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                self.assume(inner, scope, -by, strict)
            case ast.Call(args=[inner]) if self.is_call(tree, "abs"):
                self.assume(inner, scope, Facts(-high, high, below=above, above=above), False)
                if low > 0:
                    smooth = self.keep_off(inner, scope).smooth
                    self.assumed[1][ast.dump(tree)] = self.of(tree, scope)._replace(top=smooth, bottom=smooth)
            case ast.BinOp(left=inner, op=ast.Pow(), right=right) if low > 0 and self.of(right, scope).low > 0:
                self.keep_off(inner, scope)
            case ast.BinOp(left=inner, op=ast.Add() | ast.Sub() as sign, right=other):
                if (value := self.of(other, scope)).is_number:
                    self.assume(inner, scope, by + (value if isinstance(sign, ast.Sub) else -value), False)
            case ast.BinOp(left=other, op=ast.Mult(), right=inner):
                if (value := self.of(other, scope)).is_number and not value.zero:
                    self.assume(inner, scope, by * value.inverse(), strict)
            case ast.Call(func=ast.Name(id=head), args=[inner], keywords=[]) if head[3:] in FUNCTIONS:
                if self.is_call(tree, head[3:]) and head[:3] == "p0_" and FUNCTIONS[head[3:]].shape == RISING:
                    ends = preimage(head[3:], by.low, -1), preimage(head[3:], by.high, 1)
                    self.assume(inner, scope, Facts(*ends, below=ends[0] > -math.inf, above=ends[1] < math.inf), False)

    def keep_off(self, tree: ast.expr, scope: Scope) -> Facts:
        """That an expression is not near 0, as a function of it which is 0 at 0 is above a number above 0."""
        known = self.assumed[1][ast.dump(tree)] = self.of(tree, scope)._replace(zero=False, away=True).settled()
        return known

    def gradient(self, arguments: list[Any]) -> Facts:
        """The slope of energies by a state or a let, which is continuous where theirs is.

        They are smooth by the smoothness of each function in them, so that their slope by an inner one is continuous.
        """
        by = name_of(arguments[1] if isinstance(arguments[1], ast.Name) else arguments[1].value)
        if by not in self.spec["states"] and by not in self.spec["lets"]:
            raise NotCovered("a gradient by what is no state and no let")
        terms = [self.spec["terms"][name] for name in sum_of_names(arguments[0])]
        known = reduce(operator.add, (self.of(expression(term.body), self.scope(term)) for term in terms))
        return Facts(continuous=known.continuous and known.smooth)

    def applied(self, own: Left, values: list[Facts], indices: Scope) -> Facts:
        """The body of a function at values."""
        return self.of(expression(own.body), {**dict(zip(own.parameters, values, strict=True)), **indices})

    def integral(self, own: Left, u: Facts) -> Facts:
        """The integral of a function from 0; where that has the sign of its argument, no value is below that at 0."""
        if own.primes != 1 or own.indices or self.applied(own, [held()], {}).reads != NONE:
            raise NotCovered("an integral of another kind")
        line = (_FREE, _FREE._replace(low=0, below=True), _FREE._replace(high=0, above=True))
        slope, right, left = (self.applied(own, [part], {}) for part in line)
        smooth = slope.continuous
        floor = smooth and right.low >= 0 and left.high <= 0
        known = Facts(below=(smooth and u.bounded) or floor, above=smooth and u.bounded, reads=u.reads)
        smooth = smooth and u.smooth
        return known._replace(continuous=slope.continuous and u.continuous, top=smooth, bottom=smooth).settled()

    def reduced(self, head: Any, bodies: list[ast.expr], options: list[ast.keyword], scope: Scope) -> Facts:
        """A reduction along indices. Raises NotCovered."""
        name, indices, guard = self.formulas.heading(head, bodies[0], scope)
        if "batch" in indices:
            raise NotCovered("a statistic of the batch")
        inner, guarded = {**{k: dim for k, dim in indices.items() if k not in scope}, **scope}, guard is not None
        own, values = self.spec["functions"].get(name), [self.of(body, inner) for body in bodies]
        if guard is not None and self.condition(guard, inner).reads != NONE:
            raise NotCovered("a guard that reads a state")
        if own is not None and primes_of(head.value) == own.primes and not guarded:
            along = [inner[index] for index in indices]
            return self.applied(own, values, dict(zip((index for index, _ in own.indices), along, strict=True)))
        if own is not None or primes_of(head.value):
            raise NotCovered("the derivative of a function")
        if len(values) > 1 and name not in SCORES:
            raise NotCovered(f"the reduction {name} of several values")
        eps = self.of(options[0].value, scope) if options else number(1)
        self.partial |= guarded and name == "logsumexp"
        return reduction(name, values[0], guarded, eps)


def vanishing(polys: Iterable[Poly], pairs: Iterable[tuple[Atom, Poly]]) -> bool:
    """Whether polynomials are 0 with others in the place of some atoms."""
    return not any(reduce(lambda poly, each: exchanged(poly, *each), pairs, poly) for poly in polys)


def compared_in(condition: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The two sides of each comparison in a condition."""
    match condition:
        case ast.UnaryOp(operand=operand):
            yield from compared_in(operand)
        case ast.BoolOp(values=parts):
            for part in parts:
                yield from compared_in(part)
        case ast.Compare(left=left, comparators=others):
            yield from pairwise([left, *others])


def compared(condition: ast.AST, holds: bool) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """What is not below what where a condition ``holds``, or does not; and whether it is above it."""
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from compared(operand, not holds)
        case ast.BoolOp(op=both, values=parts) if holds == isinstance(both, ast.And):
            for part in parts:
                yield from compared(part, holds)
        case ast.Compare(left=left, ops=signs, comparators=others) if holds or len(signs) == 1:
            for a, b, sign in zip([left, *others], others, signs, strict=False):
                above, strict = isinstance(sign, ast.Gt | ast.GtE), isinstance(sign, ast.Gt | ast.Lt) == holds
                if isinstance(sign, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                    yield (a, b, strict) if above == holds else (b, a, strict)
