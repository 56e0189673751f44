"""A typed network: what resolving gives and every later pass reads.

All tensors are nodes of one :class:`energyc.mathematics.ir.Graph`. Names of the spec are kept beside the nodes, never
inside them, so that equal tensors stay one node. Dims are nominal: ``sizes`` gives their values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from energyc.language.diagnostics import Diagnostic, Source, Span
from energyc.language.network.declarations import Binding, Const, DataInput, Noise, Param, Size, State, Tie
from energyc.language.network.equations import Quantity, RealSelection, Slope, Term
from energyc.language.settings import Nudge, Relax, TrainOptions
from energyc.language.syntax import ast
from energyc.mathematics.ir import ONE, BatchStatistic, Graph, Indicator, Input, Node, walk


@dataclass(frozen=True)
class Layer:
    """``layer NAME``: a network of its own, whose graph is its own.

    ``clamps`` and ``params`` are what its clamps, and its params, own and shared, are in the graph around it.
    ``outputs`` are the stand-ins there of its readouts: of what is read of it at its rest.
    """

    name: str
    network: Network
    clamps: Mapping[str, Node]
    params: Mapping[str, Node]
    outputs: Mapping[str, Input]

    @property
    def reads(self) -> tuple[Node, ...]:
        """The nodes that go into it, in the graph around it."""
        return (*self.clamps.values(), *self.params.values())


@dataclass(frozen=True)
class Stream:
    """A state of a ``repeat``, which goes from copy to copy: ``node`` in a copy, ``end`` after the last one."""

    name: str
    node: Input
    start: Node
    next: Node
    tree: ast.Equation
    end: Input


@dataclass(frozen=True)
class Repeat:
    """``repeat L``: copies in a row, each with its own slice of the params of its ``layers`` and its own."""

    dim: str
    streams: Mapping[str, Stream]
    layers: tuple[Layer, ...]

    @property
    def reads(self) -> tuple[Node, ...]:
        """The nodes that go into it: starts and next values of its states, and those for the layers of a copy."""
        moved = [node for stream in self.streams.values() for node in (stream.start, stream.next)]
        return (*moved, *(node for layer in self.layers for node in layer.reads))


@dataclass(frozen=True)
class Network:
    """A spec that types. Mappings keep the order of the file.

    One with ``blocks``, which are in the order in which they can be computed, has no states and terms of its own: it is
    a function of its clamps, of which only the layers relax. What follows from the fields is found once, since passes
    ask for it at each term.
    """

    name: str
    description: str
    source: Source
    tree: ast.Spec
    graph: Graph
    sizes: Mapping[str, Size]
    consts: Mapping[str, Const]
    bindings: Mapping[str, Binding]
    clamps: Mapping[str, DataInput]
    targets: Mapping[str, DataInput]
    params: Mapping[str, Param]
    ties: Mapping[str, Tie]
    states: Mapping[str, State]
    lets: Mapping[str, Quantity]
    terms: Mapping[str, Term]
    readouts: Mapping[str, Quantity]
    cost: Quantity | None
    metrics: Mapping[str, Quantity]
    relax: Relax
    nudge: Nudge
    train: TrainOptions
    presets: tuple[str, ...]
    index_names: Mapping[Node, tuple[str, ...]]
    warnings: tuple[Diagnostic, ...] = ()
    noises: Mapping[str, Noise] = field(default_factory=dict)
    #: ``t`` of ``relax t in T``.
    step: Input | None = None
    blocks: tuple[Layer | Repeat, ...] = ()
    real_selections: tuple[RealSelection, ...] = ()
    #: Every cost by its name; ``cost`` is their sum.
    costs: Mapping[str, Quantity] = field(default_factory=dict)
    #: Whether ``cost`` is that of ``under_linear_cost``.
    linear_cost: bool = False
    #: A text that tells it from every other network; empty where there is none, as where something was replaced in it.
    identity: str = field(default="", init=False, repr=False, compare=False)

    def identified(self, identity: str) -> Network:
        """The same with a text that tells it from every other network."""
        made = replace(self)
        object.__setattr__(made, "identity", identity)
        return made

    @property
    def hands_on(self) -> bool:
        """Whether it has no cost of its own: what is around it takes on its slopes by clamps."""
        return self.cost is None or self.linear_cost

    @cached_property
    def reported(self) -> dict[str, Quantity]:
        """The quantities reported of a sample beside the cost: each of several costs, and the metrics."""
        return {**(self.costs if len(self.costs) > 1 else {}), **self.metrics}

    @cached_property
    def layers(self) -> dict[str, Layer]:
        """The layers by name."""
        inside = (block.layers if isinstance(block, Repeat) else (block,) for block in self.blocks)
        return {layer.name: layer for layers in inside for layer in layers}

    @cached_property
    def copies(self) -> dict[str, int]:
        """How often each layer in a ``repeat`` is there."""
        repeats = [block for block in self.blocks if isinstance(block, Repeat)]
        return {layer.name: self.sizes[repeat.dim].value for repeat in repeats for layer in repeat.layers}

    @cached_property
    def values(self) -> dict[str, float]:
        """The value of every symbol a coefficient may hold: dims and consts."""
        return {**{n: float(s.value) for n, s in self.sizes.items()}, **{n: c.value for n, c in self.consts.items()}}

    @cached_property
    def fractions(self) -> dict[str, Fraction]:
        """The exact value of every symbol that has one: dims, and consts written in fractions."""
        consts = {name: c.exact for name, c in self.consts.items() if c.exact is not None}
        return {**{name: Fraction(size.value) for name, size in self.sizes.items()}, **consts}

    @cached_property
    def extents(self) -> dict[str, int]:
        """The size of every dim."""
        return {name: size.value for name, size in self.sizes.items()}

    @cached_property
    def readout_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each readout without the batch."""
        return {name: tuple(self.extents[dim] for dim in q.node.dims) for name, q in self.readouts.items()}

    @cached_property
    def energies(self) -> dict[str, Term]:
        """The energy terms."""
        return {name: term for name, term in self.terms.items() if term.kind == "energy"}

    @cached_property
    def forces(self) -> dict[str, Term]:
        """The terms written as forces or flows."""
        return {name: term for name, term in self.terms.items() if term.kind != "energy"}

    @cached_property
    def flows(self) -> dict[str, Term]:
        """The flows, by the state that each moves."""
        return {name: term for name, term in self.terms.items() if term.kind == "flow"}

    @cached_property
    def sloped(self) -> dict[str, tuple[Slope, ...]]:
        """The states whose steps ``relax.measure = gradient`` measures by the gradients that their flows name.

        A state with a constraint set is none: at the edge of its set a gradient may stay.
        """
        free = {name for name, state in self.states.items() if state.constraint is None}
        slopes = {name: flow.slopes for name, flow in self.flows.items() if name in free and flow.slopes}
        return slopes if self.relax.measure == "gradient" else {}

    @cached_property
    def acting(self) -> dict[str, Term]:
        """The energies that move states by themselves: those that no flow names."""
        named = {energy for flow in self.flows.values() for slope in flow.slopes for energy in slope.energies}
        return {name: term for name, term in self.energies.items() if name not in named}

    @cached_property
    def clamped(self) -> dict[str, Node]:
        """Where states are held in a clamped phase, by their names."""
        return {name: state.clamped for name, state in self.states.items() if state.clamped is not None}

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        """The roots of the network: terms, starts, clamped values of states, what goes into blocks, answers."""
        quantities = [*self.readouts.values(), *([self.cost] if self.cost else []), *self.metrics.values()]
        starts = [state.start for state in self.states.values() if state.start is not None]
        terms = (term.node for term in self.terms.values())
        into = (node for block in self.blocks for node in block.reads)
        return (*terms, *starts, *self.clamped.values(), *into, *(q.node for q in quantities))

    @cached_property
    def numbered(self) -> tuple[str, ...]:
        """The forces and flows that read the number of the step, so that nothing is at rest under them."""
        return tuple(name for name, term in self.forces.items() if self.step in set(walk([term.node])))

    @cached_property
    def training(self) -> Input | None:
        """The flag ``training``, where something reads it."""
        return next((n for n in walk(self.roots) if isinstance(n, Input) and n.kind == "flag"), None)

    @cached_property
    def batch_mates(self) -> dict[str, bool]:
        """The terms, starts and answers that read a statistic of the batch, each with whether in training alone."""
        quantities = [*self.readouts.values(), *([self.cost] if self.cost else []), *self.metrics.values()]
        named = [(term.name, term.node) for term in self.terms.values()]
        named += [(f"start {name}", state.start) for name, state in self.states.items() if state.start is not None]
        named += [(f"clamped {name}", node) for name, node in self.clamped.items()]
        named += [(quantity.name, quantity.node) for quantity in quantities]
        found: dict[str, bool] = {}
        for name, node in named:  # a flow and what a layer gives of its state share a name
            if _reads_batch(node):
                found[name] = found.get(name, True) and not _reads_batch(node, training=False)
        return found

    def acts_fully(self, term: Term) -> bool:
        """Whether an energy moves every state that it depends on, so that its force is minus its whole gradient."""
        flows = {state.node for name, state in self.states.items() if name in self.flows}
        return term.name in self.acting and not any(node in flows for node in walk([term.node]))

    @cached_property
    def descending(self) -> dict[str, State]:
        """The states that move down the ``acting`` energies: those without a flow."""
        return {name: state for name, state in self.states.items() if name not in self.flows}

    def span_of_setting(self, text: str) -> Span | None:
        """Where the spec gives a setting, as ``step = certified``; None where it is set from outside."""
        found = (
            pair.span
            for statement in ast.walk(self.tree)
            if isinstance(statement, ast.Settings)
            for pair in statement.pairs
            if self.source.slice(pair.span).replace(" ", "") == text.replace(" ", "")
        )
        return next(found, None)


