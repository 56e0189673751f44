"""Whether the energy of a network is bounded below on the sets of its states, and whether it takes its least value.

The kernel shows a floor by the first of its rules that does; a ray along which the energy falls refutes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from energyc.language.network import Network
from energyc.proofs.claims.judgement import Judgement, Kernel, Step, Tree, undecided
from energyc.proofs.claims.rays import falling_ray
from energyc.proofs.claims.sets import roaming
from energyc.proofs.fields.problem import ForceField

CLAIM = "bounded below"
_BECAUSE = {
    "compact": "continuous on compact sets",
    "sum": "each of its terms is bounded below",
    "norms": "coercive: a positive definite quadratic form bounds it",
    "alone": "separable and coercive",
}


@dataclass(frozen=True)
class Floor:
    """The judgement on a floor; ``attained``: the energy is continuous and takes its least value."""

    judgement: Judgement
    attained: bool = False


def floor_of(network: Network, base: ForceField, kernel: Kernel, couples: Callable[[], bool] = lambda: False) -> Floor:
    """Whether the sum of all energies is bounded below.

    The rule of lone elements is not tried where the energy ``couples`` them, which the kernel finds out more slowly.
    """
    whole = " + ".join(network.energies)
    found = _shown(kernel, "outgrown", whole) or _shown(kernel, "norms", whole)
    if not (found and found.attained) and not couples():
        found = _shown(kernel, "alone", whole) or found
    if found is None:
        refuted = falling_ray(network, base, roaming(network))
        return Floor(refuted or undecided("no rule proves a lower bound, and no ray along which it falls was found"))
    return found


def _shown(kernel: Kernel, rule: str, whole: str) -> Floor | None:
    """The floor that the kernel shows by a rule."""
    statement = f"{whole} is bounded below"
    tree = kernel.shown("floor", Step(rule, statement))
    if isinstance(tree, str):
        return None
    powers = {name: Fraction(p) for part in tree["premises"] for name, p in part["statement"]["confines"].items()}
    attained = bool(tree["statement"]["attained"])
    rule, because = _said(tree, powers, attained)
    premises = tuple(Step("power", f"a positive multiple of |{name}|^{float(p):g}") for name, p in powers.items())
    proof = Step(rule, statement, premises if rule == "outgrown" else (), tree=tree)
    return Floor(Judgement("proved", because, proof), attained)


def _said(tree: Tree, powers: dict[str, Fraction], attained: bool) -> tuple[str, str]:
    """The rule that shows a floor, and why it does in words."""
    rules = {part["rule"] for part in tree["premises"]}
    if "outgrown" in rules:
        kind = "squares" if {*powers.values()} <= {2} else "powers"
        return "outgrown", f"coercive: {kind} of the states outgrow all terms that may be negative"
    rule = next((rule for rule in ("norms", "alone") if rule in rules), "compact" if attained else "sum")
    return rule, _BECAUSE[rule]
