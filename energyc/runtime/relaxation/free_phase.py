"""The free phase: steps of a solver until its termination says that no sample goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen
from energyc.runtime.equations.records import Fixed, FreePhase, Phase
from energyc.runtime.relaxation.explosion import frozen
from energyc.runtime.relaxation.solver import Seen
from energyc.runtime.relaxation.stretches import stretch_
from energyc.runtime.relaxation.termination import Termination
from energyc.runtime.tensors.states import Tensors, largest_magnitude, put_, take

#: Looks at a step of a free phase: its number, and the states of the samples that take it. It may give the force there.
Observer = Callable[["FreeRun", int, list[Tensor]], Tensors | None]


def settle(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    observers: Sequence[Observer] = (),
    alike: bool = False,
) -> FreePhase:
    """The free phase by the solver, the step-size controller and the termination of the network, in place.

    What the choice of the step cost is counted among the steps, and so are rough steps at the start, of which there are
    none where all steps are to be ``alike``. With rounded products throughout a phase would not come to its tolerance:
    it ends without.
    """
    if net.relax_products is not None:
        first = rough_products(net)
        apart = phase.tolerance is not None and net.products in ("bfloat16", first)
        with net._precise() if apart else nullcontext():
            return settled(net, states, fixed, phase, observers, None if alike else first)
    return settled(net, states, fixed, phase, observers)


def rough_products(net: Equations) -> str | None:
    """The products with which a free phase begins: those that are set for it, or the network's where it rounds."""
    if net.relax_products != "products":
        return net.relax_products
    return "bfloat16" if net.products in ("bfloat16", "contrast") else None


def settled(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    observers: Sequence[Observer],
    first: str | None = None,
) -> FreePhase:
    """The same with products as they are, which begins with those of ``first``.

    A kernel makes the whole phase where one can, but for samples that explode. A look waits once for the device, to
    know which samples go on; the last one does not, where no further steps are left.
    """
    ending = chosen("exit", net.relax_exit)(net, phase)
    scale = largest_magnitude(states).max().clamp_min(1.0)
    run = FreeRun(net, states, fixed, ending.phase, observers)
    if net.relax_products is not None and first is not None:
        run.approach(first, ending.most)
    if net.settling and run.settle_at_once(ending):
        return run.ended(scale)
    stride = ending.phase.chunk if phase.auto else ending.first_stride(run.taken)
    stride = max(0, min(stride, ending.most - run.done))
    while True:
        run.advance(ending, stride)
        going_on = ending.going_on(run.residual, run.count)
        if run.done >= ending.end:
            break
        if net.coupled:
            going_on |= going_on.any()
        run.rows = going_on.nonzero()[:, 0]
        if len(run.rows) == 0:
            break
        stride = ending.stride(run.done)
    return run.ended(scale)


class FreeRun:
    """A free phase under way: the states of all samples, the ``rows`` that still move, residuals and steps [batch]."""

    def __init__(
        self, net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase, observers: Sequence[Observer]
    ) -> None:
        self.net, self.states, self.fixed, self.phase, self.observers = net, states, fixed, phase, observers
        self.rows = torch.arange(len(states[0]), device=net.device)
        self.residual = torch.full((len(self.rows),), float("inf"), device=net.device, dtype=net.dtype)
        self.count = torch.zeros_like(self.rows)
        self.taken = 0
        self.step = phase.step
        if phase.auto:
            self.sizes = chosen("step size", "auto")(net, states, fixed, phase)
            self.step = self.sizes.step
            self.count += self.sizes.evaluations

    @property
    def done(self) -> int:
        """The evaluations of the force so far."""
        if self.phase.auto:
            return self.taken + int(self.sizes.evaluations)
        return self.taken

    @property
    def some(self) -> Tensor | None:
        """The samples that still move, where some do not."""
        return None if len(self.rows) == len(self.count) else self.rows

    def with_part(self, part: list[Tensor]) -> list[Tensor]:
        """The states of all samples, with those that still move put back among them, in place."""
        return part if self.some is None else put_(self.states, self.rows, part)

    def approach(self, products: str, most: int) -> None:
        """Rough steps with some products, where those of the rest are others."""
        left = self.phase._replace(chunk=self.net.relax_chunk, step=self.step, max_steps=most - self.done)
        self.taken = chosen("start", "rounded")(self.net, products, self.states, self.fixed, left, self.seen())
        self.count += self.taken

    def settle_at_once(self, ending: Termination) -> bool:
        """Whether a kernel made all steps of each sample; those that exploded, if any, are left as they began."""
        net = self.net
        if self.observers or self.taken or self.phase.auto or net.coupled or net.relax_patience > 1:
            return False
        if not ending.looks_alone:
            return False
        looks = ending.first_stride(0), ending.phase.chunk, ending.most
        ends = net._settle_(self.states, self.fixed, self.step, looks, ending.goal)
        if ends is None:
            return False
        self.residual, self.count = ends
        self.rows = self.residual.isinf().nonzero()[:, 0]
        return len(self.rows) == 0

    def advance(self, ending: Termination, stride: int) -> None:
        """Some steps of the samples that still move, and a look at where they are."""
        net, rows = self.net, self.some
        part = self.states if rows is None else take(self.states, rows)
        fixed = self.fixed if rows is None else self.fixed.rows(rows)
        if net.relax_exit == "inference":
            ending.start_stride(part)
        if not (net.retraced and stretch_(self, part, fixed, stride)):
            chosen("solver", net.relax_solver).walk_(net, part, fixed, self.taken, stride, self.step, self.seen())
        self.taken += stride
        self.states = self.with_part(part)
        self.count[self.rows] += stride
        if net.relax_exit == "inference":
            self.residual[self.rows] = ending.residual_at(net, part, fixed, self.step, stride)
        else:
            self.residual[self.rows] = net._residual(part, fixed, self.step)
        if self.phase.auto:
            self.adapt()

    def adapt(self) -> None:
        """The step sizes after a look, after which samples may be put back."""
        before = self.sizes.evaluations
        self.residual = self.sizes.adapted(self.states, self.fixed, self.residual, self.rows, self.taken)
        self.count[self.rows] += self.sizes.evaluations - before
        self.step = self.sizes.step

    def seen(self) -> Seen | None:
        """The function that shows each step to the observers; None where there are none."""
        if not self.observers:
            return None

        def seen(number: int, part: list[Tensor]) -> Tensors | None:
            given = [force for observer in self.observers if (force := observer(self, number, part)) is not None]
            return given[-1] if given else None

        return seen

    def ended(self, scale: Tensor) -> FreePhase:
        """The end of the phase; a sample that rounding stopped has an infinite residual."""
        stuck = frozen(self.net, self.states, self.fixed, self.step, scale)
        residual = self.residual.masked_fill(stuck, float("inf"))
        if self.net.coupled:
            residual = chosen("batch", "coupled")(self.states, residual)
        return FreePhase(self.states, residual, self.count, stuck, self.step)