def _reads_batch(root: Node, *, training: bool = True) -> bool:
    """Whether a statistic of the batch is read, in training or outside of it."""
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if isinstance(node, BatchStatistic):
            return True
        if training or not any(_holds_in_training(child) for child in node.children):
            stack += (child for child in node.children if child not in seen)
            seen.update(node.children)
    return False


def _holds_in_training(node: Node) -> bool:
    """Whether a node is 1 in training and 0 outside of it; a product with it is 0 there."""
    condition = node.condition if isinstance(node, Indicator) else None
    return condition is not None and condition.op == "related" and condition.inputs[0].kind == "flag"


def index_names(*groups: Mapping[str, Quantity]) -> dict[Node, tuple[str, ...]]:
    """The names by which the spec refers to the axes of its named quantities; the first where several share a node."""
    names: dict[Node, tuple[str, ...]] = {}
    for group in groups:
        for quantity in group.values():
            names.setdefault(quantity.node, quantity.indices)
    return names


def under_linear_cost(network: Network) -> Network:
    """The same network with the cost <g, z>; g is a target for each state, ``g_z`` for z."""
    graph, span = network.graph, network.tree.name.span
    taken = {*network.clamps, *network.params, *network.states, *network.lets, *network.noises}
    states = {_free(f"g_{name}", taken): state.node for name, state in network.states.items()}
    targets = {name: graph.input(name, "target", node.dims) for name, node in states.items()}
    products = [(ONE, _product(graph, targets[name], node)) for name, node in states.items()]
    name = ast.Name(span, _free("linear", taken))
    tree = ast.Equation(span, "cost", ast.Left(span, name, None), ast.Apply(span, name, False, None, None, None))
    cost = Quantity(name.text, graph.add(products, ()), (), tree)
    given = {name: DataInput(node, None, span) for name, node in targets.items()}
    return replace(network, targets=given, cost=cost, costs={cost.name: cost}, linear_cost=True)


def _product(graph: Graph, a: Node, b: Node) -> Node:
    """The sum over all entries of the product of two tensors of the same dims."""
    axes = range(len(a.dims))
    return graph.einsum(ONE, [(a, axes), (b, axes)], dict(enumerate(a.dims)), ())


def _free(name: str, taken: Collection[str]) -> str:
    """A name that nothing has."""
    while name in taken:
        name += "'"
    return name
