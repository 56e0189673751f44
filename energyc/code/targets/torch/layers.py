"""A network of layers: a class of equations for each layer, and one for what is around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.code.module.context import ClassNames, Context, Options
from energyc.code.module.names import Identifiers, class_name
from energyc.code.module.symbols import Symbols, definitions, module_names
from energyc.code.plan import ModulePlan, PlannedRoutine
from energyc.code.plan.outer import BLOCKS, OuterNetwork, clamp_key, layer_inputs, next_key, param_key, start_key
from energyc.code.targets.arrays.code import Code, tree
from energyc.code.targets.arrays.methods import docstring, unpacked
from energyc.code.targets.arrays.routines import RoutineWriter
from energyc.code.targets.torch import classes as torch_class
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.targets.torch.param_sets import param_sets
from energyc.code.targets.torch.part import Carried, equations_class, equations_part, final_class, fixed_record
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, List, Name, Number, Tuple, call, literal
from energyc.code.tree.prose import wrapped
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign, Body, Class, For, Function, Parameter, Return
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.calculus import readers
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
        """The additions of a target to a layer."""
        return self.carried.get(name, Carried())


def layer_contexts(planned: ModulePlan, options: Options) -> dict[str, Context]:
    """The layers' classes while they are being written."""
    class_names = _class_names(planned.network)
    names = module_names(*class_names.defined)
    contexts: dict[str, Context] = {}
    for name, layer in planned.layers.items():
        contexts[name] = _layer_context(name, layer, options, names, [c.symbols for c in contexts.values()])
    return contexts


def layered_parts(planned: ModulePlan, options: Options, around: Around | None = None) -> tuple[Body, Body]:
    """The equations of a network with layers, and the classes that users call."""
    network, around = planned.network, around or Around(layer_contexts(planned, options))
    layers, class_names = around.contexts, _class_names(network)
    inner = [layer.symbols for layer in layers.values()]
    taken = {name for layer in layers.values() for name in (*layer.class_names.defined, *layer.symbols.names)}
    names = module_names(*class_names.defined, *taken)
    without = replace(options, passes=replace(options.passes, inplace=False))
    context = Context(planned, without, class_names, names, inner)
    parts = [part for name, layer in layers.items() for part in _layer_part(layer, around.of(name))]
    parts += _around(network, context, {name: layer.class_names.own for name, layer in layers.items()})
    final = [_layer_class(layer, around.of(name)) for name, layer in layers.items()]
    contexts = layers.values()
    steps_back = all(not layer.network.relax.irreversible for layer in contexts)
    rests = not any(layer.network.numbered for layer in contexts)
    rules = [rule for rule, possible in (("bptt", steps_back), ("implicit", rests)) if possible]
    first = [rule.name for rule in planned.features.rules if rule.serves_layers or rule.name in rules]
    ordered = tuple(dict.fromkeys([*first, *rules]))
    chosen = () if ordered == ("bptt", "implicit") else (Assign(Name("rules"), literal(ordered)),)
    body = (*chosen, *param_sets(context))
    final.append(final_class(context, "The network: its layers in a row, relaxed and learned.", body))
    return (*definitions([context.symbols, *inner], tuple(parts)), *parts), tuple(final)


def _class_names(network: Network) -> ClassNames:
    own = class_name(network.name)
    return ClassNames(own, f"{own}Equations", f"{own}Fixed", NETWORK_BASES)


def _layer_class(context: Context, carried: Carried) -> Class:
    doc = f"The layer `{context.network.name}`, relaxed{' by kernels' if carried.bases else ''}."
    bases = (*carried.bases, *context.class_names.bases)
    rules = torch_class.learning_rules(context.features.of_layers)
    return final_class(context, doc, (*rules, *carried.body), bases)


def _layer_context(
    name: str, layer: ModulePlan, options: Options, names: Identifiers, known: Sequence[Symbols]
) -> Context:
    own = class_name(name)
    records = names.new(f"{own}Fixed"), names.new(f"{own}Lets")
    of_phases = names.new(f"{own}Held"), names.new(f"{own}Holomorphic")
    equations = names.new(own), names.new(f"{own}Equations")
    class_names = ClassNames(*equations, records[0], LAYER_BASES, records[1], *of_phases)
    chosen = replace(options, unproved=None, descends=False, biased={})
    return Context(layer, chosen, class_names, names, known)


def _layer_part(context: Context, carried: Carried) -> Body:
    network = context.network
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        return (*torch_class.layer_settings(context), *torch_class.layer_init(writer, constants))

    return equations_part(context, f"The layer `{network.name}`: states {states}.", head, carried.methods)


# -------------------------------------------------------------------- around the layers


