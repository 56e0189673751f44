"""nudged_layers: Layers that are nudged one by one: each of its own kind, in a row and in a repeat, with params
that they share.

Made by energyc 0.2.0 from nudged_layers.energy
SHA-256 of the spec: e868b126029e6185f41fc1f9fcfab7809ce72f3a85e41bbfb2d579a7a7a031d4
Rules: tracking-aep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.layers import EnergyLayer, LayeredNetwork, Visit
from energyc.runtime.rules.tracking_aep import tracking_aep
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.states import Tensors

I, D, K, L = 12, 9, 4, 2


class CodeFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> CodeFixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows])


class CodeEquations:
    """The layer `code`: states z[D].

    Sizes: I = 12, D = 9, K = 4, L = 2.
    """

    name = "code"
    state_shapes = {"z": (D,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"g_z": ((D,), None)}
    term_names = ("well", "bend")
    readout_names = ("z",)
    relax_steps = 20
    relax_step = (0.3,)
    relax_tolerance = 0.0001
    beta = 0.01
    nudge_steps = 12
    param_names = ("b", "V", "S")

    def _prepare(self, x: Tensor) -> CodeFixed:
        """The quantities that depend on clamps and params alone."""
        drive = (self.V @ x.T).T
        drive -= self.b
        return CodeFixed(x, drive)

    def _terms(self, states: Tensors, fixed: CodeFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy well = 1/2 * sum[d](z[d]^2) + sum[d](b[d] * z[d]) - sum[i,d](z[d] * V[d,i] * x[i])
        energy bend = 1/2 * sum[d](sum[e](S[d,e] * z[e])^2)
        """
        (z,) = states
        energy_well = 0.5 * (z * z).sum(1) + z @ self.b - (z * (self.V @ fixed.x.T).T).sum(1)
        z_S = (self.S @ z.T).T
        energy_bend = 0.5 * (z_S * z_S).sum(1)
        return [energy_well, energy_bend]

    def _force(self, states: Tensors, fixed: CodeFixed) -> list[Tensor]:
        """The force on each state.

        F_z[d] = sum[i](V[d,i] * x[i]) - b[d] - z[d] - sum[e](S[e,d] * sum[d2](z[d2] * S[e,d2]))
        """
        (z,) = states
        force_z = fixed.drive - (self.S.T @ (self.S @ z.T)).T - z
        return [force_z]

    def _readouts(self, states: Tensors, fixed: CodeFixed) -> list[Tensor]:
        """The readouts.

        z
        """
        (z,) = states
        return [z]

    def _cost_vjp(
        self, states: Tensors, fixed: CodeFixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[d] = g_z[d]
        """
        (g_z,) = targets
        return [g_z], {}

    def _force_vjp(
        self, states: Tensors, fixed: CodeFixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z_2,) = cotangents
        S_cot_z_2 = (self.S @ cot_z_2.T).T
        back_z = -(self.S.T @ S_cot_z_2.T).T
        back_z -= cot_z_2
        if not params:
            return [back_z], {}
        return [back_z], {
            "b": -cot_z_2.sum(0),
            "V": cot_z_2.T @ fixed.x,
            "S": -((self.S @ z.T).T.T @ cot_z_2) - S_cot_z_2.T @ z,
        }

    def _clamp_gradient(self, states: Tensors, fixed: CodeFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_z_2,) = cotangents
        grad_x = (self.V.T @ cot_z_2.T).T
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: CodeFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_z_2,) = cotangents
        return [cot_z_2], {}

    def _energy_gradient(self, states: Tensors, fixed: CodeFixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dS[d,e] = z[e] * sum[d2](z[d2] * S[d,d2])
        """
        (z,) = states
        return {"S": (self.S @ z.T).T.T @ z}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: CodeFixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_b[d] = plus_z[d] - minus_z[d]
        c_V[d,i] = x[i] * (minus_z[d] - plus_z[d])
        """
        (plus_z,) = plus
        (minus_z,) = minus
        grad_V_part = minus_z - plus_z
        return {"b": plus_z.sum(0) - minus_z.sum(0), "V": grad_V_part.T @ fixed.x}

    def _correction(self, states: Tensors, fixed: CodeFixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of nothing."""
        return [None]


class CellFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    h: Tensor

    def rows(self, rows: Tensor) -> CellFixed:
        """The same for some of the samples."""
        return self._replace(h=self.h[rows])


class CellEquations:
    """The layer `cell`: states z[D].

    Sizes: I = 12, D = 9, K = 4, L = 2.

    let n[d] = g[d] * rmsnorm[d](z[d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cell"
    state_shapes = {"z": (D,)}
    clamp_shapes = {"h": ((D,), None)}
    target_shapes = {"g_z": ((D,), None)}
    term_names = ("near",)
    readout_names = ("n",)
    relax_steps = 20
    relax_step = (0.3,)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 12
    force_params = ("W", "g", "S")
    param_names = ("W", "g", "S")

    def _prepare(self, h: Tensor) -> CellFixed:
        """The quantities that depend on clamps and params alone."""
        return CellFixed(h)

    def _start(self, fixed: CellFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.h]

    def _terms(self, states: Tensors, fixed: CellFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy near = 1/2 * sum[d]((z[d] - h[d])^2)
        """
        (z,) = states
        energy_near_part = z - fixed.h
        energy_near = 0.5 * (energy_near_part * energy_near_part).sum(1)
        return [energy_near]

    def _force(self, states: Tensors, fixed: CellFixed) -> list[Tensor]:
        """The force on each state.

        F_z[d] = sum[e](W[d,e] * tanh(n[e])) - (z[d] - h[d]) + sum[e](n[e] * S[d,e])
        """
        (z,) = states
        n_part = (z * z).mean(1) + 1e-05
        n = z * n_part.rsqrt()[:, None] * self.g
        force_z = (self.W @ torch.tanh(n).T).T
        force_z += (self.S @ n.T).T
        force_z += fixed.h
        force_z -= z
        return [force_z]

    def _readouts(self, states: Tensors, fixed: CellFixed) -> list[Tensor]:
        """The readouts.

        let n[d] = g[d] * rmsnorm[d](z[d])
        """
        (z,) = states
        n_part = (z * z).mean(1) + 1e-05
        n = z * n_part.rsqrt()[:, None] * self.g
        return [n]

    def _cost_vjp(
        self, states: Tensors, fixed: CellFixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[d] = g_z[d]
        """
        (g_z,) = targets
        return [g_z], {}

    def _force_vjp(
        self, states: Tensors, fixed: CellFixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z,) = cotangents
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = total.rsqrt()
        product = z * total_rsqrt[:, None]
        n = product * self.g
        tanh = torch.tanh(n)
        pull_n_part = -(tanh * tanh)
        pull_n_part += 1
        pull_n = (self.S.T @ cot_z.T).T
        pull_n += (self.W.T @ cot_z.T).T * pull_n_part
        back_z_part = total ** -1.5 * (z * pull_n @ self.g)
        back_z = pull_n * total_rsqrt[:, None] * self.g
        back_z.add_(z * back_z_part[:, None], alpha=-1 / D)
        back_z -= cot_z
        if not params:
            return [back_z], {}
        return [back_z], {"W": cot_z.T @ tanh, "g": (product * pull_n).sum(0), "S": cot_z.T @ n}

    def _clamp_gradient(self, states: Tensors, fixed: CellFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_z,) = cotangents
        return {"h": cot_z}

    def _start_vjp(self, fixed: CellFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_z,) = cotangents
        return {"h": cot_z}

    def _readout_vjp(
        self, states: Tensors, fixed: CellFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (z,) = states
        (cot_n,) = cotangents
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = total.rsqrt()
        back_z_part = total ** -1.5 * (z * cot_n @ self.g)
        back_z = cot_n * total_rsqrt[:, None] * self.g
        back_z.add_(z * back_z_part[:, None], alpha=-1 / D)
        return [back_z], {"g": (cot_n * (z * total_rsqrt[:, None])).sum(0)}

    def _correction(self, states: Tensors, fixed: CellFixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of turn."""
        (z,) = states
        (v_z,) = directions
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = total.rsqrt()
        n = z * total_rsqrt[:, None] * self.g
        tanh = torch.tanh_(n)
        total_2 = -(tanh * tanh)
        total_2 += 1
        power = total ** -1.5
        v_n_part = z * (power * (z * v_z).sum(1))[:, None]
        v_n = v_z * total_rsqrt[:, None] * self.g
        v_n.add_(v_n_part * self.g, alpha=-1 / D)
        pull_n = (self.S.T @ v_z.T).T
        pull_n += (self.W.T @ v_z.T).T * total_2
        turn_z_part = power * (z * pull_n @ self.g)
        turn_z = (self.W @ (total_2 * v_n).T).T
        turn_z += (self.S @ v_n.T).T
        turn_z.add_(z * turn_z_part[:, None], alpha=1 / D)
        turn_z -= pull_n * total_rsqrt[:, None] * self.g
        return [turn_z]


class NudgedLayersFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor

    def rows(self, rows: Tensor) -> NudgedLayersFixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows])


