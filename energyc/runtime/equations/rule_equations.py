"""The equations that learning rules need of a network beyond its force and cost."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..tensors.states import Tensors
from .derivatives import Derivatives
from .records import Fixed


class RuleEquations(Derivatives):
    """Slopes of energies, corrections, predictions and extensions; a module has those that its rules need."""

    def _nudge(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """The nudge, which is subtracted from the force: dC/dz, in a flow ``-P grad(E, g)`` P dC/dg."""
        return self._cost_force(states, fixed, targets)

    def _descent_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta of all energies, those that flows name included."""
        return self._energy_gradient(states, fixed)

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, of the params that ``_energy_contrast`` leaves out."""
        return {}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at ``plus`` less that at ``minus``, where it is linear or bilinear in the states."""
        return {}

    def _user_force_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dtheta> of the terms without an energy, or that hold a state fixed in theirs."""
        if not self.force_params:
            return {}
        slopes = self._force_vjp(states, fixed, cotangents)[1]
        return {name: slopes[name] for name in self.force_params}

    def _clamped(self, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """Where states are held in a clamped phase, None where they are free."""
        raise ValueError(f"{self.name} was compiled without a rule that clamps states")

    def _correction(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects for a force that is not a gradient")

    def _predictions(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The prediction of each state, from states before it."""
        raise ValueError(f"{self.name} was compiled without a rule of predictions")

    def _prediction_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d predictions/dz>, and with ``params`` the same by theta."""
        raise ValueError(f"{self.name} was compiled without a rule of predictions")

    def _prediction_errors(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> list[Tensor | None]:
        """<cotangents, d predictions/dz>."""
        return self._prediction_vjp(states, fixed, cotangents, params=False)[0]

    def _prediction_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d predictions/dtheta>."""
        return self._prediction_vjp(states, fixed, cotangents)[1]

    def _hold(self, states: Tensors, fixed: Fixed) -> Any:
        """The quantities that the correction at these states needs for any direction."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects at the equilibrium")

    def _held_correction(self, held: Any, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions at the states that were held."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects at the equilibrium")

    def _extended(self) -> Any:
        """The holomorphic extension: the equations on complex states."""
        raise ValueError(f"{self.name} was compiled without a holomorphic rule")

    def _nonconservative_force(self, states: Tensors, fixed: Fixed) -> list[Tensor | None]:
        """The force whose Jacobian is J_nc, None for a state on which there is none."""
        raise ValueError(f"there is no Jacobian penalty in this module: {self.name} was compiled without one")
