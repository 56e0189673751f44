"""A network of layers: a class of equations for each layer, and one for what is around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.code.module.context import ClassNames, Context, Options
from energyc.code.module.names import Identifiers, class_name
from energyc.code.module.runtime import runtime
from energyc.code.module.symbols import Symbols, definitions, module_names
from energyc.code.plan import ModulePlan, PlannedRoutine
from energyc.code.plan.outer import BLOCKS
from energyc.code.targets.arrays.blocks import BlocksWriter
from energyc.code.targets.arrays.code import Code, tree
from energyc.code.targets.arrays.methods import docstring, unpacked
from energyc.code.targets.torch import classes as torch_class
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.targets.torch.param_sets import param_sets
from energyc.code.targets.torch.part import PLAIN, Kernels, fixed_record, network_class, relaxing_part
from energyc.code.targets.torch.spaces import real
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, List, Name, Number, call, literal
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign, Body, Class, For, Function, Parameter, Return
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.ir import Node

#: What the network and its layers inherit from: the runtime's class first, then the classes behind it.
NETWORK_BASES = ("LayeredNetwork",)
LAYER_BASES = ("EnergyLayer",)


@dataclass(frozen=True)
class Around:
    """The layers' contexts by their names, and the kernels of some of them."""

    contexts: Mapping[str, Context]
    kernels: Mapping[str, Kernels] = field(default_factory=dict)

    def of(self, name: str) -> Kernels:
        """The kernels of a layer."""
        return self.kernels.get(name, PLAIN)


def layer_contexts(planned: ModulePlan, options: Options) -> dict[str, Context]:
    """The layers' classes while they are being written."""
    class_names = _class_names(planned.network)
    names = module_names(*class_names.defined)
    contexts: dict[str, Context] = {}
    for name, layer in planned.layers.items():
        contexts[name] = _layer_context(name, layer, options, names, [c.symbols for c in contexts.values()])
    return contexts


def layered_part(planned: ModulePlan, options: Options, around: Around | None = None) -> Body:
    """The classes of the layers of a network, and the class around them, below the sizes that they read."""
    network, around = planned.network, around or Around(layer_contexts(planned, options))
    layers, class_names, rules = around.contexts, _class_names(network), _rules(planned)
    inner = [layer.symbols for layer in layers.values()]
    taken = {name for layer in layers.values() for name in (*layer.class_names.defined, *layer.symbols.names)}
    names = module_names(*class_names.defined, *taken)
    context = Context(planned, options, class_names, names, inner)
    parts = [part for name, layer in layers.items() for part in _layer_part(layer, around.of(name))]
    parts += _around(network, context, {name: layer.class_names.own for name, layer in layers.items()}, rules)
    return (*definitions([context.symbols, *inner], tuple(parts)), *parts)


def _rules(planned: ModulePlan) -> tuple[str, ...]:
    """The rules of a network of layers: those that go through all layers, the spec's first."""
    layers = [layer.equations for layer in planned.layers.values()]
    steps_back = all(not layer.relax.irreversible for layer in layers)
    rests = not any(layer.numbered for layer in layers)
    rules = [rule for rule, possible in (("bptt", steps_back), ("implicit", rests)) if possible]
    first = [rule.name for rule in planned.features.rules if rule.serves_layers or rule.name in rules]
    return tuple(dict.fromkeys([*first, *rules]))


def _class_names(network: Network) -> ClassNames:
    own = class_name(network.name)
    return ClassNames(own, f"{own}Fixed", NETWORK_BASES)


def _layer_context(
    name: str, layer: ModulePlan, options: Options, names: Identifiers, known: Sequence[Symbols]
) -> Context:
    own = class_name(name)
    fixed, lets, held, holomorphic = (names.new(f"{own}{made}") for made in ("Fixed", "Lets", "Held", "Holomorphic"))
    own = names.new(own)
    class_names = ClassNames(own, fixed, LAYER_BASES, lets, held, holomorphic)
    chosen = replace(options, unproved=None, descends=False, biased={})
    return Context(layer, chosen, class_names, names, known)


