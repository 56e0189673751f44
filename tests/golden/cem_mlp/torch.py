"""cem_mlp: CEM element-wise layer on Gaussian-process regression (table 3: 22,657 params).

Made by energyc 0.2.0 from cem_mlp.energy
SHA-256 of the spec: 6ab5eaef1c0d185eb3531db5dfae6f8d87efff4e6d2860d921c8a1129f2d2410
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import uniform
from energyc.runtime.tensors.functions import silu_integral, silu_slope
from energyc.runtime.tensors.states import Tensors

I, D, M = 10, 64, 170


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    input_: Tensor
    drive: Tensor
    offset: Tensor
    offset_2: Tensor
    part: Tensor
    h: Tensor
    part_2: Tensor
    part_3: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(
            input_=self.input_[rows],
            drive=self.drive[rows],
            offset=self.offset[rows],
            offset_2=self.offset_2[rows],
            part=self.part[rows],
            h=self.h[rows],
            part_2=self.part_2[rows],
            part_3=self.part_3[rows],
        )


class CemMlpEquations:
    """States x[D].

    Sizes: I = 10, D = 64, M = 170.

    let h[d] = g1[d] * rms[d](sum[i](input[i] * W_in[i,d]) + b_in[d])
    let u[d] = rms[d](x[d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cem_mlp"
    state_shapes = {"x": (D,)}
    clamp_shapes = {"input": ((I,), None)}
    target_shapes = {"output": ((), None)}
    term_names = ("element",)
    readout_names = ("y",)
    relax_steps = 2
    relax_step = (1.0,)
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_in = self._param(uniform(random, (I, D), -0.31622776601683794, 0.31622776601683794))
        self.b_in = self._param(uniform(random, (D,), -0.31622776601683794, 0.31622776601683794))
        self.W_out = self._param(uniform(random, (D,), -0.125, 0.125))
        self.b_out = self._param(uniform(random, (), -0.125, 0.125))
        self.W = self._param(uniform(random, (M, D), -0.125, 0.125))
        self.V = self._param(uniform(random, (M, D), -0.125, 0.125))
        self.g1 = self._param(torch.full((D,), 1.0, dtype=torch.float64))
        self.g2 = self._param(torch.full((D,), 1.0, dtype=torch.float64))

    def _prepare(self, input_: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = input_ @ self.W_in
        drive += self.b_in
        total = (drive * drive).mean(1) + 1e-06
        offset = total.rsqrt()
        offset_2 = total ** -1.5
        part = drive * self.g1
        h = part * offset[:, None]
        part_2 = h @ self.W.T
        part_3 = drive * offset[:, None]
        return Fixed(input_, drive, offset, offset_2, part, h, part_2, part_3)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.h]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy element = -sum[m](sum[d](W[m,d] * h[d]) * phi(sum[d](V[m,d] * u[d])))
        """
        (x,) = states
        u_part = (x * x).mean(1) + 1e-06
        u = x * u_part.rsqrt()[:, None]
        energy_element_part = (fixed.part_2 * silu_integral(u @ self.V.T)).sum(1)
        energy_element = -energy_element_part
        return [energy_element]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow x[d] = -grad(element, u[d])
        F_x[d] = sum[m](V[m,d] * sum[d2](W[m,d2] * h[d2]) * silu(sum[d2](V[m,d2] * u[d2])))
        """
        (x,) = states
        u_part = (x * x).mean(1) + 1e-06
        u = x * u_part.rsqrt()[:, None]
        force_x_part = fixed.part_2 * F.silu(u @ self.V.T, inplace=True)
        force_x = force_x_part @ self.V
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout y = sum[d](W_out[d] * g2[d] * rms[d](x[d])) + b_out
        """
        (x,) = states
        y_part = (x * x).mean(1) + 1e-06
        y = y_part.rsqrt() * (x @ (self.W_out * self.g2)) + self.b_out
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = (y - output)^2
        """
        (x,) = states
        (output,) = targets
        cost_part = (x * x).mean(1) + 1e-06
        cost_part_2 = cost_part.rsqrt() * (x @ (self.W_out * self.g2)) - output + self.b_out
        cost = cost_part_2 * cost_part_2
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dx[d] = 2 * W_out[d] * g2[d] * (b_out - output + sum[d2](rmsnorm[d2](x[d2], eps = 1e-6) * W_out[d2] *
            g2[d2])) / sqrt(1e-6 + mean[d2](x[d2]^2)) - 2 * x[d] * (b_out - output + sum[d3](rmsnorm[d3](x[d3], eps =
            1e-6) * W_out[d3] * g2[d3])) * mean[d2](W_out[d2] * g2[d2] * x[d2]) / (1e-6 + mean[d2](x[d2]^2))^(3/2)
        dC/dW_out[d] = 2 * rmsnorm[d](x[d], eps = 1e-6) * g2[d] * (b_out - output + sum[d2](rmsnorm[d2](x[d2], eps =
            1e-6) * W_out[d2] * g2[d2]))
        dC/db_out = 2 * (b_out - output + sum[d](rmsnorm[d](x[d], eps = 1e-6) * W_out[d] * g2[d]))
        dC/dg2[d] = 2 * rmsnorm[d](x[d], eps = 1e-6) * W_out[d] * (b_out - output + sum[d2](rmsnorm[d2](x[d2], eps =
            1e-6) * W_out[d2] * g2[d2]))
        """
        (x,) = states
        (output,) = targets
        W_out_g2 = self.W_out * self.g2
        total = (x * x).mean(1) + 1e-06
        total_rsqrt = total.rsqrt()
        product = x @ W_out_g2
        total_2 = total_rsqrt * product - output + self.b_out
        product_2 = total_rsqrt * total_2
        slope_x = 2 * (product_2[:, None] * W_out_g2)
        slope_x.add_(x * (total ** -1.5 * (product * total_2))[:, None], alpha=-2 / D)
        if not params:
            return [slope_x], {}
        product_3 = x * product_2[:, None]
        return [slope_x], {
            "W_out": 2 * (product_3.sum(0) * self.g2),
            "b_out": 2 * total_2.sum(0),
            "g2": 2 * (product_3.sum(0) * self.W_out),
        }

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x,) = cotangents
        total = (x * x).mean(1) + 1e-06
        total_rsqrt = total.rsqrt()
        V_cot_x = cot_x @ self.V.T
        u = x * total_rsqrt[:, None]
        V_u = u @ self.V.T
        product = fixed.part_2 * V_cot_x * silu_slope(V_u)
        pull_u = product @ self.V
        back_x = pull_u * total_rsqrt[:, None]
        back_x.add_(x * (total ** -1.5 * (x * pull_u).sum(1))[:, None], alpha=-1 / D)
        if not params:
            return [back_x], {}
        silu = F.silu(V_u)
        product_2 = silu * V_cot_x
        pull_h = product_2 @ self.W
        grad_b_in = pull_h * self.g1 * fixed.offset[:, None]
        grad_b_in.add_(fixed.drive * (fixed.offset_2 * (fixed.part * pull_h).sum(1))[:, None], alpha=-1 / D)
        return [back_x], {
            "W_in": fixed.input_.T @ grad_b_in,
            "b_in": grad_b_in.sum(0),
            "W": product_2.T @ fixed.h,
            "V": (fixed.part_2 * silu).T @ cot_x + product.T @ u,
            "g1": (pull_h * fixed.part_3).sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (x,) = states
        (cot_x,) = cotangents
        u_part = (x * x).mean(1) + 1e-06
        u = x * u_part.rsqrt()[:, None]
        pull_h_part = F.silu(u @ self.V.T, inplace=True) * (cot_x @ self.V.T)
        pull_h = pull_h_part @ self.W
        grad_input_part = pull_h * self.g1 * fixed.offset[:, None]
        grad_input_part.add_(fixed.drive * (fixed.offset_2 * (fixed.part * pull_h).sum(1))[:, None], alpha=-1 / D)
        grad_input = (self.W_in @ grad_input_part.T).T
        return {"input": grad_input}

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x,) = cotangents
        grad_b_in = cot_x * self.g1 * fixed.offset[:, None]
        grad_b_in.add_(fixed.drive * (fixed.offset_2 * (cot_x * fixed.part).sum(1))[:, None], alpha=-1 / D)
        grad_input = (self.W_in @ grad_b_in.T).T
        return {
            "input": grad_input,
            "W_in": fixed.input_.T @ grad_b_in,
            "b_in": grad_b_in.sum(0),
            "g1": (cot_x * fixed.part_3).sum(0),
        }

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (x,) = states
        (cot_y,) = cotangents
        W_out_g2 = self.W_out * self.g2
        total = (x * x).mean(1) + 1e-06
        product = total.rsqrt() * cot_y
        back_x_part = total ** -1.5 * (cot_y * (x @ W_out_g2))
        back_x = product[:, None] * W_out_g2
        back_x.add_(x * back_x_part[:, None], alpha=-1 / D)
        product_2 = x * product[:, None]
        return [back_x], {
            "W_out": product_2.sum(0) * self.g2,
            "b_out": cot_y.sum(0),
            "g2": product_2.sum(0) * self.W_out,
        }


class CemMlp(CemMlpEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"bptt": bptt, "implicit": implicit}