def _around(network: Network, context: Context, classes: Mapping[str, str]) -> Body:
    """The record and the class of what is around the layers."""
    writer = TorchWriter.of(context)
    methods = MethodWriter(context, writer)
    attributes = {name: context.attributes.new(name) for name in classes}
    planned = list(zip(context.prepared, context.plan.routines, strict=True))
    answers = [methods.method(p, routine) for p, routine in planned if routine.name != BLOCKS]
    blocks = next(routine for routine in context.plan.routines if routine.name == BLOCKS)
    body: Body = (methods.prepare({}), BlocksWriter(network, context, writer, attributes, blocks).method(), *answers)
    body += torch_class.ties(context, writer) if network.ties else ()

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        made = torch_class.init(context, writer, constants, {attributes[name]: own for name, own in classes.items()})
        return (*torch_class.layered_settings(context, _further(context, network, attributes)), made)

    about = (
        f"What is around the layers {', '.join(classes)}." if len(classes) > 1 else f"What is around {min(classes)}."
    )
    return fixed_record(context), equations_class(context, about, writer, head, body, derived=False)


def _further(context: Context, network: Network, attributes: Mapping[str, str]) -> dict[str, object]:
    """The shapes of the layers' states and noises, with the copies first, and where the layers are."""
    copies = {layer.name: (b.dim,) for b in network.blocks if isinstance(b, Repeat) for layer in b.layers}

    def shapes(kind: str) -> dict[str, tuple[int, ...]]:
        return {
            f"{name}.{own}": tuple(context.sizes[dim] for dim in (*copies.get(name, ()), *made.node.dims))
            for name, layer in network.layers.items()
            for own, made in getattr(layer.network, kind).items()
        }

    return {
        "state_shapes": shapes("states"),
        "noise_shapes": shapes("noises"),
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

    def method(self) -> Function:
        """The method."""
        own, masks = self.context.own_names()
        self.writer.masks.update(masks)
        with self.writer.scope({**own, **self.context.names_in_fixed()}):
            body = [statement for block in self.network.blocks for statement in self._block(block)]
            values = [self.writer.code(node).expr for node in OuterNetwork(self.network).values.values()]
        doc = "The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them."
        given = {"fixed": self.context.class_names.fixed, "visit": "Visit"}
        parameters = (Parameter("self"), *(Parameter(name, Name(kind)) for name, kind in given.items()))
        return Function(
            BLOCKS,
            parameters,
            facts.live([*body, Return(List(tuple(values)))]),
            quote("list[Tensor]"),
            docstring(doc, self._formulas()),
        )

    def _formulas(self) -> list[str]:
        """The equations of the streams; those of lets are in the docstring of the class."""
        streams = [s for block in self.network.blocks if isinstance(block, Repeat) for s in block.streams.values()]
        texts = [self.network.source.slice(stream.tree.span) for stream in streams]
        return [line for text in texts for line in wrapped(text, indent="    ")]

    # ------------------------------------------------------------ blocks

    def _block(self, block: Layer | Repeat) -> Body:
        return self._repeat(block) if isinstance(block, Repeat) else self._layer(block, Number(0))

    def _repeat(self, block: Repeat) -> Body:
        """The starts, what is alike in all copies, and the loop over them."""
        names: dict[str, Expr] = {name: Name(self.context.local[name]) for name in block.streams}
        before = [part for name, local in names.items() for part in self._assigned([local], [start_key(name)])]
        before += self._stated(self._alike(block))
        number = Name(self.identifiers.new("number"))
        slices: dict[Node, str] = {param.each: n for n, param in self._params(block).items() if param.each is not None}
        own = {node: Attribute(Name("self"), self.context.params[n]) for node, n in slices.items()}
        self.writer.names.update({node: param[number] for node, param in own.items()})
        self.writer.names.update({stream.node: names[name] for name, stream in block.streams.items()})
        inside = [part for layer in block.layers for part in self._layer(layer, number)]
        inside += self._assigned(list(names.values()), [next_key(name) for name in names])
        self.writer.names.update({stream.end: names[name] for name, stream in block.streams.items()})
        copies = call("range", tree(self.context.sizes[block.dim]))
        return (*before, For(number, copies, tuple(inside)))

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

    def _layer(self, layer: Layer, number: Expr) -> Body:
        """The statements for the inputs of a layer, and its call."""
        clamps = [self.nodes[clamp_key(layer, name)] for name in layer.clamps]
        params = [self.nodes[param_key(layer, name)] for name in layer.params]
        before = self._stated([*clamps, *params])
        outputs = layer.outputs.items()
        names: dict[Node, Expr] = {node: Name(self._local(f"{layer.name}.{name}")) for name, node in outputs}
        given = List(tuple(self.body.full(node).expr for node in clamps))
        held = List(tuple(self.writer.tensor(node).expr for node in params))
        attribute = Attribute(Name("self"), self.attributes[layer.name])
        visited = Assign(unpacked(tuple(names.values())), call("visit", attribute, number, given, held))
        self.writer.names.update(names)
        return (*before, visited)

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