def _layer_part(context: Context, kernels: Kernels) -> tuple[Class, ...]:
    network = context.network
    rules = torch_class.learning_rules(context.features.of_layers)
    states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        settings = (*torch_class.layer_settings(context), *rules, *kernels.settings)
        return (*settings, *torch_class.layer_init(writer, constants))

    bases = (*kernels.bases, *context.class_names.bases)
    return relaxing_part(context, f"The layer `{network.name}`: states {states}.", head, bases, kernels.methods)


# -------------------------------------------------------------------- around the layers


def _around(
    network: Network, context: Context, classes: Mapping[str, str], rules: tuple[str, ...]
) -> tuple[Class, ...]:
    """The record and the class of what is around the layers."""
    writer = TorchWriter.of(context)
    methods = MethodWriter(context, writer)
    attributes = {name: context.attributes.new(name) for name in classes}
    planned = list(zip(context.prepared, context.plan.routines, strict=True))
    answers = [methods.method(p, routine) for p, routine in planned if routine.name != BLOCKS]
    blocks = next(routine for routine in context.plan.routines if routine.name == BLOCKS)
    body: Body = (methods.prepare({}), TorchBlocks(network, context, writer, attributes, blocks).method(), *answers)
    body += torch_class.ties(context, writer) if network.ties else ()
    body += param_sets(context)
    chosen = () if rules == ("bptt", "implicit") else (Assign(Name("rules"), literal(rules)),)

    def head(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
        made = torch_class.init(context, writer, constants, {attributes[name]: own for name, own in classes.items()})
        further = {"copies": network.copies, "layer_attributes": dict(attributes)}
        return (*torch_class.layered_settings(context, _spaces(context, network), further), *chosen, made)

    those = f"the layers {', '.join(classes)}" if len(classes) > 1 else min(classes)
    about = f"The network around {those}."
    own = network_class(context, about, writer, head, body, context.class_names.bases, derived=False)
    return fixed_record(context), own


def _spaces(context: Context, network: Network) -> dict[str, dict[str, Expr]]:
    """The spaces of the layers' states and noises, with the copies first."""
    copies = {layer.name: (b.dim,) for b in network.blocks if isinstance(b, Repeat) for layer in b.layers}

    def spaces(kind: str) -> dict[str, Expr]:
        return {
            f"{name}.{own}": real(tuple(context.sizes[dim] for dim in (*copies.get(name, ()), *made.node.dims)))
            for name, layer in network.layers.items()
            for own, made in getattr(layer.network, kind).items()
        }

    return {"states": spaces("states"), "noises": spaces("noises")}


class TorchBlocks(BlocksWriter):
    """Writes ``_blocks``."""

    def __init__(
        self,
        network: Network,
        context: Context,
        writer: TorchWriter,
        attributes: Mapping[str, str],
        routine: PlannedRoutine,
    ) -> None:
        super().__init__(network, context, writer, routine)
        self.attributes = attributes
        self.number: Expr = Number(0)  #: Of the copy that is being written.

    def method(self) -> Function:
        """The method."""
        own, masks = self.context.own_names()
        body, values = self.written({**own, **self.context.names_in_fixed()}, masks)
        doc = "The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them."
        given = {"fixed": Name(self.context.class_names.fixed), "visit": runtime("Visit")}
        parameters = (Parameter("self"), *(Parameter(name, kind) for name, kind in given.items()))
        return Function(
            BLOCKS,
            parameters,
            facts.live([*body, Return(List(tuple(values)))]),
            quote("list[Tensor]"),
            docstring(doc, self.formulas()),
        )

    def visited(self, layer: Layer, names: Sequence[Expr], clamps: Sequence[Code], params: Sequence[Code]) -> Body:
        """A call of ``visit``."""
        given, held = (List(tuple(code.expr for code in codes)) for codes in (clamps, params))
        attribute = Attribute(Name("self"), self.attributes[layer.name])
        return (Assign(unpacked(tuple(names)), call("visit", attribute, self.number, given, held)),)

    def copies(self, block: Repeat, streams: Sequence[Expr], params: Mapping[str, Param]) -> Body:
        """A loop."""
        self.number = number = Name(self.identifiers.new("number"))
        slices = {p.each: Attribute(Name("self"), self.context.params[n])[number] for n, p in params.items()}
        inside = self.inside(block, streams, {node: part for node, part in slices.items() if node is not None})
        self.number = Number(0)
        return (For(number, call("range", tree(self.context.sizes[block.dim])), inside),)
