"""The cost of rounded products: a gradient with them beside the same one without, and both beside the exact one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from energyc.language.diagnostics import is_out_of_memory
from energyc.runtime import with_products
from energyc.studies.verify.compare import Measure, measure_all
from energyc.studies.verify.probe import Probe

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


def products_cost(net: Any, exact: Any, probe: Probe, rule: str) -> ProductsCost | None:
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
    try:
        reference = exact.gradients(probe.clamps, probe.targets, "implicit", tolerance=AT_REST).params
    except RuntimeError as error:  # the implicit solve, where nothing is at rest
        if is_out_of_memory(error):
            raise
        reference = None
    phased = [
        Phased(
            Measure(math.nan, math.nan) if reference is None else measure_all(found.params, reference),
            float(found.residual.max()),
            int(found.steps.max()),
        )
        for found in pair
    ]
    return ProductsCost(settings, rule, measure_all(pair[0].params, pair[1].params), *phased)
