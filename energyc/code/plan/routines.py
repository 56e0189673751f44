"""The routines of a module: which derived graphs it computes, under which names, from which arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from energyc.code.plan.features import Features
from energyc.derivation.derive import Derivation, Output, Routine
from energyc.language.diagnostics import listed
from energyc.mathematics.ir import Node


@dataclass(frozen=True)
class Signature:
    """How a routine is called and what it returns.

    ``arguments`` are of states, fixed, targets, cotangents, directions, plus, minus, sums, pulls; ``gives``: ``list``
    (in the order of the keys), ``states`` (one entry a state, None where nothing is), ``dict`` (by key), ``both`` (a
    list, and the others by key). One that is ``split`` gives the others only if its argument ``params`` is true. One
    that is ``complex`` is of the holomorphic extension alone.
    """

    name: str
    arguments: tuple[str, ...]
    gives: str
    doc: str
    keys: tuple[str, ...]
    split: bool = False
    complex: bool = False


@dataclass(frozen=True)
class Prepared:
    """A routine with its signature."""

    signature: Signature
    routine: Routine


#: Routines that run at every step: what they can share is worth hoisting.
REPEATED = ("_force", "_force_vjp", "_force_jvp", "_correction", "_weights", "_nonconservative_force")

#: What the names of the routines of blocks begin with.
BLOCK = "_force_of_block_"

_AT = ("states", "fixed")
_WITH_COTANGENTS = (*_AT, "cotangents")
_AIMED = (*_AT, "targets")

#: For each output its key, what it is called on the way, and its node.
Outputs = Mapping[str, tuple[str, Node]]


def prepare(d: Derivation, features: Features) -> list[Prepared]:
    """Every routine of a module; what the runtime gives by default is left out."""
    routines = [*_equations(d), *_vjps(d), *_kinks(d)]
    if features.needs("trajectory"):
        routines += _trajectories(d)
    if features.needs("contrast"):
        routines += _contrasts(d, features.needs("holomorphic"))
    elif features.needs("clamped"):
        routines += _energy_slopes(d, d.energy_contrast)
    if features.needs("clamped"):
        doc = "Where states are held in a clamped phase; None where they are free."
        routines.append(_by_state(d, "_clamped", ("fixed", "targets"), doc, _named("clamped", d.clamped)))
    if features.needs("lifted"):
        routines += _predictions(d)
    if (d.descends and features.needs("contrast")) or features.needs("slopes"):
        doc = "dE/dtheta of all energies, summed over the batch."
        routines.append(_by_input(d, "_descent_gradient", _AT, doc, d.descent_gradient))
    if features.pushes:
        pushed = _named("push", d.jvp(d.smooth))
        doc = "J directions, J = dF/dz."
        routines.append(_by_state(d, "_force_jvp", (*_AT, "directions"), doc, pushed, gives="list"))
    if features.blocks:
        routines += _blocks(d)
    if features.needs("correction"):
        routines.append(correction(d, held=False))
    if features.penalty == "jacobian":
        routines.append(_nonconservative_force(d))
    if features.needs("holomorphic"):
        signature = Signature("_cost_force", _AIMED, "states", "dC/dz of each sample.", tuple(d.states), complex=True)
        routines.append(_prepared(signature, _named("slope", d.cost_force)))
    return routines


def prepare_primal(d: Derivation, features: Features) -> list[Prepared]:
    """The routines of a module whose derivatives are those of autograd: the equations themselves, and contrasts.

    A contrast is linear in what separates two phases, which autograd does not see.
    """
    routines = [r for r in _equations(d) if r.signature.name != "_families"]
    if d.weights:
        routines.append(_weights(d))
    if features.needs("contrast"):
        routines += _primal_contrasts(d)
    if features.blocks:
        routines += _blocks(d)
    if features.needs("correction") and d.unproved_force and not d.antisymmetric_by_unproved:
        routines.append(_nonconservative_force(d))
    return routines


def _primal_contrasts(d: Derivation) -> list[Prepared]:
    """The contrast of energies, the forces that have none, and the nudge of a descent in a metric."""
    doc = "dE/dtheta at plus less that at minus, summed over the batch."
    routines = [_by_input(d, "_energy_contrast", ("plus", "minus", "fixed"), doc, d.energy_contrast)]
    if force_params(d) is None:
        doc = "The force of the terms that are no energy on each state."
        routines.append(_by_state(d, "_forces_without_energy", _AT, doc, _named("force", d.user_forces)))
    if d.descends:
        routines.append(_nudge(d))
    return [routine for routine in routines if routine.routine.outputs]


def _equations(d: Derivation) -> list[Prepared]:
    """The routines of the spec's own equations, and the force."""
    network = d.network
    energies = _named("energy", {name: term.node for name, term in network.energies.items()})
    families = _named("family", {name: term.family for name, term in network.energies.items() if term.is_family})
    starts = d.start if any(state.start is not None for state in network.states.values()) else {}
    routines = [
        _by_state(d, "_start", ("fixed",), "Where the states start.", _named("start", starts), gives="list"),
        _listed("_terms", _AT, "Each energy term of each sample.", energies),
        _listed("_families", _AT, "The members of each family of energies.", families),
        _by_state(d, "_force", _AT, _force_doc(d), _named("force", d.smooth), gives="list"),
        _listed("_slopes", _AT, "The gradients by which a step is measured.", _slopes(d)),
    ]
    return [*(routine for routine in routines if routine.routine.outputs), *answers(d)]


