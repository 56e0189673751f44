"""Metric descent: a flow ``-P grad(E, g)`` whose matrix ``P dg/dx`` is symmetric, and the energy it goes down.

Along ``dx/dt = -P dE/dg`` an energy that reads x through g alone changes by ``-<dE/dg, (dg/dx) P dE/dg>``: it falls
where that matrix is positive. The gradient is taken by g, so that the flow itself need not be a gradient of x.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from energyc.language.network import Network, Slope, Term
from energyc.mathematics.calculus import Signs, substitute, tangent
from energyc.mathematics.ir import Einsum, Input, Node, walk
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.decide import decide
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.fields.problem import ForceField

SEED = 23


@dataclass(frozen=True)
class Descent:
    """A flow ``-P grad(energies, by)``; ``at`` is the node of ``by``.

    ``matrix`` is v -> (d by / d state) P v as a field on a vector v, ``symmetric`` the verdict on it, and ``before`` is
    v -> P v; ``plain``: P is a positive number, and 1 in the matrix. ``energies`` is empty where the flow is written
    without ``grad(...)`` and proved to be a gradient by ``by``.
    """

    state: str
    by: str
    at: Node
    energies: tuple[str, ...]
    matrix: ForceField
    before: ForceField
    symmetric: Verdict
    plain: bool

    @property
    def metric(self) -> str:
        """The matrix by its name."""
        slope = "" if self.by == self.state else f"d{self.by}/d{self.state}"
        return " ".join(part for part in ("" if self.plain else "P", slope) if part) or "the identity"


def descent_of(network: Network, term: Term, base: ForceField, kernel: Symmetries) -> Descent | None:
    """The descent that a flow is, or None where it has not that form or its matrix is not proved symmetric."""
    descent = _written_with_grad(network, term, base) or _gradient_by_a_let(network, term, base, kernel)
    if descent is None:
        return None
    if descent.plain and descent.by == descent.state:
        return replace(descent, symmetric=Verdict("conservative", "proof", tried=("the matrix is the identity",)))
    named = (descent.by, descent.state)
    prover = kernel.along(*named) if descent.plain else kernel.metric(*named[::-1])
    symmetric = decide(descent.matrix, np.random.default_rng(SEED), prover)
    return replace(descent, symmetric=symmetric) if symmetric.kind == "conservative" else None


def _written_with_grad(network: Network, term: Term, base: ForceField) -> Descent | None:
    """``-P grad(E, g)`` with nothing but noise added, where E reads the state through g alone, and g this state alone.

    Noise is 0 but while training.
    """
    if len(term.slopes) != 1:
        return None
    (slope,) = term.slopes
    vector = vector_of(base, slope.stand_in.dims)
    silent: dict[Node, Node] = {noise.node: base.graph.zero(noise.node.dims) for noise in network.noises.values()}
    pushed = _linear_in(base, substitute(base.graph, term.family, silent), slope.stand_in, vector)
    if pushed is None or not _reads_through(network, term, slope):
        return None
    return _descent(base, network, term, slope.by, slope.at, slope.energies, vector, base.graph.scale(-1, pushed))


def vector_of(base: ForceField, dims: tuple[str, ...]) -> Input:
    """A vector for a matrix to be multiplied with, under a name that no state has."""
    name, taken = "v", {state.name for state in base.states}
    while name in taken:
        name += "'"
    return base.graph.input(name, "state", dims)


def _linear_in(base: ForceField, written: Node, stand_in: Input, vector: Input) -> Node | None:
    """A flow as written with the vector in the place of its gradient, None where it is not linear in that."""
    graph = base.graph
    rest = substitute(graph, written, {stand_in: graph.zero(stand_in.dims)})
    (slope,) = tangent(graph, [written], {stand_in: vector})
    return slope if rest is graph.zero(written.dims) and stand_in not in set(walk([slope])) else None


def _reads_through(network: Network, term: Term, slope: Slope) -> bool:
    """Whether every energy that reads the state is named by the flow and reads it through ``by`` alone."""
    state = network.states[str(term.state)].node
    others = {s.node for s in network.states.values()} - {state}
    if any(node in others for node in walk([slope.at])):
        return False
    reading = [energy for energy in network.energies.values() if state in set(walk([energy.node]))]
    return all(energy.name in slope.energies and only_through(energy.node, state, slope.at) for energy in reading)


def only_through(root: Node, state: Node, at: Node) -> bool:
    """Whether a quantity reads a state through one node alone."""
    return state not in _reached([root], at)


def _reached(roots: Iterable[Node], cut: Node) -> set[Node]:
    """The nodes under roots that can be reached without passing a node."""
    pending, seen = list(roots), set()
    while pending:
        node = pending.pop()
        if node is not cut and node not in seen:
            seen.add(node)
            pending.extend(node.children)
    return seen


def _gradient_by_a_let(network: Network, term: Term, base: ForceField, kernel: Symmetries) -> Descent | None:
    """A flow written out that is a gradient by a let g, through which alone it reads its state."""
    if term.slopes:
        return None
    state = network.states[str(term.state)].node
    for name, at in lets_of(network, state):
        if only_through(term.node, state, at):
            field, _ = by_let(base, term.node, name, at)
            prover = kernel.along(term.name, name)
            if decide(field, np.random.default_rng(SEED), prover).kind == "conservative":
                vector = vector_of(base, at.dims)
                return _descent(base, network, term, name, at, (), vector, vector)
    return None


def lets_of(network: Network, state: Input) -> list[tuple[str, Node]]:
    """The lets of a state's own dims that read it and no other state."""
    states = {s.node for s in network.states.values()}
    return [
        (name, let.node)
        for name, let in network.lets.items()
        if let.node.dims == state.dims and states & set(walk([let.node])) == {state} and let.node is not state
    ]


def by_let(base: ForceField, force: Node, name: str, at: Node) -> tuple[ForceField, Input]:
    """A force as a field on a let, in the place of the states."""
    stand_in = base.graph.input(name, "state", at.dims)
    force = substitute(base.graph, force, {at: stand_in})
    return replace(base, states=(stand_in,), force={stand_in: force}), stand_in


def _descent(
    base: ForceField,
    network: Network,
    term: Term,
    by: str,
    at: Node,
    energies: tuple[str, ...],
    vector: Input,
    pushed: Node,
) -> Descent:
    state = network.states[str(term.state)].node
    plain = pushed is vector or _is_positive_multiple(pushed, vector, base.signs)
    (moved,) = tangent(base.graph, [at], {state: vector if plain else pushed})
    matrix = replace(base, states=(vector,), force={vector: moved})
    before = replace(base, states=(vector,), force={vector: pushed})
    undecided = Verdict("undecided", "none")
    return Descent(str(term.state), by, at, energies, matrix, before, undecided, plain)


def _is_positive_multiple(pushed: Node, vector: Input, signs: Signs) -> bool:
    """Whether a node is a vector times a positive number, its axes in their order."""
    if not isinstance(pushed, Einsum) or len(pushed.operands) != 1:
        return False
    (operand,) = pushed.operands
    return operand.node is vector and operand.axes == pushed.out and signs.positive_number(pushed.coefficient)