class NudgedLayersEquations:
    """The equations around the layers code, cell.

    Sizes: I = 12, D = 9, K = 4, L = 2.
    """

    name = "nudged_layers"
    state_shapes = {"code.z": (D,), "cell.z": (L, D)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"y": ((K,), None)}
    param_attributes = {"code.b": "code_b", "cell.W": "cell_W"}
    readout_names = ("out",)
    copies = {"cell": 2}
    layer_attributes = {"code": "code", "cell": "cell"}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.V = self._param(normal(random, (D, I), 0.2))
        self.S = self._param(normal(random, (D, D), 0.2))
        self.U = self._param(normal(random, (K, D), 0.2))
        self.code_b = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.g = self._param(torch.full((L, D), 1.0, dtype=torch.float64))
        self.cell_W = self._param(normal(random, (L, D, D), 0.2))
        self.code = Code(device, dtype)
        self.cell = Cell(device, dtype)

    def _prepare(self, x: Tensor) -> NudgedLayersFixed:
        """The quantities that depend on clamps and params alone."""
        return NudgedLayersFixed(x)

    def _blocks(self, fixed: NudgedLayersFixed, visit: Visit) -> list[Tensor]:
        """The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them.

        next h[d] = h[d] + cell.n[d]
        """
        (code_z,) = visit(self.code, 0, [fixed.x], [self.code_b, self.V, self.S])
        h = code_z
        for number in range(L):
            (cell_n,) = visit(self.cell, number, [h], [self.cell_W[number], self.g[number], self.S])
            h = h + cell_n
        return [code_z, h]

    def _readouts(self, states: Tensors, fixed: NudgedLayersFixed) -> list[Tensor]:
        """The readouts.

        readout out[k] = sum[d](U[k,d] * h[d])
        """
        _, h = states
        out = (self.U @ h.T).T
        return [out]

    def _cost(self, states: Tensors, fixed: NudgedLayersFixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = 1/2 * sum[k]((out[k] - y[k])^2)
        """
        _, h = states
        (y,) = targets
        cost_part = (self.U @ h.T).T - y
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]


class Code(CodeEquations, EnergyLayer):
    """The layer `code`, relaxed."""

    learning_rules = {"tracking-aep": tracking_aep}


class Cell(CellEquations, EnergyLayer):
    """The layer `cell`, relaxed."""

    learning_rules = {"tracking-aep": tracking_aep}


class NudgedLayers(NudgedLayersEquations, LayeredNetwork):
    """The network: its layers in a row, relaxed and learned."""

    rules = ("tracking-aep", "implicit", "bptt")
