"""The learning rules a network admits, and the errors for those it does not."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.language.diagnostics import Option, UserError, near, spoken
from energyc.proofs.claims.classes import Classes
from energyc.runtime import RULES


def available(classes: Classes) -> tuple[str, ...]:
    """The rules that are not inadmissible on the network; in one of layers those first that nudge none of them."""
    rules = [rule for rule in RULES if classes.rules[rule].verdict != "inadmissible"]
    return tuple(sorted(rules, key=lambda rule: bool(classes.layers) and RULES[rule].serves_layers))


def biased(classes: Classes, rules: Sequence[str]) -> dict[str, str]:
    """Map each of ``rules`` that is biased on the network to the reason."""
    return {rule: classes.rules[rule].why or "" for rule in rules if classes.rules[rule].verdict == "biased"}


def check_rules(name: str, classes: Classes, requested: Sequence[str]) -> None:
    """Raise UserError for the first rule that does not exist or is inadmissible on the network."""
    for rule in requested:
        if rule not in RULES:
            suggestions = near(rule, RULES)
            help_text = f"did you mean {suggestions[0]}?" if suggestions else f"rules: {', '.join(RULES)}"
            raise UserError(f"there is no rule {rule}", code="E0910", help=help_text)
        verdict = classes.rules[rule]
        if verdict.verdict == "inadmissible":
            instead = f"use {verdict.use_instead}" if verdict.use_instead else None
            raise UserError(f"{rule} is not defined on {name}: {verdict.why}", code="E0920", help=instead)


def refuse_biased(name: str, classes: Classes, rule: str) -> None:
    """Raise UserError if a rule is biased on the network."""
    verdict = classes.rules[rule]
    if verdict.verdict == "biased":
        instead = f"use {verdict.use_instead}, or " if verdict.use_instead else ""
        message = f"{rule} is biased on {name}{verdict.reason}"
        raise UserError(message, code="E0921", help=spoken(instead + "insist with {}", Option("allow_biased", True)))
