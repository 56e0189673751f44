"""The precision of a free phase: products as the network has them, or a start in low precision."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.products import with_products
from ..equations.records import Fixed, Phase
from ..tensors.states import Tensors, per_sample, relative_change
from .free_run import FreeRun
from .step_methods import StepCallback, StepMethod

#: A step in low precision helps where it is this many times as long as its rounding error.
ABOVE_ROUNDING = 4.0


class Precision:
    """The products of a free phase, in all steps alike: those of the network."""

    def context(self) -> AbstractContextManager[None]:
        """Return a context with the products of the phase."""
        return nullcontext()

    def warm_up_(self, run: FreeRun, phase: Phase, method: StepMethod, callback: StepCallback | None) -> None:
        """Make the first steps of a phase in other products, of which there are none here."""


class LowPrecisionStart(Precision):
    """Steps in low precision bring the states near the equilibrium, then those of the network take over.

    Steps that are to be ``uniform`` have no such start. With products in bfloat16 throughout a phase would not converge
    to its tolerance: it ends with those of full precision.
    """

    def __init__(self, net: Equations, phase: Phase, uniform: bool) -> None:
        self.net = net
        low = net.relax_products
        if low == "products":
            low = "bfloat16" if net.products in ("bfloat16", "contrast") else None
        self.is_precise = phase.tolerance is not None and net.products in ("bfloat16", low)
        self.products = None if uniform else low

    def context(self) -> AbstractContextManager[None]:
        """Return a context with products in full precision where the phase has a tolerance to converge to."""
        return self.net._precise() if self.is_precise else nullcontext()

    def warm_up_(self, run: FreeRun, phase: Phase, method: StepMethod, callback: StepCallback | None) -> None:
        """Make chunks of steps in low precision, as long as they help most samples.

        After each chunk the next step is made with products in low precision and without. The steps end where half of
        the samples gain no more: the step is shorter than ``ABOVE_ROUNDING`` times the difference of both, or than the
        tolerance. A sample whose step is no shorter than at the last check goes back there. At least one chunk of
        ``phase.max_steps`` is left.
        """
        net, states, fixed = self.net, run.states, run.fixed
        if self.products is None or net.dtype != torch.float32:
            return
        if self.products == net.products or not net._rounds_steps(states):
            return
        taken, goal = 0, phase.tolerance or 0.0
        last = states[0].new_full((len(states[0]),), float("inf"))
        while taken + 2 * phase.chunk <= phase.max_steps:
            checkpoint = [x.clone() for x in states]
            with with_products(net, self.products):
                method.steps_(states, fixed, taken, phase.chunk, run.step, callback)
                low = next_states(net, states, fixed, taken, run.step)
            taken += phase.chunk
            full = next_states(net, states, fixed, taken, run.step)
            left = relative_change(full, states)
            helps = (left < last) & (left > goal) & (left > ABOVE_ROUNDING * relative_change(low, full))
            for x, before in zip(states, checkpoint):
                x.copy_(torch.where(per_sample(left < last, x), x, before))
            last = torch.minimum(left, last)
            if 2 * int(helps.sum()) <= len(helps):
                break
        run.taken += taken
        run.count += taken


def next_states(net: Equations, states: Tensors, fixed: Fixed, number: int, step: Sequence[float]) -> list[Tensor]:
    """Return where the next plain step leads."""
    moved = [x.clone() for x in states]
    net._steps_(moved, fixed, number, 1, step)
    return moved
