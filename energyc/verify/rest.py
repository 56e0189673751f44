"""The equilibrium that every measurement starts from: found in float64, with a smaller step where the network's own
step does not settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from energyc.verify.probe import Probe

#: A residual at the network's own step below which a free phase counts as converged.
CONVERGED = 1e-9
#: What each own step is multiplied by until some samples settle.
FACTORS = (1.0, 0.25, 0.05)


@dataclass(frozen=True)
class Rest:
    """Where the free phase ended.

    ``states`` and ``probe`` are of the samples that settled, ``residual`` [samples] and ``last`` of all of them;
    ``step`` is ``factor`` times the network's own.
    """

    states: dict[str, Tensor]
    probe: Probe
    residual: Tensor
    steps: int
    step: tuple[float, ...]
    factor: float
    last: dict[str, Tensor]

    @property
    def settled(self) -> int:
        """How many samples settled."""
        return int((self.residual <= CONVERGED).sum())

    @property
    def samples(self) -> int:
        """How many there were."""
        return len(self.residual)

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(self.residual.max())


def rest(net: Any, probe: Probe, most_steps: int) -> Rest:
    """Relax in float64 until the residual is far below what counts as converged, or the budget is spent.

    The network's own steps come first; smaller ones are tried only where no sample settles, since a fixed point does
    not depend on the step.
    """
    tried = []
    for factor in FACTORS if len(set(net.relax_step)) == 1 else FACTORS[:1]:
        found = _relaxed(net, probe, factor, most_steps)
        if found.settled:
            return found
        tried.append(found)
    return tried[0]


def _relaxed(net: Any, probe: Probe, factor: float, most_steps: int) -> Rest:
    size = None if factor == 1.0 else net.relax_step[0] * factor
    found = net.relax(probe.clamps, step=size)
    taken = int(found.steps.max())
    while taken < most_steps and not float(found.residual.max()) <= CONVERGED / 1e4:
        before = float(found.residual.max())
        found = net.relax(probe.clamps, steps=max(100, taken), step=size, states=found.states)
        taken += max(100, taken)
        now = float(found.residual.max())
        if not now < 1e6 or (now > 0.9 * before and (before < CONVERGED / 10 or taken > most_steps / 4)):
            break
    rows = (found.residual <= CONVERGED).nonzero()[:, 0]
    kept = Probe(rows_of(probe.clamps, rows), rows_of(probe.targets, rows))
    step = tuple(h * factor for h in net.relax_step)
    return Rest(rows_of(found.states, rows), kept, found.residual, taken, step, factor, found.states)


def rows_of(tensors: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Some samples of each tensor."""
    return {name: value[rows] for name, value in tensors.items()}


def copied(states: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """States that may be changed in place."""
    return {name: value.clone() for name, value in states.items()}


__all__ = ["CONVERGED", "Rest", "copied", "rest", "rows_of"]
