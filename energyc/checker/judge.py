"""Decides each certificate of a file against the text of a spec: docs/certificates.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from energyc.checker.algebra import Atom, Poly, limited, lone, new_index, number, summed, total, unfolded
from energyc.checker.bounds import Bounds, sets_of
from energyc.checker.case import Case, Refused, require
from energyc.checker.claims import reader
from energyc.checker.forms import sized
from energyc.checker.ranges import NONE
from energyc.checker.shapes import ENTRIES, FILE, Malformed, expect
from energyc.checker.statements import composed
from energyc.checker.syntax import Left, NotCovered, consts_of, expression, left_side

FORMAT, VERSION = "energyc certificates", 9
#: For what a statement holds: everywhere, or on sets.
QUANTIFIERS = "all params, inputs, states and sizes at which the formulas have a value and a slope"
ON_SETS = "all params and states on their sets, inputs and sizes at which the formulas have a value and a slope"
#: The sets to which one number for all entries is normal, or a multiple of the state, or both.
NORMAL = ("simplex", "sphere", "standardized")


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
    _Certificate(entry, text, consts).check()


def _judge_claim(entry: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
    reader(entry["statement"]["layer"], text, tuple(consts.items())).check(entry)


class _Certificate(Case):
    """One certificate beside the spec."""

    def __init__(self, certificate: Mapping[str, Any], text: str, consts: Mapping[str, str]) -> None:
        statement, self.steps = certificate["statement"], [*certificate["steps"]]
        scaled = statement["kind"] == "scaled"
        self.factors, on_sets = statement.get("factors", {}), statement["for"] == ON_SETS
        known = on_sets or (statement["for"] == QUANTIFIERS and not scaled)
        require(known, "the statement has other quantifiers")
        self.kind, self.of, self.by = statement["kind"], statement["of"], statement["by"]
        of = [self.of] if isinstance(self.of, str) else self.of
        require(len({*of}) == len(of) > 0 and len({*self.by}) == len(self.by) > 0, "the statement repeats a name")
        self.named = {*re.findall(r"\w+", str([step["is"] for step in self.steps if step["rule"] == "slope"]))}
        super().__init__(statement["layer"], text, consts, self.by, self.named)
        self.listed, self.sizes = certificate["formulas"], sized(statement["sizes"], self.spec)
        self.values = Bounds(self.formulas, self.sizes) if on_sets else None
        self.formulas.held = self.kind == "gradient" or not isinstance(self.of, str)

    def check(self) -> None:
        """Check all steps. Raises Refused for one that fails, NotCovered for what cannot be judged."""
        self.compare(self.listed)
        kinds = {"gradient": self.gradient, "symmetric": self.symmetric, "matrix": self.matrix, "metric": self.metric}
        kinds["scaled"] = self.scaled
        kinds[self.kind]()
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
            self.of_all_states()
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

    def of_all_states(self) -> None:
        require({*self.by} == self.spec["states"].keys(), "these are not all states")

    def symmetric(self) -> None:
        """``u . J w`` is the sum of the terms, and exchanging u and w turns each term into its mirror."""
        if isinstance(self.of, str):
            (state,), (indices, value) = self.by, self.formulas.equation(self.spec["lets"][self.of])
            square = self.formulas.signature(self.of) == self.formulas.signature(state)
            require(square, "the Jacobian is not square")
            form = self.formulas.dot(indices, value, f"u.{state}")
        else:
            terms = [self.spec["terms"][name] for name in self.of]
            self.of_all_states()
            require(all(term.word != "energy" for term in terms), "an energy is a gradient")
            form = total(self.formulas.work(term, "u") for term in terms) - self.normal()
        self.mirrored(self.formulas.differential(form), {}, {})

    def normal(self) -> Poly:
        """The part of forces, times u, that is normal to the sets of their states, and so does no work along these."""
        form = number(0)
        while self.values is not None and self.steps and self.steps[0].get("rule") == "normal":
            left, *texts = self.take("normal", "force", "offset", "scale")
            force = left_side("force", left)
            ((kind, axes),) = (each for each in sets_of(self.spec["states"][force.on]) if each[0] in NORMAL)
            indices = [new_index(dim) for dim in self.formulas.dims_of(force)]
            named = {name: index for (name, _), index in zip(force.indices, indices, strict=True)}
            scope = {name: index for name, index in named.items() if axes and index.below not in axes}
            require(len({*named}) == len({i.below for i in indices}) == len(indices), "the step normal: other indices")
            offset, scale = (self.formulas.value(expression(text), scope) for text in texts)
            require(not (offset and kind == "sphere"), "the step normal: it is not normal to the set")
            require(not (scale and kind == "simplex"), "the step normal: it is not normal to the set")
            state = self.formulas.element(force.on, tuple(map(lone, indices)))
            form += self.formulas.dot(indices, offset + scale * state, f"u.{force.on}")
        return form

    def scaled(self) -> None:
        """The same of forces and energies, the force on some states divided by positive numbers that no state moves."""
        self.of_all_states()
        form = total(self.formulas.work(self.spec["terms"][name], "u") for name in self.of)
        bounds = Bounds(self.formulas)
        for left, text in self.factors.items():
            factor = left_side("force", left, text)
            known = bounds.of(expression(text), bounds.scope(factor))
            require(known.positive and known.reads == NONE, "a factor is not known to be above 0")
            indices, value = self.formulas.equation(factor)
            direction = self.formulas.element(f"u.{factor.on}", tuple(map(lone, indices)))
            form = unfolded(form, f"u.{factor.on}", indices, direction * value**-1)
        self.mirrored(self.formulas.differential(form), {}, {})

    def metric(self) -> None:
        """The same of ``u . (dg/dx) P w``, for a flow ``-P grad(E, g)``."""
        (by,) = self.by
        formulas, indices, value = self.descent(self.spec["terms"][self.of], by, whole=False)
        self.formulas.used |= formulas.used
        self.mirrored(self.formulas.dot(indices, value, f"u.{by}"), {}, {})

    def matrix(self) -> None:
        """Exchanging two indices of a let, beside two vectors over them, turns each of its terms into its mirror."""
        (a, b), let, self.formulas.along = self.by, self.spec["lets"][self.of], []
        indices, value = self.formulas.equation(let)
        scope = {name: index for (name, _), index in zip(let.indices, indices, strict=True)}
        require(scope[a].below == scope[b].below, "the indices are of two dims")
        u, w = (lone(Atom("element", name, (lone(scope[at]),))) for name, at in (("u.", a), ("w.", b)))
        self.mirrored(value, scope, {a: scope[b], b: scope[a]}, lambda part: summed((scope[a], scope[b]), part * u * w))

    def mirrored(
        self, form: Poly, scope: Mapping[str, Any], turned: Mapping[str, Any], whole: Callable[[Poly], Poly] = Poly
    ) -> None:
        names = {f"{a}.{name}": f"{b}.{name}" for name in self.by for a, b in ("uw", "wu")}
        self.formulas.exchange = {name: name for name in names}
        trees = [expression(term) for term in self.take("expansion", "terms")[0]]
        values = [whole(self.formulas.value(tree, scope)) for tree in trees]
        self.equal(total(values), whole(form), "the step expansion: the terms add up to another form")
        self.formulas.exchange, (pairs,) = names, self.take("mirror", "pairs")
        images = [whole(self.formulas.value(tree, {**scope, **turned})) for tree in trees]
        each_once = sorted(k for pair in pairs for k in {*pair}) == [*range(len(trees))]
        require(each_once, "the step mirror: not each term once")
        for a, b in pairs:
            self.equal(images[a], values[b], f"the step mirror: term {a} is not the image of term {b}")
