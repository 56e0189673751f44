"""The nodes of rule trees: their kinds of statement, and the facts and premises that each rule has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from energyc.checker.case import require
from energyc.checker.shapes import (
    ABOUT,
    LENGTHS,
    NAMES,
    PAIRS,
    SIZED,
    Shape,
    flag,
    fraction,
    list_of,
    or_null,
    record,
    text,
)

Node = Mapping[str, Any]
_ON = "all params on their sets, "
_GIVEN = "inputs and sizes, those given alone where there are some"
_SIZED_ON = _ON + _GIVEN + ", at which what reads no state has a value"
_VALUED = _ON + "states on theirs, inputs and sizes at which it has a value"


class Kind(NamedTuple):
    """A kind of statement: the shape of its fields, for what it holds, and its words."""

    shape: Shape
    holds_for: str = ""
    words: Callable[[Node], str] = str


def summed(names: Iterable[str]) -> str:
    """Write a sum of terms."""
    return " + ".join(names)


def _lengths(statement: Node) -> str:
    return ", ".join(f"{length} of {name}" for name, length in statement["lengths"].items())


def _floor(statement: Node) -> str:
    return f"{summed(statement['of'])}: bounded below" + statement["attained"] * ", and takes its least value"


def _rest(statement: Node) -> str:
    lengths = f", of length {_lengths(statement)}" if statement["lengths"] else ""
    return f"an equilibrium of {statement['steps']} steps{lengths} exists"


def _unique(statement: Node) -> str:
    return f"there is exactly one equilibrium of {statement['steps']} steps"


def _converges(statement: Node) -> str:
    steps = f"{statement['steps']} step of length {_lengths(statement)}"
    return f"it converges: after a {steps} any two states are at most {statement['rate']} times as far apart"


def _contraction(statement: Node) -> str:
    return f"a step of length {statement['step']} of {statement['of']}, all else held, is a contraction"


def _semidefinite(statement: Node) -> str:
    of, by = statement["of"], statement["by"]
    if len(by) == 1:
        return f"flow {of} = -P grad(E, {by[0]}): (d{by[0]}/d{of}) P is positive semidefinite"
    return f"{of}: positive semidefinite by the indices {' and '.join(by)}"


def _invertible(statement: Node) -> str:
    return f"flow {statement['of']} = -P grad(E, {statement['by']}): P is invertible"


def _positive(statement: Node) -> str:
    given = f" where {', '.join(statement['given'])} is nowhere negative" if statement["given"] else ""
    return f"{statement['of']}: the Jacobian by {statement['by']} is positive semidefinite{given}"


_STEPS = {"steps": text, "lengths": LENGTHS}
#: The statements of rule trees; those without a quantifier stand in premises alone.
KINDS: Mapping[str, Kind] = {
    "floor": Kind(
        record({**SIZED, "of": NAMES, "attained": flag}),
        _ON + _GIVEN + "; all states on their sets at which the energies have a value",
        _floor,
    ),
    "part": Kind(record({"kind": text, "of": PAIRS, "confines": LENGTHS, "given": NAMES})),
    "rest": Kind(record({**SIZED, **_STEPS}), _SIZED_ON, _rest),
    "damped": Kind(record({"kind": text, "of": list_of(text, 1)})),
    "unique": Kind(record({**SIZED, "steps": text}), _SIZED_ON, _unique),
    "converges": Kind(record({**SIZED, **_STEPS, "rate": fraction}), _SIZED_ON, _converges),
    "curved": Kind(record({"kind": text, **_STEPS, "m": fraction, "L": or_null(fraction)})),
    "contraction": Kind(
        record({**SIZED, "of": text, "step": fraction}),
        _ON + "all other states on theirs, numbers of steps, " + _GIVEN + ", at which what reads no state has a value",
        _contraction,
    ),
    "semidefinite": Kind(record({**ABOUT, "of": text, "by": NAMES}), _VALUED, _semidefinite),
    "invertible": Kind(record({**ABOUT, "of": text, "by": text}), _VALUED, _invertible),
    "positive": Kind(
        record({**ABOUT, "of": text, "by": text, "given": NAMES}),
        _ON + "those given nowhere negative, states on theirs, inputs and sizes, where there is a slope",
        _positive,
    ),
}
#: For what the statements of each kind hold.
FOR = {name: kind.holds_for for name, kind in KINDS.items() if kind.holds_for}


class Rule(NamedTuple):
    """The kinds that the premise of a rule may have, or ``any`` number of them, the fields of its facts, its steps."""

    premise: str = ""
    facts: str = ""
    steps: str = ""
    any: bool = False


#: The rules that show a statement, by its kind.
RULES = {
    "floor sum": Rule("part", any=True),
    "floor convex": Rule("curved"),
    **{f"part {rule}": Rule() for rule in ("range", "outgrown", "norms", "alone")},
    "rest least": Rule("floor", steps="plain"),
    "rest proximal": Rule("floor", "kinks", "proximal"),
    "rest flows": Rule("floor", steps="plain"),
    "rest brouwer": Rule("damped", steps="plain", any=True),
    "rest monotone": Rule("curved", steps="plain proximal"),
    "rest banach": Rule("contraction converges", steps="plain"),
    "damped damped": Rule(),
    "unique monotone": Rule("curved", steps="plain proximal"),
    "unique banach": Rule("contraction converges", steps="plain"),
    "converges rate": Rule("curved", steps="plain proximal"),
    "converges lipschitz": Rule(steps="plain"),
    "curved form": Rule(facts="squares", steps="plain proximal"),
    "contraction slope": Rule(),
    "semidefinite form": Rule(facts="squares"),
    "invertible elementwise": Rule(),
    "invertible form": Rule(facts="squares sign"),
    "positive form": Rule(facts="squares apart"),
}


def opened(node: Node, kind: str) -> Mapping[str, Any]:
    """The statement of a node, of this kind, by a rule of it; the facts and premises are those of the rule."""
    statement: Mapping[str, Any] = node["statement"]
    require(statement["kind"] == kind, "a statement is of another kind")
    require(f"{kind} {node['rule']}" in RULES, f"there is no rule {node['rule']} of a {kind}")
    require(kind not in FOR or statement["for"] == FOR[kind], "a statement has other quantifiers")
    rule, name = RULES[f"{kind} {node['rule']}"], f"the rule {node['rule']}"
    kinks = {"kinks"} if kind == "curved" and statement["steps"] == "proximal" else set[str]()
    require(node["facts"].keys() == {*rule.facts.split(), *kinks}, f"{name}: other facts")
    require(not rule.steps or statement["steps"] in rule.steps.split(), f"{name}: other steps")
    kinds = [premise["statement"]["kind"] for premise in node["premises"]]
    fitting = {*kinds} <= {*rule.premise.split()} and (rule.any or len(kinds) == bool(rule.premise))
    require(fitting, f"{name}: other premises")
    return statement
