"""The derivatives of force, cost, readouts and start that every network has."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..tensors.states import Tensors
from .by_autograd import pulled_back, real_clamps
from .flow import Flow
from .records import Fixed


class Derivatives(Flow):
    """Vector-Jacobian products by states, params and clamps, and Jacobian-vector products by states."""

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and with ``params`` <cotangents, dF/dtheta>; a module whose force is constant writes none."""
        return [None] * len(states), {}

    def _force_adjoint(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> list[Tensor | None]:
        """J^T cotangents."""
        return self._force_vjp(states, fixed, cotangents, params=False)[0]

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
        """Whether a kernel repeated ``a <- seeds + P^T (I + step J)^T a`` in place; P is that of ``moved``.

        Each sample goes on, ``most`` steps at most, until one changes it by no more than ``change`` [batch], which
        becomes how far the last one led.
        """
        return False

    def _adjoining_steps_(
        self, states: list[Tensor], a: list[Tensor], fixed: Fixed, targets: Tensors, count: int, step: Sequence[float]
    ) -> bool:
        """Whether a kernel made steps of ``adjoint``, states and what moves beside them, in place."""
        return False

    def _kept_steps_(
        self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]
    ) -> list[Tensor] | None:
        """Steps by a kernel, in place, and the states before each of them and behind the last: [count + 1, batch, ...].

        Those that are in a set are kept as they were before they were projected. None where no kernel takes them.
        """
        return None

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
        """Whether a kernel went back through steps: ``cotangents`` in place, ``sums`` and ``slopes`` added to.

        ``kept`` is what ``_kept_steps_`` gave, ``first`` the number of the first of them. The slopes are those of
        ``_step_vjp``, one behind the other.
        """
        return False

    def _step_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[Sequence[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, then what ``_sums_gradient`` reads, added up over steps; and the other slopes by theta."""
        return self._force_vjp(states, fixed, cotangents)

    def _sums_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dtheta> of all steps together, of what no step changes otherwise."""
        return {}

    def _sums_clamp_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> of all steps together, for the real clamps that are ``summed``."""
        return {}

    def _force_jvp(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor]:
        """J directions; a module whose force is constant writes none."""
        return [torch.zeros_like(direction) for direction in directions]

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp x that the force reads."""
        clamps = real_clamps(self)
        if not clamps:
            return {}

        def force(net: Flow, _: Tensors, fixed: Fixed) -> Tensors:
            return net._force(states, fixed)

        return pulled_back(self, force, fixed, cotangents, params=False, clamps=clamps)[1]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz, None where the cost does not read a state, and with ``params`` the direct dC/dtheta.

        A module has its own unless the cost reads neither. Raises ValueError where there is no cost.
        """
        self._cost(states, fixed, targets)
        return [None for _ in states], {}

    def _cost_force(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """dC/dz, None where the cost does not read a state."""
        return self._cost_vjp(states, fixed, targets, params=False)[0]

    def _cost_gradient(self, states: Tensors, fixed: Fixed, targets: Tensors) -> dict[str, Tensor]:
        """The direct dC/dtheta."""
        return self._cost_vjp(states, fixed, targets)[1]

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts/dz>, and the same by params and real clamps."""

        def readouts(net: Flow, states: Tensors, fixed: Fixed) -> Tensors:
            return net._readouts(states, fixed)

        return pulled_back(self, readouts, fixed, cotangents, states=states, clamps=real_clamps(self))

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and real clamps."""

        def start(net: Flow, _: Tensors, fixed: Fixed) -> Tensors:
            return net._start(fixed)

        return pulled_back(self, start, fixed, cotangents, clamps=real_clamps(self))[1]

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            self.state_sets[name].project_adjoint(x, cotangent) if name in self.state_sets else cotangent
            for name, x, cotangent in zip(self.state_shapes, at, cotangents)
        ]

    def _proximal_adjoint(self, at: Tensors, cotangents: Tensors, fixed: Fixed, step: Sequence[float]) -> list[Tensor]:
        """P^T cotangents, P the derivative of ``_proximal_`` at a point."""
        return self._project_adjoint(at, cotangents)

    def _at_edges(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> int:
        """How many entries rest at the edge of a kink that moves proximally."""
        return 0

    def _weights_vjp(self, fixed: Fixed, pulls: Tensors) -> dict[str, Tensor]:
        """<pulls, d weights/dtheta> of the kinks that move proximally."""
        return {}

    def _kink_gradient(self, after: Tensors, fixed: Fixed, pushed: Tensors) -> dict[str, Tensor]:
        """<pushed, d of the slopes of the kinks/dtheta> at the states after a step, negated: theirs in dF/dtheta."""
        return {}
