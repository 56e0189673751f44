"""The base class of a network's equations, with steps of them, by kernels where there are any; what a rule is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from ..tensors.states import Tensors
from .generated import GeneratedEquations
from .records import Estimate, Fixed, RuleSettings

#: Steps that kernels count in float32 without rounding.
COUNTED = 2**24


class Equations(GeneratedEquations):
    """The equations of a network and steps of them."""

    # ------------------------------------------------------------------ steps by kernels, where there are any

    def _serving(self, phase: str, states: Tensors) -> str | None:
        """The kernel of a phase, if it takes these states."""
        return None

    def _ran(
        self,
        phase: str,
        states: Tensors,
        fixed: Fixed,
        targets: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
    ) -> bool:
        """Return whether the kernel of a phase took these states, and moved them."""
        return False

    def _holds(self, step: Sequence[float]) -> bool:
        """Return whether a state is held by its step, which an exact block in a kernel does not read."""
        return self.relax_solver == "blocks" and 0 in step

    def _settle_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        step: Sequence[float],
        looks: tuple[int, int, int],
        goal: float,
    ) -> tuple[Tensor, Tensor] | None:
        """Steps of the free phase by a kernel, in place, until the residual of a sample is at most ``goal``.

        ``looks`` are the steps to the first look, from a look to the next one, and at most. The residual of each sample
        at its last look and its steps, [batch] each; None where no kernel takes the states. A sample whose residual is
        no finite number is put back to where it began, and has made no steps.
        """
        first, chunk, most = looks
        if self.relax_solver != "gradient" or self.relax_measure != "residual" or most > COUNTED:
            return None
        if self._serving("settled", states) is None:
            return None
        residual, count = (states[0].new_empty(len(states[0])) for _ in range(2))
        scalars = (min(first, most), chunk, goal, *step)
        if not self._ran("settled", [*states, count], fixed, (), scalars, most, residual):
            return None
        return residual, count.long()

    def _adjoint_steps_(
        self,
        a: list[Tensor],
        states: Tensors,
        fixed: Fixed,
        seeds: Tensors,
        moved: Tensors | None,
        step: Sequence[float],
        change: Tensor,
        most: int,
    ) -> bool:
        """Return whether a kernel repeated ``a <- seeds + P^T (I + step J)^T a`` in place; P is that of ``moved``.

        Each sample goes on, ``most`` steps at most, until one changes it by no more than ``change`` [batch], which
        becomes how far the last one led.
        """
        if self._serving("adjoint", a) is None:
            return False
        ones = [torch.ones_like(x) for x in a]
        moving = [] if moved is None else self._proximal_adjoint(moved, ones, fixed, step)
        return self._ran("adjoint", a, fixed, [*states, *seeds, *moving], step, most, change)

    def _adjoining_steps_(
        self, states: list[Tensor], a: list[Tensor], fixed: Fixed, targets: Tensors, count: int, step: Sequence[float]
    ) -> bool:
        """Return whether a kernel made steps of ``adjoint``, states and what moves beside them, in place."""
        return not self._holds(step) and self._ran("adjoining", [*states, *a], fixed, targets, step, count)

    def _kept_steps_(
        self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]
    ) -> list[Tensor] | None:
        """Steps by a kernel, in place, and the states before each of them and behind the last: [count + 1, batch, ...].

        Those that are in a set are kept as they were before they were projected. None where no kernel takes them.
        """
        if self._serving("recorded", states) is None:
            return None
        kept = [x.new_empty((count + 1, *x.shape)) for x in states]
        if not self._ran("recorded", [*states, *kept], self._at(fixed, first), (), step, count):
            return None
        self._project_(states)
        return kept

    def _steps_back_(
        self,
        cotangents: list[Tensor],
        sums: list[Tensor],
        slopes: Tensor,
        kept: list[Tensor],
        fixed: Fixed,
        first: int,
        step: Sequence[float],
    ) -> bool:
        """Return whether a kernel went back through steps: ``cotangents`` in place, ``sums`` and ``slopes`` added to.

        ``kept`` is what ``_kept_steps_`` gave, ``first`` the number of the first of them. The slopes are those of
        ``_step_vjp``, one behind the other.
        """
        before, after, count = [x[:-1] for x in kept], [x[1:] for x in kept], len(kept[0]) - 1
        last = self._at(fixed, first + count - 1)
        return self._ran("backward", [*cotangents, *sums, slopes], last, [*before, *after], step, count)

    # ------------------------------------------------------------------ steps

    def _steps_(self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]) -> None:
        """Steps of the free phase, in place; the first of them has the number ``first``."""
        raise NotImplementedError

    def _residual(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        """The measure of the next step: [batch]."""
        raise NotImplementedError

    def _nudged_steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        nudge: Any,
        count: int,
        step: Sequence[float],
        negative_from: int | None = None,
    ) -> None:
        """Steps of a nudged phase, in place; ``nudge`` is what is subtracted from the force, times beta.

        From the sample ``negative_from`` on, beta is negative.
        """
        raise NotImplementedError

    def _tracking_steps_(
        self,
        plus: list[Tensor],
        minus: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        count: int,
        step: Sequence[float],
    ) -> None:
        """Steps of two nudged phases with the correction at their midpoint, in place."""
        raise NotImplementedError

    def _rounds_steps(self, states: Tensors) -> bool:
        """Return whether rounded products are any other in a step of a free phase from these states."""
        return True

    def _contrasting(self) -> AbstractContextManager[None]:
        """Context of phases whose difference is the gradient: products precise enough for it."""
        return nullcontext()

    def _rounding(self) -> float:
        """The relative rounding error of what the network computes."""
        return torch.finfo(self.dtype).eps


#: A learning rule: of a network, the states a free phase starts from, what is fixed, targets, settings of both phases.
Estimator = Callable[[Equations, list[Tensor], Fixed, Tensors, RuleSettings], Estimate]


def rule(name: str, **facts: object) -> Callable[[Estimator], Estimator]:
    """Declare a function to be the learning rule of a name.

    All arguments are literals: the compiler reads them from the source, as :class:`..rules.Declaration` says.
    """

    def declare(estimator: Estimator) -> Estimator:
        vars(estimator)["rule"] = name
        return estimator

    return declare


def rule_name(estimator: Estimator) -> str:
    """Return the name of a learning rule."""
    name: str = vars(estimator)["rule"]
    return name
