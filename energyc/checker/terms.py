"""What the rules of all claims read: the terms of a spec, what is known of their formulas, and how they move."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from energyc.checker.algebra import Poly, contracted, lone, new_index, number, summed
from energyc.checker.bounds import CONVEX, Bounds, set_of
from energyc.checker.case import Case, require
from energyc.checker.formulas import Formulas
from energyc.checker.ranges import Facts
from energyc.checker.syntax import Left, NotCovered, expression, read_spec


def summands(tree: ast.expr, negative: bool = False) -> Iterator[ast.expr]:
    """The terms of a sum, each with its sign."""
    match tree:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            yield from summands(left, negative)
            yield from summands(right, negative != isinstance(sign, ast.Sub))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from summands(operand, not negative)
        case _:
            yield ast.UnaryOp(ast.USub(), tree) if negative else tree


class Terms(Case):
    """The terms of a spec, or of a layer."""

    def __init__(self, layer: str | None, text: str, consts: Mapping[str, str]) -> None:
        super().__init__(layer, text, consts, on_edges=True)
        self.layer = layer
        self.bounds, self.states = Bounds(self.formulas), self.spec["states"]
        self.text = re.sub(r"#[^\n]*", "", text)
        self.free = {name for name, state in self.states.items() if not self.bounds.is_compact(state)}
        self.known: dict[tuple[str, str], Facts] = {}
        self.sums: dict[tuple[str, str, str], Poly] = {}
        self.confined: dict[tuple[Any, ...], dict[str, Any]] = {}

        self.whole = Formulas(self.spec, self.states, (), whole=True)

    def read_by(self, lefts: Iterable[Left]) -> set[str]:
        """The left sides of terms or lets, and of all lets and functions that these read."""
        pending, found = [*lefts], set[str]()
        while pending:
            left = pending.pop()
            if left.key not in found:
                found.add(left.key)
                words = re.findall(r"[A-Za-z_]\w*", left.body)
                pending += [
                    self.spec[part][word] for word in words for part in ("lets", "functions") if word in self.spec[part]
                ]
        return found

    def facts(self, term: Left) -> Facts:
        """What is known of a formula."""
        return reduce(operator.add, (self.facts_of_part(term, part) for part in summands(expression(term.body))))

    def facts_of_part(self, term: Left, tree: ast.expr) -> Facts:
        """What is known of a part of a formula."""
        if (key := (term.key, ast.dump(tree))) not in self.known:
            self.known[key] = self.bounds.of(tree, self.bounds.scope(term))
        return self.known[key]

    def summed(self, term: Left, tree: ast.expr, direction: str = "") -> Poly:
        """A part of a term, summed over its indices, those of orthonormal axes done; of a force, times a direction."""
        if (key := (term.key, ast.dump(tree), direction)) not in self.sums:
            scope = {name: new_index(dim) for name, dim in self.bounds.scope(term).items()}
            indices, value = tuple(scope.values()), self.formulas.value(tree, scope)
            along = self.formulas.element(direction, tuple(map(lone, indices))) if direction else number(1)
            self.sums[key] = contracted(summed(indices, value * along), self.orthonormal())
        return self.sums[key]

    def motion(self, rule: str, short: Collection[str] = ()) -> list[Left]:
        """The terms of a whole motion that may rest, on convex sets but for states whose steps are ``short``.

        They are forces and energies or, where each state has a flow or next values, these and the energies in them.
        """
        blocks = re.search(r"\b(layer|repeat)\b", self.text)
        beside = [term for term in read_spec(self.text, None)["terms"].values() if term.word != "next"]
        if blocks if self.layer is None else beside:
            raise NotCovered("an equilibrium of layers together, or of one beside terms outside of it")
        if re.search(r"\brelax\s+\w+\s+in\b", self.text):
            raise NotCovered("an equilibrium of forces that may change from step to step")
        if any(tensor.word == "noise" for tensor in self.spec["tensors"].values()):
            raise NotCovered("an equilibrium under noise")
        acts = {"energy", "force", "flow", "next"}
        acting = [k for k, left in self.spec["equations"].items() if left.word in acts and not self.is_glue(left)]
        terms = [*self.spec["terms"].values()]
        if {term.key for term in terms} != {*acting}:
            raise NotCovered("an equilibrium of terms with one name")
        written = sorted(term.on for term in moving(terms) if term.word in ("flow", "next"))
        forced = any(term.word == "force" for term in terms)
        if written and (forced or written != sorted(self.states)):
            raise NotCovered("an equilibrium of several motions")
        for name, state in self.states.items():
            require(set_of(state)[0] in CONVEX or name in short, f"the rule {rule}: the set of {name} is not convex")
        return terms

    def is_glue(self, left: Left) -> bool:
        """Whether it is the next value of a state that is outside of the layer."""
        return left.word == "next" and left.name not in self.states

    def steady(self, rule: str, terms: Iterable[Left]) -> None:
        """That forces are continuous, and so are the slopes of energies."""
        for term in terms:
            known = self.facts(term)
            continuous = known.continuous and (term.word != "energy" or known.smooth)
            require(continuous, f"the rule {rule}: the force of {term.name} jumps")


def moving(terms: Sequence[Left]) -> Sequence[Left]:
    """The terms that move states: where some have flows or next values, these alone."""
    return [term for term in terms if term.word in ("flow", "next")] or terms
