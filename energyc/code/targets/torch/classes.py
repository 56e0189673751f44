"""The parts of a generated class beside its equations: settings, construction, projections, records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from energyc.code.module.context import Context
from energyc.code.module.library import library
from energyc.code.plan.routines import BLOCK, force_params
from energyc.code.targets.torch import sets
from energyc.code.targets.torch.initial import drawn, initial_values
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import (
    Attribute,
    Comparison,
    Constant,
    Dict,
    Expr,
    List,
    Name,
    Number,
    String,
    call,
    literal,
)
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Annotated, Assign, Body, Class, Do, Function, If, Parameter, Return, Statement
from energyc.language.network import DataInput, Network
from energyc.language.settings import Nudge
from energyc.mathematics.ir import Einsum, Indicator, Node
from energyc.runtime.rules import Declaration

#: Settings of the nudged phase beside its strength and its steps.
OPTIONS = ("points", "radius", "snapshots", "alpha")


def settings(context: Context) -> Body:
    """The constants of the class of a network: names, shapes, the spec's settings."""
    return _constants_of(context, {**_names(context), **_phases(context)})


def layer_settings(context: Context) -> Body:
    """The constants of the class of a layer, which owns no params."""
    named = {"param_names": tuple(context.network.params), "param_bounds": {}}
    phases = _phases(context) if context.features.of_layers else _free_phase(context)
    return _constants_of(context, {**_names(context), **phases, **named})


def layered_settings(context: Context, further: Mapping[str, Any]) -> Body:
    """The constants of the class around layers; the layers have the settings of their phases."""
    return _constants_of(context, {**_names(context), "biased": dict(context.options.biased), **further})


def learning_rules(rules: Sequence[Declaration]) -> Body:
    """The functions of the rules that a class learns by, where there are any."""
    items = tuple((String(rule.name), Name(rule.module)) for rule in rules)
    return (Assign(Name("learning_rules"), Dict(items)),) if rules else ()


