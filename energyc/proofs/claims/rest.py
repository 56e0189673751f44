"""Whether a network has an equilibrium: a least energy at rest, a contraction, a fixed point by Brouwer's theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from energyc.derivation.derive import proximal_of
from energyc.language.network import Network
from energyc.mathematics.ir import Node
from energyc.proofs.claims.energy import has_cuts
from energyc.proofs.claims.floor import Floor
from energyc.proofs.claims.judgement import Judgement, Kernel, Step, Tree, undecided
from energyc.proofs.claims.sets import is_convex, roaming
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField

NOTHING = "no rule proves one; the dynamics may not converge"


@dataclass(frozen=True)
class Rest:
    """Premises on equilibria. ``forces`` is the whole force on each state; the floor is of the energies."""

    network: Network
    base: ForceField
    forces: Mapping[str, Node]
    enclosures: Enclosures
    floor: Floor | None
    contracts: bool

    def judged(self, about: str, kernel: Kernel, leaves: Callable[[], bool]) -> Judgement:
        """Whether a state at which every step stays exists: by the first rule of the kernel that shows one.

        Damping is not looked for where the force ``leaves`` what is far out.
        """
        if barred := self.unsteady:
            return undecided(barred)
        statement = f"{about} has an equilibrium"
        if self.contracts:
            (name,) = self.forces
            return _proved("a step contracts (Banach)", Step("banach", statement, by=name))
        floor = self.floor.judgement.proof if self.floor is not None and self.floor.attained else None
        for rule, because in self._rules(floor):
            if rule == "brouwer" and leaves():
                continue
            step = Step(rule, statement, () if floor is None else (floor,))
            tree = kernel.shown("rest", step)
            if not isinstance(tree, str):
                return _proved(because, replace(step, premises=self._premises(step, tree), tree=tree))
        least = floor is not None and self.is_gradient
        return undecided(self._where_it_need_not_rest() if least else NOTHING)

    def _rules(self, floor: Step | None) -> Iterator[tuple[str, str]]:
        """The rules that may show an equilibrium, in the order in which they are tried, and why it follows."""
        if floor is not None and self.is_gradient:
            yield "least", "the energy attains its minimum"
            if proximal_of(self.network):
                yield "proximal", "the energy attains its minimum, at which proximal steps are stationary"
            return
        if floor is not None:
            yield "flows", "flows vanish at the minimum of the energy"
        damped = "the damping outgrows the other forces (Brouwer)"
        compact = "a step maps the compact convex sets of the states into themselves (Brouwer)"
        yield "brouwer", damped if roaming(self.network) else compact

    def _premises(self, step: Step, tree: Tree) -> tuple[Step, ...]:
        """The steps from which an equilibrium follows."""
        if step.rule != "brouwer":
            return step.premises
        damped = [name for premise in tree["premises"] for name in premise["statement"]["of"]]
        return tuple(Step("damped", f"{name} is damped, what drives it grows more slowly") for name in damped)

    def _where_it_need_not_rest(self) -> str:
        """Why a step need not rest where the energy attains its minimum."""
        curved = ", ".join(name for name, s in self.network.states.items() if not is_convex(s.constraint))
        if curved and self.enclosures.continuous(self.forces.values()):
            return f"the energy attains its minimum, at which short enough steps are stationary on {curved}"
        return "the energy attains its minimum, possibly where the force jumps and no step is stationary"

    @cached_property
    def unsteady(self) -> str:
        """Why no state stays where it is from step to step; empty where nothing speaks against it."""
        network = self.network
        if network.numbered:
            return f"the force depends on the step number: {', '.join(network.numbered)} reads t"
        if any(name in network.batch_mates for name in network.terms):
            return "batch statistics couple the samples"
        return ""

    @cached_property
    def is_gradient(self) -> bool:
        """Whether the whole force is minus the gradient of the energies, nothing held constant in it."""
        network = self.network
        if network.forces or not all(network.acts_fully(energy) for energy in network.energies.values()):
            return False
        return not has_cuts(self.network, self.base)


def _proved(because: str, proof: Step) -> Judgement:
    return Judgement("proved", because, proof)
