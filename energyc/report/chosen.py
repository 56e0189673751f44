"""What is to be said of the rule that a spec asks for, before it is trained by it."""

from __future__ import annotations

from collections.abc import Iterator

from energyc.analysis.classes import Classes
from energyc.resolve.network import Network
from energyc.train.settings import flag


def chosen_rule(network: Network, classes: Classes) -> Iterator[str]:
    """A sentence where ``train.rule`` is anything but exact on the network."""
    name = network.train.get("rule")
    rule = classes.rules.get(str(name))
    if rule is None:
        return
    asked = f"train.rule = {name}"
    instead = f" (use {rule.use_instead})" if rule.use_instead else ""
    allowed = flag(network.train.get("allow_biased", False))
    match rule.verdict:
        case "inadmissible":
            yield f"{asked} is inadmissible on {network.name} ({rule.why}): train refuses it{instead}"
        case "biased":
            outcome = "train.allow_biased insists on it" if allowed else "train refuses it unless --allow-biased"
            yield f"{asked} is biased on {network.name}, because of {rule.why}: {outcome}{instead}"
        case "unproved":
            yield f"{asked} is unproved on {network.name}: exact only if {rule.why} is conservative{instead}"
