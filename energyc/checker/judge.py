"""Decides each certificate of a file against the text of a spec: docs/certificates.md describes the format."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from energyc.checker import algebra as al
from energyc.checker.algebra import Poly
from energyc.checker.formulas import Formulas
from energyc.checker.syntax import Left, NotCovered, expression, left_side, read_spec

FORMAT, VERSION = "energyc certificates", 1
#: For what every statement holds.
QUANTIFIERS = "all params, inputs, states and sizes at which the formulas have a value and a slope"
_FIELDS = {"unfold": {"lets"}, "potential": {"energy"}, "slope": {"force", "is"}, "expansion": {"terms"}}


class Refused(Exception):
    """A step that does not hold."""


class Answer(NamedTuple):
    """``yes``, ``no`` or ``not covered`` to a claim, and why."""

    claim: str
    verdict: str
    reason: str = ""


def judge(file: Mapping[str, Any], text: str) -> list[Answer]:
    """An answer to each certificate of a file, given the text of the spec; ``consts`` are those set from outside."""
    if (file.get("format"), file.get("version")) != (FORMAT, VERSION):
        return [Answer("the file", "not covered", "another format or version")]
    return [_answer(certificate, text, file["consts"]) for certificate in file["certificates"]]


def _answer(certificate: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> Answer:
    try:
        _Case(certificate, text, consts).check()
    except NotCovered as reason:
        return Answer(str(certificate["claim"]), "not covered", str(reason))
    except Refused as step:
        return Answer(str(certificate["claim"]), "no", str(step))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError) as error:
        return Answer(str(certificate.get("claim")), "no", f"it is malformed: {error!r}")
    return Answer(str(certificate["claim"]), "yes")


class _Case:
    """One certificate beside the spec."""

    def __init__(self, certificate: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
        self.statement, self.steps = certificate["statement"], [*certificate["steps"]]
        self.listed, self.of, self.by = certificate["formulas"], self.statement["of"], self.statement["by"]
        self.spec = read_spec(text, self.statement["layer"])
        for name, value in ((k, v) for k, v in consts.items() if k in self.spec["consts"]):
            const = self.spec["consts"][name]
            _require(const.word == "const", f"{name} is not a const")
            self.spec["consts"][name] = const._replace(body=f"= {Fraction(value)}")
        first = self.take("unfold")["lets"] if self.steps and self.steps[0]["rule"] == "unfold" else []
        self.formulas = Formulas(self.spec, self.by, first)
        of = [self.of] if isinstance(self.of, str) else self.of
        _require(set(first) <= self.spec["lets"].keys() - {*self.by}, "what is multiplied out is not a let")
        _require(self.statement.keys() == {"kind", "of", "by", "layer", "for"}, "the statement has other fields")
        _require(self.statement["for"] == QUANTIFIERS, "the statement has other quantifiers")
        _require(len({*of}) == len(of) > 0 and len({*self.by}) == len(self.by) > 0, "the statement repeats a name")

    def check(self) -> None:
        """Check all steps. Raises Refused for one that fails, NotCovered for what cannot be judged."""
        for left, right in self.listed.items():
            known = self.spec["equations"].get(left)
            same = known is not None and ast.dump(expression(known.body)) == ast.dump(expression(right))
            _require(same, f"{left} is another formula in the spec")
        {"gradient": self.gradient, "symmetric": self.symmetric, "matrix": self.matrix}[self.statement["kind"]]()
        _require(not self.steps, "there are more steps than the proof has")
        missing = self.formulas.used & self.spec["equations"].keys() - self.listed.keys()
        _require(not missing, f"the formula of {min(missing, default='')} is missing")

    def take(self, rule: str) -> Mapping[str, Any]:
        """The next step, which is one of this rule."""
        step = self.steps.pop(0) if self.steps else {}
        fields = {"rule", *_FIELDS.get(rule, {"pairs"})}
        _require(step.get("rule") == rule and step.keys() == fields, f"the step {rule} is missing or has other fields")
        return step

    def gradient(self) -> None:
        """The change of an energy along w is minus the force times w."""
        terms = [self.spec["terms"][name] for name in self.of]
        if any(term.word != "energy" for term in terms):
            energy = self.formulas.value(expression(self.take("potential")["energy"]), {})
            gap = al.add(self.formulas.differential(energy), *map(self.work, terms))
            _require({*self.by} == self.spec["states"].keys(), "the states are others")
            _require(not gap, "the step potential: the force is not minus the slope of the energy")
            return
        _require(len(self.by) == 1 or {*self.by} <= self.spec["states"].keys(), "these are not states")
        for name in self.by:
            step, self.formulas.along = self.take("slope"), [name]
            force = left_side("force", step["force"], step["is"])
            gap = al.add(self.work(force), al.scaled(al.add(*map(self.work, terms)), -1))
            _require(force.on == name and not gap, f"the step slope: this is not minus the slope by {name}")
            self.formulas.kept.clear()

    def work(self, term: Left, direction: str = "w") -> Poly:
        """The force of a term times a direction; ``next z = G`` is the force G - z, an energy has minus its change."""
        indices, value = self.formulas.equation(term)
        if term.word == "energy":
            return al.scaled(self.formulas.differential(al.bind(value, indices)), -1)
        held = self.formulas.element(term.on, indices) if term.word == "next" else al.number(0)
        way = self.formulas.element(f"{direction}.{term.on}", indices)
        return al.bind(al.multiply(al.add(value, al.scaled(held, -1)), way), indices)

    def symmetric(self) -> None:
        """``u . J w`` is the sum of the terms, and exchanging u and w turns each term into its mirror."""
        if isinstance(self.of, str):
            (state,), (indices, value) = self.by, self.formulas.let(self.of)
            _require(self.formulas.signature(self.of) == self.formulas.signature(state), "the Jacobian is not square")
            form = al.bind(al.multiply(value, self.formulas.element(f"u.{state}", indices)), indices)
        else:
            terms = [self.spec["terms"][name] for name in self.of]
            _require({*self.by} == self.spec["states"].keys(), "these are not all states")
            _require(all(term.word != "energy" for term in terms), "an energy is a gradient")
            form = al.add(*(self.work(term, "u") for term in terms))
        self.mirrored(self.formulas.differential(form), {}, {})

    def matrix(self) -> None:
        """Exchanging two indices of a let turns each of its terms into its mirror."""
        self.formulas.along, (a, b) = [], self.by
        indices, value = self.formulas.let(self.of)
        scope = {name: index for (name, _), index in zip(self.spec["lets"][self.of].indices, indices, strict=True)}
        _require(scope[a].dim == scope[b].dim, "the indices are of two dims")
        self.mirrored(value, scope, {a: scope[b], b: scope[a]})

    def mirrored(self, form: Poly, scope: Mapping[str, Any], turned: Mapping[str, Any]) -> None:
        names = {f"{a}.{name}": f"{b}.{name}" for name in self.by for a, b in ("uw", "wu")}
        self.formulas.exchange = {name: name for name in names}
        trees = [expression(term) for term in self.take("expansion")["terms"]]
        values = [self.formulas.value(tree, scope) for tree in trees]
        _require(al.add(*values) == form, "the step expansion: the terms add up to another form")
        self.formulas.exchange, pairs = names, self.take("mirror")["pairs"]
        images = [self.formulas.value(tree, {**scope, **turned}) for tree in trees]
        _require(
            sorted(k for pair in pairs for k in {*pair}) == [*range(len(trees))], "the step mirror: not each term once"
        )
        for a, b in pairs:
            _require(images[a] == values[b], f"the step mirror: term {a} is not the image of term {b}")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)
