"""Compare a rule in float32 and float64, with the same weights, inputs and beta."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from energyc.runtime import ordered_targets, prepared
from energyc.studies.verify.compare import measure_each
from energyc.studies.verify.probe import Probe

#: The largest acceptable error of a param.
LIMIT = 0.05


@dataclass(frozen=True)
class PrecisionRow:
    """One param: the relative error of its float32 gradient against float64, and its share of the gradient's norm."""

    param: str
    error: float
    share: float


@dataclass(frozen=True)
class PrecisionTable:
    """The effect of rounding on a network: its residual, beta, the nudge of each state in ulps, and each param's error.

    ``dtype`` is compared with float64; float64 itself has no rows.
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
        """The states with a nudge of less than an ulp a step; where the cost has no slope there is no nudge."""
        return tuple(name for name, ulps in self.nudge_ulps.items() if 0 < ulps < 1)

    def text(self) -> str:
        """Return the table as text."""
        lines = [f"rule {self.rule}, beta {self.beta}, residual {self.residual:.1e}"]
        lines += [f"  nudge on {name}: {ulps:.3g} ulps a step" for name, ulps in self.nudge_ulps.items()]
        lines += [f"  {row.param:12s} error {row.error:.1e}   share {row.share:.1e}" for row in self.rows]
        return "\n".join(lines)


def precision_table(
    single: Any, double: Any, probe: Probe, rule: str = "centered-ep", without: Collection[str] = ()
) -> PrecisionTable:
    """Compare a rule on ``single`` (float32) with ``double`` (float64), which holds the same weights.

    The params in ``without``, which have no gradient, get no rows. The float64 run uses the beta that the float32 run
    chose, so that only rounding differs.
    """
    single_gradients = single.gradients(probe.clamps, probe.targets, rule, allow_biased=True)
    settings = {} if single_gradients.beta is None else {"beta": single_gradients.beta}
    double_gradients = double.gradients(probe.clamps, probe.targets, rule, allow_biased=True, **settings)
    total = torch.cat([gradient.flatten() for gradient in double_gradients.params.values()]).norm()
    errors = measure_each(single_gradients.params, double_gradients.params)
    rows = tuple(
        PrecisionRow(name, errors[name].relative_error, float(gradient.norm() / total))
        for name, gradient in double_gradients.params.items()
        if float(gradient.norm()) > 0 and name not in without
    )
    dtype = str(single.dtype).removeprefix("torch.")
    rows = () if single.dtype is double.dtype else rows
    return PrecisionTable(
        rule,
        single_gradients.beta,
        float(single_gradients.residual.max()),
        _ulps(single, single_gradients, probe),
        rows,
        dtype,
    )


def _ulps(net: Any, gradients: Any, probe: Probe) -> dict[str, float]:
    """Return step * beta * |dC/dz| in ulps of z for each state z that the cost reads, as root mean squares."""
    if gradients.beta is None:
        return {}
    states = [gradients.states[name] for name in net.state_names]
    with torch.no_grad():
        fixed = prepared(net, probe.clamps)
        slopes = net._cost_force(states, fixed, ordered_targets(net, probe.targets, fixed))
    ulps = {}
    for name, state, slope, step in zip(net.state_names, states, slopes, net.relax_step, strict=True):
        if slope is not None:
            size = float(state.square().mean()) ** 0.5 or 1.0
            ulps[name] = (
                step * gradients.beta * float(slope.square().mean()) ** 0.5 / (torch.finfo(net.dtype).eps * size)
            )
    return ulps
