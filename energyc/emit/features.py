"""What the rules of a module need of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from energyc.rules import RULES, Declaration


@dataclass(frozen=True)
class Features:
    """The rules of a module in order, and what follows from them."""

    rules: tuple[Declaration, ...]
    newton: bool
    penalty: bool = False

    @staticmethod
    def of(rules: Iterable[str], solver: str, *, penalty: bool = False) -> Features:
        """The features for rules."""
        return Features(tuple(RULES[name] for name in dict.fromkeys(rules)), solver == "newton", penalty)

    def needs(self, part: str) -> bool:
        """Whether a rule needs a part of the module."""
        return any(part in rule.needs for rule in self.rules)

    @property
    def settings(self) -> frozenset[str]:
        """The settings of the nudged phase that the rules read."""
        return frozenset(setting for rule in self.rules for setting in rule.settings)
