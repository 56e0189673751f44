"""The equations that a generated class states, each with what holds for a network that has none of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from ..tensors.states import Rate, Tensors
from .network_facts import NetworkFacts, PhaseSettings
from .records import Fixed


class GeneratedEquations(PhaseSettings, NetworkFacts):
    """The equations of a network, on lists of tensors in the order of its states, targets and readouts.

    Notation: states z, params theta, force F, cost C, J = dF/dz; J_nc is the Jacobian of the terms that are not proved
    conservative. A generated class overrides what is not trivial for its network. Results by params are summed over the
    batch; all others are [batch, ...].
    """

    def _precise(self) -> AbstractContextManager[None]:
        """Context of a linear solve: products in full precision."""
        return nullcontext()

    def _prepare(self, *given: Tensor) -> Fixed:
        """The quantities that depend on clamps, noise and params alone."""
        raise NotImplementedError

    def _at(self, fixed: Fixed, number: int) -> Fixed:
        """The fixed quantities of one step; steps count from 0."""
        return fixed

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """Noise for each sample, in float64 on the CPU."""
        return []

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Return initial states of zero, for one sample if nothing is clamped."""
        batch = len(fixed[:1][0]) if self.clamp_shapes or self.noise_shapes else 1
        return [
            torch.zeros((batch, *shape), device=self.device, dtype=self.dtype) for shape in self.state_shapes.values()
        ]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term: [batch]."""
        return []

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, of energies and forces together, without the kinks that move proximally."""
        raise NotImplementedError

    def _whole_force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, that of kinks which move proximally included."""
        return self._force(states, fixed)

    def _slopes(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The gradients of energies that the flows of the ``sloped`` states name."""
        return []

    def _families(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The members of each family of energies: [batch, ...]."""
        return []

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers."""
        return []

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost: one entry [batch]."""
        raise ValueError(f"{self.name} has no cost")

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The reported quantities: each of several costs, and those not trained on; [batch] each."""
        return []

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its set, in place."""
        for name, state in zip(self.state_shapes, states):
            if name in self.state_sets:
                self.state_sets[name].project_(state)

    def _block(self, number: int, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state of a block, then D of those for which it is not a number."""
        raise ValueError(f"{self.name} was compiled without relax.solver = blocks")

    def _project_block_(self, number: int, states: list[Tensor]) -> None:
        """Each state of a block onto its set, in place."""
        names = list(self.state_shapes)
        for k in self.blocks[number]:
            if names[k] in self.state_sets:
                self.state_sets[names[k]].project_(states[k])

    def _weights(self, fixed: Fixed) -> list[Tensor]:
        """The weights of the kinks that move proximally, each of the shape of its state."""
        return []

    def _proximal_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Each state to the proximal point, for its step, of its kinks and its set, in place."""
        self._project_(states)

    def _proximal_block_(self, number: int, states: list[Tensor], fixed: Fixed, step: Mapping[int, Rate]) -> None:
        """Each state of a block that has a step to the proximal point for it, in place."""
        self._project_block_(number, states)

    # ------------------------------------------------------------------ derivatives

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and with ``params`` <cotangents, dF/dtheta>; a module whose force is constant writes none."""
        return [None] * len(states), {}

    def _force_adjoint(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> list[Tensor | None]:
        """J^T cotangents."""
        return self._force_vjp(states, fixed, cotangents, params=False)[0]

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
        """Count the entries that rest at the edge of a kink that moves proximally."""
        return 0

    def _weights_vjp(self, fixed: Fixed, pulls: Tensors) -> dict[str, Tensor]:
        """<pulls, d weights/dtheta> of the kinks that move proximally."""
        return {}

    def _kink_gradient(self, after: Tensors, fixed: Fixed, pushed: Tensors) -> dict[str, Tensor]:
        """<pushed, d of the slopes of the kinks/dtheta> at the states after a step, negated: theirs in dF/dtheta."""
        return {}

    # ------------------------------------------------------------------ what learning rules need

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
        """Return the values of clamped states in a clamped phase, None for free ones."""
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
