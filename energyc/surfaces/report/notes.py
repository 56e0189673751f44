"""Notes on a network that matter before training it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from energyc.derivation.derive import Derivation, proximal_of
from energyc.language.diagnostics import listed
from energyc.language.network import Network
from energyc.language.resolve import BY_RULE, untrained_by
from energyc.proofs.claims.classes import Classes
from energyc.proofs.claims.stiffness import Stiff, certified_step, infinite_curvatures, moves_exactly, stiff_states
from energyc.proofs.conservativeness.edges import steep_edges


def rule_warnings(network: Network, classes: Classes, rule: str) -> Iterator[str]:
    """Yield a sentence if the rule that trains the network is not proved exact on it."""
    verdict = classes.rules[rule]
    if verdict.verdict == "unproved":
        yield f"{rule} is unproved on {network.name}: it is exact only if {verdict.needed}"
    elif verdict.verdict == "biased":
        yield f"{rule} is biased on {network.name}{verdict.reason}"
    elif verdict.verdict == "surrogate":
        yield f"{rule} follows {verdict.why}"


def spec_warnings(network: Network, rule: str) -> Iterator[str]:
    """Yield a sentence for each warning on the spec, trained by a rule, after its place."""
    warnings = list(network.warnings)
    if rule != network.train.trained_by:
        warnings = [each for each in warnings if each.code != BY_RULE]
        warnings += [each for each in untrained_by(network, rule) if each.code == BY_RULE]
    for warning in warnings:
        position = network.source.position(warning.span.start if warning.span else 0)
        remedy = f"; {warning.help}" if warning.help else ""
        yield f"{network.source.name}:{position.line}:{position.column}: {warning.message}{remedy}"


def chosen_rule(network: Network, classes: Classes) -> Iterator[str]:
    """Yield a sentence if ``train.rule`` is not exact on the network."""
    name = network.train.rule
    rule = None if name is None else classes.rules.get(name)
    if rule is None:
        return
    setting = f"train.rule = {name}"
    instead = f" (use {rule.use_instead})" if rule.use_instead else ""
    allowed = network.train.allow_biased
    match rule.verdict:
        case "inadmissible":
            yield f"{setting} is inadmissible on {network.name} ({rule.why}): train refuses it{instead}"
        case "biased":
            insist = "train.allow_biased insists on it"
            outcome = insist if allowed else f"train refuses it unless {insist}"
            yield f"{setting} is biased on {network.name}{rule.reason}: {outcome}{instead}"
        case "surrogate":
            yield f"{setting} follows {rule.why}"
        case "unproved":
            yield f"{setting} is unproved on {network.name}: exact only if {rule.needed}{instead}"


def steep_notes(network: Network) -> Iterator[str]:
    """Yield a sentence for each infinite slope at the edge of a state's set."""
    yield from map(str, steep_edges(network))


def infinite_notes(network: Network) -> Iterator[str]:
    """Yield a sentence for each place where the force is finite and its slope is not."""
    if network.states and not network.layers:
        yield from map(str, infinite_curvatures(network))


def stiffness_notes(network: Network) -> Iterator[str]:
    """Yield a sentence for each state that steps of the size that is set leave where the curvature is largest."""
    alike: dict[Stiff, list[str]] = {}
    for each in stiff_states(network):
        alike.setdefault(replace(each, state=""), []).append(each.state)
    for stiff, states in alike.items():
        along, rim = listed(states), stiff.edge is not None
        at = f"where {'it is' if len(states) == 1 else 'they are'} {stiff.edge:g}" if rim else "everywhere"
        curvature = f"the curvature of {listed(stiff.terms)} along {along} is at least {stiff.least:,.4g} {at}"
        besides = f", to which {listed(stiff.others)} adds what the weights decide" if stiff.others else ""
        leaves = "states that rest near there" if rim else "every state of rest"
        step = f"relax.step = {stiff.step:g} is above 2/L: {curvature}{besides}"
        yield f"{step}, and steps above {stiff.limit:.3g} leave {leaves}; {_smaller(network, stiff, states)}"


def _smaller(network: Network, stiff: Stiff, states: list[str]) -> str:
    """Say which steps and solvers settle stiff states."""
    ways = [f"relax.step = {stiff.short:g} with more steps", "relax.step = auto", "relax.solver = newton"]
    certified = certified_step(network)
    if certified is not None:
        ways.insert(1, f"relax.step = certified (which is {certified:.3g})")
    if all(moves_exactly(network, state) for state in states):
        ways.append("relax.solver = blocks")
    return f"what helps: {listed(ways, 'or')}"


def kink_notes(derivation: Derivation) -> Iterator[str]:
    """Yield a sentence for each kink of an energy: how it moves, or why it stays in the gradient."""
    for name, proximal in derivation.proximal.items():
        yield f"the kink of {listed(proximal.energies)} on {name} moves by a proximal step: {proximal.operator}"
    if derivation.proximal:
        edge = "the force on each entry that rests on a kink is smaller than its weight (strict complementarity)"
        yield f"a rule that is exact at rest is so where {edge}"
    for kink in derivation.kinks.staying:
        yield f"a kink of {kink.energy} stays in the force on {kink.state}, which may not rest there: {kink.why}"


