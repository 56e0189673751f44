"""The rules of inference by which a tree shows a floor of energies, or that an equilibrium exists."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from energyc.checker.algebra import Poly, lone, new_index, number, seen, summed, total, unfolded
from energyc.checker.bounds import Bounds, set_of, sets_of
from energyc.checker.case import require
from energyc.checker.forms import sized
from energyc.checker.formulas import Formulas
from energyc.checker.growth import Growths, is_outgrown
from energyc.checker.nodes import Node, opened
from energyc.checker.ranges import number as known_number
from energyc.checker.ranges import of_ends, root
from energyc.checker.slopes import Slopes
from energyc.checker.syntax import Left, NotCovered, expression
from energyc.checker.terms import moving, summands


@lru_cache(8)
def reader(layer: str | None, text: str, consts: tuple[tuple[str, str], ...]) -> Claims:
    """What judges the claims of a spec, or of a layer."""
    return Claims(layer, text, dict(consts))


class Claims(Slopes):
    """Judges rule trees about a spec."""

    def check(self, tree: Node) -> None:
        """Check a tree. Raises Refused for a step that fails, NotCovered for what cannot be judged."""
        self.compare(tree["formulas"])
        kind = tree["statement"]["kind"]
        named: list[str] = [*self.spec["terms"]]
        if kind in ("floor", "positive", "semidefinite", "invertible"):
            of = tree["statement"]["of"]
            named = of if kind == "floor" else [of]
        about = [self.spec["terms"].get(name) or self.spec["lets"][name] for name in named]
        missing = self.read_by(about) - tree["formulas"].keys()
        require(not missing, f"the formula of {min(missing, default='')} is missing")
        rules: dict[str, Callable[[Node], Any]] = {"floor": self.floor, "rest": self.rest, "unique": self.unique}
        rules |= {"converges": self.converges, "contraction": self.contraction}
        rules |= {"positive": self.positive, "semidefinite": self.semidefinite, "invertible": self.invertible}
        rules[kind](tree)

    # ---------------------------------------------------------------- floors

    def floor(self, node: Node) -> list[str]:
        """That a sum of energies is bounded below, and takes its least value if ``attained``.

        Parts are each bounded below; those that confine states, one after the other, confine all that no compact set
        does. What is continuous on compact sets takes its least value.
        """
        statement = opened(node, "floor")
        names, attained, sizes = statement["of"], statement["attained"], sized(statement["sizes"], self.spec)
        require(len({*names}) == len(names) > 0, "the statement repeats an energy")
        require(isinstance(attained, bool), "the statement does not say whether the least value is taken")
        energies = [self.spec["terms"][name] for name in names]
        require(all(energy.word == "energy" for energy in energies), "these are no energies")
        if node["rule"] == "convex":
            self.convex(node, energies, sizes)
            return list(names)
        require(not sizes, "a floor by the rule sum has sizes")
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
        return list(names)

    def convex(self, node: Node, energies: Sequence[Left], sizes: Mapping[str, int]) -> None:
        """That all energies together are strongly convex with continuous slopes, on convex sets of all states."""
        (premise,), terms = node["premises"], self.motion("convex")
        whole = {each.key for each in energies} == {each.key for each in terms}
        require(whole and node["statement"]["attained"], "the rule convex: other energies, or the least value is taken")
        plain = (
            premise["statement"]["steps"] == "plain" and premise["statement"]["lengths"].keys() == self.states.keys()
        )
        require(plain, "the rule convex: other steps")
        self.steady("convex", terms)
        require(self.curved(premise, terms, sizes) > 0, "the rule convex: m is not above 0")

    def part(self, node: Node, energies: Sequence[Left], confined: set[str]) -> tuple[list[tuple[str, str]], set[str]]:
        """That parts of energies are bounded below together, and confine states where those ``given`` are bounded."""
        statement = opened(node, "part")
        given, confines = {*statement["given"]}, statement["confines"]
        owners = {energy.name: energy for energy in energies}
        parts = [(owners[name], expression(text)) for name, text in statement["of"]]
        known = [self.facts_of_part(owner, tree) for owner, tree in parts]
        if node["rule"] == "range" or given:
            require(all(each.below for each in known), "the rule range: a part is not bounded below")
        if node["rule"] == "range":
            require(not given and not confines, "the rule range: it confines no state")
        else:
            require(given <= confined, f"the rule {node['rule']}: what is given is not confined")
            found = self.powers(node["rule"], parts, given)
            claimed = {name: Fraction(power) for name, power in confines.items()}
            agrees = found == claimed and (node["rule"] == "norms" or claimed != {})
            require(agrees, f"the rule {node['rule']}: other powers of the states")
        return [(owner.name, ast.dump(tree)) for owner, tree in parts], {*confines}

    def powers(self, rule: str, parts: Sequence[tuple[Left, ast.expr]], given: Collection[str]) -> dict[str, Any]:
        """The powers of states by which parts of energies confine them by a rule, those ``given`` being bounded.

        Raises Refused or NotCovered where they do not.
        """
        if rule == "alone" and not all(self.facts_of_part(*part).continuous for part in parts):
            raise NotCovered("a part that may have a pole")
        key = (rule, tuple((term.key, ast.dump(tree)) for term, tree in parts), frozenset(given))
        if key not in self.confined:
            growths = Growths(self.bounds, self.free.difference(given))
            by = {"outgrown": growths.confined, "norms": growths.weighed, "alone": growths.alone}
            self.confined[key] = by[rule](total(self.summed(*part) for part in parts))
        return self.confined[key]

    # ---------------------------------------------------------------- equilibria

    def rest(self, node: Node) -> None:
        """That there is a state on its sets at which a step of the whole force ends where it began.

        A step is as long as one likes, but for states that have ``lengths``.
        """
        statement = opened(node, "rest")
        lengths, sizes = statement["lengths"], sized(statement["sizes"], self.spec)
        require(node["rule"] == "least" or not lengths, "a rest by this rule has lengths")
        require(node["rule"] != "brouwer" or not sizes, "a rest by this rule has sizes")
        whole = self.motion(node["rule"], lengths)
        terms = whole if node["rule"] == "flows" else moving(whole)
        rules = {"least": self.least, "proximal": self.proximal, "brouwer": self.brouwer}
        rules |= {"monotone": self.single, "banach": self.banach, "flows": self.flows}
        rules[node["rule"]](node, terms)

    def least(self, node: Node, terms: Sequence[Left]) -> None:
        """Where the energy attains its minimum, a step along its slope rests, if it falls at all of its kinks."""
        self.takes_its_least(node, terms)
        lengths, bounds = node["statement"]["lengths"], Bounds(self.formulas, node["statement"]["sizes"])
        for energy in terms:
            known = self.facts(energy)
            falls = known.smooth if lengths else known.bottom
            require(known.continuous and falls, f"the rule least: the slope of {energy.name} jumps")
        for name, length in lengths.items():
            self.short(name, Fraction(length), bounds, terms)

    def short(self, name: str, length: Fraction, bounds: Bounds, energies: Sequence[Left]) -> None:
        """That a step on a sphere, or of standardized values, is shorter than the radius.

        Where the energy is least the force is normal to the set, b times the state: the step ends where it began if
        1 + length b > 0. What the force has as a multiple of the state counts by its sign alone.
        """
        kind, inside = set_of(self.states[name])
        require(kind in ("sphere", "standardized") and length > 0, "the rule least: another set, or no length")
        formulas, dims = Formulas(self.spec, [name], (), on_edges=True), self.formulas.signature(name)
        turns, largest = 0, 0
        for (bound, factors), value in formulas.differential(total(summed(*formulas.equation(e)) for e in energies)):
            (end,) = [atom for atom, _ in factors if atom.name == f"w.{name}"]
            rest, own = factors - {(end, 1)}, (end._replace(name=name), 1)
            places = [place for place, dim in zip(end.args, dims, strict=True) if dim in (inside or dims)]
            along = {index for index in bound if lone(index) in places}
            normal = own in rest and not any(seen(atom)[0] & along for atom, _ in rest - {own})
            known = known_number(value) * bounds.of_one(bound, rest - {own} if normal else rest, end)
            turns += known.high if normal else 0
            largest += 0 if normal else max(-known.low, known.high)
        radius = 1 if kind == "standardized" else root(bounds.extent(inside or dims))
        require(length * (max(turns, 0) + of_ends(radius, largest)) < 1, "the rule least: a step is long")

    def proximal(self, node: Node, terms: Sequence[Left]) -> None:
        """There a proximal step rests, if all kinks are convex ones by which a step moves proximally."""
        self.takes_its_least(node, terms)
        self.without_kinks("proximal", node["facts"]["kinks"], terms)

    def takes_its_least(self, node: Node, terms: Sequence[Left]) -> None:
        """That the whole force is minus the slope of energies, and their sum takes its least value."""
        (floor,) = node["premises"]
        require(all(term.word == "energy" for term in terms), f"the rule {node['rule']}: not all terms are energies")
        require(floor["statement"]["attained"] is True, f"the rule {node['rule']}: the least value is not taken")
        require(floor["statement"]["layer"] == self.layer, f"the rule {node['rule']}: a floor of another layer")
        same = floor["statement"]["sizes"] in ({}, node["statement"]["sizes"])
        require(same, f"the rule {node['rule']}: a floor at other sizes")
        require({*self.floor(floor)} == {term.name for term in terms}, f"the rule {node['rule']}: other energies")

    def brouwer(self, node: Node, terms: Sequence[Left]) -> None:
        """A continuous force on convex sets that are compact, or whose states are damped, is somewhere at rest."""
        self.steady("brouwer", terms)
        damped = [self.damped(premise, terms) for premise in node["premises"]]
        require(sorted(damped) == sorted(self.free), "the rule brouwer: not each free state is damped")

    def flows(self, node: Node, terms: Sequence[Left]) -> None:
        """Flows that are 0 where the gradients in them are, each by a state of all energies that read it."""
        energies, flows = ([term for term in terms if term.word == word] for word in ("energy", "flow"))
        require({flow.on for flow in flows} == self.states.keys(), "the rule flows: not each state has a flow")
        require(not any(map(sets_of, self.states.values())), "the rule flows: a state is on a set")
        require(len(energies) + len(flows) == len(terms), "the rule flows: there are other terms")
        self.takes_its_least(node, energies)
        self.steady("flows", terms)
        formulas = Formulas(self.spec, self.states, (), on_edges=True)
        formulas.slopes = []
        for flow in flows:
            moves = formulas.equation(flow)[1]
            for _, by in formulas.slopes:
                moves = unfolded(moves, f"w.{by}", tuple(map(new_index, formulas.signature(by))), number(0))
            require(not moves, "the rule flows: a flow is not 0 with its gradients")
        for names, by in formulas.slopes:
            require(by in self.states, "the rule flows: a gradient by what is no state")
            own = Formulas(self.spec, [by], (), on_edges=True)
            others = total(summed(*own.equation(energy)) for energy in energies if energy.name not in names)
            require(not own.differential(others), f"the rule flows: another energy reads {by}")

    def damped(self, node: Node, terms: Sequence[Left]) -> str:
        """That the force on a state is -c z with c > 0, and what grows more slowly than the states do."""
        (name,) = opened(node, "damped")["of"]
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
