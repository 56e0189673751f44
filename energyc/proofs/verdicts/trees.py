"""Writes proofs as rule trees (docs/certificates.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from energyc.checker.algebra import limited
from energyc.checker.case import Refused
from energyc.checker.claims import Claims, reader
from energyc.checker.nodes import FOR
from energyc.checker.ranges import FREE, Facts, root
from energyc.checker.syntax import Left, NotCovered, expression
from energyc.checker.terms import moving
from energyc.language.network import Network
from energyc.language.syntax import ast
from energyc.language.syntax.unparse import unparse
from energyc.mathematics.ir import NoRule
from energyc.proofs.claims import floor, positivity
from energyc.proofs.claims.claims import INVERTIBLE
from energyc.proofs.claims.classes import CONTRACTION, CONVERGES, EQUILIBRIUM, UNIQUE
from energyc.proofs.claims.judgement import LIPSCHITZ, Found, Step, Tree
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.claims.positivity import Squares
from energyc.proofs.claims.sets import is_convex
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.formulas import Equations, formulas_of
from energyc.proofs.verdicts.slopes import Slopes, TooWeak

Json = dict[str, Any]
#: The kinds of the statements of claims that have rule trees.
KINDS = {
    floor.CLAIM: "floor",
    EQUILIBRIUM: "rest",
    UNIQUE: "unique",
    CONVERGES: "converges",
    CONTRACTION: "contraction",
    positivity.CLAIM: "positive",
    INVERTIBLE: "invertible",
}
#: A part of an energy: the name of that, and the part.
Part = tuple[str, str]


class NoTree(Exception):
    """A proof that has no rule tree, and why."""


#: Ends of ranges from here on count as infinite.
LARGEST = 10**300
#: What is raised where a proof has no tree.
OBSTACLES = (NoTree, TooWeak, NotCovered, NoRule, Refused, ArithmeticError, LookupError, RecursionError, ValueError)


@dataclass(frozen=True)
class Trees:
    """Writes rule trees of a network, or of a layer."""

    symmetries: Symmetries

    @property
    def network(self) -> Network:
        """The network."""
        return self.symmetries.network

    @property
    def equations(self) -> Equations:
        """What the text of the spec defines."""
        return self.symmetries.equations

    def shown(self, kind: str, proof: Step) -> Tree | str:
        """The tree by which the checker shows a statement of this kind, or the reason why it does not."""
        if proof.tree is not None:
            return proof.tree
        try:
            with limited():
                tree = self._written(kind, proof)
                self._reader.check(tree)
                return tree
        except OBSTACLES as reason:
            return str(reason)

    def _written(self, kind: str, proof: Step) -> Tree:
        """The tree of a proof, with the formulas that it reads. Raises one of the OBSTACLES."""
        writers: dict[str, Callable[[Step], Json]] = {"floor": self._floor, "rest": self._rest, "unique": self._unique}
        writers |= {"converges": self._converges, "contraction": self._contraction}
        writers |= {"positive": self._positive, "invertible": self._invertible}
        tree = writers[kind](proof)
        read, written = self._read_by(tree["statement"], self._energies)
        return {"formulas": formulas_of(self.equations, read, written), **tree}

    @cached_property
    def _energies(self) -> list[str]:
        return [name for name, term in self.equations.own.items() if term.word == "energy"]

    # ------------------------------------------------------------ what the checker finds by itself

    def slope(self, state: str) -> Found | None:
        """The range of the slope of a step of a state: for all sizes, or where that is wide for those of the spec."""
        step, wide = self._steps[state], None
        for sizes in ({}, dict(self.network.extents)):
            try:
                with limited():
                    low, high = map(_in_floats, self._reader.slope(state, step, sizes))
            except OBSTACLES:
                return None
            if wide is None or (low, high) != wide[:2]:
                wide = Found(low, high, sizes)
            if low > -1 and high < 1:
                break
        return wide

    def _read_by(self, statement: Json, energies: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The terms and lets that a statement is about."""
        if statement["kind"] in ("positive", "semidefinite", "invertible"):
            return [statement["of"]], []
        return (energies if statement["kind"] == "floor" else [*self.equations.own]), []

    # ------------------------------------------------------------ slopes

    @cached_property
    def _slopes(self) -> Slopes:
        return Slopes(self.network, self._reader)

    def _curved(
        self, proof: Step, lengths: Mapping[str, Fraction], sizes: Mapping[str, int], steep: bool = False
    ) -> Json:
        """The bounds of the curvature: m and, if it is to be ``steep`` at most, L."""
        assert isinstance(proof.by, Monotone)
        terms, steps = self._moving(proof), "proximal" if proof.by.moves_proximally else "plain"
        kinks = {"kinks": self._kinks()} if proof.by.moves_proximally else {}
        if not kinks:
            self._reader.steady(proof.rule, terms)
        bends = self._reader.bends({"facts": {"squares": [], **kinks}}, steps, terms)
        m, squares = self._slopes.curved(proof.by, bends, lengths, sizes)
        most = self._slopes.steepest(bends, lengths, sizes) if steep else None
        written = {name: str(length) for name, length in lengths.items()}
        statement = {"kind": "curved", "steps": steps, "lengths": written, "m": str(m)}
        return _node("form", {**statement, "L": None if most is None else str(most)}, (), {"squares": squares, **kinks})

    def _kinks(self) -> list[list[str]]:
        """The parts of energies that have no continuous slope."""
        energies = [name for name, term in self.equations.own.items() if term.word == "energy"]
        return [[*part] for part in parts_of(self.equations, energies) if not self._facts(part).smooth]

    def _at_sizes(self, make: Callable[[Mapping[str, int]], Json]) -> Json:
        """What holds for all sizes, or else at those of the spec."""
        try:
            return make({})
        except TooWeak:
            return make(dict(self.network.extents))

    def _pulled(self, proof: Step, sizes: Mapping[str, int]) -> Json:
        """The premise by which there is one equilibrium: m for steps of length 1."""
        return self._curved(proof, dict.fromkeys(self.network.states, Fraction(1)), sizes)

    def _moving(self, proof: Step) -> Sequence[Left]:
        return moving(self._reader.motion(proof.rule))

    def _unique(self, proof: Step) -> Json:
        if proof.rule == "banach":
            return self._by_banach(proof, {"kind": "unique", "steps": "plain", **self._quantified("unique")})

        def tree(sizes: Mapping[str, int]) -> Json:
            pulled = self._pulled(proof, sizes)
            written = {"steps": pulled["statement"]["steps"], "sizes": {**sizes}, **self._quantified("unique")}
            return _node(proof.rule, {"kind": "unique", **written}, [pulled])

        return self._at_sizes(tree)

    def _by_banach(self, proof: Step, statement: Json) -> Json:
        """That of a step which brings all states closer, or the only one."""
        lone = proof.by if isinstance(proof.by, str) else None
        premise = self._converges(LIPSCHITZ) if lone is None else self._contraction(replace(proof, about=(lone,)))
        return _node("banach", {**statement, "sizes": premise["statement"]["sizes"]}, [premise])

    @property
    def _steps(self) -> dict[str, Fraction]:
        return {name: Fraction(repr(self.network.relax.step_for(name))) for name in self.network.states}

    def _lipschitz(self, sizes: Mapping[str, int]) -> Json:
        """The rate of a step by the norms of its Jacobian. Raises TooWeak where it is not below 1."""
        norms = self._reader.stretches(self._steps, sizes)
        rate = largest_stretch(norms, [*self._steps.values()])
        lengths = {name: str(length) for name, length in self._steps.items()}
        written = {"steps": "plain", "lengths": lengths, "rate": str(rate), "sizes": {**sizes}}
        return _node("lipschitz", {"kind": "converges", **written, **self._quantified("converges")})

    def _converges(self, proof: Step) -> Json:
        if proof.rule == "lipschitz":
            return self._at_sizes(self._lipschitz)
        steps = self._steps
        gradient = len(self._energies) == len(self.equations.own)

        def tree(sizes: Mapping[str, int]) -> Json:
            curved = self._curved(proof, steps, sizes, steep=True)
            rate = rate_of(curved["statement"], gradient)
            same = {name: curved["statement"][name] for name in ("steps", "lengths")}
            written = {**same, "rate": str(rate), "sizes": {**sizes}}
            return _node("rate", {"kind": "converges", **written, **self._quantified("converges")}, [curved])

        return self._at_sizes(tree)

    def _contraction(self, proof: Step) -> Json:
        (name,) = proof.about
        step = str(Fraction(repr(self.network.relax.step_for(name))))
        statement = {"kind": "contraction", "of": name, "step": step, **self._quantified("contraction")}
        known = self.slope(name)
        tree = _node("slope", {**statement, "sizes": {} if known is None else {**known.sizes}})
        self._reader.contraction(tree)
        return tree

    def _invertible(self, proof: Step) -> Json:
        """That of the matrix before a gradient: element by element, or as one that is definite."""
        of, by = proof.about
        statement = {"kind": "invertible", "of": of, "by": by, **self._quantified("invertible")}
        trees = [_node("elementwise", statement)]
        assert isinstance(proof.by, list)
        for sign, known in zip((1, -1), proof.by, strict=True):
            choices = _left_out(self._slopes.of_vector(known, f"w.{by}"))
            trees += [_node("form", statement, (), {"squares": s, "sign": sign}) for s in choices]
        for tree in trees:
            try:
                self._reader.invertible(tree)
                return tree
            except Refused as step:
                reason = str(step)
        raise NoTree(reason)

    def _positive(self, proof: Step) -> Json:
        if isinstance(proof.by, Squares) and len(proof.about) != 2:
            name, *indices = proof.about
            return self._semidefinite(name, indices, proof.by)
        if len(proof.about) != 2:
            raise NoTree("the format has no rules for this matrix")
        (by, state), statement = proof.about, {"kind": "positive", **self._quantified("positive")}
        squares, apart, given = self._slopes.positive(by, state)
        statement |= {"of": by, "by": state, "given": given}
        tree = _node("form", statement, (), {"squares": squares, "apart": apart})
        self._reader.positive(tree)
        return tree

    def _semidefinite(self, name: str, indices: Sequence[str], known: Squares) -> Json:
        """That of a let by two indices or, without them, of the matrix of a flow."""
        by = [*indices] or [slope.by for slope in self.network.flows[name].slopes]
        statement = {"kind": "semidefinite", "of": name, "by": by, **self._quantified("semidefinite")}
        squares = self._slopes.of_vector(known, f"w.{name if indices else by[0]}")
        for chosen in _left_out(squares):
            tree = _node("form", statement, (), {"squares": chosen})
            try:
                self._reader.semidefinite(tree)
                return tree
            except Refused as step:
                reason = str(step)
        raise NoTree(reason)

    # ------------------------------------------------------------ equilibria and floors

    def _rest(self, proof: Step) -> Json:
        statement = {"kind": "rest", "steps": "plain", "lengths": {}, **self._quantified("rest")}
        if proof.rule == "banach":
            return self._by_banach(proof, statement)
        if proof.rule == "monotone":
            return self._at_sizes(lambda sizes: self._single_rest(proof, statement, sizes))
        curved = [name for name, state in self.network.states.items() if not is_convex(state.constraint)]
        lengths = {name: str(Fraction(repr(self.network.relax.step_for(name)))) for name in curved}
        sizes = dict(self.network.extents) if curved else {}
        steps = "proximal" if proof.rule == "proximal" else "plain"
        facts: Json = {}
        if proof.rule == "brouwer":
            premises = [_node("damped", {"kind": "damped", "of": [name]}) for name in sorted(self._reader.free)]
        else:
            (floor,) = proof.premises
            premises = [_bare(floor.tree or self._written("floor", floor))]
            sizes = sizes or premises[0]["statement"]["sizes"]
        if proof.rule == "proximal":
            facts = {"kinks": self._kinks()}
        at: Json = {"steps": steps, "lengths": lengths, "sizes": sizes}
        return _node(proof.rule, {**statement, **at}, premises, facts)

    def _single_rest(self, proof: Step, statement: Json, sizes: Mapping[str, int]) -> Json:
        pulled = self._pulled(proof, sizes)
        steps = pulled["statement"]["steps"]
        return _node(proof.rule, {**statement, "steps": steps, "sizes": {**sizes}}, [pulled])

    def _floor(self, proof: Step) -> Json:
        energies = self._energies
        statement = {"kind": "floor", "of": energies, "attained": True, "sizes": {}, **self._quantified("floor")}
        if proof.rule == "convex":
            return self._at_sizes(
                lambda sizes: _node("convex", {**statement, "sizes": {**sizes}}, [self._pulled(proof, sizes)])
            )
        parts = [*parts_of(self.equations, energies)]
        premises = [*(self._grouped(parts) if proof.rule == "outgrown" else self._together(parts, proof.rule))]
        confined = {name for premise in premises for name in premise["statement"]["confines"]}
        attained = confined >= self._reader.free and all(map(self._is_continuous, energies))
        return _node("sum", {**statement, "attained": attained}, premises)

    def _is_continuous(self, energy: str) -> bool:
        return self._reader.facts(self._reader.spec["terms"][energy]).continuous is True

    def _quantified(self, kind: str) -> Json:
        return {"layer": self.symmetries.layer, "for": FOR[kind]}

    # ------------------------------------------------------------ the parts of a sum

    @cached_property
    def _reader(self) -> Claims:
        """The checker's own reading of the spec."""
        own = self.symmetries
        return reader(own.layer, own.text, tuple(own.consts.items()))

    def _facts(self, part: Part) -> Facts:
        return self._reader.facts_of_part(self._reader.spec["terms"][part[0]], expression(part[1]))

    def _grouped(self, parts: Sequence[Part]) -> Iterator[Json]:
        """The premises of a sum: what may fall with what outgrows it, then the other parts, each by itself."""
        facts = {part: self._facts(part) for part in parts}
        firm, given = [part for part in parts if facts[part].below], list[str]()
        if loose := [part for part in parts if not facts[part].below]:
            together = loose + [part for part in firm if not facts[part].above and self._powers([part], ())]
            confined = self._powers(together, ())
            if not confined:
                raise NoTree("no powers of the states are seen to outgrow all else")
            yield _part(together, confined, ())
            firm, given = [part for part in firm if part not in together], [*confined]
        while found := self._confining([part for part in firm if not facts[part].above], given):
            yield _part([found[0]], found[1], given)
            given += [name for name in found[1] if name not in given]
            firm.remove(found[0])
        for part in firm:
            yield _part([part], {}, ())

    def _together(self, parts: Sequence[Part], rule: str) -> Iterator[Json]:
        """The premises of a sum: parts by one rule, but for what is bounded below and confines none."""
        firm = [part for part in parts if self._is_beside(part, rule)]
        together = [part for part in parts if part not in firm]
        yield _part(together, self._powers(together, (), rule), (), rule)
        for part in firm:
            yield _part([part], {}, ())

    def _is_beside(self, part: Part, rule: str) -> bool:
        facts = self._facts(part)
        return facts.below and (not self._powers([part], ()) if rule == "norms" else facts.reads != FREE)

    def _confining(self, parts: Sequence[Part], given: Sequence[str]) -> tuple[Part, dict[str, str]] | None:
        """A part that confines a state which is not ``given``, and its powers."""
        if not self._reader.free.difference(given):
            return None
        return next(((part, powers) for part in parts if (powers := self._powers([part], given))), None)

    def _powers(self, parts: Sequence[Part], given: Sequence[str], rule: str = "outgrown") -> dict[str, str]:
        """The powers of states by which parts confine them where others are bounded; none where they do not.

        Raises Refused if another rule is to show it, and does not.
        """
        terms = self._reader.spec["terms"]
        try:
            found = self._reader.powers(rule, [(terms[name], expression(text)) for name, text in parts], given)
            return {name: str(power) for name, power in found.items()}
        except (NotCovered, Refused):
            if rule != "outgrown":
                raise
            return {}