def _force_doc(d: Derivation) -> str:
    kinks = [f"that of {listed(p.energies)} on {name}" for name, p in d.proximal.items()]
    return f"The force on each state, without {listed(kinks)}." if kinks else "The force on each state."


def _kinks(d: Derivation) -> list[Prepared]:
    """The weights of the kinks that move proximally, and their slopes."""
    doc = "<pulls, d weights/dtheta> summed over the batch."
    slopes = _by_input(d, "_weights_vjp", ("fixed", "pulls"), doc, d.weights_gradient)
    return [_weights(d), slopes] if d.weights else []


def _weights(d: Derivation) -> Prepared:
    doc = "The weights of the kinks that move proximally."
    return _listed("_weights", ("fixed",), doc, _named("weight", d.weights))


def _blocks(d: Derivation) -> list[Prepared]:
    """For each block the force on its states, and the slopes of it that are not numbers."""
    routines = []
    for number, block in enumerate(d.blocks.order):
        forces, given = _named("force", {name: d.smooth[name] for name in block}), d.blocks.given(block)
        slopes = {slope_key(name): (f"slope_{name}", d.blocks.slopes[name]) for name in given}
        doc = f"The force on {listed(block)}{f'; D of {listed(given)}' if given else ''}."
        routines.append(_listed(f"{BLOCK}{number}", _AT, doc, {**forces, **slopes}))
    return routines


def slope_key(state: str) -> str:
    """The key of the slope of a state among the outputs of its block."""
    return f"slope of {state}"


def sum_key(name: str) -> str:
    """The key of what is added up over steps among the outputs of a step in reverse."""
    return f"sum of {name}"


def _slopes(d: Derivation) -> Outputs:
    return {name: (f"slope_{name.rsplit(', ', 1)[1]}", node) for name, node in d.slopes.items()}


def answers(d: Derivation) -> list[Prepared]:
    """The routines of the answers, which are computed from the states: readouts, cost, metrics."""
    network = d.network
    readouts = _plain({name: quantity.node for name, quantity in network.readouts.items()})
    metrics = _plain({name: quantity.node for name, quantity in network.reported.items()})
    cost = _plain({"cost": network.cost.node} if network.cost else {})
    routines = [
        _listed("_readouts", _AT, "The readouts.", readouts),
        _listed("_cost", _AIMED, "The cost of each sample.", cost),
        _listed("_metrics", _AIMED, "The metrics, which are only reported.", metrics),
    ]
    return [routine for routine in routines if routine.routine.outputs]


def _vjps(d: Derivation) -> list[Prepared]:
    """Transposed derivatives of cost and force; the runtime has those of start and readouts, and by clamps."""
    cost, force = _named("slope", d.cost_force), _named("back", d.vjp(d.smooth, d.states))
    of_cost = "dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta."
    of_force = "J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."
    slopes = d.vjp(d.smooth, d.params)
    routines = [
        _by_both(d.states, "_cost_vjp", _AIMED, of_cost, cost, d.cost_gradient, split=True),
        _by_both(d.states, "_force_vjp", _WITH_COTANGENTS, of_force, force, slopes, split=True),
    ]
    return [routine for routine in routines if routine.routine.outputs]


def _trajectories(d: Derivation) -> list[Prepared]:
    """The routines for the steps of a trajectory in reverse, where slopes can be taken of all steps together."""
    if not d.sums.slopes:
        return []
    terms = {sum_key(name): (name, node) for name, node in d.sums.terms.items()}
    back = {**_named("back", d.vjp(d.smooth, d.states)), **terms}
    others = {name: node for name, node in d.vjp(d.smooth, d.params).items() if name not in d.sums.slopes}
    doc = "J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."
    step = _by_both((*d.states, *terms), "_step_vjp", _WITH_COTANGENTS, doc, back, others)
    params, clamps = (
        {name: node for name, node in d.sums.slopes.items() if name in names} for names in (d.params, d.real_clamps)
    )
    doc = "<cotangents, dF/dtheta> summed over batch and steps."
    routines = [step, _by_input(d, "_sums_gradient", ("fixed", "sums"), doc, params)]
    doc = "<cotangents, dF/dx> for real clamps, summed over steps."
    routines.append(_by_input(d, "_sums_clamp_gradient", ("fixed", "sums"), doc, clamps))
    return [routine for routine in routines if routine.routine.outputs]


def _contrasts(d: Derivation, holomorphic: bool) -> list[Prepared]:
    """The routines for contrasts of two phases; on complex states each phase is differentiated by itself."""
    routines = _energy_slopes(d, {} if holomorphic else d.energy_contrast)
    if force_params(d) is None:
        kind = "no energy, or hold a state fixed in it" if d.stopped else "no energy"
        doc = f"<cotangents, dF/dtheta> of the terms that are {kind}, summed over the batch."
        forces = d.vjp(d.user_forces, d.params)
        routines.append(_by_input(d, "_user_force_gradient", _WITH_COTANGENTS, doc, forces))
    if d.descends:
        routines.append(_nudge(d))
    return [routine for routine in routines if routine.routine.outputs]


