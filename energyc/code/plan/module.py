"""The plan of a module: its routines, planned jointly; of a network of layers, those around them and those of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.code.plan.features import Features
from energyc.code.plan.outer import OuterNetwork
from energyc.code.plan.planner import Passes, Plan, plan
from energyc.code.plan.rims import off_rims
from energyc.code.plan.routines import BLOCK, REPEATED, Prepared, prepare, prepare_primal
from energyc.code.plan.shared import Block, shared_block
from energyc.derivation.derive import Derivation, derive
from energyc.language.network import Network, under_linear_cost


@dataclass(frozen=True)
class ModulePlan:
    """The computation of a module for the rules in ``features``: its routines, and the plan that was made of them.

    ``network`` is the spec's, ``equations`` the one whose equations are planned: with ``layers``, which have plans
    of their own, it is the network around them. ``block`` is what routines at the same states share.
    """

    network: Network
    equations: Network
    features: Features
    derivation: Derivation
    routines: Sequence[Prepared]
    plan: Plan
    layers: Mapping[str, ModulePlan] = field(default_factory=dict)
    block: Block | None = None


def plan_module(
    network: Network,
    rules: Sequence[str],
    passes: Passes = Passes(),
    unproved: tuple[str, ...] | None = None,
    descends: bool = False,
    *,
    without: Collection[str] = (),
    autograd: bool = False,
) -> ModulePlan:
    """Plan a module for rules; ``unproved`` are the terms that are not known to be gradients (None: all forces).

    ``descends``: all flows go down the energies. The routines ``without`` which it does are left out. With ``autograd``
    derivatives are those of autograd, and the routines are the equations alone.
    """
    if network.blocks:
        return _layered(network, rules, passes, unproved, autograd)
    derivation = derive(network, unproved, descends)
    features = replace(features_of(network, rules), proximal=bool(derivation.proximal))
    routines_of = prepare_primal if autograd else prepare
    wanted = [prepared for prepared in routines_of(derivation, features) if prepared.signature.name not in without]
    routines, names = off_rims(network, wanted, derivation.names)
    made = plan(
        network.graph,
        [prepared.routine for prepared in routines],
        sizes=network.extents,
        names=names,
        passes=passes,
        repeated=[n for n in (r.routine.name for r in routines) if n in REPEATED or n.startswith(BLOCK)],
    )
    block = shared_block(made, routines) if passes.share else None
    return ModulePlan(network, network, features, derivation, routines, made, block=block)


def _layered(
    network: Network,
    rules: Sequence[str],
    passes: Passes,
    unproved: tuple[str, ...] | None,
    autograd: bool,
) -> ModulePlan:
    outer = OuterNetwork(network)
    features = features_of(network, rules)
    layers = {}
    for name, layer in network.layers.items():
        own = under_linear_cost(layer.network) if features.of_layers and not autograd else layer.network
        known = None if unproved is None else terms_of(name, unproved)
        # of the cost of a layer the slope alone is read
        layers[name] = plan_module(own, rules, passes, known, without=("_cost",), autograd=autograd)
    return ModulePlan(network, outer.as_network(), features, *outer.planned(passes), layers)


def terms_of(layer: str, terms: Sequence[str]) -> tuple[str, ...]:
    """The terms of a layer by its own names, among those of all layers."""
    return tuple(name.removeprefix(f"{layer}.") for name in terms if name.startswith(f"{layer}."))


def features_of(network: Network, rules: Sequence[str]) -> Features:
    """The features of a module of a network for rules; ``implicit`` is added where there is something at rest."""
    rests = not network.numbered and not any(layer.network.numbered for layer in network.layers.values())
    names = [*rules, "implicit"] if rests else rules
    return Features.of(names, network.relax, network.train)