def parts_of(equations: Equations, energies: Sequence[str]) -> Iterator[Part]:
    """The terms of sums of energies, as the checker takes them apart."""
    for name in energies:
        for negative, term in _summands(equations.own[name].right):
            yield name, f"-({unparse(term)})" if negative else unparse(term)


def _bare(tree: Tree) -> Json:
    """A tree as a premise: without its formulas."""
    return {name: part for name, part in tree.items() if name != "formulas"}


def _left_out(squares: list[str]) -> list[list[str]]:
    """All squares, all but one, none: one that is left may outweigh what is subtracted."""
    return [squares, *([*squares[:k], *squares[k + 1 :]] for k in range(len(squares))), []]


def _node(rule: str, statement: Json, premises: Sequence[Json] = (), facts: Json | None = None) -> Json:
    return {"statement": statement, "rule": rule, "premises": [*premises], "facts": facts or {}}


def _part(parts: Sequence[Part], confines: Mapping[str, str], given: Sequence[str], rule: str = "") -> Json:
    statement = {"kind": "part", "of": [[*part] for part in parts], "confines": {**confines}, "given": [*given]}
    return _node(rule or ("outgrown" if confines else "range"), statement)


def _summands(tree: ast.Expr, negative: bool = False) -> Iterator[tuple[bool, ast.Expr]]:
    """The terms of a sum, each with whether it is subtracted."""
    if isinstance(tree, ast.Binary) and tree.op in "+-":
        yield from _summands(tree.left, negative)
        yield from _summands(tree.right, negative != (tree.op == "-"))
    elif isinstance(tree, ast.Unary) and tree.op == "-":
        yield from _summands(tree.operand, not negative)
    else:
        yield negative, tree


