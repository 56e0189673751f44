"""The blocks of a network of layers: what goes into each of them, in an order in which it can be computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from energyc.code.module.context import Context
from energyc.code.plan import PlannedRoutine
from energyc.code.plan.outer import OuterNetwork, clamp_key, layer_inputs, next_key, param_key, start_key
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.routines import RoutineWriter
from energyc.code.tree.expressions import Expr, Name, Tuple
from energyc.code.tree.prose import wrapped
from energyc.code.tree.statements import Assign, Body
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.calculus import readers
from energyc.mathematics.ir import Node, walk


class BlocksWriter(ABC):
    """Writes the statements of the blocks; how a layer is visited, and how copies are gone through, is the target's."""

    def __init__(self, network: Network, context: Context, writer: ArrayWriter, routine: PlannedRoutine) -> None:
        self.network, self.context, self.writer = network, context, writer
        self.identifiers = context.globals.child()
        self.body = RoutineWriter(writer, self.identifiers, context.plan.names, context.samples_fixed)
        self.statements = routine.statements
        self.nodes = {output.key: output.node for output in routine.outputs}
        self.wishes = {**{output.node: output.wish for output in routine.outputs}, **context.plan.names}

    @abstractmethod
    def visited(self, layer: Layer, names: Sequence[Expr], clamps: Sequence[Code], params: Sequence[Code]) -> Body:
        """The statement that relaxes a layer and gives what is read of it its names."""

    @abstractmethod
    def copies(self, block: Repeat, streams: Sequence[Expr], params: Mapping[str, Param]) -> Body:
        """The loop over the copies of a repeat: :meth:`inside` with each copy's own ``params``."""

    def written(self, own: Mapping[Node, Expr], masks: Mapping[Node, Expr]) -> tuple[Body, list[Expr]]:
        """The statements of all blocks, and what the answers read; ``own`` and ``masks`` name what is known before."""
        self.writer.masks.update(masks)
        with self.writer.scope(own):
            body = tuple(statement for block in self.network.blocks for statement in self._block(block))
            return body, [self.writer.code(node).expr for node in OuterNetwork(self.network).values.values()]

    def formulas(self) -> list[str]:
        """The equations of the streams; those of lets are elsewhere."""
        streams = [s for block in self.network.blocks if isinstance(block, Repeat) for s in block.streams.values()]
        texts = [self.network.source.slice(stream.tree.span) for stream in streams]
        return [line for text in texts for line in wrapped(text, indent="    ")]

    # ------------------------------------------------------------ blocks

    def _block(self, block: Layer | Repeat) -> Body:
        return self._repeat(block) if isinstance(block, Repeat) else self._layer(block)

    def _repeat(self, block: Repeat) -> Body:
        """The starts, what is alike in all copies, and the loop over them."""
        names: dict[str, Expr] = {name: Name(self.context.local[name]) for name in block.streams}
        before = [part for name, local in names.items() for part in self._assigned([local], [start_key(name)])]
        before += self._stated(self._alike(block))
        loop = self.copies(block, list(names.values()), self._params(block))
        self.writer.names.update({stream.end: names[name] for name, stream in block.streams.items()})
        return (*before, *loop)

    def inside(self, block: Repeat, streams: Sequence[Expr], own: Mapping[Node, Expr]) -> Body:
        """The statements of a copy, from its ``streams`` to the next ones; ``own`` names what it alone has."""
        before: dict[Node, Expr] = dict(zip((s.node for s in block.streams.values()), streams, strict=True))
        self.writer.names.update({**own, **before})
        layers = [part for layer in block.layers for part in self._layer(layer)]
        return (*layers, *self._assigned(list(streams), [next_key(name) for name in block.streams]))

    def _params(self, block: Repeat) -> dict[str, Param]:
        """The params of which each copy has its own."""
        return {n: p for n, p in self.network.params.items() if p.each is not None and p.each in self._read_by(block)}

    def _read_by(self, block: Repeat) -> set[Node]:
        """The nodes that the copies of a repeat read, down to the inputs."""
        return set(walk(self._roots(block)))

    def _roots(self, block: Repeat) -> list[Node]:
        keys = [key for layer in block.layers for key, _, _ in layer_inputs(layer)]
        return [self.nodes[key] for key in [*keys, *(next_key(name) for name in block.streams)]]

    def _alike(self, block: Repeat) -> list[Node]:
        """The nodes that the copies read and that are alike in all of them."""
        roots = self._roots(block)
        inputs: list[Node] = [stream.node for stream in block.streams.values()]
        inputs += [node for layer in block.layers for node in layer.outputs.values()]
        inputs += [param.each for param in self._params(block).values() if param.each is not None]
        differing = readers(roots, inputs)
        return [node for node in walk(roots) if node not in differing]

    def _layer(self, layer: Layer) -> Body:
        """The statements for the inputs of a layer, and its visit."""
        clamps = [self.nodes[clamp_key(layer, name)] for name in layer.clamps]
        params = [self.nodes[param_key(layer, name)] for name in layer.params]
        before = self._stated([*clamps, *params])
        outputs = layer.outputs.items()
        names: dict[Node, Expr] = {node: Name(self._local(f"{layer.name}.{name}")) for name, node in outputs}
        given = [self.body.full(node) for node in clamps]
        visited = self.visited(layer, list(names.values()), given, [self.writer.tensor(node) for node in params])
        self.writer.names.update(names)
        return (*before, *visited)

    def _local(self, output: str) -> str:
        """The variable of what is read of a layer, which answers have one for if they can read it."""
        return self.context.local.get(output) or self.identifiers.new(output)

    # ------------------------------------------------------------ statements

    def _assigned(self, names: Sequence[Expr], keys: Sequence[str]) -> Body:
        """Values by their keys under names, at once."""
        nodes = [self.nodes[key] for key in keys]
        inline = [node for node in nodes if node not in self.context.plan.names and nodes.count(node) == 1]
        others = [node for node in nodes if node not in inline]
        below = [child for node in inline for child in node.children]
        before = self._stated([*others, *below])
        values = [(self._defined(node) if node in inline else self.body.full(node)).expr for node in nodes]
        if not names:
            return before
        if len(names) == 1:
            return (*before, Assign(names[0], values[0]))
        return (*before, Assign(Tuple(tuple(names), bare=True), Tuple(tuple(values), bare=True)))

    def _defined(self, node: Node) -> Code:
        """A value without a name of its own, spread over the samples."""
        known = node in self.writer.names or not node.batched
        return self.body.full(node) if known else self.writer.define(node)

    def _stated(self, roots: Sequence[Node]) -> Body:
        """The statements of what is needed and has none yet."""
        needed = set(walk(roots))
        for node in self.statements:
            if node in needed and node not in self.writer.names:
                self.body.state(node, self.wishes.get(node) or self.body.wishes.of(node))
        stated, self.body.body = self.body.body, []
        return tuple(stated)
