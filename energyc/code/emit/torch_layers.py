"""A network of layers: a class of equations for each layer, and one for what is around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.code.emit import torch_class
from energyc.code.emit.code import Code
from energyc.code.emit.context import Called, Context, Options
from energyc.code.emit.glue import BLOCKS, Glue, clamp_key, layer_inputs, next_key, param_key, start_key
from energyc.code.emit.layout import broken_lines, wrapped
from energyc.code.emit.names import Identifiers, class_name
from energyc.code.emit.torch_methods import MethodWriter, docstring
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.code.emit.torch_param_sets import param_sets
from energyc.code.emit.torch_part import Carried, equations_class, equations_part, final_class, fixed_record, indented
from energyc.code.emit.torch_routines import RoutineWriter
from energyc.code.plan import PlannedRoutine
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Node, walk

#: What the network and its layers inherit from: the runtime's class first, then the classes behind it.
NETWORK_BASES = ("LayeredNetwork",)
LAYER_BASES = ("EnergyLayer",)


@dataclass(frozen=True)
class Around:
    """The layers' contexts by their names, and what a target adds to the classes of some of them."""

    contexts: Mapping[str, Context]
    carried: Mapping[str, Carried] = field(default_factory=dict)

    def of(self, name: str) -> Carried:
        """What a target adds to a layer."""
        return self.carried.get(name, Carried())


def layer_contexts(network: Network, options: Options) -> dict[str, Context]:
    """The layers' classes while they are being written."""
    called = _called(network)
    names = Identifiers({called.own, called.equations, called.fixed})
    return {layer.name: _layer_context(layer, options, names) for layer in network.layers.values()}


def layered_parts(network: Network, options: Options, around: Around | None = None) -> tuple[str, str]:
    """The text of the equations of a network with layers, and of the classes that users call."""
    around = around or Around(layer_contexts(network, options))
    layers, called = around.contexts, _called(network)
    glue, without = Glue(network), replace(options.passes, inplace=False)  # autograd needs what it went through
    context = Context(glue.as_network(), replace(options, passes=without), called, glue.planned(without))
    parts = [_layer_part(layer, around.of(name)) for name, layer in layers.items()]
    parts.append(_around(network, context, {name: layer.called.own for name, layer in layers.items()}))
    final = [_layer_class(layer, around.of(name)) for name, layer in layers.items()]
    contexts = layers.values()
    steps_back = all(not layer.network.relax.irreversible for layer in contexts)
    rests = not any(layer.network.numbered for layer in contexts)
    rules = [rule for rule, possible in (("bptt", steps_back), ("implicit", rests)) if possible]
    first = [rule for rule in options.rules if rule in rules]
    ordered = tuple(dict.fromkeys([*first, *rules]))
    body = [] if ordered == ("bptt", "implicit") else [f"rules = {torch_class.literal(ordered)}"]
    final.append(
        final_class(context, "The network: its layers in a row, relaxed and learned.", [*body, *param_sets(context)])
    )
    return "\n\n\n".join(parts), "\n\n\n".join(final)


def _called(network: Network) -> Called:
    own = class_name(network.name)
    return Called(own, f"{own}Equations", f"{own}Fixed", NETWORK_BASES)


def _layer_class(context: Context, carried: Carried) -> str:
    doc = f"The layer `{context.network.name}`, relaxed{' by kernels' if carried.bases else ''}."
    bases = (*carried.bases, *context.called.bases)
    return final_class(context, doc, carried.body, bases)


def _layer_context(layer: Layer, options: Options, names: Identifiers) -> Context:
    own = class_name(layer.name)
    called = Called(names.new(own), names.new(f"{own}Equations"), names.new(f"{own}Fixed"), LAYER_BASES)
    return Context(layer.network, replace(options, unproved=None, descends=False, biased={}), called)


def _layer_part(context: Context, carried: Carried) -> str:
    network = context.network
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> list[str]:
        made = "\n".join(torch_class.layer_init(writer, constants))
        return [torch_class.layer_settings(context), indented(made)]

    return equations_part(context, f"The layer `{network.name}`: states {states}.", head, carried.methods)


# -------------------------------------------------------------------- around the layers