def _nudge(d: Derivation) -> Prepared:
    doc = "The pull of a nudge, which is subtracted from the force: in a flow dC/dg takes the place of dE/dg."
    return _by_state(d, "_nudge", _AIMED, doc, _named("nudge", d.nudge))


def _predictions(d: Derivation) -> list[Prepared]:
    """The predictions of an energy of squared prediction errors, and what they send back."""
    doc = "The prediction of each state from the states before it."
    forward = _by_state(d, "_predictions", _AT, doc, _named("predicted", d.predicted), gives="list")
    back = _named("back", d.vjp(d.predicted, d.states))
    doc = "<cotangents, d predictions/dz>; and <cotangents, d predictions/dtheta> summed over the batch."
    slopes = d.vjp(d.predicted, d.params)
    return [forward, _by_both(d.states, "_prediction_vjp", _WITH_COTANGENTS, doc, back, slopes, split=True)]


def _energy_slopes(d: Derivation, linear: Mapping[str, Node]) -> list[Prepared]:
    """The slopes of the energies by params, of the ``linear`` ones as a difference of two phases."""
    others = {name: node for name, node in d.energy_gradient.items() if name not in linear}
    doc = "dE/dtheta, summed over the batch" + (", of what no single product contrasts." if linear else ".")
    slopes = _by_input(d, "_energy_gradient", _AT, doc, others)
    doc = "dE/dtheta at plus less that at minus, summed over the batch."
    contrast = _by_input(d, "_energy_contrast", ("plus", "minus", "fixed"), doc, linear)
    return [routine for routine in (slopes, contrast) if routine.routine.outputs]


def force_params(d: Derivation) -> tuple[str, ...] | None:
    """The params that only terms without an energy read; None where another one is read by both kinds of terms."""
    whole, forces = d.vjp(d.smooth, d.params), d.vjp(d.user_forces, d.params)
    return tuple(forces) if all(whole.get(name) is node for name, node in forces.items()) else None


def correction(d: Derivation, *, held: bool) -> Prepared:
    """The antisymmetric correction: at states, or (``held``) at what was held of them."""
    name, first = ("_held_correction", "held") if held else ("_correction", "states")
    where = " at the states that were held" if held else ""
    doc = f"(J_nc - J_nc^T) directions{where}; J_nc is dF/dz of {' + '.join(d.unproved) or 'nothing'}."
    return _by_state(d, name, (first, "fixed", "directions"), doc, _named("turn", d.correction))


def _nonconservative_force(d: Derivation) -> Prepared:
    doc = f"The force of {listed(d.unproved)} on each state."
    return _by_state(d, "_nonconservative_force", _AT, doc, _named("force", d.unproved_force))


def _named(prefix: str, nodes: Mapping[str, Node]) -> Outputs:
    return {name: (f"{prefix}_{name}", node) for name, node in nodes.items()}


def _plain(nodes: Mapping[str, Node]) -> Outputs:
    return {name: (name, node) for name, node in nodes.items()}


def _listed(name: str, arguments: tuple[str, ...], doc: str, outputs: Outputs) -> Prepared:
    return _prepared(Signature(name, arguments, "list", doc, tuple(outputs)), outputs)


def _by_state(
    d: Derivation,
    name: str,
    arguments: tuple[str, ...],
    doc: str,
    outputs: Outputs,
    *,
    gives: str = "states",
) -> Prepared:
    return _prepared(Signature(name, arguments, gives, doc, tuple(d.states)), outputs)


def _by_both(
    keys: Iterable[str],
    name: str,
    arguments: tuple[str, ...],
    doc: str,
    samples: Outputs,
    sums: Mapping[str, Node],
    *,
    split: bool = False,
) -> Prepared:
    """A list with each sample's own under ``keys``, and by key the others, summed over the batch."""
    first = tuple(Output(key, node, False, wish) for key, (wish, node) in samples.items())
    second = tuple(Output(key, node, True, f"grad_{key}") for key, node in sums.items())
    signature = Signature(name, arguments, "both", doc, tuple(keys), split)
    return Prepared(signature, Routine(name, (*first, *second)))


def _by_input(d: Derivation, name: str, arguments: tuple[str, ...], doc: str, nodes: Mapping[str, Node]) -> Prepared:
    """By param, summed over the batch, and by real clamp."""
    outputs = tuple(Output(key, node, key in d.params, f"grad_{key}") for key, node in nodes.items())
    return Prepared(Signature(name, arguments, "dict", doc, tuple(nodes)), Routine(name, outputs))


def _prepared(signature: Signature, nodes: Outputs) -> Prepared:
    outputs = tuple(Output(key, node, False, wish) for key, (wish, node) in nodes.items())
    return Prepared(signature, Routine(signature.name, outputs))