def block_notes(derivation: Derivation, classes: Classes) -> Iterator[str]:
    """Yield how the states of a network whose solver is block descent move, in the order of a sweep."""
    if derivation.network.relax.solver != "blocks":
        return
    blocks = derivation.blocks
    order = ", then ".join(map(listed, blocks.order))
    one = len(blocks.order) == 1
    yield f"a sweep moves {order}" + ("" if one else "; a nudged one the other way round")
    yield f"moved exactly, without a step: {listed(blocks.slopes)}"
    for name, why in blocks.others.items():
        yield f"{name} moves by its step: {why}"
    if classes.unproved:
        yield f"a sweep goes down no energy: {listed(classes.unproved)} is not proved to be a gradient"
    elif _goes_down(derivation):
        yield "no sweep of a free phase raises the energy by more than rounding"
    held = [name for name in blocks.nudged if name in blocks.slopes and name not in blocks.cost_slopes]
    if held:
        yield f"a nudge of {listed(held)} is held while it moves: the slope of dC/d{held[0]} is not one number"


def _goes_down(derivation: Derivation) -> bool:
    """Whether each move of a sweep is to the least energy: all states move exactly, by energies alone."""
    network = derivation.network
    others = derivation.blocks.others or derivation.stopped or network.forces or network.flows or network.batch_mates
    return not others


def idle_settings(network: Network, classes: Classes) -> Iterator[str]:
    """Yield a sentence for each setting without effect on this network."""
    relax, nudge, train = network.relax, network.nudge, network.train
    early = relax.exit == "early" and relax.tolerance is not None
    if relax.max_steps is not None and relax.max_steps < relax.steps and not early:
        yield f"relax.max_steps = {relax.max_steps} does nothing: relax.steps = {relax.steps} are made in any case"
    if relax.tolerance is None:
        exits = f"relax.exit = {relax.exit}" if relax.exit != "settled" else ""
        for setting in filter(None, (exits, f"relax.patience = {relax.patience}" if relax.patience > 1 else "")):
            yield f"{setting} does nothing: relax has no tolerance"
    if relax.solver == "anderson" and relax.tolerance is None and relax.steps == 1:
        yield "relax.solver = anderson does nothing: relax.steps = 1 leaves no steps to mix"
    elif relax.solver == "anderson" and relax.tolerance is not None and relax.chunk == 1:
        yield "relax.solver = anderson does little: it forgets its past at each look, after relax.chunk = 1"
    yield from _idle_products(network)
    if relax.proximal == "off" and not proximal_of(replace(network, relax=replace(relax, proximal="auto"))):
        yield "relax.proximal = off does nothing: no kink would move by a proximal step"
    every = nudge.snapshots
    if nudge.tolerance is not None and every is None:
        yield "nudge.tolerance does nothing: the contrast is looked at every nudge.snapshots steps, which is not set"
    if nudge.max_steps is not None and nudge.tolerance is None:
        yield f"nudge.max_steps = {nudge.max_steps} does nothing: nudge has no tolerance"
    elif nudge.max_steps is not None and nudge.max_steps <= nudge.steps:
        yield f"nudge.max_steps = {nudge.max_steps} does nothing: nudge.steps = {nudge.steps} are made in any case"
    if every is not None and 2 * every > nudge.steps:
        reason = f"two snapshots are compared, and nudge.steps = {nudge.steps} has room for {nudge.steps // every}"
        yield f"nudge.snapshots = {every} does nothing: {reason}"
    if train.controlled is not None and not classes.unproved:
        yield "train.penalty does nothing: every term is conservative, so there is no J_nc to penalise"
    elif train.controlled is not None and early and train.controlled.target <= (relax.tolerance or 0):
        yield (
            f"train.penalty has target = {train.controlled.target:g}, and relax.exit = early ends samples just below "
            f"relax.tolerance = {relax.tolerance:g}: its weight climbs to its ceiling even if every sample settles; "
            "set a target of twice the tolerance or more"
        )
    if train.lr is not None and train.final_lr is None and 0 < len(network.params) == len(train.rates):
        yield f"train.lr = {train.lr:g} does nothing: every param has a rate of its own"


def _idle_products(network: Network) -> Iterator[str]:
    """Yield a sentence if a free phase that is to begin with rounded products does not."""
    relax, train = network.relax, network.train
    if not relax.products:
        return
    longest, idle = relax.steps if relax.tolerance is None else relax.longest, f"relax.products = {relax.products}"
    if relax.products == train.products:
        yield f"{idle} does nothing: train.products is the same"
    elif train.dtype == "float64":
        yield f"{idle} does nothing: train.dtype is float64"
    elif 2 * relax.stride > longest:
        room = f"it takes relax.chunk = {relax.stride} steps, and leaves as many"
        yield f"{idle} does nothing: {room}, and at most {longest} are made"


def floor_notes(classes: Classes) -> Iterator[str]:
    """Yield a sentence if the energy is not bounded below at some weights, where states may run away."""
    for claim in classes.claims:
        if claim.claim == "bounded below" and claim.verdict == "refuted":
            yield (
                f"{claim.about} has no floor at some weights, to which training may lead: then states run away; "
                "a set that bounds them, or weights that `in [lo, hi]` bounds, would prevent it"
            )


def batch_mates(network: Network) -> Iterator[str]:
    """Yield a sentence if answers depend on the other samples of a batch."""
    mates = network.batch_mates
    if mates:
        when = "in training " if all(mates.values()) else ""
        readers = f"{listed(mates)} {'reads' if len(mates) == 1 else 'read'}"
        yield f"{when}a sample depends on its batch mates: {readers} statistics of the batch"


def missing_cost(network: Network) -> Iterator[str]:
    """Yield a sentence if the network has no cost."""
    if network.cost is None:
        yield f"{network.name} has no cost: it relaxes, and train refuses it"