def _around(network: Network, context: Context, classes: Mapping[str, str]) -> str:
    """The record and the class of what is around the layers."""
    writer = TorchWriter(network.extents, network.values, context.letters)
    methods = MethodWriter(context, writer)
    attributes = {name: context.attributes.new(name) for name in classes}
    planned = list(zip(context.prepared, context.plan.routines, strict=True))
    texts = [methods.method(p, routine) for p, routine in planned if routine.name != BLOCKS]
    blocks = next(routine for routine in context.plan.routines if routine.name == BLOCKS)
    texts = [methods.prepare({}), BlocksWriter(network, context, writer, attributes, blocks).method(), *texts]
    if network.ties:
        texts.append(torch_class.ties(context, writer))

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> list[str]:
        made = torch_class.init(context, writer, constants, {attributes[name]: own for name, own in classes.items()})
        return [torch_class.layered_settings(context, _further(network, attributes)), indented("\n".join(made))]

    about = (
        f"What is around the layers {', '.join(classes)}." if len(classes) > 1 else f"What is around {min(classes)}."
    )
    own = equations_class(context, about, writer, head, texts, derived=False)
    return "\n\n\n".join([fixed_record(context), own])


def _further(network: Network, attributes: Mapping[str, str]) -> dict[str, object]:
    """The shapes of the layers' states, with the copies first, and where the layers are."""
    copies = {layer.name: b.dim for b in network.blocks if isinstance(b, Repeat) for layer in b.layers}
    sizes = network.extents
    shapes = {
        f"{name}.{state}": tuple(sizes[dim] for dim in ([copies[name]] if name in copies else []) + list(s.node.dims))
        for name, layer in network.layers.items()
        for state, s in layer.network.states.items()
    }
    return {
        "state_shapes": shapes,
        "copies": network.copies,
        "layer_attributes": dict(attributes),
    }


