"""The claims about a network beside the classes of its terms, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from energyc.derivation.notation import of_network
from energyc.language.network import Network, Term
from energyc.mathematics.ir import ONE, Einsum, Input, Node, walk
from energyc.proofs.claims.classes import Claim
from energyc.proofs.claims.contraction import contraction_of
from energyc.proofs.claims.equilibrium import reason_for_rest
from energyc.proofs.claims.floor import floor_of
from energyc.proofs.claims.positivity import Positivity, positivity
from energyc.proofs.conservativeness.classify import Classification, field_from, ranges_of
from energyc.proofs.conservativeness.decide import decide
from energyc.proofs.conservativeness.descent import SEED, Descent, by_let, lets_of, only_through
from energyc.proofs.conservativeness.scales import Scales
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.conservativeness.witness_data import witness_data
from energyc.proofs.fields.domain import Signs
from energyc.proofs.fields.problem import Bounds, ForceField, field_of

SECONDS = 0.4
EQUILIBRIUM = "an equilibrium exists"


def claims_of(network: Network, classification: Classification, called: str = "the network") -> Iterator[Claim]:
    """The claims about a network, or a layer that is ``called`` so, in the order of a report."""
    base, signs = field_from(network), Signs(network.values, ranges_of(network))
    for descent in classification.descents.values():
        yield from _metric_claims(network, descent, signs)
    for name, flow in network.flows.items():
        for matrix in preconditioners(network, flow, base):
            yield from _matrix_claims(*matrix, signs)
        if name not in classification.descents and classification.terms[name].kind != "conservative":
            yield from _gradient_claims(network, flow, base)
    if classification.scales is not None:
        yield _scales_claim(network, classification.scales, base)
    yield from _rest_claims(network, classification, base, called)


def _scales_claim(network: Network, scales: Scales, base: ForceField) -> Claim:
    """That the forces are one gradient once each is divided by its factor, and what a contrast makes of it."""
    notation = of_network(network)
    written = {
        state.name: notation.text(factor.node(base.graph, state), notation.indices(state))
        for state, factor in scales.factors.items()
    }
    claim = "minus a gradient" + (f" {_at_sizes(scales.verdict.pinned)}" if scales.verdict.pinned else "")
    evidence = "J is symmetrisable by that diagonal; a contrast has each state's part of the adjoint times its factor"
    if scales.exact:
        evidence += f": ep, centered-ep and vf are exact for {', '.join(scales.exact)}"
    about = " and ".join(f"that on {name} divided by {text}" for name, text in written.items())
    about = f"the forces, with {about}"
    if not any(factor.tensors for factor in scales.factors.values()):
        steps = " and ".join(f"relax.step.{name} times {text}" for name, text in written.items())
        evidence += f"; written so, with {steps}, the steps are the same and these rules exact"
    return Claim(about, claim, "proved", evidence, numbers={"factors": written})


def _rest_claims(network: Network, classification: Classification, base: ForceField, called: str) -> Iterator[Claim]:
    """That the energy has a floor, and that there is an equilibrium."""
    ranges = ranges_of(network)
    floor = floor_of(network, base, ranges) if network.energies else None
    if floor is not None:
        yield Claim(
            " + ".join(network.energies), "bounded below", floor.verdict, floor.because, numbers=floor.numbers or {}
        )
    parts = [(state, node) for forces in classification.forces.values() for state, node in forces.items()]
    whole = field_of(base, parts).force
    forces = {name: whole[state.node] for name, state in network.states.items() if state.node in whole}
    steps = list(_contraction_claims(network, base, forces, ranges))
    yield from steps
    contracts = len(forces) == 1 and any(claim.verdict == "proved" for claim in steps)
    because = (
        "a step contracts (Banach)"
        if contracts
        else reason_for_rest(network, base, forces, ranges, classification.kind == "conservative", floor)
    )
    verdict: Literal["proved", "undecided"] = "undecided" if because is None else "proved"
    yield Claim(called, EQUILIBRIUM, verdict, because or "nothing shows one; it need not rest")


def _contraction_claims(
    network: Network, base: ForceField, forces: Mapping[str, Node], ranges: Mapping[Input, Bounds]
) -> Iterator[Claim]:
    """That a step contracts in each state that has a flow, all other states held."""
    for name in network.flows:
        state, step = network.states[name].node, network.relax.step_for(name)
        judged = contraction_of(state, forces[name], step, base, ranges)
        if judged is not None:
            about, numbers = f"a step S of {name}, all else held", {"low": judged.low, "high": judged.high}
            yield Claim(about, "contraction", judged.verdict, str(judged), numbers=numbers)


# -------------------------------------------------------------------- matrices


def _metric_claims(network: Network, descent: Descent, signs: Signs) -> Iterator[Claim]:
    """That the matrix of a metric descent is symmetric and positive."""
    if descent.by == descent.state:  # the matrix is P, or nothing to speak of
        return
    about = f"{descent.metric} of flow {descent.state}"
    yield _symmetric(about, descent.symmetric)
    at = descent.at if descent.plain else None
    yield _positive(about, positivity(descent.matrix, at, network.states[descent.state].node, signs))


def preconditioners(network: Network, flow: Term, base: ForceField) -> Iterator[tuple[str, str, ForceField]]:
    """The lets that multiply a gradient in a flow as square matrices: their name, the flow's, and v -> P v."""
    lets = {quantity.node: name for name, quantity in network.lets.items()}
    stand_ins = {slope.stand_in for slope in flow.slopes}
    for node in (node for node in walk([flow.family]) if isinstance(node, Einsum)):
        for operand in node.operands:
            if operand.node in stand_ins:
                for other in node.operands:
                    field = _product(base, node, operand.axes, other.axes, other.node, operand.node)
                    if other.node in lets and field is not None:
                        yield lets[other.node], str(flow.state), field


