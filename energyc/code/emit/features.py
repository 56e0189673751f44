"""What the rules of a module need of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from energyc.code.tree.expressions import Name
from energyc.code.tree.statements import Assign, Body
from energyc.language.settings import Relax, TrainOptions
from energyc.runtime.rules import RULES, Declaration


@dataclass(frozen=True)
class Features:
    """The rules of a module in order, and what follows from them."""

    rules: tuple[Declaration, ...]
    solver: str
    auto: bool = False
    penalty: bool = False
    #: The products of every evaluation, and those with which a free phase begins.
    products: str | None = None
    first_products: str | None = None

    @staticmethod
    def of(rules: Iterable[str], relax: Relax, train: TrainOptions) -> Features:
        """The features for rules, a free phase and the training."""
        named = tuple(RULES[name] for name in dict.fromkeys(rules))
        penalised = train.penalty is not None
        return Features(named, relax.solver, relax.step is None, penalised, train.products, relax.products)

    @property
    def newton(self) -> bool:
        """Whether the steps are Newton's."""
        return self.solver == "newton"

    @property
    def hooks(self) -> Body:
        """What puts the solver of a class and its choice of steps in the place of the usual ones."""
        solvers = {"newton": {"_step_": "newton_step"}, "anderson": {"_walk_": "anderson"}}
        hooks = dict(solvers.get(self.solver, {}))
        hooks |= {"_pace": "CurvaturePace"} if self.auto else {}
        hooks |= {"_approach_": "approach"} if self.first_products else {}
        return tuple(Assign(Name(hook), Name(part)) for hook, part in hooks.items())

    @property
    def mixins(self) -> tuple[str, ...]:
        """The classes of the runtime that stand before a class of equations."""
        return ("RoundedEquations",) if self.products or self.first_products else ()

    def needs(self, part: str) -> bool:
        """Whether a rule needs a part of the module."""
        return any(part in rule.needs for rule in self.rules)

    @property
    def settings(self) -> frozenset[str]:
        """The settings of the nudged phase that the rules read."""
        return frozenset(setting for rule in self.rules for setting in rule.settings)
