"""The routines of a module: which derived graphs it computes, under which names, from which arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from energyc.derive import Derivation, Output, Routine
from energyc.emit.features import Features
from energyc.ir import Node


@dataclass(frozen=True)
class Signature:
    """How a routine is called and what it returns.

    ``arguments`` are of states, fixed, targets, seeds, directions; ``gives``: ``list`` (a list in the order of the
    keys), ``states`` (one entry a state, None where nothing is), ``dict`` (by key), ``both`` (states, and the others
    by key).
    """

    name: str
    arguments: tuple[str, ...]
    gives: str
    doc: str
    keys: tuple[str, ...]

    @property
    def seeds_readouts(self) -> bool:
        """Whether its seeds are on readouts, not on states."""
        return self.name.startswith("_readout_")


@dataclass(frozen=True)
class Prepared:
    """A routine with its signature."""

    signature: Signature
    routine: Routine


#: Routines that run at every step: what they can share is worth hoisting.
REPEATED = ("_force", "_force_adjoint", "_force_pullback", "_force_tangent", "_correction")

_AT = ("states", "fixed")
_SEEDED = (*_AT, "seeds")
_AIMED = (*_AT, "targets")

#: For each output its key, what it is called on the way, and its node.
Outputs = Mapping[str, tuple[str, Node]]


def prepare(d: Derivation, features: Features) -> list[Prepared]:
    """Every routine of a module."""
    made = [*_equations(d), *_slopes_of_cost(d), *_pullbacks(d), *_readout_pullbacks(d)]
    if features.contrast:
        made += _contrasts(d)
    if features.newton:
        pushed = _named("push", d.pushforward(d.force))
        doc = "J directions, J = dF/dz."
        made.append(_by_state(d, "_force_tangent", (*_AT, "directions"), doc, pushed, gives="list"))
    if features.corrected:
        made.append(correction(d, held=False))
    if features.penalty:
        doc = "|J_nc directions|^2 of each sample, and its slope by theta, summed over the batch."
        square = {"square": ("square", d.penalty)}
        made.append(_by_both(("square",), "_penalty", (*_AT, "directions"), doc, square, d.penalty_gradient))
    return made


def _equations(d: Derivation) -> list[Prepared]:
    """What the spec says, and the force."""
    network = d.network
    energies = {name: term.node for name, term in network.energies.items()}
    readouts = {name: quantity.node for name, quantity in network.readouts.items()}
    metrics = {name: quantity.node for name, quantity in network.metrics.items()}
    cost = {"cost": network.cost.node} if network.cost else {}
    return [
        _by_state(d, "_start", ("fixed",), "Where the states start.", _named("start", d.start), gives="list"),
        _listed("_terms", _AT, "Each energy term of each sample.", _named("energy", energies)),
        _by_state(d, "_force", _AT, "The force on each state.", _named("force", d.force), gives="list"),
        _listed("_readouts", _AT, "The answers.", _plain(readouts)),
        _listed("_cost", _AIMED, "The cost of each sample.", _plain(cost)),
        _listed("_metrics", _AIMED, "What is only reported.", _plain(metrics)),
    ]


def _slopes_of_cost(d: Derivation) -> list[Prepared]:
    doc = "dC/dz of each sample; None where the cost does not read a state."
    return [
        _by_state(d, "_cost_force", _AIMED, doc, _named("slope", d.cost_force)),
        _by_param("_cost_gradient", _AIMED, "The direct dC/dtheta, summed over the batch.", d.cost_gradient),
    ]


def _pullbacks(d: Derivation) -> list[Prepared]:
    """Transposed derivatives of the force and of the start."""
    clamps = d.real_clamps
    start = ("fixed", "seeds")
    back = _named("back", d.pullback(d.force, d.states))
    forces, starts = d.pullback(d.force, d.params), d.pullback(d.start, d.params)
    from_start = d.pullback(d.start, clamps)
    both = "J^T seeds, and <seeds, dF/dtheta> summed over the batch."
    return [
        _by_state(d, "_force_adjoint", _SEEDED, "J^T seeds, J = dF/dz.", back),
        _by_both(d.states, "_force_pullback", _SEEDED, both, back, forces),
        _by_clamp("_clamp_gradient", _SEEDED, "<seeds, dF/dx> for each real clamp.", d.pullback(d.force, clamps)),
        _by_param("_start_gradient", start, "<seeds, d start/dtheta>, summed over the batch.", starts),
        _by_clamp("_start_clamp_gradient", start, "<seeds, d start/dx> for each real clamp.", from_start),
    ]


def _readout_pullbacks(d: Derivation) -> list[Prepared]:
    """Transposed derivatives of the readouts, for a host network."""
    back = _named("back", d.readout_pullback(d.states))
    params, clamps = d.readout_pullback(d.params), d.readout_pullback(d.real_clamps)
    return [
        _by_state(d, "_readout_adjoint", _SEEDED, "<seeds, d readouts/dz>.", back),
        _by_param("_readout_gradient", _SEEDED, "<seeds, d readouts/dtheta>, summed over the batch.", params),
        _by_clamp("_readout_clamp_gradient", _SEEDED, "<seeds, d readouts/dx> for each real clamp.", clamps),
    ]


def _contrasts(d: Derivation) -> list[Prepared]:
    """What contrasts of two phases read."""
    forces = d.pullback(d.user_forces, d.params)
    kind = "no energy, or hold a state fixed in it" if d.stopped else "no energy"
    doc = f"<seeds, dF/dtheta> of the terms that are {kind}, summed over the batch."
    return [
        _by_param("_energy_gradient", _AT, "dE/dtheta, summed over the batch.", d.energy_gradient),
        _by_param("_user_force_gradient", _SEEDED, doc, forces),
    ]


def correction(d: Derivation, *, held: bool) -> Prepared:
    """The antisymmetric correction: at states, or (``held``) at what was held of them."""
    name, first = ("_held_correction", "held") if held else ("_correction", "states")
    where = " at the states that were held" if held else ""
    doc = f"(J_nc - J_nc^T) directions{where}; J_nc is dF/dz of {' + '.join(d.unproved) or 'nothing'}."
    return _by_state(d, name, (first, "fixed", "directions"), doc, _named("turn", d.correction))


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


def _by_param(name: str, arguments: tuple[str, ...], doc: str, nodes: Mapping[str, Node]) -> Prepared:
    return _prepared(Signature(name, arguments, "dict", doc, tuple(nodes)), _named("grad", nodes), summed=True)


def _by_both(
    keys: Iterable[str],
    name: str,
    arguments: tuple[str, ...],
    doc: str,
    samples: Outputs,
    params: Mapping[str, Node],
) -> Prepared:
    """A list with each sample's own under ``keys``, and sums by params."""
    first = tuple(Output(key, node, False, wish) for key, (wish, node) in samples.items())
    second = tuple(Output(key, node, True, f"grad_{key}") for key, node in params.items())
    return Prepared(Signature(name, arguments, "both", doc, tuple(keys)), Routine(name, (*first, *second)))


def _by_clamp(name: str, arguments: tuple[str, ...], doc: str, nodes: Mapping[str, Node]) -> Prepared:
    return _prepared(Signature(name, arguments, "dict", doc, tuple(nodes)), _named("grad", nodes))


def _prepared(signature: Signature, nodes: Outputs, *, summed: bool = False) -> Prepared:
    outputs = tuple(Output(key, node, summed, wish) for key, (wish, node) in nodes.items())
    return Prepared(signature, Routine(signature.name, outputs))