def largest_stretch(norms: Sequence[Sequence[Any]], lengths: Sequence[Fraction]) -> Fraction:
    """The largest factor of a matrix of norms, each state measured by its step. Raises TooWeak for one of 1 or more."""
    if any(entry == math.inf for row in norms for entry in row):
        raise TooWeak("a norm has no bound")
    if len(norms) == 1:
        found = Fraction(norms[0][0] * lengths[0])
    else:
        roots = np.sqrt([float(each) for each in lengths])
        largest = np.linalg.norm(np.array(norms, dtype=float) * np.outer(roots, roots), 2)
        found = Fraction(math.ceil(float(largest) * (1 + 1e-12) * 10**9), 10**9)
    if not found < 1:
        raise TooWeak("the checker sees no rate below 1")
    return found


def _in_floats(end: Fraction | float) -> Fraction | float:
    """An end of a range, infinite where floats have none as large."""
    return end if -LARGEST < end < LARGEST else math.inf if end > 0 else -math.inf


def rate_of(curved: Json, gradient: bool) -> Fraction:
    """The factor by which a step brings states closer, by its curvature. Raises TooWeak where none is below 1."""
    m, most = Fraction(curved["m"]), Fraction(curved["L"])
    rate = max(abs(1 - m), abs(1 - most)) if gradient else root(max(1 - 2 * m + most**2, Fraction(0)))
    if not rate < 1:
        raise TooWeak("the checker sees no rate below 1")
    written = Fraction(math.ceil(rate * 10**9), 10**9)
    return written if written < 1 else Fraction(rate)
