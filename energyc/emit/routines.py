"""The routines of a module: which derived graphs it computes, under which names, from which arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from energyc.derive import Derivation, Output, Routine
from energyc.emit.features import Features
from energyc.ir import Node


@dataclass(frozen=True)
class Signature:
    """How a routine is called and what it returns.

    ``arguments`` are of states, fixed, targets, seeds, directions; ``gives``: ``list`` (a list in the order of the
    keys), ``states`` (one entry a state, None where nothing is), ``dict`` (by key).
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
REPEATED = ("_force", "_force_adjoint", "_force_tangent", "_correction")


def prepare(d: Derivation, features: Features) -> list[Prepared]:
    """Every routine of a module."""
    network = d.network
    states, params, clamps = tuple(d.states), tuple(d.params), d.real_clamps
    hints = d.adjoint_names()
    readouts = {name: q.node for name, q in network.readouts.items()}
    made = [
        _of("_start", ("fixed",), "list", "Where the states start.", states, _named("start", d.start)),
        _of("_terms", ("states", "fixed"), "list", "Each energy term of each sample.", tuple(network.energies), _named("energy", {n: t.node for n, t in network.energies.items()})),
        _of("_force", ("states", "fixed"), "list", "The force on each state.", states, _named("force", d.force), hints),
        _of("_readouts", ("states", "fixed"), "list", "The answers.", tuple(readouts), _plain(readouts)),
        _of("_cost", ("states", "fixed", "targets"), "list", "The cost of each sample.", ("cost",), _plain({"cost": network.cost.node} if network.cost else {})),
        _of("_metrics", ("states", "fixed", "targets"), "list", "What is only reported.", tuple(network.metrics), _plain({n: q.node for n, q in network.metrics.items()})),
        _of("_cost_force", ("states", "fixed", "targets"), "states", "dC/dz of each sample; None where the cost does not read a state.", states, _named("slope", d.cost_force)),
        _of("_cost_gradient", ("states", "fixed", "targets"), "dict", "The direct dC/dtheta, summed over the batch.", params, _named("grad", d.cost_gradient), summed=True),
        _of("_force_adjoint", ("states", "fixed", "seeds"), "states", "J^T seeds, J = dF/dz.", states, _named("back", d.pullback(d.force, d.states))),
        _of("_force_gradient", ("states", "fixed", "seeds"), "dict", "<seeds, dF/dtheta>, summed over the batch.", params, _named("grad", d.pullback(d.force, d.params)), summed=True),
        _of("_clamp_gradient", ("states", "fixed", "seeds"), "dict", "<seeds, dF/dx> for each real clamp.", tuple(clamps), _named("grad", d.pullback(d.force, clamps))),
        _of("_start_gradient", ("fixed", "seeds"), "dict", "<seeds, d start/dtheta>, summed over the batch.", params, _named("grad", d.pullback(d.start, d.params)), summed=True),
        _of("_start_clamp_gradient", ("fixed", "seeds"), "dict", "<seeds, d start/dx> for each real clamp.", tuple(clamps), _named("grad", d.pullback(d.start, clamps))),
        _of("_readout_adjoint", ("states", "fixed", "seeds"), "states", "<seeds, d readouts/dz>.", states, _named("back", d.readout_pullback(d.states))),
        _of("_readout_gradient", ("states", "fixed", "seeds"), "dict", "<seeds, d readouts/dtheta>, summed over the batch.", params, _named("grad", d.readout_pullback(d.params)), summed=True),
        _of("_readout_clamp_gradient", ("states", "fixed", "seeds"), "dict", "<seeds, d readouts/dx> for each real clamp.", tuple(clamps), _named("grad", d.readout_pullback(clamps))),
    ]
    if features.contrast:
        made.append(_of("_energy_gradient", ("states", "fixed"), "dict", "dE/dtheta, summed over the batch.", params, _named("grad", d.energy_gradient), summed=True))
        made.append(_of("_user_force_gradient", ("states", "fixed", "seeds"), "dict", "<seeds, dF/dtheta> of the terms that are no energy, summed over the batch.", params, _named("grad", d.pullback(d.user_forces, d.params)), summed=True))
    if features.newton:
        made.append(_of("_force_tangent", ("states", "fixed", "directions"), "list", "J directions, J = dF/dz.", states, _named("push", d.pushforward(d.force))))
    if features.corrected:
        made.append(correction(d, held=False))
    if features.penalty:
        made.append(_of("_penalty_gradient", ("states", "fixed", "directions"), "dict", "d |J_nc directions|^2/dtheta, summed over the batch.", params, _named("grad", d.penalty_gradient), summed=True))
    return made


def correction(d: Derivation, *, held: bool) -> Prepared:
    """The antisymmetric correction: at states, or (``held``) at what was held of them."""
    name, first = ("_held_correction", "held") if held else ("_correction", "states")
    doc = "(J_nc - J_nc^T) directions" + (" at the states that were held." if held else ".")
    return _of(name, (first, "fixed", "directions"), "states", doc, tuple(d.states), _named("turn", d.correction))


#: For each output its key, what it is called on the way, and its node.
Outputs = Mapping[str, tuple[str, Node]]


def _named(prefix: str, nodes: Mapping[str, Node]) -> Outputs:
    return {name: (f"{prefix}_{name}", node) for name, node in nodes.items()}


def _plain(nodes: Mapping[str, Node]) -> Outputs:
    return {name: (name, node) for name, node in nodes.items()}


def _of(
    name: str,
    arguments: tuple[str, ...],
    gives: str,
    doc: str,
    keys: tuple[str, ...],
    nodes: Outputs,
    hints: Mapping[Node, str] | None = None,
    *,
    summed: bool = False,
) -> Prepared:
    outputs = tuple(Output(key, node, summed, wish) for key, (wish, node) in nodes.items())
    return Prepared(Signature(name, arguments, gives, doc, keys), Routine(name, outputs, hints or {}))
