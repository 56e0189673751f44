"""tel: Thermodynamic Equilibrium Layer: a drop-in for Linear + activation (TEL paper, algorithm 1).

Made by energyc 0.2.0 from tel.energy
SHA-256 of the spec: f025bf7a84711d606a164fc346b8f563f2aa44f58232cb2487d6308cb0b7d550
Rules: bptt
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import silu_integral, silu_slope
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.states import Tensors

I, C, K = 64, 64, 5


class Fixed(NamedTuple):
    """The clamps, training, k, and what depends on clamps and params alone."""

    x: Tensor
    training: Tensor
    k: Tensor
    a: Tensor
    trained: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], a=self.a[rows])


class TelEquations:
    """States y[C], tau[].

    Sizes: I = 64, C = 64, K = 5.

    Consts: alpha = 0.01, beta1 = 1, beta0 = 0, T_min = 0.05, T_max = 0.909.

    let a[c] = sum[i](W[c,i] * x[i]) + b[c]
    let spread[c] = mean[batch](S'(y[c])^2) - mean[batch](S'(y[c]))^2
    let entropy   = mean[c](1/2 * log(spread[c] + 1e-5))

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "tel"
    state_shapes = {"y": (C,), "tau": ()}
    clamp_shapes = {"x": ((I,), None)}
    param_bounds = {"log_eta": (-9.210340371976182, 0.0), "tau0": (-2.995732273553991, -0.09541018480465818)}
    term_names = ("G",)
    readout_names = ("out",)
    constrained = True
    relax_steps = 5
    relax_step = (1.0, 1.0)
    relax_tolerance = 0.001
    relax_measure = "gradient"
    sloped = ("y",)
    relax_patience = 2
    relax_exit = "inference"
    relax_max_steps = 5
    numbered = True
    batch_mates = "training"
    summed = ("x",)
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W = self._param(normal(random, (C, I), 0.1767766952966369))
        self.b = self._param(torch.full((C,), 0.0, dtype=torch.float64))
        self.log_eta = self._param(
            torch.log(
                torch.full((), 0.5, device=self.device, dtype=self.dtype)
            ).expand(K).double().expand((K,)).clone().clamp(min=-9.210340371976182, max=0)
        )
        self.tau0 = self._param(
            torch.log(
                torch.full((), 0.5, device=self.device, dtype=self.dtype)
            ).double().expand(()).clone().clamp(min=-2.995732273553991, max=-0.09541018480465818)
        )

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        training = torch.tensor(self.training, device=self.device)
        k = torch.tensor(4, device=self.device)
        a = x @ self.W.T
        a += self.b
        trained = training.to(self.dtype)
        return Fixed(x, training, k, a, trained)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.a, self.tau0.expand(len(fixed[0]))]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy G = 1/2 * sum[c]((y[c] - a[c])^2) - exp(tau) * sum[c](S(y[c]))
        """
        y, tau = states
        energy_G_part = y - fixed.a
        energy_G = 0.5 * (energy_G_part * energy_G_part).sum(1) - torch.exp(tau) * silu_integral(y).sum(1)
        return [energy_G]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow y[c] = -exp(log_eta[k]) * grad(G, y[c])
        flow tau  = where(training, alpha * (beta1 * entropy + beta0), 0)
        F_y[c] = -(y[c] - a[c] - silu(y[c]) * exp(tau)) * exp(log_eta[k])
        F_tau = alpha*beta1/2 * where(training, mean[c](log(spread[c] + 1e-5)), 0)
        """
        y, tau = states
        silu = F.silu(y)
        force_y_part = y - silu * torch.exp(tau)[:, None] - fixed.a
        force_y_part_2 = force_y_part * torch.exp(self.log_eta[fixed.k])
        force_y = -force_y_part_2
        spread_part = (silu * silu).mean(0)
        spread_part_2 = silu.mean(0)
        spread = spread_part - spread_part_2 * spread_part_2
        log_argument = spread + 1e-05
        force_tau = 7.8125e-05 * (fixed.trained * torch.log(log_argument).sum())
        return [force_y, force_tau.expand(len(states[0]))]

    def _slopes(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The gradients by which a step is measured.

        grad(G, y)[c] = y[c] - a[c] - silu(y[c]) * exp(tau)
        """
        y, tau = states
        slope_y = y - F.silu(y) * torch.exp(tau)[:, None] - fixed.a
        return [slope_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout out[c] = y[c]
        """
        y, _ = states
        return [y]

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        y, tau = states
        cot_y, _ = cotangents
        k_one_hot = (positions(K, 0, 1, self.device) == fixed.k).to(self.dtype)
        exp = torch.exp(self.log_eta[fixed.k])
        pull_a = cot_y * exp
        exp_2 = torch.exp(tau)
        back_y = silu_slope(y) * (pull_a * exp_2[:, None])
        back_y -= pull_a
        silu = F.silu(y)
        back_tau = exp_2 * (silu * pull_a).sum(1)
        if not params:
            return [back_y, back_tau], {}
        grad_log_eta_part = y - silu * exp_2[:, None] - fixed.a
        return [back_y, back_tau], {
            "W": pull_a.T @ fixed.x,
            "b": pull_a.sum(0),
            "log_eta": -(((cot_y * grad_log_eta_part).sum(1) * exp)[:, None] * k_one_hot).sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_y, _ = cotangents
        pull_a = cot_y * torch.exp(self.log_eta[fixed.k])
        grad_x = pull_a @ self.W
        return {"x": grad_x}

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        cot_y, cot_tau = cotangents
        grad_x = cot_y @ self.W
        return {"x": grad_x, "W": cot_y.T @ fixed.x, "b": cot_y.sum(0), "tau0": cot_tau.sum(0)}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_out,) = cotangents
        return [cot_out, None], {}

    def _step_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        y, tau = states
        cot_y, _ = cotangents
        k_one_hot = (positions(K, 0, 1, self.device) == fixed.k).to(self.dtype)
        exp = torch.exp(self.log_eta[fixed.k])
        pull_a = cot_y * exp
        exp_2 = torch.exp(tau)
        back_y = silu_slope(y) * (pull_a * exp_2[:, None])
        back_y -= pull_a
        silu = F.silu(y)
        back_tau = exp_2 * (silu * pull_a).sum(1)
        part = -pull_a
        grad_log_eta_part = y - silu * exp_2[:, None] - fixed.a
        return [back_y, back_tau, part], {
            "log_eta": -(((cot_y * grad_log_eta_part).sum(1) * exp)[:, None] * k_one_hot).sum(0)
        }

    def _sums_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dtheta> summed over batch and steps."""
        (sum_part,) = sums
        return {"W": -(sum_part.T @ fixed.x), "b": -sum_part.sum(0)}

    def _sums_clamp_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        (sum_part,) = sums
        grad_x = -(sum_part @ self.W)
        return {"x": grad_x}

    def _at(self, fixed: Fixed, number: int) -> Fixed:
        """The quantities that are fixed in one step."""
        return fixed._replace(k=torch.tensor(number, device=self.device))

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[1].clamp_(min=-2.995732273553991, max=-0.09541018480465818)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            cotangents[0],
            torch.where((at[1] >= -2.995732273553991) & (at[1] <= -0.09541018480465818), cotangents[1], 0.0),
        ]


class Tel(TelEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"bptt": bptt}
