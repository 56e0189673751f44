"""Whether there is only one equilibrium, and whether steps converge to it: from bounds on the curvature.

A force that is continuous and strongly monotone on closed convex sets has one equilibrium, and a projected or proximal
step, which brings no two points further apart, contracts where it is short enough (docs/claims.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from energyc.derivation.derive import Derivation, derive
from energyc.language.network import Network
from energyc.mathematics.calculus import Bounds
from energyc.mathematics.ir import Input, Node
from energyc.proofs.claims.curvature import Curvature, bends_of, curvature_of, nowhere_negative, steps_to
from energyc.proofs.claims.energy import whole_forces
from energyc.proofs.claims.judgement import Judgement, Step, undecided
from energyc.proofs.claims.norms import Norms
from energyc.proofs.claims.rest import Rest
from energyc.proofs.claims.sets import NONE, enclosures_of, is_convex, of_forces, simplexes
from energyc.proofs.conservativeness.forces import field_from, force_of
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField, field_of
from energyc.proofs.fields.sampling import Array


@dataclass(frozen=True)
class Monotone:
    """The curvature of a network's force, and what follows. ``terms`` are the forces of its terms on its states."""

    rest: Rest
    terms: Mapping[str, Mapping[Input, Node]]

    @staticmethod
    def of(network: Network) -> Monotone:
        """That of a network which need not be classified: the same object each time, for the last networks."""
        return _monotone(_Same(network))

    @property
    def network(self) -> Network:
        """The network."""
        return self.rest.network

    @cached_property
    def barred(self) -> str:
        """Why nothing follows from the curvature; empty where something may."""
        curved = [name for name, s in self.network.states.items() if not is_convex(s.constraint)]
        if curved:
            return f"the set of {', '.join(curved)} is not convex"
        if found := self.rest.unsteady:
            return found
        force = self._proximal.smooth if self._proximal else self.rest.forces
        if still := self.network.states.keys() - force.keys():
            return f"nothing moves {', '.join(sorted(still))}"
        return "" if self._enclosures.continuous(force.values()) else "the force is not known to be continuous"

    @cached_property
    def _proximal(self) -> Derivation | None:
        """The derivation of a network whose kinks move proximally."""
        if not (self.rest.is_gradient and not self.rest.enclosures.continuous(self.rest.forces.values())):
            return None
        derivation = derive(replace(self.network, graph=self.network.graph.fork()))
        return derivation if derivation.proximal else None

    @property
    def moves_proximally(self) -> bool:
        """Whether kinks are left out of the force, which they make more monotone than it is."""
        return self._proximal is not None

    @cached_property
    def base(self) -> ForceField:
        """The states without a force, on the graph of the forces."""
        graph = self._proximal.network.graph if self._proximal else self.rest.base.graph
        return replace(self.rest.base, graph=graph)

    @cached_property
    def _enclosures(self) -> Enclosures:
        return of_forces(self.network, self.base) if self._proximal else self.rest.enclosures

    def norms(
        self,
        extents: Mapping[str, int] | None = None,
        given: Mapping[Input, Array] | None = None,
        narrower: Mapping[Input, Bounds] = NONE,
    ) -> Norms:
        """Norms for all params on their sets, at the spec's sizes or others; or at ``given`` inputs.

        Some inputs may be kept within ``narrower`` bounds.
        """
        ends = {node: (float(array.min()), float(array.max())) for node, array in (given or {}).items() if array.size}
        apart, enclosures = {**ends, **narrower}, self._enclosures
        if apart or extents:
            enclosures = enclosures_of(self.network, self.base, apart, extents=extents or {})
        return Norms(
            enclosures, extents or self.network.extents, self.base.structure, simplexes(self.network), given or {}
        )

    def curvature(self, norms: Norms | None = None) -> Curvature:
        """The bounds by some norms, or for all params on their sets at the sizes of the spec."""
        return curvature_of(self._fields, norms or self.norms(), self._bends, gradient=self.moves_proximally)

    @cached_property
    def nowhere_negative(self) -> tuple[Node, ...]:
        """The squares in ``-v . J v``, of the force without kinks that move proximally."""
        return tuple(nowhere_negative(self._fields, self.norms(), self._bends))

    @cached_property
    def _fields(self) -> dict[str, ForceField]:
        if self._proximal:
            states, smooth = self.network.states, self._proximal.smooth
            return {"the smooth part": self.base.with_force({states[name].node: node for name, node in smooth.items()})}
        return {name: field_of(self.base, list(forces.items())) for name, forces in self.terms.items() if forces}

    @cached_property
    def _bends(self) -> dict[str, Node] | None:
        """The curvature of each energy, where nothing else moves the states, and no kink moves them proximally."""
        if self._proximal:
            return None
        energies = {name: self.network.terms[name].node for name in self._fields}
        return bends_of(self.base, energies) if self.rest.is_gradient else None

    # ------------------------------------------------------------ claims

    def judged(self, about: str) -> Judgement:
        """Whether there is only one equilibrium."""
        if self.barred:
            return undecided(self.barred)
        found = self.bounds
        m, most = found.bounds()
        numbers = {name: value for name, value in (("m", m), ("L", most)) if math.isfinite(value)}
        if not m > 0:
            return Judgement("undecided", _why_loose(found, m), numbers=numbers)
        because = f"the force is strongly monotone: -v . J v >= {m:.4g} |v|^2"
        proof = Step("monotone", f"{about} has one equilibrium", (Step("curvature", because),), by=self)
        return Judgement("proved", because, proof, numbers)

    @cached_property
    def bounds(self) -> Curvature:
        """The bounds for all params, at the sizes of the spec."""
        return self.curvature()

    @property
    def why_no_step(self) -> str:
        """Why no step is proved to converge for all params; empty where one is."""
        return self.why(self.bounds)

    def why(self, found: Curvature) -> str:
        """Why no step is proved to converge by some bounds; empty where one is."""
        m, most = found.bounds()
        if not m > 0:
            return _why_loose(found, m)
        return "" if math.isfinite(most) else f"the slope of {', '.join(found.steep)} has no bound"

    def steps(self, stretch: float | None = None) -> Iterator[tuple[str, Judgement]]:
        """Whether the steps of the spec converge, with what is said of them; ``stretch`` is a rate known otherwise."""
        relax = self.network.relax
        if relax.step is None or relax.solver != "gradient" or self.barred:
            return
        own = {name: relax.step_for(name) for name in self.network.states}
        rate, best = self.bounds.rate(own), self.bounds.best_step()
        about = "a step of " + " and ".join(dict.fromkeys(f"{step:g}" for step in own.values()))
        if stretch is not None and stretch < min(rate, 1):
            yield about, self._converges(stretch, "lipschitz")
        elif rate < 1:
            yield about, self._converges(rate, "rate")
        elif best is None:
            yield about, undecided(self.why_no_step)
        else:
            settings = self._settings_of(best[0])
            yield about, undecided(f"no rate below 1 follows; one of {best[1]:.4g} does for {settings}")

    def _settings_of(self, step: float) -> str:
        """The settings that give all states a step: by name those of ``next``, and those that have one of their own."""
        own = self.network.relax.step_of
        whole = ["relax.step"] if self.network.states.keys() - own.keys() else []
        names = [*whole, *(f"relax.step.{name}" for name in own if name in self.network.states)]
        return " and ".join(f"`{name} = {step:.4g}`" for name in names)

    def _converges(self, rate: float, rule: str) -> Judgement:
        tolerance, best = self.network.relax.tolerance, self.bounds.best_step()
        count = None if tolerance is None else steps_to(tolerance, rate)
        because = f"states are at most {rate:.4g} times as far apart after it"
        numbers: dict[str, object] = {"rate": rate}
        if best is not None and rule == "rate":
            numbers |= {"best_step": best[0], "best_rate": best[1]}
        if count is not None:
            because += f": after {count} steps it moves them {tolerance:g} times as far as the first"
            numbers["steps"] = count
        return Judgement("proved", because, Step(rule, because, by=self), numbers)


@dataclass(frozen=True, eq=False)
class _Same:
    """A network as a key, which is equal to that very object alone."""

    network: Network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.network is self.network

    def __hash__(self) -> int:
        return id(self.network)


@lru_cache(maxsize=4)
def _monotone(same: _Same) -> Monotone:
    network = same.network
    base = field_from(network)
    terms = {name: force_of(network, term, base) for name, term in network.terms.items()}
    forces = whole_forces(network, base, terms)
    return Monotone(Rest(network, base, forces, of_forces(network, base), None, False), terms)


def _why_loose(found: Curvature, m: float) -> str:
    terms = " and ".join(found.loose) or "no term"
    if not found.loose:
        return "not strongly monotone: no energy is convex in all directions"
    if m == -math.inf:
        return f"the curvature of {terms} has no known lower bound"
    return f"-v . J v is bounded below only by {m:.4g} |v|^2, because of {terms}"
