"""Rule trees that claim what is asked of them, whether it is true or not: each rule in all the ways that fit a spec."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from energyc.checker.nodes import FOR
from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.formulas import formulas_of
from energyc.proofs.verdicts.trees import Trees, parts_of
from tests.checker.proofs import Json

REST: Json = {"lengths": {}, "sizes": {}, "layer": None, "for": FOR["rest"]}


def node(rule: str, statement: Json, premises: list[Json] | None = None, facts: Json | None = None) -> Json:
    return {"statement": statement, "rule": rule, "premises": premises or [], "facts": facts or {}}


class Forger:
    """Writes trees about a spec."""

    def __init__(self, text: str) -> None:
        network = resolve(Source("spec.energy", text), Choices())
        self.trees = Trees(Symmetries(network, network.tree))
        self.text, self.equations, self.states = text, self.trees.equations, [*network.states]
        self.energies = [name for name, term in self.equations.own.items() if term.word == "energy"]
        self.parts = [[*part] for part in parts_of(self.equations, self.energies)]

    def root(self, tree: Json) -> Json:
        formulas = formulas_of(self.equations, [*self.equations.own], [])
        return {"claim": "forged", "formulas": formulas, **tree}

    def part(self, parts: list[list[str]], confines: dict[str, str], given: list[str], rule: str = "") -> Json:
        statement = {"kind": "part", "of": parts, "confines": confines, "given": given}
        return node(rule or ("outgrown" if confines else "range"), statement)

    def floors(self, attained: bool) -> Iterator[Json]:
        """By each rule, and by all powers of the states that may be claimed."""
        statement = {"kind": "floor", "of": self.energies, "attained": attained, "sizes": {}}
        statement |= {"layer": None, "for": FOR["floor"]}
        yield node("sum", statement, [self.part([part], {}, []) for part in self.parts])
        curved = {
            "kind": "curved",
            "steps": "plain",
            "lengths": dict.fromkeys(self.states, "1"),
            "m": "1e-9",
            "L": None,
        }
        yield node("convex", statement, [node("form", curved, facts={"squares": []})])
        for some in range(2 ** len(self.states)):
            confines = {name: "2" for k, name in enumerate(self.states) if some >> k & 1}
            yield node("sum", statement, [self.part(self.parts, confines, [], "norms")])
            yield node("sum", statement, [self.part([part], confines, [], "norms") for part in self.parts])
            confines = dict.fromkeys(confines, "1")
            yield node("sum", statement, [self.part(self.parts, confines, [], "alone")])
            yield node("sum", statement, [self.part([part], confines, [], "alone") for part in self.parts])
        for power, some in product(("1", "2", "4"), range(1, 2 ** len(self.states))):
            confines = {name: power for k, name in enumerate(self.states) if some >> k & 1}
            yield node("sum", statement, [self.part(self.parts, confines, [])])
            yield node("sum", statement, [self.part([part], confines, []) for part in self.parts])
            given = [*confines]
            yield node("sum", statement, [self.part([part], confines, given) for part in self.parts])
        powers: list[dict[str, str]] = [{}] + [{name: p} for name in self.states for p in ("1", "2", "4")]
        for chosen in product(powers, repeat=len(self.parts)) if len(self.parts) < 4 else ():
            yield node("sum", statement, [self.part([p], c, []) for p, c in zip(self.parts, chosen, strict=True)])

    def rests(self) -> Iterator[Json]:
        """By each rule, on every floor."""
        plain, proximal = ({"kind": "rest", "steps": steps, **REST} for steps in ("plain", "proximal"))
        for floor in self.floors(True) if self.energies else ():
            yield node("least", plain, [floor])
            yield node("flows", plain, [floor])
            for kinks in ([], self.parts):
                yield node("proximal", proximal, [floor], {"kinks": kinks})
        for some in range(2 ** len(self.states)):
            damped = [name for k, name in enumerate(self.states) if some >> k & 1]
            yield node("brouwer", plain, [node("damped", {"kind": "damped", "of": [name]}) for name in damped])
