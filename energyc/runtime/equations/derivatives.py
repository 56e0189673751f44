"""The derivatives of force, cost, readouts and start that every network has."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.flow import Flow
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors


class Derivatives(Flow):
    """Vector-Jacobian products by states, params and clamps, and Jacobian-vector products by states."""

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, and with ``params`` <seeds, dF/dtheta>."""
        raise NotImplementedError

    def _force_adjoint(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> list[Tensor | None]:
        """J^T seeds."""
        return self._force_pullback(states, fixed, seeds, params=False)[0]

    def _step_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[Sequence[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, followed by what ``_sums_gradient`` reads, added up over steps; and the other slopes by theta."""
        return self._force_pullback(states, fixed, seeds)

    def _sums_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dtheta> of all steps together, of what no step changes otherwise."""
        return {}

    def _sums_clamp_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> of all steps together, for the real clamps that are ``summed``."""
        return {}

    def _force_tangent(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor]:
        """J directions."""
        raise NotImplementedError

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp x."""
        return {}

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz, None where the cost does not read a state, and with ``params`` the direct dC/dtheta."""
        raise ValueError(f"{self.name} has no cost")

    def _cost_force(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """dC/dz, None where the cost does not read a state."""
        return self._cost_pullback(states, fixed, targets, params=False)[0]

    def _cost_gradient(self, states: Tensors, fixed: Fixed, targets: Tensors) -> dict[str, Tensor]:
        """The direct dC/dtheta."""
        return self._cost_pullback(states, fixed, targets)[1]

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts/dz>, and the same by params and real clamps."""
        return [None for _ in states], {}

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and real clamps."""
        return {}

    def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:
        """P^T seeds, P the derivative of the projection at a point."""
        return list(seeds)
