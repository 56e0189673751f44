"""What float32 does to a rule: the same rule, weights, inputs and beta in both precisions (rules.md section 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from energyc.runtime.inputs import ordered_targets, prepared
from energyc.verify.compare import measure_each
from energyc.verify.probe import Probe

#: An error of a param above this fails.
LIMIT = 0.05


@dataclass(frozen=True)
class PrecisionRow:
    """One param: the relative error of its float32 gradient against float64, and its share of the gradient's norm."""

    param: str
    error: float
    share: float


@dataclass(frozen=True)
class PrecisionTable:
    """The table of a network: the residual, the nudge of each state in ulps, beta, and each param's error.

    ``dtype`` is the one compared with float64; float64 itself has no rows.
    """

    rule: str
    beta: float | None
    residual: float
    nudge_ulps: Mapping[str, float]
    rows: tuple[PrecisionRow, ...]
    dtype: str = "float32"

    @property
    def worst(self) -> PrecisionRow:
        """The param with the largest error."""
        return max(self.rows, key=lambda row: row.error)

    @property
    def faint(self) -> tuple[str, ...]:
        """The states whose nudge is under an ulp of them, a step; where the cost has no slope there is no nudge."""
        return tuple(name for name, ulps in self.nudge_ulps.items() if 0 < ulps < 1)

    def text(self) -> str:
        """The table for people."""
        lines = [f"rule {self.rule}, beta {self.beta}, residual {self.residual:.1e}"]
        lines += [f"  nudge on {name}: {ulps:.3g} ulps a step" for name, ulps in self.nudge_ulps.items()]
        lines += [f"  {row.param:12s} error {row.error:.1e}   share {row.share:.1e}" for row in self.rows]
        return "\n".join(lines)


def precision_table(
    single: Any, double: Any, probe: Probe, rule: str = "centered-ep", without: Collection[str] = ()
) -> PrecisionTable:
    """Compare a rule on ``single`` (float32) with ``double`` (float64), which holds the same weights.

    There are no rows of the params ``without`` a gradient.
    The float64 run uses the beta that the float32 run chose, so that what differs is rounding alone.
    """
    low = single.gradients(probe.clamps, probe.targets, rule, allow_biased=True)
    settings = {} if low.beta is None else {"beta": low.beta}
    high = double.gradients(probe.clamps, probe.targets, rule, allow_biased=True, **settings)
    total = torch.cat([g.flatten() for g in high.params.values()]).norm()
    errors = measure_each(low.params, high.params)
    rows = tuple(
        PrecisionRow(n, errors[n].relative_error, float(g.norm() / total))
        for n, g in high.params.items()
        if float(g.norm()) > 0 and n not in without
    )
    dtype = str(single.dtype).removeprefix("torch.")
    rows = () if single.dtype is double.dtype else rows
    return PrecisionTable(rule, low.beta, float(low.residual.max()), _ulps(single, low, probe), rows, dtype)


def _ulps(net: Any, gradients: Any, probe: Probe) -> dict[str, float]:
    """step * beta * |dC/dz| in ulps of z, for the states that the cost reads: root mean squares."""
    if gradients.beta is None:
        return {}
    states = [gradients.states[name] for name in net.state_names]
    with torch.no_grad():
        fixed = prepared(net, probe.clamps)
        slopes = net._cost_force(states, fixed, ordered_targets(net, probe.targets, fixed))
    found = {}
    for name, z, slope, step in zip(net.state_names, states, slopes, net.relax_step, strict=True):
        if slope is not None:
            size = float(z.square().mean()) ** 0.5 or 1.0
            found[name] = (
                step * gradients.beta * float(slope.square().mean()) ** 0.5 / (torch.finfo(net.dtype).eps * size)
            )
    return found
