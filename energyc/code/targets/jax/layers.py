"""A network of layers: records, functions and a model for each layer, and what is around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.module.context import ClassNames, Context, Options
from energyc.code.module.names import Identifiers, class_name
from energyc.code.module.symbols import Symbols, module_names
from energyc.code.plan import ModulePlan
from energyc.code.plan.outer import BLOCKS
from energyc.code.targets.arrays.pure import FunctionWriter, is_aimed, records, shape, state_fields
from energyc.code.targets.jax.blocks import LayerNames, blocks_function, renamed
from energyc.code.targets.jax.params import init, noise, param_sets
from energyc.code.targets.jax.part import Part, constant_names, functions_of
from energyc.code.targets.jax.printed import bound, module_text, network_class
from energyc.code.targets.jax.reserved import CALLED, RECORDS, RESERVED
from energyc.code.tree import facts
from energyc.code.tree.expressions import Expr, Name, call
from energyc.code.tree.statements import Assign, Body, Class, Function
from energyc.language.network import Layer, Network, Repeat, StartLaw


def layered_module(planned: ModulePlan, options: Options, without: Sequence[str]) -> str:
    """The text; ``without`` are rules that were asked for and are unsupported in JAX."""
    own = class_name(planned.network.name)
    names = module_names(own, *RESERVED)
    layers: dict[str, LayerPart] = {}
    for name, layer in planned.layers.items():
        layers[name] = LayerPart.of(
            name, layer, options, names, [known.part.context.symbols for known in layers.values()]
        )
    return _Layered(planned, options, names, layers, own).text(without)


@dataclass(frozen=True)
class LayerPart:
    """A layer while it is being written: its model's name, and its records and functions, with their own names.

    ``names`` are those of records and functions in the module, by what they are.
    """

    part: Part
    own: str
    names: Mapping[str, str]
    equations: Sequence[Function]
    records: Sequence[Class]

    @staticmethod
    def of(name: str, planned: ModulePlan, options: Options, names: Identifiers, known: Sequence[Symbols]) -> LayerPart:
        """A layer with names that are free in the module."""
        kind, own = class_name(name), names.new(name)
        records = {record: names.new(f"{kind}{record}") for record in RECORDS}
        classes = ClassNames(own, records["Fixed"])
        chosen = replace(options, unproved=None, descends=False, biased={})
        constants = constant_names(planned, names)
        called = {*CALLED, *records.values(), *constants.values(), own}
        part = Part(planned, Context(planned, chosen, classes, names, known, called), constants)
        equations, made = part.equations()
        functions = {function.name: names.new(f"{own}_{function.name}") for function in equations}
        return LayerPart(part, own, {**records, **functions}, equations, made)

    def written(self) -> Body:
        """Its records, its functions and its model."""
        changed: dict[str, Expr] = {before: Name(after) for before, after in self.names.items()}
        functions = [replace(renamed(f, changed), name=self.names[f.name]) for f in self.equations]
        records = [replace(record, name=self.names[record.name]) for record in self.records]
        return (*records, *functions, Assign(Name(self.own), self.part.model(self.names)))


class _Layered:
    """A module of layers while it is being written."""

    def __init__(
        self, planned: ModulePlan, options: Options, names: Identifiers, layers: Mapping[str, LayerPart], own: str
    ) -> None:
        self.planned, self.network, self.options, self.layers, self.own = planned, planned.network, options, layers, own
        known = [layer.part.context.symbols for layer in layers.values()]
        constants = constant_names(planned, names)
        of_layers = (name for layer in layers.values() for name in (layer.own, *layer.names.values()))
        classes = ClassNames(own, "Fixed")
        self.context = Context(planned, options, classes, names, known, {*CALLED, *of_layers, *constants.values()})
        self.part = Part(planned, self.context, constants)
        fields = self.context.globals.child()
        #: The fields of the layers' noises in the record of clamps, by layer and noise.
        self.noises = {
            (name, noise): fields.new(f"{name}_{noise}")
            for name, layer in self.network.layers.items()
            for noise in layer.network.noises
        }

    def text(self, without: Sequence[str]) -> str:
        """The text of the module."""
        rules = self.options.rules
        states = [f"{layer.name}.{name}" for layer, _ in _layers(self.network) for name in layer.network.states]
        layers: Body = tuple(part for layer in self.layers.values() for part in layer.written())
        around = self._around()
        read = facts.free_names(*layers, *around)
        constants = [layer.part.constant_values(read) for layer in self.layers.values()]
        constants.append(self.part.constant_values(read))
        model = (Assign(Name("MODEL"), self._model(around)), *bound(rules, self._bound()))
        names = {**self.part.names(), "states": tuple(states)}
        names |= {"noises": tuple(f"{layer}.{noise}" for layer, noise in self.noises)} if self.noises else {}
        network = network_class(self.own, rules, names)
        others = {"States": self._state_shapes(), "Values": state_fields(self.context)}
        body = (*records(self.context, others, self._noise_shapes()), *layers, *around, *model, network)
        symbols = [self.context.symbols, *(layer.part.context.symbols for layer in self.layers.values())]
        every = tuple(part for each in constants for part in each)
        return module_text(self.network, self.options, without, symbols, every, body)

    def _model(self, around: Sequence[Function]) -> Expr:
        """The model of what is around the layers."""
        own = ["Params", "Clamps", "States", *(["Targets"] if is_aimed(self.network) else [])]
        given: dict[str, Expr] = {"records": call("ej.Records", *map(Name, own))}
        defined = [function.name for function in around]
        given |= {name: Name(name) for name in ("init", "blocks", "readouts", "cost") if name in defined}
        return call("ej.LayeredModel", **given)

    def _bound(self) -> list[str]:
        """The functions of ``energyc.jax`` that the module has beside its rules."""
        if not self.network.readouts:
            return ["relax"]
        return ["relax", "answer" if "implicit" in self.options.rules else "answer_through_steps"]

    def _state_shapes(self) -> dict[str, str]:
        """The shapes of the states of all layers by their fields; the copies of a layer come behind the batch."""
        fields = Identifiers()
        return {
            fields.new(f"{layer.name}.{name}"): shape(state.node, *copies)
            for layer, copies in _layers(self.network)
            for name, state in layer.network.states.items()
        }

    def _noise_shapes(self) -> dict[str, str]:
        """The same of noises."""
        copies = {layer.name: dims for layer, dims in _layers(self.network)}
        nodes = {name: layer.network.noises for name, layer in self.network.layers.items()}
        return {field: shape(nodes[own][name].node, *copies[own]) for (own, name), field in self.noises.items()}

    def _laws(self) -> dict[str, tuple[StartLaw, Sequence[int]]]:
        """The laws and the sizes of noises by their fields: the copies of a layer come first."""
        copies = {layer.name: dims for layer, dims in _layers(self.network)}
        drawn: dict[str, tuple[StartLaw, Sequence[int]]] = {}
        for (layer, name), field in self.noises.items():
            made = self.network.layers[layer].network.noises[name]
            drawn[field] = (made.law, [self.context.sizes[dim] for dim in (*copies[layer], *made.node.dims)])
        return drawn

    def _around(self) -> list[Function]:
        """``init``, ``blocks`` and the answers."""
        context, writer = self.context, self.part.writer
        functions: FunctionWriter = self.part.functions
        planned = list(zip(context.prepared, context.plan.routines, strict=True))
        answers = [functions.function(p, routine) for p, routine in planned if routine.name != BLOCKS]
        blocks = next(routine for routine in context.plan.routines if routine.name == BLOCKS)
        noises = {name: [f for (own, _), f in self.noises.items() if own == name] for name in self.layers}
        records = {n: LayerNames(each.own, each.names, noises[n]) for n, each in self.layers.items()}
        own = functions_of(param_sets(self.network, context.params))
        written = [blocks_function(self.network, functions, writer, blocks, records), *answers, *own]
        names = {"fixed": "clamps", "Fixed": "Clamps", "states": "values", "States": "Values"}
        as_names: dict[str, Expr] = {before: Name(after) for before, after in names.items()}
        return [
            *functions_of((*init(self.network, writer, context.params), *noise(self._laws()))),
            *(renamed(function, as_names, names) for function in written),
        ]


def _layers(network: Network) -> list[tuple[Layer, tuple[str, ...]]]:
    """The layers in the order in which they relax, each with the dim of its copies in a repeat."""
    repeated = [
        (block.layers, (block.dim,)) if isinstance(block, Repeat) else ((block,), ()) for block in network.blocks
    ]
    return [(layer, dims) for layers, dims in repeated for layer in layers]
