"""modern_hopfield: Modern Hopfield network: retrieval of a stored pattern from a damaged one (Ramsauer et al.
2021).

Made by energyc 0.2.0 from modern_hopfield.energy
SHA-256 of the spec: 91ca46d785027a00a25fae9eb41e26c9583f72f613657394e0f7f6b0b439c755
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.states import Tensors

D, M = 64, 100


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    probe: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(probe=self.probe[rows])


class ModernHopfieldEquations:
    """States z[D].

    Sizes: D = 64, M = 100.

    Consts: beta = 8.
    """

    name = "modern_hopfield"
    state_shapes = {"z": (D,)}
    clamp_shapes = {"probe": ((D,), None)}
    target_shapes = {"stored": ((D,), None)}
    term_names = ("confine", "memory")
    readout_names = ("pattern",)
    relax_steps = 5
    relax_step = (1.0,)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 5

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.X = self._param(normal(random, (M, D), 1))

    def _prepare(self, probe: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        return Fixed(probe)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.probe]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy confine = 1/2 * sum[d](z[d]^2)
        energy memory  = -1/beta * logsumexp[m](beta * sum[d](X[m,d] * z[d]))
        """
        (z,) = states
        energy_confine = 0.5 * (z * z).sum(1)
        logsumexp = (z @ self.X.T).mul_(8).logsumexp(1)
        energy_memory = -0.125 * logsumexp
        return [energy_confine, energy_memory]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[d] = sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2]))) - z[d]
        """
        (z,) = states
        weights = (z @ self.X.T).mul_(8).softmax(1)
        force_z = weights @ self.X
        force_z -= z
        return [force_z]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout pattern[d] = z[d]
        """
        (z,) = states
        return [z]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = mean[d]((z[d] - stored[d])^2)
        """
        (z,) = states
        (stored,) = targets
        cost_part = z - stored
        cost = (cost_part * cost_part).mean(1)
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[d] = 2/D * (z[d] - stored[d])
        """
        (z,) = states
        (stored,) = targets
        slope_z_part = z - stored
        slope_z = 2 / D * slope_z_part
        return [slope_z], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z,) = cotangents
        weights = (z @ self.X.T).mul_(8).softmax(1)
        product = weights * (cot_z @ self.X.T)
        total = product - weights * product.sum(1)[:, None]
        back_z = 8 * (total @ self.X)
        back_z -= cot_z
        if not params:
            return [back_z], {}
        return [back_z], {"X": weights.T @ cot_z + 8 * (total.T @ z)}

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_z,) = cotangents
        return {"probe": cot_z}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_pattern,) = cotangents
        return [cot_pattern], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch.

        dE/dX[m,d] = -z[d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2]))
        """
        (z,) = states
        weights = (z @ self.X.T).mul_(8).softmax(1)
        return {"X": -(weights.T @ z)}


class ModernHopfield(ModernHopfieldEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
