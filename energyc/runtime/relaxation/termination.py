"""When the samples of a free phase stop: by steps, by a tolerance, on the first step that is small enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen, part
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.relaxation.measures import measured
from energyc.runtime.tensors.states import Tensors


@part("exit", "settled")
class Termination:
    """At least ``least`` steps, then chunks for the samples whose residual is above ``goal``, at most ``most`` steps.

    ``phase`` is the phase as it is carried out.
    """

    def __init__(self, net: Equations, phase: Phase) -> None:
        self.phase = phase
        self.least = phase.steps or 0
        self.most = self.least if phase.tolerance is None else phase.max_steps
        self.goal = float("inf") if phase.tolerance is None else phase.tolerance
        if net.relax_patience > 1:
            self.settled = chosen("exit", "patient")(self.settled, net.relax_patience)  # type: ignore[method-assign]

    @property
    def looks_alone(self) -> bool:
        """Whether a sample stops by the residual of its next step, as kernels can tell by themselves."""
        return self.most >= self.least

    @property
    def end(self) -> int:
        """The steps after which no sample goes on."""
        return max(self.least, self.most)

    def first_stride(self, taken: int) -> int:
        """The steps to the first look, after ``taken`` ones."""
        return max(self.least - taken, self.phase.chunk if taken else 0)

    def stride(self, done: int) -> int:
        """The steps from a look to the next one."""
        return min(self.phase.chunk, (self.least if done < self.least else self.most) - done)

    def start_stride(self, states: Tensors) -> None:
        """Called before the steps to a look, with the states of those that take them."""

    def residual_at(self, net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], count: int) -> Tensor:
        """The residual after ``count`` steps: that of the next step, [batch]."""
        return net._residual(states, fixed, step)

    def settled(self, residual: Tensor) -> Tensor:
        """The samples whose residual is small enough: [batch]."""
        return residual <= self.goal

    def going_on(self, residual: Tensor, count: Tensor) -> Tensor:
        """The samples that go on, by their residual and their steps: [batch] each."""
        left = ~self.settled(residual) & (count < self.most)
        return residual.isfinite() & ((count < self.least) | left)


@part("exit", "early")
class EarlyExit(Termination):
    """A look at each chunk from the first step on."""

    def __init__(self, net: Equations, phase: Phase) -> None:
        super().__init__(net, phase)
        self.early = phase.tolerance is not None
        if self.early:
            self.least = 0

    def first_stride(self, taken: int) -> int:
        """A chunk."""
        return self.phase.chunk if self.early else super().first_stride(taken)


@part("exit", "inference")
class InferenceExit(EarlyExit):
    """Outside of training at most ``phase.steps`` and a look at each: the residual is that of the step just made.

    In training exactly ``phase.steps``.
    """

    def __init__(self, net: Equations, phase: Phase) -> None:
        if net.training:
            phase = phase._replace(tolerance=None)
        elif phase.tolerance is not None:
            phase = phase._replace(chunk=1, max_steps=phase.steps or 0)
        super().__init__(net, phase)
        self.before: list[Tensor] = []

    @property
    def looks_alone(self) -> bool:
        """Not where the step just made is what it looks at."""
        return not self.early and super().looks_alone

    def start_stride(self, states: Tensors) -> None:
        """Keep the states, which the next step is measured from."""
        self.before = [x.clone() for x in states] if self.early else []

    def residual_at(self, net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], count: int) -> Tensor:
        """That of the step just made, if there was one: [batch]."""
        if self.early and count:
            return measured(net, self.before, states, fixed, step)
        return super().residual_at(net, states, fixed, step, count)


@part("exit", "patient")
class Patience:
    """Takes a sample for settled that is within the goal at so many looks in a row."""

    def __init__(self, settled: Callable[[Tensor], Tensor], patience: int) -> None:
        self.settled, self.patience = settled, patience
        self.looks: Tensor | None = None

    def __call__(self, residual: Tensor) -> Tensor:
        """The samples that settled: [batch]."""
        small = self.settled(residual)
        looks = torch.zeros_like(small, dtype=torch.int64) if self.looks is None else self.looks
        self.looks = torch.where(small, looks + 1, 0)
        return self.looks >= self.patience
