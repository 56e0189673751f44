"""The rules of inference on slopes: how strongly a force pulls states together, contraction, positive Jacobians."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from energyc.checker.algebra import Poly, cleared, lone, new_index, number, summed, total
from energyc.checker.bounds import CONVEX, Bounds, set_of
from energyc.checker.case import require
from energyc.checker.forms import Forms, beside, is_semidefinite, largest, matrix_of, shifted, sized
from energyc.checker.formulas import Formulas
from energyc.checker.kinks import Kink, move_proximally, split
from energyc.checker.nodes import Node, opened
from energyc.checker.syntax import Left, NotCovered, expression
from energyc.checker.terms import Terms, moving, summands


class Slopes(Terms):
    """Judges what a spec claims of slopes."""

    # ---------------------------------------------------------------- curvature

    def unique(self, node: Node) -> None:
        """That there is one state, on its sets, at which a step of the whole force ends where it began."""
        opened(node, "unique")
        by = self.banach if node["rule"] == "banach" else self.single
        by(node, moving(self.motion(node["rule"])))

    def banach(self, node: Node, terms: Sequence[Left]) -> None:
        """A step that brings all states closer, or the only one, has one fixed point."""
        (premise,) = node["premises"]
        statement = premise["statement"]
        same = (statement["layer"], statement["sizes"]) == (self.layer, node["statement"]["sizes"])
        require(same, "the rule banach: another layer, or other sizes")
        if statement["kind"] == "converges":
            require(statement["steps"] == "plain", "the rule banach: other steps")
            self.converges(premise)
        else:
            require([*self.states] == [self.contraction(premise)], "the rule banach: there are other states")
            self.steady("banach", terms)

    def single(self, node: Node, terms: Sequence[Left]) -> None:
        """That a force on closed convex sets, which pulls states together, rests once."""
        sizes = sized(node["statement"]["sizes"], self.spec)
        m = self.monotone(node, sizes, terms, self.states)
        require(m > 0, f"the rule {node['rule']}: m is not above 0")

    def converges(self, node: Node) -> None:
        """That a step, with a length for each state, brings any two states closer by a factor ``rate`` below 1.

        They are ``sum |v_s|^2 / length_s`` apart.
        """
        statement = opened(node, "converges")
        rate = Fraction(statement["rate"])
        if node["rule"] == "lipschitz":
            lengths = {name: Fraction(length) for name, length in statement["lengths"].items()}
            known = lengths.keys() == self.states.keys() and min(lengths.values()) > 0
            require(known and 0 <= rate < 1, "the rule lipschitz: other steps, or the rate is not below 1")
            norms = beside(self.stretches(lengths, sized(statement["sizes"], self.spec)))
            scale = [rate / length for length in lengths.values()] * 2
            require(is_semidefinite(shifted(norms, scale, -1)), "the rule lipschitz: the rate is larger")
            return
        (premise,) = node["premises"]
        require(premise["statement"]["lengths"] == statement["lengths"], "the rule rate: other steps")
        terms = moving(self.motion(node["rule"]))
        m = self.monotone(node, sized(statement["sizes"], self.spec), terms, self.states.keys())
        most = premise["statement"]["L"]
        require(most is not None and 0 <= rate < 1, "the rule rate: there is no L, or the rate is not below 1")
        gap, steep = 1 - m, Fraction(most)
        if all(term.word == "energy" for term in terms):
            require(rate >= max(abs(gap), abs(1 - steep)), "the rule rate: the rate is larger")
        else:
            require(rate**2 >= gap - m + steep**2, "the rule rate: the rate is larger")

    def stretches(self, lengths: Mapping[str, Fraction], sizes: Mapping[str, int]) -> list[list[Any]]:
        """For states s, t a bound on ``|u_s . D_st w_t|``, D being the Jacobian of a step, over length_s."""
        terms = moving(self.motion("lipschitz"))
        self.steady("lipschitz", terms)
        form = self.whole.differential(total(self.whole.work(term, "u") for term in terms))
        for name, length in lengths.items():
            places = tuple(map(new_index, self.whole.signature(name)))
            own = [self.whole.element(f"{way}.{name}", tuple(map(lone, places))) for way in "uw"]
            form += summed(places, own[0] * own[1]).scaled(1 / length)
        blocks = largest(Forms(Bounds(self.whole, sizes)).blocks(form))
        return [[blocks.get((s, t), (0, 0))[1] for t in lengths] for s in lengths]

    def monotone(
        self, node: Node, sizes: Mapping[str, int], terms: Sequence[Left], states: Collection[str]
    ) -> Fraction:
        """The m by which a force that is continuous, but for kinks by which steps move, pulls states together."""
        (premise,), steps = node["premises"], node["statement"]["steps"]
        same = premise["statement"]["steps"] == steps and premise["statement"]["lengths"].keys() == {*states}
        require(same, f"the rule {node['rule']}: other steps")
        if steps == "plain":
            self.steady(node["rule"], terms)
        return self.curved(premise, terms, sizes)

    def curved(self, node: Node, terms: Sequence[Left], sizes: Mapping[str, int]) -> Fraction:
        """That ``-v . J v >= m |v|^2``, and at most ``L |v|^2`` of energies or, of forces, ``|J v| <= L |v|``.

        J is the Jacobian of the whole force without the kinks by which steps move, ``|v|^2`` is
        ``sum |v_s|^2 / length_s``; v is 0 in the states that have no length.
        """
        statement = opened(node, "curved")
        lengths = {name: Fraction(length) for name, length in statement["lengths"].items()}
        require(lengths.keys() <= self.states.keys() and min(lengths.values()) > 0, "the rule form: other steps")
        m, inverse, names = Fraction(statement["m"]), [1 / length for length in lengths.values()], [*lengths]
        bounds = Bounds(self.whole, sizes)
        forms, bends = Forms(bounds), self.bends(node, statement["steps"], terms)
        rest = total(bends.values()) - self.squares(node, self.whole, bounds, {})
        low = matrix_of(forms.blocks(rest), names, 0)
        require(is_semidefinite(shifted(low, [-m * each for each in inverse], 1)), "the rule form: m is smaller")
        if statement["L"] is not None:
            steep = self.steepness(forms, bends, names)
            scale = [Fraction(statement["L"]) * each for each in inverse] * (len(steep) // len(names))
            require(is_semidefinite(shifted(steep, scale, -1)), "the rule form: L is larger")
        return m

    def steepness(self, forms: Forms, bends: Mapping[str, Poly], names: Sequence[str]) -> list[list[Any]]:
        """A matrix that bounds the form of energies from above or, of other forces, ``[[0, N], [N^T, 0]]`` of norms."""
        terms = self.spec["terms"]
        forces = [terms[name] for name in bends if terms[name].word != "energy"]
        blocks = forms.blocks(total(bend for name, bend in bends.items() if terms[name] not in forces))
        if not forces:
            return matrix_of(blocks, names, 1)
        own = matrix_of(largest(blocks), names, 1)
        mixed = largest(forms.blocks(self.whole.differential(total(self.whole.work(force, "u") for force in forces))))
        norms = ([mixed.get((s, t), (0, 0))[1] for t in names] for s in names)
        return beside([[a + b for a, b in zip(*rows, strict=True)] for rows in zip(own, norms, strict=True)])

    def bends(self, node: Node, steps: str, terms: Sequence[Left]) -> dict[str, Poly]:
        """``-v . J v`` of the force of each term, of proximal steps without their kinks."""
        if steps == "plain":
            return {term.name: self.bend(term) for term in terms}
        found = self.without_kinks("form", node["facts"]["kinks"], terms)
        for rest in (rest for rest in found.values() if ("bend", rest) not in self.whole.kept):
            self.whole.kept["bend", rest] = self.whole.differential(self.whole.differential(rest))
        return {name: self.whole.kept["bend", rest] for name, rest in found.items()}

    def without_kinks(self, rule: str, listed: Sequence[Sequence[str]], terms: Sequence[Left]) -> dict[str, Poly]:
        """Energies, those parts that are ``listed`` without their kinks, by which steps move proximally.

        A part that is the largest of functions with continuous slopes has no kinks that cancel.
        """
        require(all(term.word == "energy" for term in terms), f"the rule {rule}: not all terms are energies")
        require(not re.search(r"\bproximal\s*=\s*off\b", self.text), f"the rule {rule}: steps are not proximal")
        having = {(name, ast.dump(expression(text))) for name, text in listed}
        bounds, kinks, rests = Bounds(self.whole, norms=True), list[Kink](), dict[str, Poly]()
        for energy in terms:
            for tree in summands(expression(energy.body)):
                rest, known = self.expanded(energy, tree), self.facts_of_part(energy, tree)
                if (energy.name, ast.dump(tree)) in having:
                    known = bounds.of(tree, bounds.scope(energy))
                    if not (known.continuous and known.top):
                        raise NotCovered("a kink of another form")
                    rest, own = split(rest, bounds)
                    kinks += own
                else:
                    require(known.continuous and known.smooth, f"the rule {rule}: {energy.name} has other kinks")
                rests[energy.name] = rests.get(energy.name, number(0)) + rest
        if not move_proximally(kinks, self.states):
            raise NotCovered("kinks that have no proximal operator together")
        return rests

    def expanded(self, energy: Left, tree: ast.expr) -> Poly:
        """A part of an energy, summed over its indices, with functions kept whole."""
        if (key := ("part", energy.key, ast.dump(tree))) not in self.whole.kept:
            scope = {name: new_index(dim) for name, dim in self.bounds.scope(energy).items()}
            self.whole.kept[key] = summed(tuple(scope.values()), self.whole.value(tree, scope))
        return self.whole.kept[key]

    def bend(self, term: Left) -> Poly:
        """``-v . J v`` of the force of a term."""
        if ("bend", term.key) not in self.whole.kept:
            self.whole.kept["bend", term.key] = -self.whole.differential(self.whole.work(term))
        return self.whole.kept["bend", term.key]

    def squares(self, node: Node, formulas: Formulas, bounds: Bounds, apart: Mapping[str, Any]) -> Poly:
        """The sum of what the facts of a node say is nowhere negative."""
        formulas.exchange = {name: name for name in (*(f"w.{state}" for state in self.states), *formulas.vectors)}
        try:
            trees = [expression(text) for text in node["facts"]["squares"]]
            scope = {name: index.below for name, index in apart.items()}
            known = [bounds.of(tree, scope) for tree in trees]
            require(not bounds.partial, "the rule form: what is taken off may be without a value")
            require(all(each.low >= 0 for each in known), "the rule form: what is taken off may be negative")
            return total(formulas.value(tree, apart) for tree in trees)
        finally:
            formulas.exchange = {}

    # ---------------------------------------------------------------- contraction

    def contraction(self, node: Node) -> str:
        """That a step of a state, all else held, brings any two values of it closer: the slope of it is in (-1, 1)."""
        statement = opened(node, "contraction")
        name, step = statement["of"], Fraction(statement["step"])
        require(set_of(self.states[name])[0] in CONVEX, f"the rule slope: the set of {name} is not convex")
        low, high = self.slope(name, step, sized(statement["sizes"], self.spec))
        require(low > -1 and high < 1, "the rule slope: it is not within (-1, 1)")
        return str(name)

    def slope(self, name: str, step: Fraction, sizes: Mapping[str, int]) -> tuple[Any, Any]:
        """The range of the slope of a step of a state, element by element, all else held.

        Raises Refused where the force jumps or elements act on one another.
        """
        (term,) = (each for each in self.spec["terms"].values() if each.on == name and each.word in ("flow", "next"))
        tree, scope = expression(term.body), self.bounds.scope(term)
        formulas = Formulas(self.spec, [name], (), whole=True)
        require(self.bounds.of(tree, scope).continuous, f"the rule slope: the force on {name} jumps")
        indices = {index: new_index(dim) for index, dim in scope.items()}
        own = formulas.element(f"w.{name}", tuple(lone(indices[index]) for index in scope))
        change = formulas.differential(formulas.value(tree, indices))
        known = Bounds(self.formulas, sizes).of_cases(self.factor("slope", change, own).scaled(step))
        held = 1 - step if term.word == "next" else 1
        return held + known.low, held + known.high

    @staticmethod
    def factor(rule: str, change: Poly, own: Poly) -> Poly:
        """What multiplies the direction of one element in a change. Raises Refused where another element is in it."""
        (((_, direction), _),) = own
        apart = all(direction <= factors for (_, factors), _ in change)
        require(apart, f"the rule {rule}: elements act on one another")
        return total(Poly([product]) * own**-1 for product in change)

    # ---------------------------------------------------------------- positive Jacobians

    def positive(self, node: Node) -> None:
        """That the Jacobian M of a let by a state of its dims has ``v . M v >= 0`` for all v."""
        statement = opened(node, "positive")
        let, state, given = self.spec["lets"][statement["of"]], statement["by"], {*statement["given"]}
        require(state in self.states and let.word == "let", "the rule form: not the Jacobian of a let by a state")
        require(all(self.spec["tensors"][name].word == "param" for name in given), "the rule form: these are no params")
        require(isinstance(statement["given"], list), "the rule form: these are no params")
        self.facts(let)
        bounds, formulas = Bounds(self.formulas, {}, given), Formulas(self.spec, [state], (), whole=True)
        indices, value = formulas.equation(let)
        dims = [index.below for index in indices]
        require((*dims,) == formulas.signature(state), "the rule form: the Jacobian is not square")
        names = {name: index for (name, _), index in zip(let.indices, indices, strict=True)}
        apart = {name: names[name] for name in node["facts"]["apart"]}
        along = tuple(index for index in indices if index not in apart.values())
        change = formulas.differential(value) * formulas.element(f"w.{state}", tuple(map(lone, indices)))
        self.nonnegative(node, summed(along, change), bounds, formulas, state, apart)

    def semidefinite(self, node: Node) -> None:
        """That a let M has ``v . M v >= 0`` by two indices of one dim, for all v, which are ``w.M`` over all others.

        Or, with a flow ``-P grad(E, g)`` in the place of the let and g in that of the indices, that ``(dg/dx) P`` has.
        """
        statement = opened(node, "semidefinite")
        flow = self.spec["terms"].get(statement["of"])
        if flow is not None:
            (name,) = statement["by"]
            self.facts(self.spec["lets"].get(name) or flow)
            formulas, indices, moved = self.descent(flow, name, whole=True)
            form = formulas.dot(indices, moved, f"w.{name}")
        else:
            name, formulas = statement["of"], Formulas(self.spec, (), (), whole=True)
            form = self.product(self.spec["lets"][name], statement["by"], formulas)
        self.nonnegative(node, form, Bounds(formulas), formulas, name, {})

    def invertible(self, node: Node) -> None:
        """That P of a flow ``-P grad(E, g)``, whose g has the dims of its state, takes no vector but 0 to 0."""
        statement = opened(node, "invertible")
        flow, by = self.spec["terms"][statement["of"]], statement["by"]
        formulas, places, pushed = self.pushed(flow, by, whole=True)
        rule, bounds = node["rule"], Bounds(self.formulas)
        require(formulas.signature(by) == formulas.signature(flow.on), f"the rule {rule}: P is not square")
        own = formulas.element(f"w.{by}", tuple(map(lone, places)))
        if rule == "elementwise":
            factor = self.factor(rule, pushed, own)
            require(not bounds.of_cases(factor).zero, "the rule elementwise: a factor may be 0")
            return
        form = formulas.dot(places, pushed, f"w.{by}").scaled(-1 if node["facts"]["sign"] == -1 else 1)
        rest = form - self.squares(node, formulas, Bounds(formulas), {})
        require(Forms(Bounds(formulas)).is_definite(rest), "the rule form: P may be singular")

    def product(self, let: Left, by: Sequence[str], formulas: Formulas) -> Poly:
        """``v . M v`` of a let by two of its indices, summed over all."""
        self.facts(let)
        indices, value = formulas.equation(let)
        names = [name for name, _ in let.indices]
        row, column = map(names.index, by)
        require(let.word == "let" and row != column, "the rule form: other indices")
        require(indices[row].below == indices[column].below, "the rule form: not a square matrix")
        kept = [k for k in range(len(indices)) if k != column]
        formulas.vectors[f"w.{let.name}"] = tuple(indices[k].below for k in kept)
        places = [lone(indices[k]) for k in kept]
        turned = [lone(indices[column if k == row else k]) for k in kept]
        ends = [formulas.element(f"w.{let.name}", tuple(each)) for each in (places, turned)]
        return summed(indices, value * ends[0] * ends[1])

    def nonnegative(
        self, node: Node, form: Poly, bounds: Bounds, formulas: Formulas, name: str, apart: Mapping[str, Any]
    ) -> None:
        """That a form in one direction without its squares is 0, denominators cleared, or nowhere negative by norms."""
        rest = form - self.squares(node, formulas, bounds, apart)
        low = matrix_of(Forms(bounds).blocks(rest), [name], 0) if cleared(rest) else []
        require(is_semidefinite(low), "the rule form: what is left may be negative")
