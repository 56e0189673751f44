"""The rules of inference by which a tree shows a floor of energies, or that an equilibrium exists."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from energyc.checker.algebra import Atom, Poly, lone, new_index, number, summed, total
from energyc.checker.bounds import CONVEX, Bounds, set_of
from energyc.checker.case import Case, require
from energyc.checker.growth import Growths, is_outgrown
from energyc.checker.ranges import Facts
from energyc.checker.syntax import Left, NotCovered, expression

#: For what the statements of each kind hold.
FOR = {
    "floor": "all params on their sets, inputs and sizes; all states on their sets at which the energies have a value",
    "rest": "all params on their sets, inputs and sizes at which what reads no state has a value",
}
Node = Mapping[str, Any]


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


@lru_cache(8)
def reader(layer: str | None, text: str, consts: tuple[tuple[str, str], ...]) -> Claims:
    """What judges the claims of a spec, or of a layer."""
    return Claims(layer, text, dict(consts))


class Claims(Case):
    """Judges rule trees about a spec."""

    def __init__(self, layer: str | None, text: str, consts: Mapping[str, str]) -> None:
        super().__init__(layer, text, consts)
        self.bounds, self.states = Bounds(self.formulas), self.spec["states"]
        self.text = re.sub(r"#[^\n]*", "", text)
        self.free = {name for name, state in self.states.items() if not self.bounds.is_compact(state)}
        self.shown: set[str] = set()
        self.known: dict[tuple[str, str], Facts] = {}
        self.sums: dict[tuple[str, str, str], Poly] = {}

    def check(self, tree: Node) -> None:
        """Check a tree. Raises Refused for a step that fails, NotCovered for what cannot be judged."""
        self.compare(tree["formulas"])
        kind = tree["statement"]["kind"]
        read = self.read_by(tree["statement"]["of"] if kind == "floor" else self.spec["terms"])
        missing = read - tree["formulas"].keys()
        require(not missing, f"the formula of {min(missing, default='')} is missing")
        {"floor": self.floor, "rest": self.rest}[kind](tree)

    def read_by(self, names: Iterable[str]) -> set[str]:
        """The left sides of terms, and of all lets and functions that these read."""
        pending, found = [self.spec["terms"][name] for name in names], set[str]()
        while pending:
            left = pending.pop()
            if left.key not in found:
                found.add(left.key)
                words = re.findall(r"[A-Za-z_]\w*", left.body)
                pending += [
                    self.spec[part][word] for word in words for part in ("lets", "functions") if word in self.spec[part]
                ]
        return found

    # ---------------------------------------------------------------- floors

    def floor(self, node: Node) -> list[str]:
        """That a sum of energies is bounded below, and takes its least value if ``attained``."""
        statement = _statement(node, "floor", "of", "attained", "layer", "for")
        names, attained = statement["of"], statement["attained"]
        require(len({*names}) == len(names) > 0, "the statement repeats an energy")
        require(isinstance(attained, bool), "the statement does not say whether the least value is taken")
        energies = [self.spec["terms"][name] for name in names]
        require(all(energy.word == "energy" for energy in energies), "these are no energies")
        if (written := json.dumps([statement, node["rule"], node["premises"], node["facts"]])) not in self.shown:
            {"compact": self.compact, "sum": self.sum}[node["rule"]](node, energies, attained)
            self.shown.add(written)
        return list(names)

    def compact(self, node: Node, energies: Sequence[Left], _: bool) -> None:
        """A function that is continuous on compact sets takes its least value."""
        _leaf(node)
        require(not self.free, f"the rule compact: the set of {min(self.free, default='')} is not compact")
        for energy in energies:
            require(self.facts(energy).continuous, f"the rule compact: {energy.name} is not continuous")

    def sum(self, node: Node, energies: Sequence[Left], attained: bool) -> None:
        """Parts that are each bounded below; those that confine states, one after the other, confine them all."""
        require(node["facts"] == {}, "the rule sum: other facts")
        confined: set[str] = set()
        listed: Counter[tuple[str, str]] = Counter()
        for premise in node["premises"]:
            parts, confines = self.part(premise, energies, confined)
            listed.update(parts)
            confined |= confines
        whole = Counter((each.name, ast.dump(part)) for each in energies for part in summands(expression(each.body)))
        require(listed == whole, "the rule sum: the parts are not those of the energies")
        if attained:
            require(confined >= self.free, f"the rule sum: {min(self.free - confined, default='')} is not confined")
            require(all(self.facts(energy).continuous for energy in energies), "the rule sum: it is not continuous")

    def part(self, node: Node, energies: Sequence[Left], confined: set[str]) -> tuple[list[tuple[str, str]], set[str]]:
        """That parts of energies are bounded below together, and confine states where those ``given`` are bounded."""
        statement = _statement(node, "part", "of", "confines", "given")
        given, confines = {*statement["given"]}, statement["confines"]
        owners = {energy.name: energy for energy in energies}
        parts = [(owners[name], expression(text)) for name, text in statement["of"]]
        _leaf(node)
        known = [self.facts_of_part(owner, tree) for owner, tree in parts]
        if node["rule"] == "range" or given:
            require(all(each.below for each in known), "the rule range: a part is not bounded below")
        if node["rule"] == "range":
            require(not given and not confines, "the rule range: it confines no state")
        else:
            require(
                node["rule"] == "outgrown" and given <= confined, "the rule outgrown: what is given is not confined"
            )
            growths = Growths(self.bounds, self.free - given)
            found = growths.confined(total(self.summed(owner, tree) for owner, tree in parts))
            claimed = {name: Fraction(power) for name, power in confines.items()}
            require(found == claimed != {}, "the rule outgrown: other powers of the states")
        return [(owner.name, ast.dump(tree)) for owner, tree in parts], {*confines}

    # ---------------------------------------------------------------- equilibria

    def rest(self, node: Node) -> None:
        """That there is a state on its sets at which a step of the whole force, however long, ends where it began."""
        statement = _statement(node, "rest", "steps", "layer", "for")
        if statement["layer"] is not None or re.search(r"\b(layer|repeat)\b", self.text):
            raise NotCovered("an equilibrium of a layer")
        if any(tensor.word == "noise" for tensor in self.spec["tensors"].values()):
            raise NotCovered("an equilibrium under noise")
        terms = self.spec["terms"].values()
        acting = [
            key for key, left in self.spec["equations"].items() if left.word in ("energy", "force", "flow", "next")
        ]
        if {term.key for term in terms} != {*acting} or any(term.word == "flow" for term in terms):
            raise NotCovered("an equilibrium under a flow")
        for name, state in self.states.items():
            require(set_of(state)[0] in CONVEX, f"the rule {node['rule']}: the set of {name} is not convex")
        rules = {"least": self.least, "proximal": self.proximal, "brouwer": self.brouwer}
        rules[node["rule"]](node, statement["steps"], [*terms])

    def least(self, node: Node, steps: str, terms: Sequence[Left]) -> None:
        """Where the energy takes its least value, a step along its slope rests, if it falls at all of its kinks."""
        require(steps == "plain" and node["facts"] == {}, "the rule least: other steps or facts")
        self.takes_its_least(node, terms)
        for energy in terms:
            known = self.facts(energy)
            require(known.continuous and known.bottom, f"the rule least: the slope of {energy.name} jumps")

    def proximal(self, node: Node, steps: str, terms: Sequence[Left]) -> None:
        """There a proximal step rests, if all kinks are multiples of ``abs`` of elements of states."""
        require(steps == "proximal" and node["facts"].keys() == {"kinks"}, "the rule proximal: other steps or facts")
        require(not re.search(r"\bproximal\s*=\s*off\b", self.text), "the rule proximal: steps are not proximal")
        self.takes_its_least(node, terms)
        kinks = {(name, ast.dump(expression(text))) for name, text in node["facts"]["kinks"]}
        for energy in terms:
            for tree in summands(expression(energy.body)):
                known = self.facts_of_part(energy, tree)
                smooth = known.continuous and known.smooth
                if (energy.name, ast.dump(tree)) in kinks:
                    forms = self.summed(energy, tree)
                    smooth = all(self.is_kink(form[1], value) or self.is_polynomial(form[1]) for form, value in forms)
                require(smooth, f"the rule proximal: {energy.name} has other kinks")

    def is_kink(self, factors: frozenset[tuple[Atom, Any]], value: Any) -> bool:
        """Whether a product is a multiple of abs of an element of a state by consts and params, not a negative one."""
        states = [atom for atom, _ in factors if atom.kind == "element" and atom.name in self.states]
        if len(states) != 1 or set_of(self.states[states[0].name])[0] not in ("", "box", "nonnegative"):
            return False
        ends, growths = {(states[0], 1), (Atom("function", "sign", (lone(states[0]),)), 1)}, Growths(self.bounds, ())
        scales = [(atom, exponent) for atom, exponent in factors - ends if atom.kind != "size"]
        known = all(e > 0 and self.is_param(atom.name) and growths.facts(atom).low >= 0 for atom, e in scales)
        return ends <= factors and known and value > 0

    def is_polynomial(self, factors: frozenset[tuple[Atom, Any]]) -> bool:
        """Whether the states enter a product by powers alone."""
        growths = Growths(self.bounds, ())
        return all(atom.kind == "element" and exponent > 0 for atom, exponent in factors if growths.moves(atom))

    def is_param(self, name: str) -> bool:
        """Whether this is a param or a const."""
        tensor = self.spec["tensors"].get(name)
        return name.startswith("const ") or (tensor is not None and tensor.word == "param")

    def takes_its_least(self, node: Node, terms: Sequence[Left]) -> None:
        """That the whole force is minus the slope of energies, and their sum takes its least value."""
        (floor,) = node["premises"]
        require(all(term.word == "energy" for term in terms), f"the rule {node['rule']}: not all terms are energies")
        require(floor["statement"]["attained"] is True, f"the rule {node['rule']}: the least value is not taken")
        require(floor["statement"]["layer"] is None, f"the rule {node['rule']}: a floor of a layer")
        require({*self.floor(floor)} == {term.name for term in terms}, f"the rule {node['rule']}: other energies")

    def brouwer(self, node: Node, steps: str, terms: Sequence[Left]) -> None:
        """A continuous force on convex sets that are compact, or whose states are damped, is somewhere at rest."""
        require(steps == "plain" and node["facts"] == {}, "the rule brouwer: other steps or facts")
        words = {term.word for term in terms}
        if "next" in words and words != {"next"}:
            raise NotCovered("an equilibrium of several motions")
        for term in terms:
            known = self.facts(term)
            steady = known.continuous and (known.smooth or term.word != "energy")
            require(steady, f"the rule brouwer: the force of {term.name} jumps")
        damped = [self.damped(premise, terms) for premise in node["premises"]]
        require(sorted(damped) == sorted(self.free), "the rule brouwer: not each free state is damped")

    def damped(self, node: Node, terms: Sequence[Left]) -> str:
        """That the force on a state is -c z with c > 0, and what grows more slowly than the states do."""
        (name,) = _statement(node, "damped", "of")["of"]
        require(node["rule"] == "damped", "the rule brouwer: another premise")
        _leaf(node)
        growths, damping, self.formulas.along = Growths(self.bounds, self.free), False, [name]
        for (bound, factors), value in total(pull for term in terms for pull in self.pulls(term, name)):
            if growths.is_damping(bound, factors, value, name):
                damping = True
                continue
            load = growths.of_product(factor for factor in factors if factor[0].name != f"w.{name}")
            slower = is_outgrown(load, dict.fromkeys(self.free, 1))
            require(slower, f"the rule damped: what drives {name} grows as it does")
        require(damping, f"the rule damped: {name} is not damped")
        return name

    def pulls(self, term: Left, name: str) -> Iterator[Poly]:
        """Minus the force of a term on a state, times its direction, without what is bounded."""
        if term.word == "energy":
            yield self.formulas.differential(self.summed(term, expression(term.body)))
        elif (term.on or term.name) == name:
            for tree in summands(expression(term.body)):
                if not self.facts_of_part(term, tree).bounded:
                    yield -self.summed(term, tree, f"w.{name}")
            if term.word == "next":
                yield self.summed(term, expression(term.key.removeprefix("next ")), f"w.{name}")

    # ---------------------------------------------------------------- terms

    def facts(self, term: Left) -> Facts:
        """What is known of a formula."""
        return reduce(operator.add, (self.facts_of_part(term, part) for part in summands(expression(term.body))))

    def facts_of_part(self, term: Left, tree: ast.expr) -> Facts:
        """What is known of a part of a formula."""
        if (key := (term.key, ast.dump(tree))) not in self.known:
            self.known[key] = self.bounds.of(tree, self.bounds.scope(term))
        return self.known[key]

    def summed(self, term: Left, tree: ast.expr, direction: str = "") -> Poly:
        """A part of a term, summed over its indices; of a force, times a direction."""
        if (key := (term.key, ast.dump(tree), direction)) not in self.sums:
            scope = {name: new_index(dim) for name, dim in self.bounds.scope(term).items()}
            indices, value = tuple(scope.values()), self.formulas.value(tree, scope)
            along = self.formulas.element(direction, tuple(map(lone, indices))) if direction else number(1)
            self.sums[key] = summed(indices, value * along)
        return self.sums[key]


def _statement(node: Node, kind: str, *fields: str) -> Mapping[str, Any]:
    """The statement of a node, of this kind and with these fields."""
    found: Mapping[str, Any] = node["statement"]
    whole = node.keys() - {"claim", "formulas"} == {"statement", "rule", "premises", "facts"}
    require(whole and found.keys() == {"kind", *fields} and found["kind"] == kind, "a statement has other fields")
    require(kind not in FOR or found["for"] == FOR[kind], "a statement has other quantifiers")
    return found


def _leaf(node: Node) -> None:
    """That a node has no premises and no facts."""
    require(node["premises"] == [] and node["facts"] == {}, f"the rule {node['rule']}: it has premises or facts")
