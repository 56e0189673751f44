"""The error that an unconverged free phase adds to a one-sided contrast."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from energyc.running.training.network import Tensors
from energyc.runtime.equations.inputs import free_phase, ordered_targets, prepared
from energyc.runtime.equations.records import FreePhase, RuleSettings
from energyc.runtime.nudging.strength import trial_nudge
from energyc.runtime.rules import RULES

#: The share of the nudge's displacement above which a drift is reported.
LARGE = 0.1


class Samples(Protocol):
    """Clamps and targets of some samples."""

    @property
    def clamps(self) -> Tensors:
        """The clamps by name."""

    @property
    def targets(self) -> Tensors:
        """The targets by name."""


@torch.no_grad()
def drift(net: Any, gradients: Any, samples: Samples, rule: str) -> float:
    """Return how far a state moves without a nudge, relative to how far the nudge moves it: the largest of all states.

    It is 0 for rules whose two nudged phases share the drift.
    """
    if RULES[rule].order != 1 or gradients.beta is None:
        return 0.0
    fixed, phase = prepared(net, samples.clamps), free_phase(net, None, None, None)
    states = [gradients.states[name] for name in net.state_names]
    free = FreePhase(states, gradients.residual, gradients.steps, gradients.health["frozen"], gradients.step)
    settings = RuleSettings(phase, phase._replace(steps=net.nudge_steps), None, net.points, 0.0, 0.0)
    moves, drifts = trial_nudge(net, free, fixed, ordered_targets(net, samples.targets, fixed), settings)
    return max(
        (drifted / (abs(gradients.beta) * moved) for moved, drifted in zip(moves, drifts, strict=True) if moved > 0),
        default=0.0,
    )


def warning(net: Any, gradients: Any, samples: Samples, rule: str) -> str:
    """Return a warning about a large drift, or an empty string."""
    share = drift(net, gradients, samples, rule)
    if share <= LARGE:
        return ""
    return (
        f"as configured the free phase still moves {share:.1g} times as far as the nudge, which a one-sided contrast"
        " reads: a tighter relax.tolerance, a larger nudge.beta, or centered-ep"
    )
