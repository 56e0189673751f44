"""The base class of a generated network's equations: its sizes, its settings, its equations, and its steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from ..tensors.states import Tensors
from .phase_settings import PhaseSettings
from .records import Fixed
from .rule_equations import RuleEquations


class Equations(PhaseSettings, RuleEquations):
    """The equations of a network, on lists of tensors in the order of its states, targets and readouts.

    Notation: states z, params theta, force F, cost C, J = dF/dz; J_nc is the Jacobian of the terms that are not proved
    conservative. A generated class overrides what is not trivial for its network. Results by params are summed over the
    batch; all others are [batch, ...].
    """

    def _steps_(self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]) -> None:
        """Steps of the free phase, in place; the first of them has the number ``first``."""
        raise NotImplementedError

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
        return None

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
        """Whether rounded products are any other in a step of a free phase from these states."""
        return True

    def _contrasting(self) -> AbstractContextManager[None]:
        """Where phases move whose difference is the gradient: products that are precise enough for it."""
        return nullcontext()

    def _rounding(self) -> float:
        """The relative rounding error of what the network computes."""
        return torch.finfo(self.dtype).eps
