"""All notes of a report on a network, and on each of its layers; and the operations of a step."""

from __future__ import annotations

from collections.abc import Iterable

from energyc import pipeline
from energyc.code.plan import force_flops
from energyc.language.network import Network
from energyc.language.settings import SOLVERS, Nudge
from energyc.proofs.claims.classes import Classes
from energyc.runtime import RULES
from energyc.surfaces.report.check_report import Remarks
from energyc.surfaces.report.notes import (
    batch_mates,
    block_notes,
    chosen_rule,
    idle_settings,
    infinite_notes,
    kink_notes,
    missing_cost,
    steep_notes,
    stiffness_notes,
)


def remarks_on(network: Network, classes: Classes) -> Remarks:
    """Return the remarks on a well-typed network and on its layers."""
    return _of_layers(network, classes) if network.layers else _of_network(network, classes)


def _of_layers(network: Network, classes: Classes) -> Remarks:
    rule, copies = network.train.trained_by, network.copies
    layers = {name: _of_layer(layer.network, classes.layers[name], rule) for name, layer in network.layers.items()}
    notes = (*chosen_rule(network, classes), *missing_cost(network), *idle_settings(network, classes))
    return Remarks(notes, sum(copies.get(name, 1) * own.flops_per_step for name, own in layers.items()), layers)


def _of_layer(network: Network, classes: Classes, rule: str) -> Remarks:
    derivation = pipeline.derive(network)
    notes = (*layer_notes(network, classes, rule), *kink_notes(derivation), *block_notes(derivation, classes))
    return Remarks(notes, force_flops(derivation))


def _of_network(network: Network, classes: Classes) -> Remarks:
    derivation = pipeline.derive(network)
    notes = (
        *chosen_rule(network, classes),
        *_notes(network, network.nudge),
        *kink_notes(derivation),
        *block_notes(derivation, classes),
        *batch_mates(network),
        *missing_cost(network),
        *idle_settings(network, classes),
    )
    return Remarks(notes, force_flops(derivation))


def layer_notes(network: Network, classes: Classes, rule: str) -> Iterable[str]:
    """Yield what matters of a layer before it is trained by a rule."""
    nudged = rule in RULES and RULES[rule].serves_layers
    yield from _notes(network, network.nudge if nudged else Nudge())
    yield from idle_settings(network, classes)
    if network.nudge != Nudge() and not nudged:
        yield f"nudge does nothing in training by {rule}, which nudges no layer"


def _notes(network: Network, nudge: Nudge) -> Iterable[str]:
    relax = network.relax
    if relax.tolerance is None:
        yield f"relax has no tolerance: exactly {relax.steps} steps, converged or not"
    elif relax.exit == "early":
        yield f"a sample stops once it has settled, at the latest after {relax.longest} steps, also in training"
    elif relax.exit == "inference":
        yield f"in training exactly {relax.steps} steps; otherwise a sample stops once it has settled"
    if relax.solver != "gradient":
        yield f"where there are several equilibria, {SOLVERS[relax.solver]} may rest at another than plain steps do"
    if relax.step is None:
        yield "relax.step = auto is one step for a batch: how a sample relaxes depends on its batch mates"
    if relax.products:
        yield f"relax.products = {relax.products} is one decision for a batch: when it ends depends on the batch mates"
    if nudge.beta is not None:
        yield f"beta = {nudge.beta:g}: energyc verify shows whether it is well above rounding in float32"
    yield from steep_notes(network)
    yield from infinite_notes(network)
    yield from stiffness_notes(network)
