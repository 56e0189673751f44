"""Symmetric Jacobians and matrices: exchanging the two directions u and w leaves ``u . J w`` as it is.

Across jumps the slope of ``sign(u)`` is twice an impulse at u = 0, with ``u impulse(u) = 0`` (Schwartz, Theorie des
distributions, 1950). On sets u and w are tangent: what is normal to the set of a state has no part in the form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from energyc.checker.algebra import (
    Atom,
    Poly,
    exchanged,
    linear,
    lone,
    moved,
    new_index,
    number,
    occurs,
    opened,
    product,
    replaced,
    seen,
    summed,
    times,
    total,
    unfolded,
)
from energyc.checker.bounds import Bounds, sets_of
from energyc.checker.case import Case, Refused, require
from energyc.checker.forms import sized
from energyc.checker.formulas import Formulas
from energyc.checker.syntax import Left, NotCovered, left_side

#: For what a statement holds: everywhere, or on sets.
QUANTIFIERS = "all params, inputs, states and sizes at which the formulas have a value and a slope"
ON_SETS = "all params and states on their sets, inputs and sizes at which the formulas have a value and a slope"
#: The sets to which one number for all entries is normal, or a multiple of the state, or both.
NORMAL = ("simplex", "sphere", "standardized")
_SIDE = Atom("far", "side")


@lru_cache(8)
def symmetries(
    layer: str | None, text: str, consts: tuple[tuple[str, str], ...], ties: tuple[tuple[str, str], ...] = ()
) -> Symmetry:
    """What judges the symmetries of a spec, or of a layer."""
    return Symmetry(layer, text, dict(consts), ties)


class Symmetry(Case):
    """Judges statements that something is symmetric; with ``ties`` of params that the spec does not have."""

    def __init__(
        self, layer: str | None, text: str, consts: Mapping[str, str], ties: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(layer, text, consts)
        for left, right in ties:
            self.tie(left_side("tie", left, right))
        self.gaps: dict[Any, tuple[Poly, Formulas]] = {}

    def tie(self, left: Left) -> None:
        """Take a param as a formula of others; of ``free NAME``, which it is itself."""
        tensors = self.spec["tensors"]
        tensors[f"free_{left.name}"] = tensors.pop(left.name)
        self.spec["lets"][left.name] = left

    def check(self, statement: Mapping[str, Any]) -> tuple[Collection[str], bool]:
        """The left sides that a statement rests on, and whether it holds for tangent directions alone.

        Raises Refused for one that does not hold, NotCovered for what cannot be judged.
        """
        on_sets, of = statement["for"] == ON_SETS, statement["of"]
        require(on_sets or statement["for"] == QUANTIFIERS, "the statement has other quantifiers")
        names = [of] if isinstance(of, str) else of
        by = statement["by"]
        require(len({*names}) == len(names) > 0 and len({*by}) == len(by) > 0, "the statement repeats a name")
        key = statement["kind"], statement.get("across"), str(of), (*by,), on_sets
        if key not in self.gaps:
            self.gaps[key] = self.gap(statement, on_sets)
        gap, formulas = self.gaps[key]
        self.sizes = sized(statement["sizes"], self.spec)
        self.values = Bounds(self.formulas, self.sizes) if on_sets else None
        otherwise = "the form is not the same where u and w are exchanged"
        try:
            self.equal(gap, number(0), otherwise)
        except Refused:
            if not on_sets or not any(surface(self.spec["states"].get(name)) for name in by):
                raise
            self.equal(self.along_sets(gap, formulas, by), number(0), otherwise)
            return formulas.used, True
        return formulas.used, False

    def gap(self, statement: Mapping[str, Any], on_sets: bool) -> tuple[Poly, Formulas]:
        """What is left of ``u . J w`` where that with u and w exchanged is taken off."""
        of, by = statement["of"], statement["by"]
        kinds = {"symmetric": self.symmetric, "matrix": self.matrix, "metric": self.metric}
        formulas, form = kinds[statement["kind"]](of, by)
        if statement["kind"] == "symmetric":
            form = self.tangent(form) if on_sets else form
            formulas.across = bool(statement["across"])
            form = formulas.differential(form)
        gap = form - replaced(form, turned)
        return (at_impulses(gap) if formulas.across else gap), formulas

    # ---------------------------------------------------------------- forms in u and w

    def symmetric(self, of: Any, by: Sequence[str]) -> tuple[Formulas, Poly]:
        """The work of forces along u; of a let along the state that it is by, of a flow along a let."""
        if not isinstance(of, str):
            terms = [self.spec["terms"][name] for name in of]
            require({*by} == self.spec["states"].keys(), "these are not all states")
            formulas = Formulas(self.spec, self.spec["states"], ())
            formulas.held = True
            return formulas, total(formulas.work(term, "u") for term in terms)
        (name,), flow = by, self.spec["terms"].get(of)
        formulas = Formulas(self.spec, by, ())
        formulas.held = flow is None
        indices, value = formulas.equation(self.spec["lets"][of] if flow is None else flow)
        square = [index.below for index in indices] == [*formulas.signature(name)]
        require(square, "the Jacobian is not square")
        read = flow is not None and any(occurs(flow.on, factors) for (_, factors), _ in value)
        require(not read, "the flow reads its state beside the let")
        return formulas, formulas.dot(indices, value, f"u.{name}")

    def metric(self, of: Any, by: Sequence[str]) -> tuple[Formulas, Poly]:
        """``u . (dg/dx) P w``, for a flow ``-P grad(E, g)``."""
        (name,) = by
        formulas, indices, value = self.descent(self.spec["terms"][of], name, whole=False)
        return formulas, formulas.dot(indices, value, f"u.{name}")

    def matrix(self, of: Any, by: Sequence[str]) -> tuple[Formulas, Poly]:
        """``u . M w`` of a let by two of its indices, u and w being vectors over these."""
        (a, b), let = by, self.spec["lets"][of]
        formulas = Formulas(self.spec, (), ())
        indices, value = formulas.equation(let)
        scope = {name: index for (name, _), index in zip(let.indices, indices, strict=True)}
        require(scope[a].below == scope[b].below, "the indices are of two dims")
        kept = tuple(index for index in indices if index not in (scope[a], scope[b]))
        u, w = (
            lone(Atom("element", f"{way}.", (lone(scope[at]), *map(lone, kept)))) for way, at in (("u", a), ("w", b))
        )
        return formulas, summed(indices, value * u * w)

    # ---------------------------------------------------------------- sets

    def tangent(self, form: Poly) -> Poly:
        """The work of forces without that of what is normal to the sets: it has no part in the work along them."""
        return Poly((each, value) for each, value in form if not self.is_normal(*each))

    def is_normal(self, bound: Sequence[Atom], factors: frozenset[tuple[Atom, Any]]) -> bool:
        """Whether a product is one number for all entries times u, or, of a round set, that times the state."""
        ((way, _),) = (each for each in factors if each[0].name.startswith("u."))
        found = surface(self.spec["states"][way.name[2:]])
        if found is None:
            return False
        kind, axes = found
        along = self.along_of(way, axes)
        own, rest = (way._replace(name=way.name[2:]), 1), factors - {(way, 1)}
        if along is None or not along <= {*bound}:
            return False
        if own in rest and kind != "simplex":
            rest -= {own}
        elif kind == "sphere":
            return False
        return not any(seen(atom)[0] & along for atom, _ in rest)

    def along_of(self, atom: Atom, axes: Sequence[str]) -> set[Atom] | None:
        """The indices of an element along the axes of its set; None where another place is there."""
        dims = self.formulas.signature(atom.name)
        places = [place for place, dim in zip(atom.args, dims, strict=True) if dim in (axes or dims)]
        found = [index for place in places for index in seen(Atom("", "", (place,)))[0] if place == lone(index)]
        return {*found} if len({*found}) == len(places) == len({*dims} & {*(axes or dims)}) else None

    def along_sets(self, gap: Poly, formulas: Formulas, by: Sequence[str]) -> Poly:
        """The gap for directions along the sets: those less what is normal to them."""
        for name in by:
            if (found := surface(self.spec["states"].get(name))) is None:
                continue
            dims = formulas.signature(name)
            require(len({*dims}) == len(dims), "a set along one of two axes of a dim")
            for way in ("u", "w"):
                indices = tuple(map(new_index, dims))
                gap = unfolded(gap, f"{way}.{name}", indices, self.projected(formulas, name, way, indices, *found))
        return self.with_sums(gap)

    def projected(
        self, formulas: Formulas, name: str, way: str, indices: Sequence[Atom], kind: str, axes: Sequence[str]
    ) -> Poly:
        """A direction less its mean along the axes of a set, and less its part along the state."""
        along = [index for index in indices if index.below in (axes or [index.below])]
        others = {index: lone(new_index(index.below)) for index in along}
        new = tuple(atom for poly in others.values() for (_, factors), _ in poly for atom, _ in factors)
        here, there = (
            [formulas.element(each, tuple(others.get(i, lone(i)) if far else lone(i) for i in indices))
             for each in (f"{way}.{name}", name)]
            for far in (False, True)
        )  # fmt: skip
        share = times(lone(Atom("size", index.below), -1) for index in along)
        found = here[0]
        if kind != "sphere":
            found -= share * summed(new, there[0])
        if kind != "simplex":
            part = here[1] * summed(new, moved(there[0] * there[1], {}))
            found -= part if kind == "sphere" else share * part
        return found

    def with_sums(self, poly: Poly) -> Poly:
        """With what they are on sets in the place of sums of a state, or of its squares, that nothing else reads."""
        return total(self.with_sum(bound, [*factors], value) for bound, factors, value in opened(poly))

    def with_sum(self, bound: tuple[Atom, ...], factors: list[Any], value: Any) -> Poly:
        """The same of one product."""
        for atom, exponent in factors:
            found = surface(self.spec["states"].get(atom.name)) if atom.kind == "element" else None
            along = self.along_of(atom, found[1]) if found is not None else None
            if found is None or not along or not along <= {*bound}:
                continue
            known = self.sum_of(found[0], exponent, along)
            others = [factor for factor in factors if factor != (atom, exponent)]
            if known is not None and not any(seen(each)[0] & along for each, _ in others):
                rest = tuple(index for index in bound if index not in along)
                return self.with_sums(summed(rest, product((), others, value) * known))
        return summed(bound, product((), factors, value))

    @staticmethod
    def sum_of(kind: str, exponent: Any, along: Collection[Atom]) -> Poly | None:
        """The sum of a power of a state along the axes of its set, where that is known."""
        sums = {("simplex", 1): 1, ("sphere", 2): 1, ("standardized", 1): 0}
        if (kind, exponent) == ("standardized", 2):
            return times(lone(Atom("size", index.below)) for index in along)
        return number(sums[kind, exponent]) if (kind, exponent) in sums else None


def surface(left: Left | None) -> tuple[str, list[str]] | None:
    """The simplex, sphere or standardized values that a state is on, and their axes; None of any other."""
    found = [each for each in sets_of(left) if each[0] in NORMAL] if left is not None else []
    return found[0] if found else None


def turned(atom: Atom) -> Poly | None:
    """A direction in the place of the other one; None of what is no direction."""
    way, dot, name = atom.name.partition(".")
    if atom.kind != "element" or not dot or way not in ("u", "w"):
        return None
    return lone(atom._replace(name=f"{'w' if way == 'u' else 'u'}.{name}"))


def at_impulses(poly: Poly) -> Poly:
    """With what stands before an impulse at the place of that. Raises NotCovered for one at the place of a jump."""
    return total(_at_impulse(bound, [*factors], value) for bound, factors, value in opened(poly))


def _at_impulse(bound: tuple[Atom, ...], factors: list[Any], value: Any) -> Poly:
    impulses = [factor for factor in factors if factor[0].name == "impulse"]
    rest = product((), [factor for factor in factors if factor not in impulses], value)
    if not impulses:
        return summed(bound, rest)
    ((impulse, exponent), *others) = impulses
    (u,) = impulse.args
    places = [(atom, lower.scaled(-1 / by)) for atom, by, lower in linear(u)][:1]

    def jump(atom: Atom) -> Poly | None:
        """Another jump at the same place."""
        if atom.kind != "function" or atom.name != "sign":
            return None
        (v,) = atom.args
        return lone(_SIDE) if v == u or any(not exchanged(v, *place) for place in places) else None

    rest = replaced(rest, jump)
    for place in places:
        rest = exchanged(rest, *place)
    if others or exponent != 1 or any(occurs(_SIDE.name, form[1]) for form, _ in rest):
        raise NotCovered("an impulse at the place of a jump")
    return summed(bound, rest * lone(impulse))
