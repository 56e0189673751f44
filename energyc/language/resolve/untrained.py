"""Params whose gradient is identically zero: no path by which a gradient of the cost passes leads to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from energyc.language.diagnostics import Diagnostic, listed
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.language.resolve.reporter import Reporter
from energyc.mathematics.calculus import adjoint, depends, is_cut, tangent
from energyc.mathematics.expressions import ZERO
from energyc.mathematics.ir import ONE, ArgMax, BatchStatistic, Einsum, Input, Map, Node, walk

#: The rule that goes back through the steps to where states start, and the code of what it alone trains.
FROM_THE_START, BY_RULE = "bptt", "W0404"


def check_trained(network: Network, reporter: Reporter) -> None:
    """Warn of each param that is read and whose gradient by the spec's rule is identically zero."""
    for diagnostic in untrained_by(network, network.train.trained_by):
        reporter.add(diagnostic)


def untrained_by(network: Network, rule: str) -> Iterator[Diagnostic]:
    """A warning of each param that is read and whose gradient by a rule is zero, with what no derivative passes."""
    paths = GradientPaths(network, starts=True)
    trained = paths.trained()
    at_rest = trained if rule == FROM_THE_START else GradientPaths(network, starts=False).trained()
    for name, param in network.params.items():
        own = _nodes_of(param)
        if own & at_rest or not any(_is_read(part.network, inner) for part, inner in _with_layers(paths, own)):
            continue
        if own & trained:
            yield _of_start(name, param, [*_starts(paths, own)], rule)
        else:
            yield _never(name, param, sorted({*_hidden(paths, own)}))


def _never(name: str, param: Param, hidden: list[str]) -> Diagnostic:
    why = f"it is read only in {listed(hidden)}" if hidden else "nothing that is differentiated depends on it"
    remedy = f"read it elsewhere as well, or make `{name}` a const or a clamp"
    said = f"param `{name}` is never trained: {why}"
    return Diagnostic("W0401", said, param.span, "warning", "no derivative reaches it", help=remedy)


def _of_start(name: str, param: Param, starts: list[str], rule: str) -> Diagnostic:
    said = f"param `{name}` is not trained by {rule}: the cost depends on it only through the start of {listed(starts)}"
    remedy = f"train by {FROM_THE_START}, which goes back through all steps to the start, or read it in a term as well"
    return Diagnostic(BY_RULE, said, param.span, "warning", "its gradient at an equilibrium is zero", help=remedy)


def _nodes_of(param: Param) -> set[Node]:
    return {node for node in (param.node, param.each) if node is not None}


def _is_read(network: Network, nodes: Collection[Node]) -> bool:
    """Whether anything of a network depends on a node; of params that nothing reads another warning tells."""
    passed = {node for layer in network.layers.values() for node in layer.params.values()}
    passed -= {metric.node for metric in network.metrics.values()}
    return any(node in nodes for node in walk([root for root in network.roots if root not in passed]))


def _starts(paths: GradientPaths, nodes: set[Node]) -> Iterator[str]:
    """The states whose start reads a param."""
    for part, own in _with_layers(paths, nodes):
        starts = ((name, state.start) for name, state in part.network.states.items())
        yield from (f"`{name}`" for name, start in starts if start is not None and _reads(start, own))


def _hidden(paths: GradientPaths, nodes: set[Node]) -> Iterator[str]:
    """Words for where a param is read without a gradient: where no derivative passes, or what the cost does not see."""
    for part, own in _with_layers(paths, nodes):
        network = part.network
        alive = {name: state for name, state in network.states.items() if state.node in part.passed}
        starts = [state.start for state in alive.values() if state.start is not None]
        yield from _cuts(network, [*part.roots, *(part.forces[name] for name in alive), *starts], own)
        for name in network.states.keys() - alive.keys():
            if _reads(part.forces[name], own):
                yield f"the force on `{name}`, on which the cost does not depend"
        for name, readout in network.readouts.items():
            if _reads(readout.node, own) and readout.node not in {*walk(part.roots)}:
                yield f"the readout `{name}`, which the cost does not read"
        for name, term in network.energies.items():
            if _reads(term.node, own) and not any(_reads(force, own) for force in part.forces.values()):
                yield f"the energy `{name}`, whose slope by the states does not read it"


def _with_layers(paths: GradientPaths, nodes: set[Node]) -> Iterator[tuple[GradientPaths, set[Node]]]:
    """The paths of a network and of its layers, each with what a param is there."""
    yield paths, nodes
    for name, layer in paths.network.layers.items():
        inner: set[Node] = {layer.network.params[own].node for own, node in layer.params.items() if node in nodes}
        yield paths.inside[name], inner


def _reads(root: Node, nodes: Collection[Node]) -> bool:
    return any(node in nodes for node in walk([root]))


def _cuts(network: Network, roots: Collection[Node], nodes: Collection[Node]) -> Iterator[str]:
    """The words for what no derivative passes on its way to a node."""
    written = {*walk(network.roots)}
    for cut in walk(roots):
        if (word := _word_of(cut, cut in written)) and _reads(cut, nodes):
            yield word


