"""The verdict on each learning rule for a network, and the terms that decide it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from energyc.derivation.derive import NoPredictions, predictions, proximal_of
from energyc.language.diagnostics import listed
from energyc.language.network import Network, State
from energyc.mathematics.calculus import is_cut
from energyc.mathematics.ir import walk
from energyc.proofs.claims.claims import INVERTIBLE
from energyc.proofs.claims.classes import Claim
from energyc.proofs.claims.holomorphy import obstacles
from energyc.proofs.conservativeness.classify import Classification
from energyc.proofs.conservativeness.descent import Descent, only_through
from energyc.runtime import RULES, Declaration

Worth = Literal["exact", "surrogate", "biased", "unproved", "inadmissible"]


@dataclass(frozen=True)
class RuleVerdict:
    """``exact``, ``surrogate``, ``biased``, ``unproved`` or ``inadmissible``, the reason, and a rule to use instead.

    A ``surrogate`` gives the exact gradient of something else than the cost. ``terms`` are the terms that decide the
    verdict, ``needed`` is what has to hold for an ``unproved`` rule to be exact.
    """

    verdict: Worth
    why: str = ""
    use_instead: str | None = None
    terms: tuple[str, ...] = ()
    needed: str = ""


def admissible(
    network: Network, classification: Classification, claims: Iterable[Claim] = (), layer: bool = False
) -> dict[str, RuleVerdict]:
    """The verdict on every rule, in the order of the catalogue, by the classes of a network or ``layer`` and claims."""
    descent = descent_facts(network, classification, claims, layer) if classification.descents else None
    numbered = [] if network.step is None else [f"{name} reads {network.step.name}" for name in network.numbered]
    facts = Facts(
        classification,
        [*obstacles(network, classification), *proximal_obstacles(network)],
        network.relax.irreversible,
        numbered,
        bool(network.batch_mates),
        descent,
        clamped_facts(network),
        _cut_short(network),
    )
    return {name: facts.verdict(rule) for name, rule in RULES.items()}


def _cut_short(network: Network) -> str:
    """The part of a relaxation that the last steps alone do not see, where it need not settle; else empty."""
    if not network.numbered:
        return ""
    last, steps = network.nudge.steps, network.relax.steps
    if last < steps:
        return f"the first {steps - last} of {steps} steps, which it leaves out (`nudge.steps` is {last})"
    params = {param.node: name for name, param in network.params.items()}
    starts = {name: state.start for name, state in network.states.items() if state.start is not None}
    read = {name: [params[n] for n in walk([start]) if n in params] for name, start in starts.items()}
    return "; ".join(f"the start of {name}, which reads {', '.join(given)}" for name, given in read.items() if given)


def proximal_obstacles(network: Network) -> Iterator[str]:
    """The proximal steps of a network, which have no holomorphic extension."""
    for name, kinks in proximal_of(network).items():
        yield f"{name} moves proximally along {listed(kinks.energies)}"


@dataclass(frozen=True)
class ClampedFacts:
    """Why no phase can be clamped and contrasted (empty where one can), and why nothing is predicted.

    ``costs`` is what the cost is called, ``untrained`` are the params that no energy reads.
    """

    unclamped: str
    energies: str
    unpredicted: str
    cost: str
    untrained: tuple[str, ...]


def clamped_facts(network: Network) -> ClampedFacts:
    """The facts of a clamped phase: what is clamped, and whether the energy of all that moves is known."""
    read = set(walk([term.node for term in network.energies.values()]))
    return ClampedFacts(
        "" if network.clamped else "no state is clamped, as by `clamped y[k] = where(k == label, 1, 0)`",
        _no_energy(network),
        _unpredicted(network),
        network.cost.name if network.cost else "a cost",
        tuple(name for name, param in network.params.items() if param.node not in read),
    )


def _no_energy(network: Network) -> str:
    """Why energies at two distant states do not tell how params act on what moves."""
    if network.forces:
        return f"{next(iter(network.forces))} is not written as an energy"
    states = {state.node for state in network.states.values()}
    for name, term in network.energies.items():
        cuts = [node for node in walk([term.node]) if is_cut(node)]
        if any(node in states for node in walk(cuts)):
            return f"{name} holds a state fixed"
    return ""


def _unpredicted(network: Network) -> str:
    try:
        predictions(network)
    except NoPredictions as reason:
        return str(reason)
    return ""


@dataclass(frozen=True)
class DescentFacts:
    """Why a contrast of energies is exact in a network that goes down them in a metric, and what speaks against it.

    ``rest`` says where its equilibria must be; with ``against`` it is biased, with ``doubt`` unproved unless ``needed``
    holds.
    """

    rest: str
    against: str = ""
    doubt: str = ""
    needed: str = ""


def descent_facts(
    network: Network, classification: Classification, claims: Iterable[Claim], layer: bool
) -> DescentFacts:
    """The facts of a metric descent.

    With P dC/dg for the nudge the contrast of dE/dtheta tends to the gradient where dE/dg = 0 at rest: wherever a flow
    rests whose P is invertible (docs/rules.md).
    """
    inverted = {c.proof.about[0]: c.proof.rule for c in claims if c.claim == INVERTIBLE and c.proof is not None}
    lets = dict.fromkeys(d.by for d in classification.descents.values() if d.by != d.state)
    rest = f"where the states rest at a critical point of the energy in {', '.join(lets)}" if lets else ""
    for descent in classification.descents.values():
        state, word = network.states[descent.state], network.flows[descent.state].word
        rule = "plain" if descent.plain else inverted.get(descent.state, "")
        if not descent.energies:
            return DescentFacts(rest, f"the {word} of {descent.state}, whose energy is not written")
        if not _keeps_critical(state, descent, rule):
            return DescentFacts(rest, f"the set of {descent.state}, on which the energy need not be critical")
        if network.cost is not None and not only_through(network.cost.node, state.node, descent.at):
            return DescentFacts(rest, f"the cost, which reads {descent.state} beside {descent.by}")
        if layer:
            return DescentFacts(rest, f"the nudge of a layer, before which the {word} of {descent.state} has no P")
        if not rule:
            doubt = f"P in the {word} of {descent.state}"
            return DescentFacts(rest, doubt=f"{doubt}, which may be singular", needed=f"{doubt} is invertible")
    return DescentFacts(rest)


def _keeps_critical(state: State, descent: Descent, rule: str) -> bool:
    """Whether a state on a set rests where the energy by it is critical on the set.

    A positive number before the gradient turns no force out of the cone normal to a set. A factor of each element that
    is nowhere 0 leaves the elements of a box that are off its rims at slope 0, and the others do not move.
    """
    if state.constraint is None:
        return True
    boxed = state.constraint.kind in ("box", "nonnegative")
    return descent.by == descent.state and (rule == "plain" or (rule == "elementwise" and boxed))


@dataclass(frozen=True)
class Facts:
    """The premises of the verdicts: the classes, the obstacles to holomorphy.

    ``irreversible`` says why steps cannot be taken back, ``numbered`` which forces read the number of the step,
    ``coupled`` whether a statistic of the batch is, ``cut_short`` what the last steps of a relaxation leave out.
    """

    classification: Classification
    not_holomorphic: list[str]
    irreversible: str
    numbered: list[str]
    coupled: bool
    descent: DescentFacts | None
    clamping: ClampedFacts
    cut_short: str

    def verdict(self, rule: Declaration) -> RuleVerdict:
        """The verdict on a rule."""
        classification = self.classification
        if "trajectory" in rule.needs and self.irreversible:
            return RuleVerdict("inadmissible", self.irreversible, "implicit")
        if "trajectory" not in rule.needs and self.numbered:
            why = f"the force depends on the step number, so there is no equilibrium: {', '.join(self.numbered)}"
            return RuleVerdict("inadmissible", why, "bptt")
        if rule.truncates and self.cut_short:
            return RuleVerdict("biased", self.cut_short, "bptt")
        if barred := self._unclamped(rule):
            return RuleVerdict("inadmissible", barred, self._unpredicting_rule())
        if rule.objective is not None:
            return RuleVerdict("surrogate", self._surrogate(rule))
        if "holomorphic" in rule.needs and self.not_holomorphic:
            why = "not holomorphic: " + ", ".join(self.not_holomorphic)
            return RuleVerdict("inadmissible", why, self._real_rule())
        if rule.contrasts and classification.detached:
            cut = "a batch statistic" if self.coupled else "detach(...)"
            why = f"{cut} of a state in " + ", ".join(classification.detached)
            return RuleVerdict("biased", why, "implicit", classification.detached)
        if rule.exact == "any" or classification.kind == "conservative":
            return RuleVerdict("exact")
        if self.descent is not None:
            return self._of_descent(rule, self.descent)
        terms = classification.together.deciding if classification.together else ()
        why, needed = ", ".join(terms) + self._off_the_jumps(), ""
        if classification.kind == "undecided":
            needed = f"{listed(terms)} {'is' if len(terms) == 1 else 'are together'} conservative"
        return RuleVerdict("unproved" if needed else "biased", why, rule.instead, terms, needed)

    def _unclamped(self, rule: Declaration) -> str:
        """Why a phase that a rule compares is not there."""
        facts = self.clamping
        if "clamped" in rule.needs and (facts.unclamped or facts.energies):
            return facts.unclamped or facts.energies
        if "predictions" in rule.needs and facts.unpredicted:
            return f"the energy is not a sum of squared prediction errors: {facts.unpredicted}"
        return ""

    def _surrogate(self, rule: Declaration) -> str:
        """The objective that a rule differentiates in the place of the cost."""
        facts = self.clamping
        beside = f", and {', '.join(facts.untrained)} stay as they are" if facts.untrained else ""
        return f"the gradient of {rule.objective}, not of {facts.cost}{beside}"

    def _of_descent(self, rule: Declaration, descent: DescentFacts) -> RuleVerdict:
        terms = tuple(self.classification.descents)
        if descent.against:
            return RuleVerdict("biased", descent.against, rule.instead, terms)
        if descent.doubt:
            return RuleVerdict("unproved", descent.doubt, rule.instead, terms, descent.needed)
        return RuleVerdict("exact", descent.rest)

    def _off_the_jumps(self) -> str:
        """A remark where J is known to be symmetric off jumps and poles, since nudges are small.

        It is by a certificate, or since the force is minus the gradient of an energy that jumps.
        """
        verdict = self.classification.sum_verdict
        symmetric = verdict is not None and (verdict.certificate is not None or verdict.potential is not None)
        return " (exact at equilibria off jumps and poles, where J is symmetric)" if symmetric else ""

    def _unpredicting_rule(self) -> str:
        clamping = self.clamping
        return self._real_rule() if clamping.unclamped or clamping.energies else "chl"

    def _real_rule(self) -> str:
        return "centered-ep" if self.classification.kind == "conservative" else "tracking-aep"
