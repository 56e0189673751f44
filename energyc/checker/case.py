"""A certificate or a rule tree beside the spec that it is about."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from energyc.checker.algebra import Poly, cleared, has_gathered
from energyc.checker.formulas import Formulas
from energyc.checker.syntax import NotCovered, expression, read_spec


class Refused(Exception):
    """A step that does not hold."""


class Case:
    """What is claimed of a spec: ``listed`` are the formulas that it may read; ``formulas`` reads them."""

    def __init__(
        self,
        entry: Mapping[str, Any],
        text: str,
        consts: Mapping[str, str],
        along: Collection[str] | None = None,
        written: Collection[str] = (),
    ) -> None:
        self.listed = entry["formulas"]
        self.spec = {part: dict(found) for part, found in read_spec(text, entry["statement"]["layer"]).items()}
        for name, value in ((k, v) for k, v in consts.items() if k in self.spec["consts"]):
            const = self.spec["consts"][name]
            require(const.word == "const", f"{name} is not a const")
            self.spec["consts"][name] = const._replace(body=f"= {Fraction(value)}")
        self.formulas = Formulas(self.spec, self.spec["states"] if along is None else along, written)

    def check(self) -> None:
        """Check all steps. Raises Refused for one that fails, NotCovered for what cannot be judged."""
        for left, right in self.listed.items():
            known = self.spec["equations"].get(left)
            same = known is not None and ast.dump(expression(known.body)) == ast.dump(expression(right))
            require(same, f"{left} is another formula in the spec")
        self.check_steps()
        missing = self.formulas.used & self.spec["equations"].keys() - self.listed.keys()
        require(not missing, f"the formula of {min(missing, default='')} is missing")

    def check_steps(self) -> None:
        """Check the steps, given that the formulas are those of the spec."""
        raise NotImplementedError


def equal(a: Poly, b: Poly, otherwise: str) -> None:
    """Raises Refused for other forms, NotCovered where an equation of gathered indices may make them the same."""
    gap = cleared(a - b)
    if has_gathered(gap):
        raise NotCovered("an equation of gathered indices")
    require(not gap, otherwise)


def require(holds: bool, otherwise: str) -> None:
    """Raises Refused unless a step holds."""
    if not holds:
        raise Refused(otherwise)
