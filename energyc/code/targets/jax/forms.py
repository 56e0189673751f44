"""The networks and the rules that the target has a form for; for any other, the reason in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from energyc.code.plan import ModulePlan
from energyc.derivation.derive import Derivation
from energyc.language.diagnostics import Option, UserError, listed, spoken
from energyc.language.network import Network
from energyc.runtime import Declaration

#: The rules that ``energyc.jax`` has.
RULES = ("ep", "centered-ep", "vf", "aep", "tracking-aep", "implicit", "adjoint", "bptt", "tbptt")
#: Rules that run a nudged phase, or as many steps as one has.
_NUDGED = frozenset(RULES) - {"implicit", "bptt"}
#: Rules that are not for layers: what comes back to one is known at its last states alone.
_WITHOUT_LAYERS = frozenset({"tbptt"})
#: Rules that go back through steps. They are not for sweeps of blocks, and not for steps that a relaxation chooses. No
#: other ones are for a network that differs in training.
_THROUGH_STEPS = frozenset({"bptt", "tbptt"})


def written(planned: ModulePlan, rules: Sequence[Declaration]) -> tuple[str, ...]:
    """The rules that are written of those that are asked for, in order.

    Raises UserError where the network has no form, or none of the rules has.
    """
    network = planned.network
    parts = planned.layers or {"": planned}
    if planned.layers and network.training is not None:
        raise _no_form(f"{network.name} has no form in JAX yet: what is around its layers reads training")
    for name, part in parts.items():
        reason = next(_without(part.equations, part.derivation, bool(name)), None)
        if reason is not None:
            where = f"of its layer {name}, " if name else ""
            raise _no_form(f"{network.name} has no form in JAX yet: {where}{reason}")
    possible = [rule.name for rule in rules if rule.name in RULES]
    if planned.layers:
        possible = [name for name in possible if name not in _WITHOUT_LAYERS]
    if any(p.equations.relax.solver == "blocks" or p.equations.relax.step is None for p in parts.values()):
        possible = [name for name in possible if name not in _THROUGH_STEPS]
    if any(part.equations.training is not None for part in parts.values()):
        possible = [name for name in possible if name in _THROUGH_STEPS]
    if planned.derivation.proximal and network.numbered:
        possible = [name for name in possible if name not in _THROUGH_STEPS]
    by_number = all(part.equations.nudge.steps is not None for part in parts.values())
    if not by_number:
        possible = [name for name in possible if name not in _NUDGED]
    asked = [rule.name for rule in rules if rule.name != "implicit"]
    if asked and not set(asked) & set(possible):
        of_phases = "" if by_number else " with nudged phases to convergence"
        raise _no_form(f"{listed(asked)} of {network.name}{of_phases} {_has(asked)} no form in JAX yet")
    return tuple(possible)


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _no_form(message: str) -> UserError:
    return UserError(message, help=spoken("use another target, as {}", Option("target", "torch")))


def _without(network: Network, derivation: Derivation, layer: bool) -> Iterator[str]:
    """Why a network has no form."""
    relax = network.relax
    if relax.solver not in ("gradient", "blocks"):
        yield f"its solver is {relax.solver}"
    if relax.step is None and layer:
        yield "each relaxation chooses its step"
    if relax.step is None and network.numbered:
        yield "each relaxation chooses its step, and its force reads the number of the step"
    if relax.step is None and relax.exit == "inference":
        yield "each relaxation chooses its step and ends by exit = inference"
    trained = network.training is not None
    if relax.exit == "inference" and not trained:
        yield "its relaxation ends otherwise in training, which nothing in it reads"
    if relax.exit != "inference" and relax.patience > 1:
        yield f"its relaxation ends by exit = {relax.exit}, patience = {relax.patience}"
    if relax.products or network.train.products:
        yield "its products are rounded"
    if network.numbered and relax.tolerance is not None and relax.exit != "inference":
        yield "its force reads the number of the step, and it relaxes to a tolerance"
    if trained and (layer or (relax.tolerance is not None and relax.exit != "inference")):
        yield "it is another network in training"
    if any(not only for only in network.batch_mates.values()):
        yield "samples depend on others of their batch"
    if derivation.proximal and layer:
        yield f"a kink of {listed(list(derivation.proximal))} moves by a proximal step in a layer"
