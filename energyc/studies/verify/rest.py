"""Find the equilibrium that every measurement starts from, in float64, with a smaller step if the network's own
step does not settle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from energyc.running.training.feeds import Batch

#: A residual at the network's own step below which a free phase counts as converged.
CONVERGED = 1e-9
#: Multiples of the network's own steps, tried until some samples settle.
FACTORS = (1.0, 0.25, 0.05)


@dataclass(frozen=True)
class Rest:
    """The end of the free phase.

    ``states`` and ``probe`` hold the samples that settled, ``residual`` [samples] and ``last`` all samples; ``step`` is
    ``factor`` times the network's own. ``cut_short`` says whether the limit ended it unsettled.
    """

    states: dict[str, Tensor]
    probe: Batch
    residual: Tensor
    steps: int
    step: tuple[float, ...]
    factor: float
    last: dict[str, Tensor]
    cut_short: bool = False

    @property
    def settled(self) -> int:
        """The number of samples that settled."""
        return int((self.residual <= CONVERGED).sum())

    @property
    def samples(self) -> int:
        """The number of all samples."""
        return len(self.residual)

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(self.residual.max())


def rest(net: Any, probe: Batch, most_steps: int, limit: int | None = None) -> Rest:
    """Relax in float64 until the residual is far below ``CONVERGED``, or for about ``most_steps`` steps.

    A ``limit`` is never exceeded.

    Smaller steps than the network's own are tried only if no sample settles, since a fixed point does not depend on
    the step.
    """
    endpoints = []
    for factor in FACTORS if len(set(net.relax_step)) == 1 else FACTORS[:1]:
        endpoint = _relaxed(net, probe, factor, most_steps, math.inf if limit is None else limit)
        if endpoint.settled:
            return endpoint
        endpoints.append(endpoint)
    return endpoints[0]


def _relaxed(net: Any, probe: Batch, factor: float, most_steps: int, limit: float) -> Rest:
    step_size = None if factor == 1.0 else net.relax_step[0] * factor
    longest = net.relax_max_steps or 10 * net.relax_steps
    phase = net.relax(probe.clamps, steps=None if longest <= limit else int(limit), step=step_size)
    steps = int(phase.steps.max())
    while steps < min(most_steps, limit) and not float(phase.residual.max()) <= CONVERGED / 1e4:
        last_residual = float(phase.residual.max())
        more = int(min(max(100, steps), limit - steps))
        phase = net.relax(probe.clamps, steps=more, step=step_size, states=phase.states)
        steps += more
        residual = float(phase.residual.max())
        if not residual < 1e6 or (
            residual > 0.9 * last_residual and (last_residual < CONVERGED / 10 or steps > most_steps / 4)
        ):
            break
    settled = (phase.residual <= CONVERGED).nonzero()[:, 0]
    states = {name: value[settled] for name, value in phase.states.items()}
    step = tuple(h * factor for h in net.relax_step)
    cut_short = steps >= limit and len(settled) < len(phase.residual)
    return Rest(states, probe.select(settled), phase.residual, steps, step, factor, phase.states, cut_short)
