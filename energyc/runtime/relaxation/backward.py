"""What a step in reverse gives, and its sums over steps."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed


class BackwardStep(NamedTuple):
    """A step in reverse: its samples with their states and ``fixed``, step P^T cotangents, and what it gives.

    ``slopes`` are <step P^T cotangents, dF/dtheta> of the params that ``summed`` leaves out, which is what the others
    read of all steps, added up: [batch of the step, ...] each. ``cotangents`` are those on earlier states.
    """

    rows: Tensor | None
    states: list[Tensor]
    fixed: Fixed
    pushed: list[Tensor]
    slopes: dict[str, Tensor]
    summed: list[Tensor]
    cotangents: list[Tensor]


class Parts:
    """The fixed quantities of some of the samples, kept while those samples stay the same for several steps."""

    def __init__(self, fixed: Fixed) -> None:
        self.whole = fixed
        self.rows: Tensor | None = None
        self.part = fixed

    def of(self, rows: Tensor | None) -> Fixed:
        """The fixed quantities of these rows; None: all."""
        if rows is not self.rows:
            self.rows, self.part = rows, self.whole if rows is None else self.whole.rows(rows)
        return self.part


class StepSums:
    """Sums over steps: slopes by name, and what ``_sums_gradient`` reads of all steps, [batch, ...] each."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.slopes: dict[str, Tensor] = {}
        self.sums: list[Tensor] = []

    def add_(self, back: BackwardStep) -> None:
        """Add a step."""
        for name, slope in back.slopes.items():
            self.slopes[name] = self.slopes[name].add_(slope) if name in self.slopes else slope.clone()
        if not self.sums:
            self.sums = [x.new_zeros((self.batch, *x.shape[1:])) for x in back.summed]
        for total, x in zip(self.sums, back.summed):
            if back.rows is None:
                total.add_(x)
            else:
                total.index_add_(0, back.rows, x)

    def gradient(self, net: Equations, fixed: Fixed) -> dict[str, Tensor]:
        """The slopes of all steps together."""
        return {**self.slopes, **net._sums_gradient(fixed, self.sums)} if self.sums else self.slopes
