"""What the rules of a module need of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from energyc.rules import RULES, Declaration


@dataclass(frozen=True)
class Features:
    """The rules of a module in order, and what follows from them; ``implicit`` is always among them."""

    rules: tuple[Declaration, ...]
    newton: bool
    penalty: bool = False

    @staticmethod
    def of(rules: Iterable[str], solver: str, *, penalty: bool = False) -> Features:
        """The features for rules; ``implicit`` is added where it is missing."""
        names = dict.fromkeys([*rules, "implicit"])
        return Features(tuple(RULES[name] for name in names), solver == "newton", penalty)

    def needs(self, part: str) -> bool:
        """Whether a rule needs a part of the module."""
        return any(part in rule.needs for rule in self.rules)

    @property
    def settings(self) -> frozenset[str]:
        """The settings of the nudged phase that the rules read."""
        return frozenset(setting for rule in self.rules for setting in rule.settings)
