"""Writes the proofs of floors and equilibria as rule trees (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from energyc.checker.algebra import begin, total
from energyc.checker.case import Refused
from energyc.checker.claims import FOR, Claims, reader
from energyc.checker.growth import Growths
from energyc.checker.ranges import Facts
from energyc.checker.syntax import NotCovered, expression
from energyc.language.syntax import ast
from energyc.language.syntax.unparse import unparse
from energyc.proofs.claims.judgement import Step
from energyc.proofs.verdicts.formulas import Equations, formulas_of

Json = dict[str, Any]
#: A part of an energy: the name of that, and the part.
Part = tuple[str, str]
FLOORS, RESTS = ("compact", "sum", "outgrown"), ("least", "proximal", "brouwer")


class NoTree(Exception):
    """A proof that has no rule tree, and why."""


@dataclass(frozen=True)
class Trees:
    """Writes rule trees of a network, or of a ``layer``; ``consts`` are those set from outside."""

    equations: Equations
    text: str
    layer: str | None
    consts: Mapping[str, str]
    _known: dict[Any, Any] = field(default_factory=dict)

    def of(self, proof: Step) -> Json | str:
        """The tree of a proof, or the reason why there is none."""
        energies = [name for name, term in self.equations.own.items() if term.word == "energy"]
        try:
            tree = self._floor(proof, energies) if proof.rule in FLOORS else self._rest(proof, energies)
            read = energies if proof.rule in FLOORS else [*self.equations.own]
            return {"formulas": formulas_of(self.equations, read, []), **tree}
        except (NoTree, NotCovered, Refused, ArithmeticError, LookupError, RecursionError, ValueError) as reason:
            return f"it has no rule tree: {reason}"

    def _rest(self, proof: Step, energies: Sequence[str]) -> Json:
        if proof.rule not in RESTS:
            raise NoTree(f"the format has no rule {proof.rule}")
        steps, facts = "proximal" if proof.rule == "proximal" else "plain", {}
        if proof.rule == "brouwer":
            premises = [_node("damped", {"kind": "damped", "of": [name]}) for name in sorted(self._reader.free)]
        else:
            premises = [self._floor(proof.premises[0], energies)]
        if proof.rule == "proximal":
            parts = parts_of(self.equations, energies)
            facts = {"kinks": [[*part] for part in parts if not self._facts(part).smooth]}
        return _node(proof.rule, {"kind": "rest", "steps": steps, **self._quantified("rest")}, premises, facts)

    def _floor(self, proof: Step, energies: Sequence[str]) -> Json:
        if proof.rule not in FLOORS:
            raise NoTree(f"the format has no rule {proof.rule}")
        if "floor" not in self._known:
            compact = proof.rule == "compact"
            premises = [] if compact else [*self._grouped([*parts_of(self.equations, energies)], proof.rule == "sum")]
            confined = {name for premise in premises for name in premise["statement"]["confines"]}
            attained = compact or (confined >= self._reader.free and all(map(self._is_continuous, energies)))
            statement = {"kind": "floor", "of": [*energies], "attained": attained, **self._quantified("floor")}
            self._known["floor"] = _node("compact" if compact else "sum", statement, premises)
        return dict(self._known["floor"])

    def _is_continuous(self, energy: str) -> bool:
        return self._reader.facts(self._reader.spec["terms"][energy]).continuous

    def _quantified(self, kind: str) -> Json:
        return {"layer": self.layer, "for": FOR[kind]}

    # ------------------------------------------------------------ the parts of a sum

    @cached_property
    def _reader(self) -> Claims:
        """The checker's own reading of the spec."""
        begin()
        return reader(self.layer, self.text, tuple(self.consts.items()))

    def _facts(self, part: Part) -> Facts:
        return self._reader.facts_of_part(self._reader.spec["terms"][part[0]], expression(part[1]))

    def _grouped(self, parts: Sequence[Part], alone: bool) -> Iterator[Json]:
        """The premises of a sum: what may fall with what outgrows it, then each of the other parts ``alone``."""
        facts = {part: self._facts(part) for part in parts}
        firm, given = [part for part in parts if facts[part].below], list[str]()
        if loose := [part for part in parts if not facts[part].below]:
            together = loose + [part for part in firm if not facts[part].above and self._powers([part], ())]
            confined = self._powers(together, ())
            if not confined:
                raise NoTree("no powers of the states are seen to outgrow all else")
            yield _part(together, confined, ())
            firm, given = [part for part in firm if part not in together], [*confined]
        while not alone and (found := self._confining([part for part in firm if not facts[part].above], given)):
            yield _part([found[0]], found[1], given)
            given += [name for name in found[1] if name not in given]
            firm.remove(found[0])
        for part in firm:
            yield _part([part], {}, ())

    def _confining(self, parts: Sequence[Part], given: Sequence[str]) -> tuple[Part, dict[str, str]] | None:
        """A part that confines a state which is not ``given``, and its powers."""
        if not self._reader.free.difference(given):
            return None
        return next(((part, powers) for part in parts if (powers := self._powers([part], given))), None)

    def _powers(self, parts: Sequence[Part], given: Sequence[str]) -> dict[str, str]:
        """The powers of states by which parts confine them where others are bounded; none where they do not."""
        growths = Growths(self._reader.bounds, self._reader.free.difference(given))
        try:
            terms = self._reader.spec["terms"]
            whole = total(self._reader.summed(terms[name], expression(text)) for name, text in parts)
            return {name: str(power) for name, power in growths.confined(whole).items()}
        except (NotCovered, Refused):
            return {}


def parts_of(equations: Equations, energies: Sequence[str]) -> Iterator[Part]:
    """The terms of sums of energies, as the checker takes them apart."""
    for name in energies:
        for negative, term in _summands(equations.own[name].right):
            yield name, f"-({unparse(term)})" if negative else unparse(term)


def _node(rule: str, statement: Json, premises: Sequence[Json] = (), facts: Json | None = None) -> Json:
    return {"statement": statement, "rule": rule, "premises": [*premises], "facts": facts or {}}


def _part(parts: Sequence[Part], confines: Mapping[str, str], given: Sequence[str]) -> Json:
    statement = {"kind": "part", "of": [[*part] for part in parts], "confines": {**confines}, "given": [*given]}
    return _node("outgrown" if confines else "range", statement)


def _summands(tree: ast.Expr, negative: bool = False) -> Iterator[tuple[bool, ast.Expr]]:
    """The terms of a sum, each with whether it is subtracted."""
    if isinstance(tree, ast.Binary) and tree.op in "+-":
        yield from _summands(tree.left, negative)
        yield from _summands(tree.right, negative != (tree.op == "-"))
    elif isinstance(tree, ast.Unary) and tree.op == "-":
        yield from _summands(tree.operand, not negative)
    else:
        yield negative, tree
