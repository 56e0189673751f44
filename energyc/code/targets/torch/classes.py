"""The parts of a generated class beside its equations: settings, construction, projections, records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from energyc.code.module.context import Context
from energyc.code.module.runtime import runtime
from energyc.code.module.runtime_classes import defaults
from energyc.code.plan.routines import BLOCK, force_params
from energyc.code.targets.torch.initial import drawn, initial_values
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.targets.torch.spaces import declared, input_spaces, shape_of, state_spaces
from energyc.code.tree.expressions import (
    Attribute,
    Constant,
    Dict,
    Expr,
    List,
    Name,
    String,
    Tuple,
    call,
    literal,
)
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Annotated, Assign, Body, Class, Do, Function, Parameter, Return
from energyc.language.network import Network
from energyc.language.settings import Nudge
from energyc.mathematics.ir import Einsum, Indicator, Node
from energyc.runtime import Declaration

#: Settings of the nudged phase beside its strength and its steps.
OPTIONS = ("points", "radius", "snapshots", "alpha")


def settings(context: Context) -> Body:
    """The declarations of the class of a network: its spaces, its names, the spec's settings."""
    return _declarations(context, {**_names(context), **_phases(context)})


def layer_settings(context: Context) -> Body:
    """The declarations of the class of a layer, which owns no params."""
    named = {"param_names": tuple(context.network.params), "param_bounds": {}}
    phases = _phases(context) if context.features.of_layers else _free_phase(context)
    return _declarations(context, {**_names(context), **phases, **named})


def layered_settings(context: Context, spaces: Mapping[str, Mapping[str, Expr]], further: Mapping[str, Any]) -> Body:
    """The declarations of the class around layers; the layers have the settings of their phases.

    ``spaces`` are those of the states and noises of the layers.
    """
    return _declarations(context, {**_names(context), "biased": dict(context.options.biased), **further}, spaces)


def learning_rules(rules: Sequence[Declaration]) -> Body:
    """The functions of the rules that a class learns by, where there are any."""
    functions = Tuple(tuple(runtime(rule.function) for rule in rules))
    return (Assign(Name("learning_rules"), functions),) if rules else ()


def _declarations(
    context: Context, values: Mapping[str, Any], further: Mapping[str, Mapping[str, Expr]] = MappingProxyType({})
) -> Body:
    """The spaces, then the constants that are not what the runtime has by default, those of phases together."""
    constants = _other_than_usual(context, values)
    kinds = {name: next((kind for kind in _KINDS if kind.has(name)), None) for name in constants}
    return (
        Assign(Name("name"), String(context.network.name)),
        *_spaces(context, further),
        *(Assign(Name(name), literal(value)) for name, value in constants.items() if kinds[name] is None),
        *(
            statement
            for kind in _KINDS
            for statement in kind.declaration({k: v for k, v in constants.items() if kinds[k] is kind})
        ),
    )


