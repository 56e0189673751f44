"""The contrast of nudged phases, which all variants of equilibrium propagation share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.gradients import Slopes, not_exploded, restricted
from energyc.runtime.equations.parts import carries, chosen
from energyc.runtime.equations.records import Estimate, Fixed, FreePhase, RuleSettings
from energyc.runtime.nudging.nudged import NudgeMonitor
from energyc.runtime.nudging.pairs import NudgedPair
from energyc.runtime.nudging.strength import nudging_strength
from energyc.runtime.tensors.states import Tensors, finite


def centred(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    kind: type[NudgedPair] | None = None,
) -> Estimate:
    """The contrast of nudged phases of a ``kind`` at +beta and -beta, which run in lockstep.

    By default nothing is corrected, and the network says whether they are one batch.
    """
    if kind is None:
        kind = chosen("nudges", "together") if carries("nudges", "together") and net._joins else NudgedPair
    with net._contrasting():
        beta = nudging_strength(net, free, fixed, targets, settings, drive=kind.drive_of(net))
        nudge = settings.nudge._replace(step=free.step)
        pair: Any = kind(net, free.states, fixed, targets, beta, nudge.step)
        monitor = NudgeMonitor(nudge, net.dtype)
        if net.snapshots is not None:
            pair = chosen("nudges", "snapshots")(pair, net.snapshots)
        for k, count in monitor.strides():
            if monitor.is_due(k) and monitor.settled(pair.change()):
                break
            pair.steps_(count)
        if net.snapshots is not None:
            pair.take_best_()
    if net.descends and kind.descends:
        found = descended(net, free, pair.plus, pair.minus, fixed, targets, 2 * beta, beta)
    else:
        found = contrast(net, free, pair.plus, pair.minus, fixed, targets, 2 * beta, beta)
    if net.snapshots is not None:
        found = found._replace(health=pair.health())
    return found


def contrast(
    net: Equations,
    free: FreePhase,
    plus: Tensors,
    minus: Tensors,
    fixed: Fixed,
    targets: Tensors,
    width: float,
    beta: float,
) -> Estimate:
    """Each param reads only the terms it is in; forces without an energy take <a, dF/dtheta> at z*.

    ``width`` is the difference of both nudging strengths. Samples whose free phase exploded or whose nudged phases are
    not finite take no part.
    """
    kept = not_exploded(free) & finite([*plus, *minus])
    at, (states, plus, minus, aims) = restricted(kept, fixed, free.states, plus, minus, targets)
    energy = {name: slope.div_(width) for name, slope in energy_contrast(net, plus, minus, at).items()}
    a = [(m - p) / width for m, p in zip(minus, plus)]
    slopes = [energy, net._user_force_gradient(states, at, a), net._cost_gradient(states, at, aims)]
    return Estimate(free, slopes, kept, a, beta)


def energy_contrast(net: Equations, plus: Tensors, minus: Tensors, fixed: Fixed) -> Slopes:
    """dE/dtheta at ``plus`` less that at ``minus``, in memory of its own."""
    return {**net._energy_contrast(plus, minus, fixed), **apart(net._energy_gradient, plus, minus, fixed)}


def descended(
    net: Equations,
    free: FreePhase,
    plus: Tensors,
    minus: Tensors,
    fixed: Fixed,
    targets: Tensors,
    width: float,
    beta: float,
) -> Estimate:
    """The contrast where a network descends its energies in a metric: of all energies, and no force is left."""
    kept = not_exploded(free) & finite([*plus, *minus])
    at, (states, plus, minus, aims) = restricted(kept, fixed, free.states, plus, minus, targets)
    energy = {name: slope.div_(width) for name, slope in apart(net._descent_gradient, plus, minus, at).items()}
    return Estimate(free, [energy, net._cost_gradient(states, at, aims)], kept, beta=beta)


def apart(gradient: Callable[[Tensors, Fixed], Slopes], plus: Tensors, minus: Tensors, fixed: Fixed) -> Slopes:
    """A gradient at ``plus`` less that at ``minus``, in memory of its own."""
    upper, lower = gradient(plus, fixed), gradient(minus, fixed)
    return {name: upper[name].sub_(lower[name]) for name in upper}
