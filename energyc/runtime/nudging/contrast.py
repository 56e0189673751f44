"""The contrast of nudged phases, which all variants of equilibrium propagation share."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.gradients import not_exploded, restricted
from energyc.runtime.equations.parts import chosen
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
    kind = kind or (chosen("nudges", "together") if net._joins else NudgedPair)
    beta = nudging_strength(net, free, fixed, targets, settings, drive=kind.drive_of(net))
    nudge = settings.nudge._replace(step=free.step)
    pair = kind(net, free.states, fixed, targets, beta, nudge.step)
    monitor = NudgeMonitor(nudge, net.dtype)
    shots = None if net.snapshots is None else chosen("nudges", "snapshots")(net.snapshots)
    for k, count in monitor.strides(net.snapshots):
        if monitor.is_due(k) and monitor.settled(pair.change()):
            break
        pair.steps_(count)
        if shots is not None:
            shots.offer(k + count, pair.plus, pair.minus)
    plus, minus = (pair.plus, pair.minus) if shots is None else shots.best(pair.plus, pair.minus)
    diverging, health = (None, {}) if shots is None else (shots.diverging, shots.health())
    descends = net.descends and kind.descends
    return contrast(net, free, plus, minus, fixed, targets, 2 * beta, beta, diverging, health, descends=descends)


def contrast(
    net: Equations,
    free: FreePhase,
    plus: Tensors,
    minus: Tensors,
    fixed: Fixed,
    targets: Tensors,
    width: float,
    beta: float,
    diverging: Tensor | None = None,
    health: Mapping[str, Tensor] = {},
    *,
    descends: bool = False,
) -> Estimate:
    """Each param reads only the terms it is in; forces without an energy take <a, dF/dtheta> at z*.

    Where a network ``descends`` its energies in a metric, all energies are contrasted and no force is left. ``width``
    is the difference of both nudging strengths. Samples whose free phase exploded or whose nudged phases are
    ``diverging`` or not finite take no part.
    """
    kept = not_exploded(free) & finite([*plus, *minus])
    if diverging is not None:
        kept &= ~diverging
    at, (states, plus, minus, aims) = restricted(kept, fixed, free.states, plus, minus, targets)
    energy = {name: slope.div_(width) for name, slope in energy_contrast(net, plus, minus, at, descends).items()}
    a = [(m - p) / width for m, p in zip(minus, plus)]
    forces = {} if descends else net._user_force_gradient(states, at, a)
    slopes = [energy, forces, net._cost_gradient(states, at, aims)]
    return Estimate(free, slopes, kept, None if descends else a, beta, health)


def energy_contrast(
    net: Equations, plus: Tensors, minus: Tensors, fixed: Fixed, descends: bool = False
) -> dict[str, Tensor]:
    """dE/dtheta at ``plus`` less that at ``minus``, in memory of its own; with ``descends`` of all energies."""
    slope = net._descent_gradient if descends else net._energy_gradient
    upper, lower = slope(plus, fixed), slope(minus, fixed)
    apart = {name: upper[name].sub_(lower[name]) for name in upper}
    return apart if descends else {**net._energy_contrast(plus, minus, fixed), **apart}
