"""Compare a rule in float32 and float64, and with rounded products, at the same weights, inputs and beta."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from energyc.running.training.feeds import Batch
from energyc.runtime import ordered_targets, prepared, with_products
from energyc.studies.verify.compare import Measure, measure_all, measure_each
from energyc.studies.verify.work import solvable

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


def precision_table(
    single: Any, double: Any, probe: Batch, rule: str = "centered-ep", without: Collection[str] = ()
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


def _ulps(net: Any, gradients: Any, probe: Batch) -> dict[str, float]:
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


# ------------------------------------------------------------------ rounded products

#: The residual at which the exact gradient is taken.
AT_REST = 1e-9


@dataclass(frozen=True)
class Phased:
    """A gradient: beside the exact one, and the residual and the steps of the slowest sample of its free phase."""

    exact: Measure
    residual: float
    steps: int


@dataclass(frozen=True)
class ProductsCost:
    """A rule with ``train.products`` and ``relax.products`` as set, and with products in float32.

    ``beside`` compares the first gradient with the second.
    """

    settings: tuple[str, ...]
    rule: str
    beside: Measure
    rounded: Phased
    plain: Phased

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        pair = {"rounded": self.rounded, "float32": self.plain}
        phases = {
            name: {"exact": p.exact.to_json(), "residual": p.residual, "steps": p.steps} for name, p in pair.items()
        }
        return {"settings": list(self.settings), "rule": self.rule, **self.beside.to_json(), **phases}


def products_cost(net: Any, exact: Any, probe: Batch, rule: str) -> ProductsCost | None:
    """Measure the rounded products of a network in float32; None where it has none.

    ``exact`` is the same network in float64, in which nothing is rounded.
    """
    first = None if net.relax_products == "products" else net.relax_products
    given = {"train.products": net.products, "relax.products": first}
    settings = tuple(f"{name} = {value}" for name, value in given.items() if value not in (None, "float32"))
    if not settings:
        return None
    pair = [net.gradients(probe.clamps, probe.targets, rule, allow_biased=True)]
    with with_products(net, "float32"):
        begun, net.relax_products = net.relax_products, None
        try:
            pair.append(net.gradients(probe.clamps, probe.targets, rule, allow_biased=True))
        finally:
            net.relax_products = begun
    at_rest = solvable(lambda: exact.gradients(probe.clamps, probe.targets, "implicit", tolerance=AT_REST))
    reference = None if at_rest is None else at_rest.params
    phased = [
        Phased(
            Measure(math.nan, math.nan) if reference is None else measure_all(found.params, reference),
            float(found.residual.max()),
            int(found.steps.max()),
        )
        for found in pair
    ]
    return ProductsCost(settings, rule, measure_all(pair[0].params, pair[1].params), *phased)
