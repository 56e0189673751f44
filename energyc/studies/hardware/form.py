r"""The energy of a network at given weights and clamps, as numbers: a quadratic form and scalar functions.

.. math:: E(z) = c + b \cdot z + \frac12 z^T A z + x^T B z + \sum_e w_e\, f_e(a_e \cdot z + o_e)

z holds the states, flat and in the order of the spec, and x the clamps that are kept as sources; all other clamps and
all weights are numbers. Whether an energy has this form is read off the graph's structure, for every
weight; the coefficients are then those of its gradient, by the interpreter in float64.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from energyc.language.diagnostics import Diagnostic, SpecError, UserError
from energyc.language.network import Network
from energyc.mathematics.calculus import adjoint, depends, is_cut, substitute, tangent
from energyc.mathematics.ir import (
    ONE,
    Add,
    BatchStatistic,
    Einsum,
    Function,
    Input,
    Map,
    Node,
    NoRule,
    Reduction,
    Stop,
    walk,
)
from energyc.mathematics.ir.interpreter import evaluate, key

Array = NDArray[np.float64]
#: Directions whose products are taken at once.
CHUNK = 64
#: The most state variables whose couplings are computed, a product for each.
MOST = 20_000


@dataclass(frozen=True)
class Layout:
    """The elements of some inputs in one flat order."""

    inputs: tuple[Input, ...]
    extents: Mapping[str, int]

    def shape(self, node: Input) -> tuple[int, ...]:
        """The shape of an input."""
        return tuple(self.extents[dim] for dim in node.dims)

    def size(self, node: Input) -> int:
        """The number of elements of an input."""
        return int(np.prod(self.shape(node), dtype=np.int64))

    @property
    def total(self) -> int:
        """The number of all elements."""
        return sum(self.size(node) for node in self.inputs)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Where each input begins."""
        ends = np.cumsum([0, *(self.size(node) for node in self.inputs)])
        return {node.name: int(end) for node, end in zip(self.inputs, ends, strict=False)}

    def places(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name and the indices of each element."""
        for node in self.inputs:
            yield from ((node.name, place) for place in np.ndindex(*self.shape(node)))

    def unflat(self, rows: Array) -> dict[str, Array]:
        """Split ``[n, total]`` into arrays ``[n, *shape]`` by name."""
        return {
            node.name: rows[:, start : start + self.size(node)].reshape(len(rows), *self.shape(node))
            for node, start in zip(self.inputs, self.offsets.values(), strict=True)
        }


@dataclass(frozen=True)
class Scalars:
    """``sum over e of weights[e] * function(argument[e] . z + offset[e])``, a part of the energy ``term``."""

    term: str
    function: Function
    weights: Array
    argument: sparse.csr_array
    offset: Array


@dataclass(frozen=True)
class Form:
    """An energy in numbers: see the module. ``coupling`` is A, ``drive`` B with a row for each source."""

    states: Layout
    sources: Layout
    constant: float
    linear: Array
    coupling: sparse.csr_array
    drive: sparse.csr_array
    scalars: tuple[Scalars, ...]

    @property
    def is_finite(self) -> bool:
        """Whether every coefficient is a number."""
        arrays = [self.linear, self.coupling.data, self.drive.data, np.array(self.constant)]
        arrays += [array for part in self.scalars for array in (part.weights, part.argument.data, part.offset)]
        return all(bool(np.isfinite(array).all()) for array in arrays)


def read_form(
    network: Network,
    params: Mapping[str, Any],
    clamps: Mapping[str, Any],
    *,
    code: str,
    refused: Sequence[Diagnostic] = (),
    functions: bool = False,
    sources: bool = False,
) -> Form:
    """Return the energy of a network at some weights and at the clamps of one sample, ``[*shape]`` each by name.

    With ``functions`` the energy may have scalar functions; with ``sources`` real clamps that a quadratic form takes
    stay variables. Raises SpecError with a diagnostic of ``code`` for each term that has another form, after those that
    are ``refused`` already; UserError E0965 for too many states, E0515 for numbers that are not finite.
    """
    diagnostics = [*refused, *_refused_others(network, code)]
    states = [state.node for state in network.states.values()]
    kept = _kept_sources(network, states) if sources else []
    found: dict[str, tuple[Map, ...]] = {}
    for name, term in network.energies.items():
        try:
            found[name] = shape(term.node, [*states, *kept]).functions
            if found[name] and not functions:
                raise NotQuadratic(f"holds {found[name][0].function.name} of a state")
        except NotQuadratic as error:
            message = f"the energy {name} {error.reason}"
            diagnostics.append(Diagnostic(code, message, span=term.tree.left.span, help=HELP[functions]))
    if diagnostics:
        raise SpecError(network.source, diagnostics)
    reader = _Reader.of(network, params, clamps, kept)
    if reader.states.total > MOST:
        message = (
            f"{network.name} has {reader.states.total:,} state variables, more than the {MOST:,} that are exported"
        )
        raise UserError(message, code="E0965", help="export it with smaller dims")
    form = reader.form({name: (network.energies[name].node, maps) for name, maps in found.items()})
    if not form.is_finite:
        message = f"{network.name} cannot be exported: a coefficient of its energy is not finite"
        raise UserError(message, code="E0515", help="look at the weights and the clamps")
    return form


HELP = {
    True: "a circuit carries sums of products of two states, and functions of one state or of a difference of two",
    False: "an Ising machine carries sums of products of two states",
}


def _refused_others(network: Network, code: str) -> list[Diagnostic]:
    """A diagnostic for each term that is not an energy of states."""
    if network.blocks:
        return [Diagnostic(code, f"{network.name} has layers, and no energy of its own")]
    return [
        Diagnostic(
            code,
            f"the {term.word} {name} is not written as the gradient of an energy",
            span=term.tree.left.span,
            help="write it as an energy, if check calls it conservative",
        )
        for name, term in network.forces.items()
    ]


def _kept_sources(network: Network, states: Sequence[Input]) -> list[Input]:
    """The real clamps in which, and the states, every energy that reads them is quadratic."""
    real = [clamp.node for clamp in network.clamps.values() if clamp.node.over is None]
    return [node for node in real if all(_takes(term.node, node, states) for term in network.energies.values())]


def _takes(energy: Node, clamp: Input, states: Sequence[Input]) -> bool:
    if clamp not in depends([energy], {clamp}):
        return True
    try:
        found = shape(energy, [*states, clamp]).functions
    except NotQuadratic:
        return False
    return not any(clamp in depends([node], {clamp}) for node in found)


@dataclass(frozen=True)
class _Reader:
    """Computes coefficients of a network by the interpreter."""

    network: Network
    states: Layout
    sources: Layout
    inputs: Mapping[Any, Array]

    @staticmethod
    def of(network: Network, params: Mapping[str, Any], clamps: Mapping[str, Any], kept: Sequence[Input]) -> _Reader:
        extents = network.extents
        states = Layout(tuple(state.node for state in network.states.values()), extents)
        sources = Layout(tuple(kept), extents)
        inputs: dict[Any, Array] = {key(param.node): np.asarray(params[name]) for name, param in network.params.items()}
        for name, clamp in network.clamps.items():
            value = np.asarray(clamps[name])[None]
            inputs[key(clamp.node)] = np.zeros_like(value) if clamp.node in kept else value
        for noise in network.noises.values():
            inputs[key(noise.node)] = np.zeros((1, *(extents[dim] for dim in noise.node.dims)))
        if network.training is not None:
            inputs[key(network.training)] = np.asarray(False)
        return _Reader(network, states, sources, inputs)

    def form(self, terms: Mapping[str, tuple[Node, tuple[Map, ...]]]) -> Form:
        graph = self.network.graph
        zeros: dict[Node, Node] = {node: graph.zero(node.dims) for _, maps in terms.values() for node in maps}
        quadratic = graph.add([(ONE, substitute(graph, node, zeros)) for node, _ in terms.values()], ())
        variables = [*self.states.inputs, *self.sources.inputs]
        slopes = adjoint(graph, {quadratic: graph.constant(1)}, variables, strict=False)
        wanted = [slopes.get(node) or graph.zero(node.dims) for node in variables]
        at_zero = self._flat(self._values(wanted, 1), 1)[0]
        rows = self._jacobian(wanted)
        n = self.states.total
        scalars = tuple(part for name, (node, maps) in terms.items() for part in self._scalars(name, node, maps))
        return Form(
            self.states,
            self.sources,
            float(np.ravel(self._values([quadratic], 1)[0])[0]),
            at_zero[:n],
            sparse.csr_array(rows[:, :n]),
            sparse.csr_array(sparse.csr_array(rows[:, n:]).T),
            scalars,
        )

    def _scalars(self, term: str, energy: Node, maps: tuple[Map, ...]) -> Iterator[Scalars]:
        """Yield each function of a term with its weights and arguments. Functions of the same kind stay apart."""
        graph = self.network.graph
        weights = adjoint(graph, {energy: graph.constant(1)}, maps, strict=False)
        for node in maps:
            if node not in weights:
                continue
            offset = self._flat(self._values([node.argument], 1), 1)[0]
            weight = np.broadcast_to(self._flat(self._values([weights[node]], 1), 1)[0], offset.shape)
            argument = sparse.csr_array(self._jacobian([node.argument]).T)
            yield Scalars(term, node.function, weight, argument, offset)

    def _jacobian(self, roots: Sequence[Node]) -> sparse.csr_array:
        """The derivatives of affine nodes: a row for each element of the states."""
        graph = self.network.graph
        directions: dict[Node, Node] = {
            node: graph.input(node.name, "direction", node.dims) for node in self.states.inputs
        }
        moved = tangent(graph, roots, directions)
        n, parts = self.states.total, []
        for first in range(0, n, CHUNK):
            count = min(CHUNK, n - first)
            unit = self.states.unflat(np.eye(count, n, first))
            along = {("direction", name): values for name, values in unit.items()}
            parts.append(sparse.csr_array(self._flat(self._values(moved, count, along), count)))
        return sparse.csr_array(sparse.vstack(parts))

    def _values(self, nodes: Sequence[Node], count: int, more: Mapping[Any, Array] | None = None) -> list[Array]:
        """Evaluate nodes at the origin of the states for ``count`` samples."""
        states = self.states.unflat(np.zeros((count, self.states.total)))
        inputs = {k: self._spread(k, value, count) for k, value in self.inputs.items()}
        inputs |= {("state", name): value for name, value in states.items()}
        arrays = evaluate(
            list(nodes), {**inputs, **(more or {})}, sizes=self.network.extents, values=self.network.values
        )
        return [
            array if node.batched else np.broadcast_to(array, (count, *array.shape))
            for node, array in zip(nodes, arrays, strict=True)
        ]

    def _spread(self, of: Any, value: Array, count: int) -> Array:
        return np.repeat(value, count, axis=0) if of[0] in ("clamp", "noise") else value

    def _flat(self, arrays: Sequence[Array], count: int) -> Array:
        return np.concatenate([array.reshape(count, -1) for array in arrays], axis=1)


# ------------------------------------------------------------------ degrees


class NotQuadratic(Exception):
    """An energy has another form; ``reason`` completes the sentence "the energy e ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Shape:
    """A scalar node that is quadratic in some inputs, but for the ``functions`` of affine arguments that it adds up."""

    functions: tuple[Map, ...]


def shape(root: Node, inputs: Collection[Input]) -> Shape:
    """Return the functions that a node adds to a quadratic form of ``inputs``. Raises NotQuadratic.

    A function of an affine argument counts as quadratic itself, so that one that is multiplied by another, or by one of
    ``inputs``, is refused.
    """
    moving = depends([root], set(inputs))
    degrees: dict[Node, int] = {}
    functions: list[Map] = []
    for node in walk([root]):
        if node not in moving:
            degrees[node] = 0
            _refuse_cut(node, inputs)
            continue
        degrees[node] = _degree(node, degrees)
        if isinstance(node, Map):
            functions.append(node)
    if degrees[root] > 2:
        raise NotQuadratic(_too_high(degrees[root], functions))
    return Shape(tuple(functions))


def _degree(node: Node, degrees: Mapping[Node, int]) -> int:
    match node:
        case Input():
            return 1
        case Add():
            return max(degrees[child] for child in node.children)
        case Einsum():
            return sum(degrees[operand.node] for operand in node.operands)
        case Map():
            if degrees[node.argument] > 1:
                raise NotQuadratic(f"takes {node.function.name} of a product of states")
            return 2
        case Reduction():
            raise NotQuadratic(f"takes {node.operator} of states")
    if isinstance(node, Stop) and node.mode == "barrier":
        return degrees[node.argument]
    if is_cut(node):
        raise NotQuadratic("holds a state fixed, so that its force is not its gradient")
    raise NoRule("degree", node)


def _refuse_cut(node: Node, inputs: Collection[Input]) -> None:
    """Raise NotQuadratic for a state behind a stop, on which no derivative depends but the energy does."""
    if is_cut(node) and any(child in inputs for child in walk([node])):
        what = "reads a statistic of the batch" if isinstance(node, BatchStatistic) else "holds a state fixed"
        raise NotQuadratic(what)


def _too_high(degree: int, functions: Collection[Map]) -> str:
    if functions:
        names = ", ".join(dict.fromkeys(node.function.name for node in functions))
        return f"multiplies {names} of a state by a function of states"
    return f"is of degree {degree} in the states"