@dataclass(frozen=True)
class Kind:
    """Settings that are declared at once: those with a prefix, and ``others``."""

    attribute: str
    record: str
    prefix: str
    others: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether a setting is one of them."""
        return name.startswith(self.prefix) or name in self.others

    def declaration(self, values: Mapping[str, Any]) -> Body:
        """``relaxation = rt.Relax(steps=20)``; nothing where there are none."""
        given = {name.removeprefix(self.prefix): literal(value) for name, value in values.items()}
        return (Assign(Name(self.attribute), call(runtime(self.record), **given)),) if given else ()


_KINDS = (Kind("relaxation", "Relax", "relax_"), Kind("nudging", "Nudge", "nudge_", ("beta", *OPTIONS)))


def _spaces(context: Context, further: Mapping[str, Mapping[str, Expr]]) -> Body:
    network, sizes = context.network, context.sizes
    spaces: dict[str, Mapping[str, Expr]] = {
        "states": state_spaces(network.states, sizes),
        "clamps": input_spaces(network.clamps, sizes),
        "noises": input_spaces(network.noises, sizes),
        "targets": input_spaces(network.targets, sizes),
    }
    spaces |= further
    return tuple(statement for name, own in spaces.items() for statement in declared(name, own))


def _names(context: Context) -> dict[str, Any]:
    network = context.network
    return {
        "param_attributes": {name: attribute for name, attribute in context.params.items() if name != attribute},
        "param_bounds": {n: (p.low, p.high) for n, p in network.params.items() if (p.low, p.high) != (None, None)},
        "term_names": tuple(network.energies),
        "family_names": tuple(name for name, term in network.energies.items() if term.is_family),
        "readout_names": tuple(network.readouts),
        "metric_names": tuple(network.reported),
        "cost_names": tuple(network.costs) if len(network.costs) > 1 else (),
    }


def _free_phase(context: Context) -> dict[str, Any]:
    network, relax, proximal = context.network, context.network.relax, context.derivation.proximal
    return {
        "kinked": bool(proximal),
        **_kinks(context),
        "biased": dict(context.options.biased),
        "relax_solver": relax.solver,
        "relax_products": context.features.first_products,
        "relax_steps": relax.steps,
        "relax_auto": relax.step is None,
        "relax_memory": relax.memory,
        "relax_damping": relax.damping,
        "relax_step": tuple(relax.step_for(n) for n in network.states),
        "relax_tolerance": relax.tolerance,
        "relax_measure": relax.measure,
        **_blocks(context),
        "sloped": tuple(network.sloped),
        "relax_patience": relax.patience,
        "relax_exit": relax.exit,
        "relax_chunk": relax.stride,
        "relax_max_steps": relax.max_steps,
        "relax_explosion": relax.explosion,
        "contraction_rate": getattr(network.train.penalty, "rate", None),
        "numbered": network.numbered != (),
        "batch_mates": _batch_mates(network),
        "summed": _summed(context),
    }


def _kinks(context: Context) -> dict[str, Any]:
    """Where the kinks that move proximally are; weights are by their numbers in ``_weights``."""
    states, proximal = list(context.network.states), context.derivation.proximal
    if not proximal:
        return {}
    number = {node: k for k, node in enumerate(context.derivation.weights.values())}
    corners, norms = [], []
    for name, kinks in proximal.items():
        for corner in kinks.corners:
            sides = (None if side is None else number[side] for side in (corner.below, corner.above))
            corners.append((states.index(name), corner.at, *sides))
        if kinks.norm is not None:
            axes = tuple(axis + 1 for axis in kinks.norm.axes)
            norms.append((states.index(name), number[kinks.norm.weight], axes))
    return {"_corners": tuple(corners), "_norms": tuple(norms)}


def _blocks(context: Context) -> dict[str, Any]:
    """The states that move together, by their numbers, and the slopes by which they do."""
    if not context.features.blocks:
        return {}
    blocks, number = context.derivation.blocks, {name: k for k, name in enumerate(context.network.states)}
    return {
        "blocks": tuple(tuple(number[name] for name in block) for block in blocks.order),
        "block_slopes": {number[name]: slope for name, slope in blocks.numbers.items()},
        "cost_slopes": {number[name]: blocks.cost_slopes.get(name) for name in blocks.nudged},
    }


def _phases(context: Context) -> dict[str, Any]:
    network, features = context.network, context.features
    nudge = network.nudge
    values: dict[str, Any] = {
        **_free_phase(context),
        "products": network.train.products,
        "beta": ("auto" if nudge.beta is None else nudge.beta)
        if "beta" in features.settings or "radius" in features.settings
        else None,
        "nudge_steps": nudge.steps,
        **_nudge_tolerance(nudge, features.settings),
        "nudge_together": nudge.together,
        **_nudge_options(nudge, features.settings),
    }
    if features.needs("dyads"):
        values["turned"] = bool(context.derivation.unproved)
    if features.needs("lifted"):
        values["precisions"] = tuple(context.derivation.predictions[name].precision for name in network.states)
    if features.needs("contrast"):
        values["descends"] = context.options.descends
        values["force_params"] = force_params(context.derivation) or ()
    return values


def _nudge_tolerance(nudge: Nudge, settings: Collection[str]) -> dict[str, Any]:
    if nudge.longest == nudge.steps or "tolerance" not in settings:
        return {}
    return {"nudge_tolerance": nudge.tolerance, "nudge_max_steps": nudge.longest}


def _other_than_usual(context: Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not what the runtime has by default."""
    usual = defaults("Equations")
    for name in context.class_names.bases:
        usual |= defaults(name)
    return {name: value for name, value in values.items() if name not in usual or value != usual[name]}


def _summed(context: Context) -> tuple[str, ...]:
    """The real clamps whose slopes through steps, where there are any, are taken of the sums over them."""
    if not context.sums:
        return ()
    derivation = context.derivation
    apart = derivation.vjp(derivation.smooth, derivation.real_clamps).keys() - derivation.sums.slopes.keys()
    return tuple(name for name in derivation.real_clamps if name not in apart)


def _batch_mates(network: Network) -> str | None:
    """When what happens to a sample hangs on the others of its batch."""
    mates = network.batch_mates
    return ("training" if all(mates.values()) else "always") if mates else None


def _nudge_options(nudge: Nudge, settings: Collection[str]) -> dict[str, object]:
    """Further settings of the nudged phase, as far as the spec has them and a rule of the module reads them."""
    options = {name: getattr(nudge, name) for name in OPTIONS if name in settings}
    return {name: value for name, value in options.items() if value is not None}