def _names(context: Context) -> dict[str, Any]:
    network = context.network
    return {
        "name": network.name,
        "state_shapes": {n: _shape(context, s.node) for n, s in network.states.items()},
        "clamp_shapes": _input_shapes(context, network.clamps),
        "noise_shapes": {n: _shape(context, noise.node) for n, noise in network.noises.items()},
        "target_shapes": _input_shapes(context, network.targets),
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
        "constrained": any(s.constraint is not None or n in proximal for n, s in network.states.items()),
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


def _constants_of(context: Context, values: Mapping[str, Any]) -> Body:
    """Those that are not what the runtime has by default."""
    defaults = library().defaults("Equations")
    for name in context.class_names.bases:
        defaults |= library().defaults(name)
    chosen = {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}
    return tuple(Assign(Name(name), literal(value)) for name, value in chosen.items())


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


def _shape(context: Context, node: Node) -> tuple[int, ...]:
    return tuple(context.sizes[dim] for dim in node.dims)


def _input_shapes(context: Context, items: Mapping[str, DataInput]) -> dict[str, tuple[tuple[int, ...], int | None]]:
    sizes = context.sizes
    return {n: (_shape(context, i.node), sizes[i.node.over] if i.node.over else None) for n, i in items.items()}


def init(
    context: Context, writer: TorchWriter, constants: Mapping[Node, str], layers: Mapping[str, str] | None = None
) -> Function:
    """The constructor; ``layers`` are the classes of what it is made of, by their attributes."""
    params = initial_values(context.network, writer, context.params)
    random = facts.reads(*params) & {"random"}
    made = [_on(attribute, call(layer, *_PLACE)) for attribute, layer in (layers or {}).items()]
    body = (*(_RANDOM if random else ()), *params, *made, *_constants(writer, constants))
    return _constructor((*_PARAMETERS, Parameter("seed", Name("int"), Number(0))), body)


def layer_init(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
    """The constructor of a layer, which owns no params; none where there is nothing to make."""
    return (_constructor(_PARAMETERS, _constants(writer, constants)),) if constants else ()


_PLACE = (Name("device"), Name("dtype"))
_PARAMETERS = (
    Parameter("self"),
    Parameter("device", quote("torch.device | str | None"), Constant(None)),
    Parameter("dtype", quote("torch.dtype | None"), Constant(None)),
)
_RANDOM = quote_body("random = torch.Generator().manual_seed(seed)")


def _constructor(parameters: tuple[Parameter, ...], body: Body) -> Function:
    return Function("__init__", parameters, (*quote_body("super().__init__(device, dtype)"), *body), Constant(None))


def _on(attribute: str, value: Expr) -> Assign:
    return Assign(Attribute(Name("self"), attribute), value)


def _constants(writer: TorchWriter, constants: Mapping[Node, str]) -> Body:
    codes = {
        name: writer.define_mask(node) if isinstance(node, Indicator) else writer.define(node)
        for node, name in constants.items()
    }
    return tuple(Do(quote("self._constant({name}, {x})", name=String(n), x=code.expr)) for n, code in codes.items())


def record(name: str, doc: str, fields: Mapping[Node, str], *, rows: bool) -> Class:
    """A NamedTuple of tensors of nodes; with ``rows`` one can take some of the samples of those that are batched."""
    body: Body = tuple(Annotated(field, Name("Tensor")) for field in fields.values())
    if rows:
        own = Name("self")
        parts = {field: Attribute(own, field)[Name("rows")] for node, field in fields.items() if node.batched}
        chosen = own.method("_replace", **parts) if parts else own
        parameters = (Parameter("self"), Parameter("rows", Name("Tensor")))
        said = ("The same for some of the samples.",)
        body = (*body, Function("rows", parameters, (Return(chosen),), Name(name), said))
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
        drawn(n.law, (Name("batch"), *map(literal, _shape(context, n.node)))) for n in context.network.noises.values()
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


def projections(context: Context) -> Body:
    """The projection on the constraint sets, and its adjoint."""
    body, parts = list[Do](), list[Expr]()
    for k, state in enumerate(context.network.states.values()):
        states, at, cotangents = (Name(name)[Number(k)] for name in ("states", "at", "cotangents"))
        if state.constraint is None:
            parts.append(cotangents)
            continue
        body.append(Do(sets.projection(states, state.constraint)))
        parts.append(sets.adjoint(at, cotangents, state.constraint))
    project, adjoint = quote_body(_PROJECTIONS, parts=List(tuple(parts)))
    assert isinstance(project, Function)
    return replace(project, body=tuple(body)), adjoint


def blocks(context: Context) -> Body:
    """The methods that give the force on a block, and project its states."""
    order, names = context.derivation.blocks.order, list(context.network.states)
    routines = List(tuple(Attribute(Name("self"), f"{BLOCK}{number}") for number in range(len(order))))
    force, project = quote_body(_BLOCKS, routines=routines, fixed=Name(context.class_names.fixed))
    body = list[Statement]()
    for number, block in enumerate(order):
        calls = [
            Do(sets.projection(Name("states")[Number(names.index(name))], constraint))
            for name in block
            if (constraint := context.network.states[name].constraint) is not None
        ]
        if calls:
            body.append(If(Comparison("==", Name("number"), Number(number)), tuple(calls)))
    assert isinstance(project, Function)
    return (force, replace(project, body=tuple(body))) if body else (force,)


_BLOCKS = '''
def _block(self, number: int, states: Tensors, fixed: {fixed}) -> list[Tensor]:
    """The force on each state of a block, then D of those for which it is not a number."""
    return {routines}[number](states, fixed)

def _project_block_(self, number: int, states: list[Tensor]) -> None:
    """Each state of a block onto its constraint set, in place."""
'''


_PROJECTIONS = '''
def _project_(self, states: list[Tensor]) -> None:
    """Each state onto its constraint set, in place."""

def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
    """P^T cotangents, P the derivative of the projection at a point."""
    return {parts}
'''
