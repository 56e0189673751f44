"""Whether a network has an equilibrium: a least energy at rest, a contraction, a fixed point by Brouwer's theorem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from energyc.derivation.derive import derive
from energyc.language.network import Network, Slope
from energyc.mathematics.calculus import substitute
from energyc.mathematics.ir import Coefficient, Input, Node, walk
from energyc.proofs.claims.energy import has_cuts, summands, whole_energy
from energyc.proofs.claims.floor import Floor
from energyc.proofs.claims.judgement import Judgement, Step, undecided
from energyc.proofs.claims.kinks import bend_down
from energyc.proofs.claims.sets import is_compact, is_convex, of_forces, size_along
from energyc.proofs.conservativeness.classify import surfaces_of
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField

CLAIM = "an equilibrium exists"
NOTHING = "nothing shows one; it need not rest"


@dataclass(frozen=True)
class Rest:
    """Premises on equilibria. ``forces`` is the whole force on each state; the floor is of the energies."""

    network: Network
    base: ForceField
    forces: Mapping[str, Node]
    enclosures: Enclosures
    floor: Floor | None
    contracts: bool

    def judged(self, about: str) -> Judgement:
        """Whether a state at which every step stays exists."""
        if barred := self.unsteady:
            return undecided(barred)
        enclosures = self.enclosures
        statement = f"{about} has an equilibrium"
        if self.contracts:
            (name,) = self.forces
            return _proved("a step contracts (Banach)", Step("banach", statement, by=name))
        continuous = enclosures.continuous(self.forces.values())
        if self.floor is not None and self.floor.attained and self.is_gradient:
            if not continuous and self._rests_on_kinks():
                because = "the energy takes its least value, and proximal steps rest on its kinks"
                floor = self.floor.judgement.proof
                return _proved(because, Step("proximal", statement, (floor,) if floor else ()))
            convex = all(is_convex(state.constraint) for state in self.network.states.values())
            if not continuous and not (convex and self._bends_down(enclosures)):
                return undecided("the energy takes its least value, maybe where its force jumps: no step rests there")
            if self._is_at_rest_where_least(enclosures):
                floor = self.floor.judgement.proof
                return _proved("the energy takes its least value", Step("least", statement, (floor,) if floor else ()))
            curved = ", ".join(name for name, s in self.network.states.items() if not is_convex(s.constraint))
            return undecided(f"the energy takes its least value, where a step that is short enough rests on {curved}")
        if self.floor is not None and self.floor.attained and continuous and self._moves_by_gradients():
            floor = self.floor.judgement.proof
            premises = (floor,) if floor else ()
            return _proved("flows are 0 where the energy takes its least value", Step("flows", statement, premises))
        if continuous and all(is_convex(state.constraint) for state in self.network.states.values()):
            return self._by_brouwer(enclosures, statement) or undecided(NOTHING)
        return undecided(NOTHING)

    @cached_property
    def unsteady(self) -> str:
        """Why no state stays where it is from step to step; empty where nothing speaks against it."""
        network = self.network
        if network.numbered:
            return f"the force changes from step to step: {', '.join(network.numbered)} reads t"
        if any(name in network.batch_mates for name in network.terms):
            return "a statistic of the batch makes the samples act on one another"
        return ""

    @cached_property
    def is_gradient(self) -> bool:
        """Whether the whole force is minus the gradient of the energies, nothing held constant in it."""
        network = self.network
        if network.forces or not all(network.acts_fully(energy) for energy in network.energies.values()):
            return False
        return not has_cuts(self.network, self.base)

    def _moves_by_gradients(self) -> bool:
        """Whether each state has a flow that is 0 where the energies have no slope by the states, as ``-P grad(E, x)``.

        Each gradient is that of all energies that read its state, and no set holds a state where there is a slope.
        """
        network, graph = self.network, self.base.graph
        if set(network.flows) != set(network.states) or has_cuts(self.network, self.base):
            return False
        silent: dict[Node, Node] = {noise.node: graph.zero(noise.node.dims) for noise in network.noises.values()}
        for flow in network.flows.values():
            still: dict[Node, Node] = {slope.stand_in: graph.zero(slope.stand_in.dims) for slope in flow.slopes}
            if substitute(graph, flow.family, {**silent, **still}) is not graph.zero(flow.family.dims):
                return False
            if not all(self._is_whole_slope(slope) for slope in flow.slopes):
                return False
        return all(state.constraint is None for state in network.states.values())

    def _is_whole_slope(self, slope: Slope) -> bool:
        state = self.network.states.get(slope.by)
        energies = self.network.energies.values()
        return state is not None and all(
            energy.name in slope.energies for energy in energies if state.node in set(walk([energy.node]))
        )

    def _rests_on_kinks(self) -> bool:
        """Whether all that jumps in the force are convex kinks, by which a step moves proximally, on convex sets."""
        derivation = derive(replace(self.network, graph=self.network.graph.fork()))
        if not derivation.proximal or not all(is_convex(s.constraint) for s in self.network.states.values()):
            return False
        base = replace(self.base, graph=derivation.network.graph)
        return of_forces(self.network, base).continuous(derivation.smooth.values())

    def _bends_down(self, enclosures: Enclosures) -> bool:
        energy = whole_energy(self.network, self.base)
        return bend_down(self.base.graph, energy, self.base.states, enclosures)

    def _is_at_rest_where_least(self, enclosures: Enclosures) -> bool:
        """Whether a step stays at a least energy: on convex sets it does, on others where it is short enough.

        On a sphere the force there is a multiple b z, and the projection of (1 + step b) z is z where step b > -1; with
        means taken away, on standardized values, too. What is a multiple of z in the force counts by its sign alone.
        """
        for name, state in self.network.states.items():
            if is_convex(state.constraint):
                continue
            on_sphere = state.constraint is not None and state.constraint.kind == "sphere"
            widest = math.sqrt(size_along(self.network, state)) if on_sphere else 1.0
            step = None if self.network.relax.step is None else self.network.relax.step_for(name)
            pull, rest = self._pull(state.node, self.forces[name], enclosures)
            if step is None or not step * (pull + widest * rest) < 1:
                return False
        return True

    def _pull(self, state: Input, force: Node, enclosures: Enclosures) -> tuple[float, float]:
        """How far down a force goes as a multiple of its state, and how large the rest of it is at most."""
        surface, pull, others = surfaces_of(self.network)[state], 0.0, list[tuple[Coefficient, Node]]()
        normal, rest = surface.split(self.base.graph, force, state)
        for factor, term in normal:
            if (scale := surface.scale(self.base.graph, term, state)) is None:
                others.append((factor, term))
            else:
                pull -= enclosures.of_multiple(factor, scale).range.low
        whole = self.base.graph.add([*others, *rest], state.dims)
        nothing = whole is self.base.graph.zero(state.dims)
        return max(pull, 0.0), 0.0 if nothing else enclosures.range(whole).size

    def _by_brouwer(self, enclosures: Enclosures, statement: str) -> Judgement | None:
        network = self.network
        free = [name for name, state in network.states.items() if not is_compact(state.constraint)]
        if not all(_is_damped(self.forces[name], network.states[name].node, enclosures) for name in free):
            return None
        if free:
            premises = tuple(Step("damped", f"{name} is damped, what drives it grows more slowly") for name in free)
            because = "the states are damped, and what drives them grows more slowly than they do (Brouwer)"
            return _proved(because, Step("brouwer", statement, premises))
        because = "a step maps the compact convex sets of the states into themselves (Brouwer)"
        return _proved(because, Step("brouwer", statement))


def _proved(because: str, proof: Step) -> Judgement:
    return Judgement("proved", because, proof)


def _is_damped(force: Node, state: Input, enclosures: Enclosures) -> bool:
    """Whether a force is ``-c z`` with c > 0 and a remainder that grows by less than the first power."""
    damping, remainder = False, []
    for factor, node in summands(force):
        if node is state:
            damping = True
            if not enclosures.number(-factor).positive:
                return False
        else:
            remainder.append(node)
    return damping and max((enclosures.of(node).growth for node in remainder), default=0.0) < 1
