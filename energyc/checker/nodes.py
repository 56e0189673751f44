"""The nodes of rule trees: which facts and premises they have by the kind of their statement and their rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from energyc.checker.case import require

Node = Mapping[str, Any]
_ON = "all params on their sets, "
_GIVEN = "inputs and sizes, those given alone where there are some"
_SIZED = _GIVEN + ", at which what reads no state has a value"
#: For what the statements of each kind hold.
FOR = {
    "floor": _ON + _GIVEN + "; all states on their sets at which the energies have a value",
    "rest": _ON + _SIZED,
    "unique": _ON + _SIZED,
    "converges": _ON + _SIZED,
    "contraction": _ON + "all other states on theirs, numbers of steps, " + _SIZED,
    "semidefinite": _ON + "states on theirs, inputs and sizes at which it has a value",
    "invertible": _ON + "states on theirs, inputs and sizes at which it has a value",
    "positive": _ON + "those given nowhere negative, states on theirs, inputs and sizes, where there is a slope",
}


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
