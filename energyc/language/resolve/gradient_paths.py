"""The paths by which a gradient of the cost passes through a network: through states, layers and copies to params."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from energyc.language.network import Layer, Network, Repeat
from energyc.mathematics.calculus import adjoint, depends, tangent
from energyc.mathematics.ir import ONE, Einsum, Input, Node, walk


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
