"""A network of layers: records and a class of equations for each layer, and what is around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.module.context import ClassNames, Context, Options
from energyc.code.module.library import Reads
from energyc.code.module.names import Identifiers, class_name
from energyc.code.module.symbols import Symbols, module_names
from energyc.code.plan import ModulePlan
from energyc.code.plan.outer import BLOCKS
from energyc.code.targets.arrays.pure import FunctionWriter, array_record, clamps_record, readout_fields
from energyc.code.targets.jax.around import LayerNames, blocks_function, renamed
from energyc.code.targets.jax.forms import RULES
from energyc.code.targets.jax.initial import init, noise
from energyc.code.targets.jax.methods import Methods, in_common, methods, statements
from energyc.code.targets.jax.param_sets import param_sets
from energyc.code.targets.jax.part import Part, constant_names, functions_of, needed
from energyc.code.targets.jax.printed import network_class, printed
from energyc.code.targets.jax.reserved import CALLED, PARTS, RECORDS, RESERVED
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, Name
from energyc.code.tree.statements import Body, Class, Function, Parameter
from energyc.language.network import Network, Repeat, StartLaw
from energyc.runtime.rules import RULES as DECLARED

#: What a visit asks of a layer, beside its way back.
_ASKED = ("free_phase", "readout_vjp")
#: The ways that are those of other rules.
_WAYS: Mapping[str, str] = {"vf": "by_centered_ep"}


def layered_module(planned: ModulePlan, options: Options, without: Sequence[str]) -> str:
    """The text; ``without`` are rules that were asked for and have no form."""
    own = class_name(planned.network.name)
    names = module_names(own, *RESERVED, *PARTS.words())
    layers: dict[str, LayerPart] = {}
    for name, layer in planned.layers.items():
        layers[name] = LayerPart.of(name, layer, options, names, [known.symbols for known in layers.values()])
    return _Layered(planned, options, names, layers, own).text(without)


@dataclass(frozen=True)
class LayerPart:
    """A layer while it is being written: its class, its records by what they are, and its functions."""

    part: Part
    classes: ClassNames
    records: Mapping[str, str]
    equations: Sequence[Function]
    fields: Sequence[Class]

    @staticmethod
    def of(name: str, planned: ModulePlan, options: Options, names: Identifiers, known: Sequence[Symbols]) -> LayerPart:
        """A layer with names that are free in the module."""
        own = class_name(name)
        records = {kind: names.new(f"{own}{kind}") for kind in RECORDS}
        classes = ClassNames(names.new(own), names.new(f"{own}Equations"), records["Fixed"])
        chosen = replace(options, unproved=None, descends=False, biased={})
        constants = constant_names(planned, names)
        called = {*CALLED, *records.values(), *PARTS.words("arrays", "functions"), *constants.values()}
        part = Part(planned, Context(planned, chosen, classes, names, known, called), constants)
        equations, fields = part.equations()
        return LayerPart(part, classes, records, equations, fields)

    @property
    def symbols(self) -> Symbols:
        """Its sizes."""
        return self.part.context.symbols

    def asked(self, rules: Sequence[str]) -> Methods:
        """The methods that it needs of the parts for rules."""
        ways = [_WAYS.get(rule, f"by_{DECLARED[rule].module}") for rule in rules]
        read = {*_ASKED, *ways, *facts.free_names(*self.equations)}
        files = [*self.part.files(RULES[rule] for rule in rules), "ways"]
        return methods(files, read, {function.name for function in self.equations})

    def written(self, asked: Methods) -> Body:
        """Its records and its equations, those that a method or a visit reads."""
        reads = [Reads.of(piece.text) for piece in asked.methods]
        read = {*_ASKED, *(name for each in reads for name in each.attributes)}
        equations = needed(self.equations, read)
        within: dict[str, Expr] = {f.name: Attribute(Name("self"), f.name) for f in equations}
        within |= {kind: Name(name) for kind, name in self.records.items()}
        own = Parameter("self")
        functions = [renamed(f, within) for f in equations]
        made = tuple(replace(f, parameters=(own, *f.parameters)) for f in functions)
        settings = [renamed(each, within) for each in self.part.settings() if facts.assigned(each) & read]
        network = self.part.network
        states = ", ".join(f"{name}[{', '.join(s.node.dims)}]" for name, s in network.states.items())
        doc = (f"The layer `{network.name}`: states {states}.",)
        equations_class = Class(self.classes.equations, (*settings, *made), doc=doc)
        fields = [replace(each, name=self.records[each.name]) for each in self.fields]
        read_records = {"Params", "Clamps", *facts.free_names(equations_class)}
        kept = [each for kind, each in zip(self.fields, fields, strict=True) if {kind.name, each.name} & read_records]
        return (*kept, equations_class)


class _Layered:
    """A module of layers while it is being written."""

    def __init__(
        self, planned: ModulePlan, options: Options, names: Identifiers, layers: Mapping[str, LayerPart], own: str
    ) -> None:
        self.planned, self.network, self.options, self.layers, self.own = planned, planned.network, options, layers, own
        known = [layer.symbols for layer in layers.values()]
        constants = constant_names(planned, names)
        of_layers = (name for layer in layers.values() for name in (layer.classes.own, *layer.records.values()))
        called = {*CALLED, *of_layers, *PARTS.words("arrays", "functions"), *constants.values()}
        classes = ClassNames(own, own, "Fixed")
        self.context = Context(planned, options, classes, names, known, called)
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
        asked = [layer.asked(rules) for layer in self.layers.values()]
        shared, others = in_common(asked)
        equations: Body = tuple(
            part for layer, each in zip(self.layers.values(), asked, strict=True) for part in layer.written(each)
        )
        classes = [Class("Layer", statements(shared.methods), (), _LAYER)]
        for layer, methods_of in zip(self.layers.values(), others, strict=True):
            bases = Name(layer.classes.equations), Name("Layer")
            doc = (f"The layer `{layer.part.network.name}`, relaxed.",)
            classes.append(Class(layer.classes.own, statements(methods_of), bases, doc))
        states = _states(self.network)
        around = self._around()
        noises = [f"{layer}.{noise}" for layer, noise in self.noises]
        network = network_class(self.network, self.own, states, rules, noises)
        beside = statements(shared.beside)
        roots = {*(DECLARED[name].module for name in rules), "relax", "Network"}
        roots |= facts.free_names(*around, *equations, *beside, *classes, network)
        rests = "implicit" in rules
        roots |= {"answer"} if self.network.readouts else set()
        files = ["records", "layers", "answer_at_rest" if rests else "answer_through_steps", "layer_rules"]
        files += ["gradients", "functions", "param_sets", "arrays", "objects"]
        defined = {name for each in (*around, *beside, *classes) for name in facts.assigned(each)}
        parts = PARTS.carried(files, roots, defined)
        read = facts.free_names(*equations, *around)
        constants = [layer.part.constant_values(read) for layer in self.layers.values()]
        constants.append(self.part.constant_values(read))
        body = (
            *(part for each in constants for part in each),
            *self._records(states),
            *equations,
            *around,
            *parts,
            *beside,
            *classes,
            network,
        )
        symbols = [self.context.symbols, *(layer.symbols for layer in self.layers.values())]
        return printed(self.network, self.options, without, symbols, body)

    def _records(self, states: Sequence[str]) -> Body:
        """The records of the whole."""
        local, network, values = self.context.local, self.network, self.context.network.states
        fields, readouts = Identifiers(), readout_fields(self.context).values()
        return (
            array_record("Params", "What is learned.", self.context.params.values()),
            clamps_record(self.context, self.noises.values()),
            array_record("Targets", "What the cost compares with.", (local[n] for n in network.targets)),
            array_record("States", "Of all layers, [batch, copies, ...] in a repeat.", map(fields.new, states)),
            array_record("Values", "What the answers read of the layers.", (local[name] for name in values)),
            array_record("Readouts", "The answers.", readouts),
        )

    def _laws(self) -> dict[str, tuple[StartLaw, Sequence[int]]]:
        """The laws and the sizes of noises by their fields: the copies of a layer come first."""
        repeats = [block for block in self.network.blocks if isinstance(block, Repeat)]
        copies = {layer.name: (block.dim,) for block in repeats for layer in block.layers}
        drawn: dict[str, tuple[StartLaw, Sequence[int]]] = {}
        for (layer, name), field in self.noises.items():
            made = self.network.layers[layer].network.noises[name]
            dims = (*copies.get(layer, ()), *made.node.dims)
            drawn[field] = (made.law, [self.context.sizes[dim] for dim in dims])
        return drawn

    def _around(self) -> list[Function]:
        """``init``, ``blocks`` and the answers."""
        context, writer = self.context, self.part.writer
        functions: FunctionWriter = self.part.functions
        planned = list(zip(context.prepared, context.plan.routines, strict=True))
        answers = [functions.function(p, routine) for p, routine in planned if routine.name != BLOCKS]
        blocks = next(routine for routine in context.plan.routines if routine.name == BLOCKS)
        noises = {name: [f for (own, _), f in self.noises.items() if own == name] for name in self.layers}
        records = {n: LayerNames(each.classes.own, each.records, noises[n]) for n, each in self.layers.items()}
        own = functions_of(param_sets(self.network, context.params))
        written = [blocks_function(self.network, functions, writer, blocks, records), *answers, *own]
        names = {"fixed": "clamps", "Fixed": "Clamps", "states": "values", "States": "Values"}
        as_names: dict[str, Expr] = {before: Name(after) for before, after in names.items()}
        return [
            *functions_of((*init(self.network, writer, context.params), *noise(self._laws()))),
            *(renamed(function, as_names, names) for function in written),
        ]


_LAYER = ("The methods of all layers: relaxation, and the ways back through it.",)


def _states(network: Network) -> list[str]:
    """The states of all layers in the order in which these relax."""
    layers = [layer for block in network.blocks for layer in (block.layers if isinstance(block, Repeat) else (block,))]
    return [f"{layer.name}.{state}" for layer in layers for state in layer.network.states]