def _product(
    base: ForceField, node: Einsum, vector_axes: tuple[int, ...], axes: tuple[int, ...], matrix: Any, stand_in: Any
) -> ForceField | None:
    """v -> P v, block by block of the other labels (a head's own matrix each); None where P is not square."""
    free = [a for a in axes if a in node.out and a not in vector_axes]
    of_its_dim = {node.labels[a] for a in free}
    summed = [a for a in axes if a in vector_axes and a not in node.out and node.labels[a] in of_its_dim]
    if len(summed) != 1 or len(free) != 1:
        return None
    vector = base.graph.input("v", "state", stand_in.dims)
    out = [free[0] if a == summed[0] else a for a in vector_axes]
    moved = base.graph.einsum(ONE, [(matrix, axes), (vector, vector_axes)], dict(enumerate(node.labels)), out)
    return replace(base, states=(vector,), force={vector: moved})


def _matrix_claims(name: str, flow: str, matrix: ForceField, signs: Signs) -> Iterator[Claim]:
    """That a preconditioner is symmetric and positive."""
    about = f"{name} in flow {flow}"
    verdict = decide(matrix, np.random.default_rng(SEED), SECONDS)
    yield _symmetric(about, verdict)
    if verdict.kind == "conservative":
        yield _positive(about, positivity(matrix, None, matrix.states[0], signs))


def _symmetric(about: str, verdict: Verdict) -> Claim:
    if verdict.kind == "conservative":
        return Claim(about, "symmetric", "proved", _at_sizes(verdict.pinned) or "for all sizes")
    if verdict.kind == "undecided":
        return Claim(about, "symmetric", "undecided", "; ".join(verdict.tried))
    return Claim(about, "symmetric", "refuted", *_witnessed(verdict))


def _witnessed(verdict: Verdict) -> tuple[str, None, dict[str, Any]]:
    assert verdict.witness is not None
    data = witness_data(verdict.witness)
    entries = f"two mirrored entries are {data['entry']:.6g} and {data['mirror']:.6g}" if "entry" in data else "a loop"
    return f"{entries} {_at_sizes(verdict.witness.sizes)}", None, data


def _at_sizes(sizes: tuple[tuple[str, int], ...]) -> str:
    return f"at {', '.join(f'{dim} = {size}' for dim, size in sizes)}" if sizes else ""


def _positive(about: str, judged: Positivity) -> Claim:
    claim, negative = "positive semidefinite", judged.witness
    if negative is None:
        return Claim(about, claim, judged.verdict, judged.because, judged.condition)
    evidence = f"v . M v = {negative.value:.6g} < 0 {_at_sizes(negative.sizes)} (certified)"
    numbers = {"value": negative.value, "sizes": dict(negative.sizes), "point": dict(negative.point)}
    return Claim(about, claim, "refuted", evidence, numbers=numbers)


# -------------------------------------------------------------------- written flows


def _gradient_claims(network: Network, flow: Term, base: ForceField) -> Iterator[Claim]:
    """That a flow which is written out is a gradient by one of the lets through which alone it reads its state."""
    state = network.states[str(flow.state)].node
    for name, at in lets_of(network, state) if not flow.slopes else ():
        if only_through(flow.node, state, at) and isinstance(state, Input):
            field, _ = by_let(base, flow.node, name, at)
            verdict = decide(field, np.random.default_rng(SEED), SECONDS)
            claim = f"minus the gradient of an energy by {name}"
            if verdict.kind == "not-conservative":
                yield Claim(f"flow {flow.name}", claim, "refuted", *_witnessed(verdict))
            elif verdict.kind == "undecided":
                yield Claim(f"flow {flow.name}", claim, "undecided", "; ".join(verdict.tried))