def init(
    context: Context, writer: TorchWriter, constants: Mapping[Node, str], layers: Mapping[str, str] | None = None
) -> Function:
    """The method that draws params; ``layers`` are the classes of what it is made of, by their attributes."""
    params = initial_values(context.network, writer, context.params)
    made = [_on(attribute, call(layer, *_PLACE)) for attribute, layer in (layers or {}).items()]
    return _initialize((*params, *made, *_constants(writer, constants)))


def layer_init(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
    """The same of a layer, which owns no params; none where there is nothing to make."""
    return (_initialize(_constants(writer, constants)),) if constants else ()


_PLACE = (quote("self.device"), quote("self.dtype"))
_PARAMETERS = (Parameter("self"), Parameter("random", quote("torch.Generator")))


def _initialize(body: Body) -> Function:
    return Function("_initialize", _PARAMETERS, body, Constant(None), ("Params, drawn, and constants.",))


def _on(attribute: str, value: Expr) -> Assign:
    return Assign(Attribute(Name("self"), attribute), value)


def _constants(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
    codes = {
        name: writer.define_mask(node) if isinstance(node, Indicator) else writer.define(node)
        for node, name in constants.items()
    }
    return tuple(Do(quote("self._constant({name}, {x})", name=String(n), x=code.expr)) for n, code in codes.items())


def record(name: str, doc: str, fields: Mapping[Node, str]) -> Class:
    """A NamedTuple of tensors of nodes; ``_shared`` are those that are the same for all samples."""
    shared = tuple(field for node, field in fields.items() if not node.batched)
    body: Body = tuple(Annotated(field, Name("Tensor")) for field in fields.values())
    body += (Assign(Name("_shared"), literal(shared)),) if shared else ()
    return Class(name, body, (Name("NamedTuple"),), (doc,))


def what_is_fixed(context: Context) -> str:
    """The sentence on the record that ``_prepare`` gives."""
    further = ["noise"] if context.network.noises else []
    further += context.set.values()
    return f"The clamps, {''.join(f'{text}, ' for text in further)}and what depends on clamps and params alone."


def at_step(context: Context) -> Function:
    """The method that sets the number of the step."""
    assert context.step is not None
    record = Name(context.class_names.fixed)
    number = {context.set[context.step]: quote("torch.tensor(number, device=self.device)")}
    parameters = (Parameter("self"), Parameter("fixed", record), Parameter("number", Name("int")))
    body = (Return(Name("fixed").method("_replace", **number)),)
    return Function("_at", parameters, body, record, ("The quantities that are fixed in one step.",))


def noise(context: Context) -> Function:
    """The method that draws the noises of some samples."""
    draws = [
        drawn(n.law, (Name("batch"), *map(literal, shape_of(n.node, context.sizes))), context.symbols)
        for n in context.network.noises.values()
    ]
    (method,) = quote_body(_NOISE, draws=List(tuple(draws)))
    assert isinstance(method, Function)
    return method


_NOISE = '''
def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
    """Noise for each sample, in float64 on the CPU."""
    return {draws}
'''


def extended(context: Context) -> Body:
    """The method that gives the holomorphic extension."""
    return quote_body(_EXTENDED, extension=Name(context.class_names.holomorphic))


_EXTENDED = '''
def _extended(self) -> {extension}:
    """The equations on complex states."""
    return {extension}(self)
'''


def ties(context: Context, writer: TorchWriter) -> Body:
    """The read-only views that tied names are."""
    names, masks = context.own_names()
    writer.masks.update(masks)
    with writer.scope(names):
        tied = {n: t.node for n, t in context.network.ties.items()}
        codes = {n: writer.define(t) if isinstance(t, Einsum) else writer.code(t) for n, t in tied.items()}
    views = Dict(tuple((String(n), code.method("detach").expr) for n, code in codes.items()))
    return quote_body(_TIES, views=views)


_TIES = '''
def _ties(self) -> dict[str, Tensor]:
    """The tied names, each a view of its source."""
    return {views}
'''


def blocks(context: Context) -> Body:
    """The method that gives the force on a block."""
    count = len(context.derivation.blocks.order)
    routines = List(tuple(Attribute(Name("self"), f"{BLOCK}{number}") for number in range(count)))
    return quote_body(_BLOCKS, routines=routines, fixed=Name(context.class_names.fixed))


_BLOCKS = '''
def _block(self, number: int, states: rt.Tensors, fixed: {fixed}) -> list[Tensor]:
    """The force on each state of a block, then D of those for which it is not a number."""
    return {routines}[number](states, fixed)
'''
