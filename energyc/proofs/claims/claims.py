"""The claims about a network beside the classes of its terms, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from energyc.derivation.notation import Notation, of_network
from energyc.language.network import Network, Term
from energyc.mathematics.ir import ONE, Einsum, Node, Operand, walk
from energyc.proofs.claims import contraction, floor, positivity, rest
from energyc.proofs.claims.adversary import Adversary
from energyc.proofs.claims.classes import CONTRACTION, CONVERGES, EQUILIBRIUM, UNIQUE, WHOLE, Claim
from energyc.proofs.claims.energy import whole_forces
from energyc.proofs.claims.judgement import LIPSCHITZ, Judgement, Kernel, Step, at_sizes, undecided
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.claims.sets import of_forces, on_charts, with_spheres
from energyc.proofs.conservativeness.classify import Classification
from energyc.proofs.conservativeness.decide import decide
from energyc.proofs.conservativeness.descent import SEED, Descent, by_let, lets_of, only_through, vector_of
from energyc.proofs.conservativeness.forces import field_from
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.conservativeness.witness_data import witness_data
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField

INVERTIBLE = "invertible"
#: The rules by which P is invertible, and why.
INVERSES = {
    "elementwise": "it multiplies each element by a factor that is nowhere 0",
    "form": "v . P v has one sign for all v but 0",
}


def claims_of(network: Network, classification: Classification, kernel: Kernel, called: str = WHOLE) -> Iterator[Claim]:
    """The claims about a network, or a layer that is ``called`` so, in the order of a report."""
    yield from Judge(network, classification, kernel, called).claims()


@dataclass(frozen=True)
class Judge:
    """Judges every claim about a network by the rules of docs/claims.md; an adversary tries what they prove."""

    network: Network
    classification: Classification
    kernel: Kernel
    called: str

    @cached_property
    def base(self) -> ForceField:
        """The states without a force."""
        return field_from(self.network)

    @cached_property
    def enclosures(self) -> Enclosures:
        """The enclosures of nodes of forces as the states move on their sets."""
        return of_forces(self.network, self.base)

    @cached_property
    def notation(self) -> Notation:
        """How formulas are written."""
        return of_network(self.network)

    @cached_property
    def forces(self) -> dict[str, Node]:
        """The whole force on each state that has one."""
        return whole_forces(self.network, self.base, self.classification.forces)

    @cached_property
    def resting(self) -> rest.Rest:
        """The premises on equilibria that no floor and no contraction is among."""
        return rest.Rest(self.network, self.base, self.forces, self.enclosures, None, False)

    @cached_property
    def monotone(self) -> Monotone:
        """The bounds on the curvature, and what follows."""
        return Monotone.of(self.network)

    @cached_property
    def adversary(self) -> Adversary:
        """The search for numbers against what is proved."""
        return Adversary(self.network, self.base, self.forces)

    def claims(self) -> Iterator[Claim]:
        """All claims."""
        network, classification = self.network, self.classification
        for descent in classification.descents.values():
            yield from self._of_metric(descent)
        for name, flow in network.flows.items():
            for matrix in preconditioners(network, flow, self.base):
                yield from self._of_matrix(*matrix)
            if name not in classification.descents and classification.terms[name].kind != "conservative":
                yield from self._of_written_flow(flow)
        for descent in classification.descents.values():
            yield from self._of_inverse(descent)
        yield from self._of_rest()

    # ------------------------------------------------------------ energies and equilibria

    def _of_rest(self) -> Iterator[Claim]:
        """That the energy has a floor, that steps contract, and that there is an equilibrium."""
        network = self.network
        least = None
        if network.energies:
            lowest = floor.floor_of(network, self.base, self.kernel, lambda: self.adversary.couples)
            least = self._by_curvature(lowest)
            judged = self.adversary.against_floor(least.judgement)
            yield _claim(" + ".join(network.energies), floor.CLAIM, judged)
            least = replace(least, judgement=judged, attained=least.attained and judged.verdict == "proved")
        contracts = False
        for name in network.flows:
            found = contraction.contraction_of(network, name, self.forces[name], self.base, self.kernel)
            if found is not None:
                found = self.adversary.against_contraction(name, found)
                contracts = found.verdict == "proved" and len(self.forces) == 1
                yield _claim(f"step map of {name} (other states fixed)", CONTRACTION, found)
        resting, monotone = replace(self.resting, floor=least, contracts=contracts), self.monotone
        judged = resting.judged(self.called, self.kernel, lambda: self.adversary.pushes_outward)
        judged = self.adversary.against_rest(judged)
        unique = undecided(monotone.barred)
        if not monotone.barred and (judged.verdict == "proved" or not self.adversary.pushes_apart):
            unique = self.adversary.against_monotone(monotone, monotone.judged(self.called))
        stretch = None
        if not (monotone.barred or self.resting.is_gradient or self.adversary.pushes_apart):
            stretch = self._stretch
        if unique.verdict != "proved" and stretch is not None:
            unique = self.adversary.against_rate(self._by_banach(stretch))
        if judged.verdict != "proved" and unique.verdict == "proved":
            judged = unique
        yield _claim(self.called, EQUILIBRIUM, judged)
        if judged.verdict == "proved":
            yield _claim(self.called, UNIQUE, unique)
        if unique.verdict == "proved":
            steps = monotone.steps(stretch)
            yield from (_claim(about, CONVERGES, self.adversary.against_rate(each)) for about, each in steps)

    @cached_property
    def _stretch(self) -> float | None:
        """By how much a step of the spec takes states apart at most; None where that is not seen to be below 1."""
        found = self.kernel.shown("converges", LIPSCHITZ)
        return None if isinstance(found, str) else float(Fraction(found["statement"]["rate"]))

    def _by_banach(self, stretch: float) -> Judgement:
        """That a step which takes all states closer to one another has one fixed point."""
        because = f"a step takes states at most {stretch:.4g} times as far apart (Banach)"
        return Judgement("proved", because, Step("banach", f"{self.called} has one equilibrium"))

    def _by_curvature(self, least: floor.Floor) -> floor.Floor:
        """A floor that no other rule shows, of an energy that is strongly convex; else the same."""
        monotone, about = self.monotone, " + ".join(self.network.energies)
        smooth = self.resting.is_gradient and not monotone.barred and not monotone.moves_proximally
        if least.judgement.verdict != "undecided" or not smooth or self.adversary.pushes_apart:
            return least
        found = monotone.judged(self.called)
        if found.proof is None or found.proof.rule != "monotone":
            return least
        proof = Step("convex", f"{about} is bounded below", found.proof.premises, by=monotone)
        return floor.Floor(Judgement("proved", "it is strongly convex", proof), attained=True)

    # ------------------------------------------------------------ matrices

    def _of_metric(self, descent: Descent) -> Iterator[Claim]:
        """That the matrix of a metric descent is symmetric and positive."""
        flow = self.network.flows[descent.state]
        if descent.by == descent.state and (descent.plain or [*preconditioners(self.network, flow, self.base)]):
            return  # the matrix is the identity, or a let with a claim of its own
        about = f"{descent.metric} of {flow.word} {descent.state}"
        yield _claim(about, "symmetric", _symmetric(descent.symmetric))
        at = descent.at if descent.plain else None
        named = (descent.by, descent.state) if descent.plain else (descent.state,)
        yield self._positive(about, descent.matrix, at, self.network.states[descent.state].node, named)

    def _of_matrix(self, name: str, flow: str, by: tuple[str, str], matrix: ForceField) -> Iterator[Claim]:
        """That a preconditioner is symmetric and positive, by two of its indices."""
        about = f"{name} in {self.network.flows[flow].word} {flow}"
        verdict = decide(matrix, np.random.default_rng(SEED), self.kernel.symmetries.matrix(name, by))
        yield _claim(about, "symmetric", _symmetric(verdict))
        if verdict.kind == "conservative":
            yield self._positive(about, matrix, None, matrix.states[0], (name, *by))

    def _positive(self, about: str, matrix: ForceField, at: Node | None, state: Node, named: tuple[str, ...]) -> Claim:
        matrix = replace(matrix, structure=with_spheres(self.network, matrix.structure))
        drawn = on_charts(self.network, matrix)
        judged = positivity.positivity(matrix, drawn, at, state, named, self.enclosures, self.kernel)
        return _claim(about, positivity.CLAIM, self.adversary.against_positivity(drawn, judged))

    def _of_inverse(self, descent: Descent) -> Iterator[Claim]:
        """That P before a gradient is invertible: a flow then rests where the energy is critical and nowhere else."""
        matrix = replace(descent.before, structure=with_spheres(self.network, descent.before.structure))
        (vector,) = matrix.states
        if descent.plain or not descent.energies or matrix.force[vector].dims != vector.dims:
            return
        turned = matrix.with_force({vector: matrix.graph.scale(-1, matrix.force[vector])})
        squares = [positivity.squares_in(each, self.enclosures) for each in (matrix, turned)]
        proof = Step("", "P v = 0 for v = 0 alone", about=(descent.state, descent.by), by=squares)
        judged = undecided("no rule shows it: P is neither definite nor a factor of each element that is nowhere 0")
        tree = self.kernel.shown("invertible", proof)
        if not isinstance(tree, str):
            judged = Judgement("proved", INVERSES[tree["rule"]], replace(proof, rule=tree["rule"], tree=tree))
        judged = self.adversary.against_inverse(on_charts(self.network, matrix), judged)
        yield _claim(f"P of flow {descent.state}", INVERTIBLE, judged)

    # ------------------------------------------------------------ written flows

    def _of_written_flow(self, flow: Term) -> Iterator[Claim]:
        """That a flow which is written out is a gradient by one of the lets through which alone it reads its state."""
        state = self.network.states[str(flow.state)].node
        for name, at in lets_of(self.network, state) if not flow.slopes else ():
            if only_through(flow.node, state, at):
                field, _ = by_let(self.base, flow.node, name, at)
                verdict = decide(field, np.random.default_rng(SEED), self.kernel.symmetries.along(flow.name, name))
                if verdict.kind != "conservative":
                    claim = f"minus the gradient of an energy by {name}"
                    yield _claim(f"{flow.word} {flow.name}", claim, _symmetric(verdict))


def _claim(about: str, claim: str, judged: Judgement) -> Claim:
    return Claim(about, claim, judged.verdict, judged.because, judged.condition, judged.numbers, judged.proof)


def _symmetric(verdict: Verdict) -> Judgement:
    if verdict.kind == "conservative":
        because, certificate = at_sizes(verdict.pinned) or "for all sizes", dict(verdict.certificate or {})
        return Judgement("proved", because, Step("symmetry", f"M = M^T {because}", tree=certificate))
    if verdict.kind == "undecided":
        return Judgement("undecided", "; ".join(verdict.tried))
    return _witnessed(verdict)


def _witnessed(verdict: Verdict) -> Judgement:
    assert verdict.witness is not None
    data: dict[str, Any] = witness_data(verdict.witness)
    entries = f"two mirrored entries are {data['entry']:.6g} and {data['mirror']:.6g}" if "entry" in data else "a loop"
    return Judgement("refuted", f"{entries} {at_sizes(verdict.witness.sizes)}", numbers=data)


# -------------------------------------------------------------------- preconditioners


def preconditioners(
    network: Network, flow: Term, base: ForceField
) -> Iterator[tuple[str, str, tuple[str, str], ForceField]]:
    """The lets that multiply a gradient in a flow as square matrices: name, flow, the two indices, and v -> P v."""
    lets = {quantity.node: name for name, quantity in network.lets.items()}
    stand_ins = {slope.stand_in for slope in flow.slopes}
    for node in (node for node in walk([flow.family]) if isinstance(node, Einsum)):
        for operand in node.operands:
            if operand.node in stand_ins:
                for other in node.operands:
                    square = _square(node, operand.axes, other.axes) if other.node in lets else None
                    if square is not None:
                        let = network.lets[lets[other.node]]
                        column, row = (let.indices[other.axes.index(axis)] for axis in square)
                        field = _product(base, node, square, other)
                        yield lets[other.node], str(flow.state), (column, row), field


def _square(node: Einsum, vector_axes: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int] | None:
    """The axis along which a matrix is summed with a vector, and that which it brings; None where it is not square."""
    free = [a for a in axes if a in node.out and a not in vector_axes]
    of_its_dim = {node.labels[a] for a in free}
    summed = [a for a in axes if a in vector_axes and a not in node.out and node.labels[a] in of_its_dim]
    return (summed[0], free[0]) if len(summed) == len(free) == 1 else None


def _product(base: ForceField, node: Einsum, square: tuple[int, int], matrix: Operand) -> ForceField:
    """v -> P v, block by block of the other labels of P (a head's own matrix each)."""
    summed, free = square
    labels = {a: node.labels[a] for a in matrix.axes}
    axes = [a for a in matrix.axes if a != free]
    vector = vector_of(base, tuple(labels[a] for a in axes))
    out = [free if a == summed else a for a in axes]
    moved = base.graph.einsum(ONE, [(matrix.node, matrix.axes), (vector, axes)], labels, out)
    return replace(base, states=(vector,), force={vector: moved})
