"""The features that the rules and the settings of a module need of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from energyc.language.settings import Relax, TrainOptions
from energyc.runtime import RULES, Declaration


@dataclass(frozen=True)
class Features:
    """The rules of a module in order, and what follows from them."""

    rules: tuple[Declaration, ...]
    solver: str
    auto: bool = False
    #: ``jacobian`` or ``contraction``: the penalty of the training.
    penalty: str | None = None
    #: The products of every evaluation, and those with which a free phase begins; ``products``: with these.
    products: str | None = None
    first_products: str | None = None
    #: Whether kinks of the energies move proximally.
    proximal: bool = False

    @staticmethod
    def of(rules: Iterable[str], relax: Relax, train: TrainOptions) -> Features:
        """The features for rules, a free phase and the training."""
        named = tuple(RULES[name] for name in dict.fromkeys(rules))
        penalty = None if train.penalty is None else "contraction" if train.controlled is None else "jacobian"
        ends_apart = train.products == "bfloat16" and relax.solver != "newton"
        first = relax.products or ("products" if ends_apart else None)
        return Features(named, relax.solver, relax.step is None, penalty, train.products, first)

    @property
    def newton(self) -> bool:
        """Whether the steps are Newton's."""
        return self.solver == "newton"

    @property
    def pushes(self) -> bool:
        """Whether directions are multiplied by the Jacobian of the force."""
        return self.newton or self.penalty == "contraction"

    @property
    def blocks(self) -> bool:
        """Whether states move block after block."""
        return self.solver == "blocks"

    @property
    def mixins(self) -> tuple[str, ...]:
        """The classes of the runtime that stand before a class of equations."""
        rounded = self.products or self.first_products
        return (*(["RoundedEquations"] if rounded else []), *(["ProximalEquations"] if self.proximal else []))

    def needs(self, part: str) -> bool:
        """Whether a rule needs a part of the module."""
        return any(part in rule.needs for rule in self.rules)

    @property
    def of_layers(self) -> tuple[Declaration, ...]:
        """The rules by whose phases layers are nudged."""
        return tuple(rule for rule in self.rules if rule.serves_layers)

    @property
    def settings(self) -> frozenset[str]:
        """The settings of the nudged phase that the rules read."""
        return frozenset(setting for rule in self.rules for setting in rule.settings)