class BlocksWriter:
    """Writes ``_blocks``: what goes into each block, in an order in which it can be computed."""

    def __init__(
        self,
        network: Network,
        context: Context,
        writer: TorchWriter,
        attributes: Mapping[str, str],
        routine: PlannedRoutine,
    ) -> None:
        self.network, self.context, self.writer, self.attributes = network, context, writer, attributes
        self.identifiers = context.globals.child()
        self.body = RoutineWriter(
            writer, self.identifiers, context.plan.names, context.plan.passes, context.samples_fixed
        )
        self.statements = routine.statements
        self.nodes = {output.key: output.node for output in routine.outputs}
        self.wishes = {**{output.node: output.wish for output in routine.outputs}, **context.plan.names}

    def method(self) -> str:
        """The method as text."""
        own, masks = self.context.own_names()
        self.writer.masks.update(masks)
        with self.writer.scope({**own, **self.context.names_in_fixed()}):
            lines = [line for block in self.network.blocks for line in self._block(block)]
            values = [self.writer.code(node).text for node in Glue(self.network).values.values()]
        lines = self._pruned(lines)
        doc = "The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them."
        head = [f"def {BLOCKS}(self, fixed: {self.context.called.fixed}, visit: Visit) -> list[Tensor]:"]
        body = broken_lines([f"    {line}" for line in [*lines, f"return [{', '.join(values)}]"]])
        return "\n".join([*head, *docstring(doc, self._formulas()), *body])

    def _formulas(self) -> list[str]:
        """The equations of the streams; those of lets are in the docstring of the class."""
        streams = [s for block in self.network.blocks if isinstance(block, Repeat) for s in block.streams.values()]
        texts = [self.network.source.slice(stream.tree.span) for stream in streams]
        return [line for text in texts for line in wrapped(text, indent="    ")]

    # ------------------------------------------------------------ blocks

    def _block(self, block: Layer | Repeat) -> list[str]:
        return self._repeat(block) if isinstance(block, Repeat) else self._layer(block, "0")

    def _repeat(self, block: Repeat) -> list[str]:
        """The starts, what is alike in all copies, and the loop over them."""
        names = {name: self.context.local[name] for name in block.streams}
        lines = [line for name, local in names.items() for line in self._assigned([local], [start_key(name)])]
        lines += self._lines(self._alike(block))
        number = self.identifiers.new("number")
        slices: dict[Node, str] = {param.each: n for n, param in self._params(block).items() if param.each is not None}
        self.writer.names.update({node: f"self.{self.context.params[n]}[{number}]" for node, n in slices.items()})
        current: dict[Node, str] = {stream.node: names[name] for name, stream in block.streams.items()}
        self.writer.names.update(current)
        inside = [line for layer in block.layers for line in self._layer(layer, number)]
        inside += self._assigned(list(names.values()), [next_key(name) for name in names])
        ends: dict[Node, str] = {stream.end: names[name] for name, stream in block.streams.items()}
        self.writer.names.update(ends)
        head = f"for {number} in range({self.network.extents[block.dim]}):"
        return [*lines, head, *(f"    {line}" for line in inside)]

    def _params(self, block: Repeat) -> dict[str, Param]:
        """The params of which each copy has its own."""
        return {n: p for n, p in self.network.params.items() if p.each is not None and p.each in self._read_by(block)}

    def _read_by(self, block: Repeat) -> set[Node]:
        """What the copies of a repeat read, down to the inputs."""
        return set(walk(self._roots(block)))

    def _roots(self, block: Repeat) -> list[Node]:
        keys = [key for layer in block.layers for key, _, _ in layer_inputs(layer)]
        return [self.nodes[key] for key in [*keys, *(next_key(name) for name in block.streams)]]

    def _alike(self, block: Repeat) -> list[Node]:
        """What the copies read and what is alike in all of them."""
        roots = self._roots(block)
        inputs: list[Node] = [stream.node for stream in block.streams.values()]
        inputs += [node for layer in block.layers for node in layer.outputs.values()]
        inputs += [param.each for param in self._params(block).values() if param.each is not None]
        differing = depends(roots, inputs)
        return [node for node in walk(roots) if node not in differing]

    def _layer(self, layer: Layer, number: str) -> list[str]:
        """What goes into a layer, and its call."""
        clamps = [self.nodes[clamp_key(layer, name)] for name in layer.clamps]
        params = [self.nodes[param_key(layer, name)] for name in layer.params]
        lines = self._lines([*clamps, *params])
        outputs = layer.outputs.items()
        names: dict[Node, str] = {node: self._local(f"{layer.name}.{name}") for name, node in outputs}
        given = ", ".join(self.body.full(node).text for node in clamps)
        held = ", ".join(self.writer.tensor(node).text for node in params)
        left = f"({min(names.values())},)" if len(names) == 1 else ", ".join(names.values())
        lines.append(f"{left} = visit(self.{self.attributes[layer.name]}, {number}, [{given}], [{held}])")
        self.writer.names.update(names)
        return lines

    def _local(self, output: str) -> str:
        """The variable of what is read of a layer, which answers have one for if they can read it."""
        return self.context.local.get(output) or self.identifiers.new(output)

    # ------------------------------------------------------------ lines

    def _pruned(self, lines: Sequence[str]) -> list[str]:
        """The lines without those that give a node a name which nothing reads."""
        own = set(self.body.named.values())
        kept: list[str] = []
        for line in reversed(lines):
            name = re.match(r" *(\w+) = ", line)
            read = name is None or any(re.search(rf"(?<![\w.\"]){name.group(1)}\b", later) for later in kept)
            if read or name is None or name.group(1) not in own:
                kept.append(line)
        return kept[::-1]

    def _assigned(self, names: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Values by their keys under names, at once."""
        nodes = [self.nodes[key] for key in keys]
        inline = [node for node in nodes if node not in self.context.plan.names and nodes.count(node) == 1]
        others = [node for node in nodes if node not in inline]
        below = [child for node in inline for child in node.children]
        lines = self._lines([*others, *below])
        values = [self._defined(node) if node in inline else self.body.full(node) for node in nodes]
        return [*lines, f"{', '.join(names)} = {', '.join(value.text for value in values)}"] if names else lines

    def _defined(self, node: Node) -> Code:
        """A value without a line of its own, spread over the samples."""
        known = node in self.writer.names or not node.batched
        return self.body.full(node) if known else self.writer.define(node)

    def _lines(self, roots: Sequence[Node]) -> list[str]:
        """The lines of what is needed and has none yet."""
        needed = set(walk(roots))
        for node in self.statements:
            if node in needed and node not in self.writer.names:
                self.body.state(node, self.wishes.get(node) or self.body.wish(node))
        lines, self.body.lines = self.body.lines, []
        return lines
