"""Decides each certificate of a file against the text of a spec: docs/certificates.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from energyc.checker.algebra import limited, total
from energyc.checker.bounds import Bounds
from energyc.checker.case import Case, Refused, require
from energyc.checker.claims import reader
from energyc.checker.entries import ENTRIES, FILE
from energyc.checker.forms import sized
from energyc.checker.shapes import Malformed, expect
from energyc.checker.statements import composed
from energyc.checker.symmetry import ON_SETS, QUANTIFIERS, symmetries
from energyc.checker.syntax import Left, NotCovered, consts_of, expression, left_side

FORMAT, VERSION = "energyc certificates", 10


class Answer(NamedTuple):
    """``yes``, ``no`` or ``not covered``, and why; of a yes the statement, of others the place in the file."""

    about: str
    verdict: str
    reason: str = ""


def judge(file: Mapping[str, Any], text: str) -> list[Answer]:
    """An answer to each certificate and each claim of a file, given the text of the spec.

    ``consts`` are those set from outside. Raises Malformed for a file without the fields of one.
    """
    expect(isinstance(file, Mapping), file, "the file", "an object")
    if (file.get("format"), file.get("version")) != (FORMAT, VERSION):
        return [Answer("the file", "not covered", "another format or version")]
    FILE(file, "the file")
    checks = {"certificates": _judge_certificate, "claims": _judge_claim}
    return [
        _answer(check, part, number, entry, text, file["consts"])
        for part, check in checks.items()
        for number, entry in enumerate(file[part])
    ]


def _answer(
    check: Callable[..., None], part: str, number: int, entry: Any, text: str, consts: Mapping[str, str]
) -> Answer:
    about = f"{part}[{number}]"
    try:
        ENTRIES[part](entry, about)
        with limited():
            unknown = consts.keys() - consts_of(text)
            require(not unknown, f"the file sets {min(unknown, default='')}, which is no const of the spec")
            check(entry, text, consts)
    except NotCovered as reason:
        return Answer(about, "not covered", str(reason))
    except (RecursionError, MemoryError):
        return Answer(about, "not covered", "a formula is too large, or nested too deeply")
    except (Refused, Malformed) as step:
        return Answer(about, "no", str(step))
    except KeyError as error:
        return Answer(about, "no", f"the spec has no {error.args[0]!r} that it can be about")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return Answer(about, "no", "it does not fit the spec")
    return Answer(composed(entry, consts), "yes")


def _judge_certificate(entry: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
    statement = entry["statement"]
    if statement["kind"] == "gradient":
        Gradient(entry, text, consts).check()
        return
    require(not entry["steps"], "there are more steps than the proof has")
    judge_of = symmetries(statement["layer"], text, tuple(consts.items()))
    judge_of.compare(entry["formulas"])
    used, _ = judge_of.check(statement)
    missing = {*used} & judge_of.spec["equations"].keys() - entry["formulas"].keys()
    require(not missing, f"the formula of {min(missing, default='')} is missing")


def _judge_claim(entry: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
    reader(entry["statement"]["layer"], text, tuple(consts.items())).check(entry)


class Gradient(Case):
    """A certificate that forces are minus the slopes of an energy, beside the spec."""

    def __init__(self, certificate: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
        statement, self.steps = certificate["statement"], [*certificate["steps"]]
        self.of, self.by = statement["of"], statement["by"]
        require(statement["for"] in (QUANTIFIERS, ON_SETS), "the statement has other quantifiers")
        require(len({*self.of}) == len(self.of) > 0 and len({*self.by}) == len(self.by) > 0, "a name is repeated")
        self.named = {*re.findall(r"\w+", str([step["is"] for step in self.steps if step["rule"] == "slope"]))}
        super().__init__(statement["layer"], text, consts, self.by, self.named)
        self.listed, self.formulas.held = certificate["formulas"], True
        self.sizes = sized(statement["sizes"], self.spec)
        self.values = Bounds(self.formulas, self.sizes) if statement["for"] == ON_SETS else None

    def check(self) -> None:
        """Check all steps. Raises Refused for one that fails, NotCovered for what cannot be judged."""
        self.compare(self.listed)
        self.gradient()
        require(not self.steps, "there are more steps than the proof has")
        missing = self.formulas.used & self.spec["equations"].keys() - self.listed.keys()
        require(not missing, f"the formula of {min(missing, default='')} is missing")

    def take(self, rule: str, *fields: str) -> list[Any]:
        """The fields of the next step, which is one of this rule."""
        step = self.steps.pop(0) if self.steps else {}
        require(step.get("rule") == rule, f"the step {rule} is missing")
        return [step[field] for field in fields]

    def gradient(self) -> None:
        """The change of an energy along w is minus the force times w."""
        terms = [self.spec["terms"][name] for name in self.of]
        if any(term.word != "energy" for term in terms):
            require({*self.by} == self.spec["states"].keys(), "these are not all states")
            (energy,) = self.take("potential", "energy")
            change = self.formulas.differential(self.formulas.value(expression(energy), {}))
            work = total(map(self.formulas.work, terms))
            self.equal(work, -change, "the step potential: this is not minus its slope")
            return
        require(len(self.by) == 1 or {*self.by} <= self.spec["states"].keys(), "these are not states")
        for name in self.by:
            force = left_side("force", *self.take("slope", "force", "is"))
            require(force.on == name, f"the slope by {name} is missing")
            try:
                self.slope(force, terms, self.named)
            except Refused:  # the let may be written out beside its name, as in the slope of a let that is tanh(u)
                self.slope(force, terms, set())

    def slope(self, force: Left, terms: Sequence[Left], named: Collection[str]) -> None:
        """A force is minus the change of energies along its state; lets that are not ``named`` are multiplied out."""
        self.formulas.along, self.formulas.written = [force.on], named
        self.formulas.kept.clear()
        work = total(map(self.formulas.work, terms))
        self.equal(self.formulas.work(force), work, f"the step slope: this is not minus that by {force.on}")