def _word_of(node: Node, is_written: bool) -> str | None:
    """The word for a node whose derivative is zero, written in the spec or a slope; None of any other."""
    if is_cut(node, "detach"):
        return f"{node.kind}[batch](...)" if isinstance(node, BatchStatistic) else "detach(...)"
    if isinstance(node, ArgMax):
        return "the slope of a maximum"
    if not isinstance(node, Map) or node.function.slope is not None or node.function.entry.derivative != ZERO:
        return None
    entry = node.function.entry
    if not entry.derivative_of:
        return "a comparison"
    return f"{entry.name if entry.nameable and is_written else entry.text}(...)"


class GradientPaths:
    """The inputs of a network, or of a layer, by which the derivative of something is not identically zero.

    From a state the gradient goes on through the force on it and, with ``starts``, to where it starts: bptt goes there,
    at an equilibrium nothing does. Derivatives are formulas on a fork of the graph, zero where the formula is.
    """

    def __init__(self, network: Network, *, starts: bool) -> None:
        self.network, self.starts = network, starts
        self.graph = network.graph.fork()
        self.inside = {name: GradientPaths(layer.network, starts=starts) for name, layer in network.layers.items()}
        #: Where paths begin, and the inputs that they pass.
        self.roots: set[Node] = set()
        self.passed: set[Node] = set()
        self._slopes: dict[Node, frozenset[Input]] = {}

    def trained(self) -> set[Node]:
        """The inputs by which the cost, or the penalty, has a gradient; without a cost, any answer."""
        found = self.follow([self.network.cost.node] if self.network.cost is not None else self._answers())
        return found | self._penalized()

    def _answers(self) -> Iterator[Node]:
        yield from (readout.node for readout in self.network.readouts.values())
        yield from (state.node for state in self.network.states.values())
        yield from (node for layer in self.network.layers.values() for node in layer.outputs.values())

    def _penalized(self) -> set[Node]:
        """The inputs of the Jacobian that the penalty reads: of what is written as forces, or of the whole force."""
        train, written = self.network.train, [term.node for term in self.network.forces.values()]
        if not train.penalty:
            return set()
        forces = written if train.controlled else list(self.forces.values())
        directions: dict[Node, Node] = {
            state.node: self.graph.input(name, "direction", state.node.dims)
            for name, state in self.network.states.items()
        }
        return {node for moved in tangent(self.graph, forces, directions) for node in self.slopes(moved)}

    def follow(self, roots: Iterable[Node]) -> set[Node]:
        """The inputs by which a sum of ``roots`` has a gradient."""
        pending, found = list(roots), set[Node]()
        self.roots.update(pending)
        while pending:
            for node in self.slopes(pending.pop()) - found:
                found.add(node)
                pending.extend(self._behind(node))
        self.passed |= found
        return found

    def slopes(self, root: Node) -> frozenset[Input]:
        """The real inputs by which the derivative of a node is not the zero node."""
        if root not in self._slopes:
            inputs = [node for node in walk([root]) if isinstance(node, Input) and node.over is None]
            along = {root: self.graph.input("of a root", "cotangent", root.dims)}
            try:
                found = adjoint(self.graph, along, inputs, strict=False)
                self._slopes[root] = frozenset(node for node in inputs if node in found and not _is_zero(found[node]))
            except NotImplementedError:  # an input of the body of a function
                self._slopes[root] = depends([root], inputs) & {*inputs}  # type: ignore[assignment]
        return self._slopes[root]

    @cached_property
    def forces(self) -> dict[str, Node]:
        """The force on each state."""
        network, graph = self.network, self.graph
        energy = graph.add([(ONE, term.node) for term in network.acting.values()], ())
        moved = [state.node for state in network.descending.values()]
        slopes = adjoint(graph, {energy: graph.constant(-1)}, moved, frozen=False, strict=False)
        total = {}
        for name, state in network.states.items():
            parts = [slopes[state.node]] if state.node in slopes else []
            parts += [term.node for term in network.forces.values() if term.state == name]
            total[name] = graph.add([(ONE, part) for part in parts], state.node.dims)
        return total

    def _behind(self, node: Node) -> Iterator[Node]:
        """The nodes that give an input its value: the force on a state, what goes into a layer or comes out of one."""
        for name, state in self.network.states.items():
            if state.node is node:
                yield self.forces[name]
                yield from (start for start in (state.start,) if start is not None and self.starts)
        for layer in self.network.layers.values():
            for name, output in layer.outputs.items():
                if output is node:
                    yield from self._into(layer, layer.network.readouts[name].node)
        for block in self.network.blocks:
            for stream in block.streams.values() if isinstance(block, Repeat) else ():
                if node in (stream.node, stream.end):
                    yield from (stream.start, stream.next)

    def _into(self, layer: Layer, readout: Node) -> Iterator[Node]:
        """The nodes around a layer by which a readout of it has a gradient."""
        found = self.inside[layer.name].follow([readout])
        yield from (node for name, node in layer.clamps.items() if layer.network.clamps[name].node in found)
        yield from (node for name, node in layer.params.items() if layer.network.params[name].node in found)


def _is_zero(node: Node) -> bool:
    return isinstance(node, Einsum) and node.coefficient.is_zero
