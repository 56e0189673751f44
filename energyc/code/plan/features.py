"""The features that the rules and the settings of a module need of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from energyc.language.network import Network
from energyc.language.settings import Relax, TrainOptions
from energyc.runtime.rules import RULES, Declaration


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

    def parts(self, network: Network) -> Iterator[tuple[str, str]]:
        """The parts of the runtime that a network's settings and these rules choose, by kind and name."""
        yield from self._of_free_phase(network)
        yield from self._of_nudges(network)
        yield from (("differentiation", rule.name) for rule in self.rules if rule.name in ("implicit", "bptt"))
        yield from [("inputs", "noise")] * bool(network.noises)
        yield from [("terms", "families")] * any(term.is_family for term in network.energies.values())

    def _of_free_phase(self, network: Network) -> Iterator[tuple[str, str]]:
        relax = network.relax
        yield "solver", relax.solver
        yield from [("step size", "auto")] * self.auto
        yield "exit", relax.exit
        yield "measure", relax.measure
        yield from [("exit", "patient")] * (relax.patience > 1)
        yield from [("start", "rounded")] * (self.first_products is not None)
        yield from [("batch", "coupled")] * bool(network.batch_mates)

    def _of_nudges(self, network: Network) -> Iterator[tuple[str, str]]:
        nudge, train = network.nudge, network.train
        yield from [("strength", "auto")] * (nudge.beta is None and not self.settings.isdisjoint(("beta", "radius")))
        yield from [("nudges", "together")] * bool(nudge.together)
        yield from [("nudges", "snapshots")] * ("snapshots" in self.settings and nudge.snapshots is not None)
        if self.penalty:
            yield "penalty", self.penalty
        yield from [("penalty", "defence")] * bool(train.residual_defence)
