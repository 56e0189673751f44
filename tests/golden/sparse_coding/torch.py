"""sparse_coding: Sparse coding of natural patches: hidden pixels are filled in by few elements of a learned
dictionary.

Made by energyc 0.2.0 from sparse_coding.energy
SHA-256 of the spec: 7b4dfd257ab4e32ab4dbb2e1ec162f3adb58d9b564e54c584307f5ec52b7ad23
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations.proximal import ProximalEquations
from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.param_sets import along_sphere, unit
from energyc.runtime.tensors.states import Tensors

S, C, N = 10, 1, 128


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    hidden: Tensor
    drive: Tensor
    x_hidden_part: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(
            x=self.x[rows],
            hidden=self.hidden[rows],
            drive=self.drive[rows],
            x_hidden_part=self.x_hidden_part[rows],
        )


class SparseCodingEquations:
    """States s[N].

    Sizes: S = 10, P = 2, C = 1, N = 128.

    let level[c]     = sum[i,j](x[c,i,j]) / sum[i,j](1 - hidden[i,j])
    let drawn[c,i,j] = level[c] + sum[n](W[n,c,i,j] * s[n])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "sparse_coding"
    state_shapes = {"s": (N,)}
    clamp_shapes = {"x": ((C, S, S), None), "hidden": ((S, S), None)}
    target_shapes = {"clean": ((C, S, S), None)}
    param_attributes = {"lambda": "lambda_"}
    param_bounds = {"lambda": (0.01, 10.0)}
    term_names = ("fit", "sparsity")
    readout_names = ("completed",)
    metric_names = ("active",)
    constrained = True
    kinked = True
    _corners = ((0, 0.0, 0, 0),)
    _norms = ()
    relax_steps = 200
    relax_auto = True
    relax_step = (1.0,)
    relax_tolerance = 0.001
    relax_exit = "early"
    relax_max_steps = 1000
    beta = "auto"
    nudge_steps = 50

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W = self._param(unit(normal(random, (N, C, S, S), 1), (1, 2, 3)))
        self.lambda_ = self._param(torch.full((), 0.2, dtype=torch.float64).clamp(min=0.01, max=10))

    def _prepare(self, x: Tensor, hidden: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = -hidden
        drive += 1
        total = -hidden.sum((1, 2)) + 100
        level = x.sum((2, 3)) * total.reciprocal()[:, None]
        x_hidden_part = level[:, :, None, None].expand(-1, C, S, S)
        return Fixed(x, hidden, drive, x_hidden_part)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy fit      = 1/2 * sum[c,i,j](((1 - hidden[i,j]) * (x[c,i,j] - drawn[c,i,j]))^2)
        energy sparsity = lambda * sum[n](abs(s[n]))
        """
        (s,) = states
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        energy_fit_part = fixed.x - drawn
        energy_fit_part_2 = energy_fit_part.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
        energy_fit = 0.5 * (energy_fit_part_2 * energy_fit_part_2).sum((1, 2, 3))
        energy_sparsity = torch.abs(s).sum(1) * self.lambda_
        return [energy_fit, energy_sparsity]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, without that of sparsity on s.

        F_s[n] = sum[c,i,j](W[n,c,i,j] * (1 - hidden[i,j]) * (1 - hidden[i,j]) * (x[c,i,j] - drawn[c,i,j]))
        """
        (s,) = states
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        force_s_part = fixed.x - drawn
        force_s = torch.einsum(
            "Bcij,ncij->Bn",
            (
                force_s_part.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
            ).permute(0, 3, 1, 2) * fixed.drive[:, None],
            self.W,
        )
        return [force_s]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout completed[c,i,j] = drawn[c,i,j]
        """
        (s,) = states
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        return [drawn]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost    error  = mean[c,i,j]((drawn[c,i,j] - clean[c,i,j])^2)
        """
        (s,) = states
        (clean,) = targets
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        cost_part = drawn - clean
        cost = (cost_part * cost_part).mean((1, 2, 3))
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric  active = mean[n](where(abs(s[n]) > 0, 1, 0))
        """
        (s,) = states
        active_part = step(torch.abs(s)).sum(1)
        active = 1 / N * active_part
        return [active]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/ds[n] = 2 * mean[c,i,j](W[n,c,i,j] * (drawn[c,i,j] - clean[c,i,j]))
        dC/dW[n,c,i,j] = 2/(C*S^2) * s[n] * (drawn[c,i,j] - clean[c,i,j])
        """
        (s,) = states
        (clean,) = targets
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        total = drawn - clean
        slope_s = 2 / (C * S * S) * torch.einsum("Bcij,ncij->Bn", total, self.W)
        if not params:
            return [slope_s], {}
        return [slope_s], {"W": 2 / (C * S * S) * torch.einsum("Bcij,Bn->ncij", total, s)}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (s,) = states
        (cot_s,) = cotangents
        product = (
            torch.einsum("Bn,ncij->Bcij", cot_s, self.W).permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
        ).permute(0, 3, 1, 2) * fixed.drive[:, None]
        back_s = -torch.einsum("Bcij,ncij->Bn", product, self.W)
        if not params:
            return [back_s], {}
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        grad_W_part = fixed.x - drawn
        return [back_s], {
            "W": (
                torch.einsum(
                    "Bcij,Bn->ncij",
                    (
                        grad_W_part.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
                    ).permute(0, 3, 1, 2) * fixed.drive[:, None],
                    cot_s,
                )
                - torch.einsum("Bcij,Bn->ncij", product, s)
            )
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (s,) = states
        (cot_s,) = cotangents
        W_cot_s = torch.einsum("Bn,ncij->Bcij", cot_s, self.W)
        product = W_cot_s.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
        product_2 = product.permute(0, 3, 1, 2) * fixed.drive[:, None]
        total = -fixed.hidden.sum((1, 2)) + 100
        part = product_2.sum((2, 3))
        grad_x = product_2 - (part * total.reciprocal()[:, None])[:, :, None, None]
        grad_hidden_part = (-((fixed.x.sum((2, 3)) * part).sum(1) * total ** -2)[:, None, None]).expand(-1, S, S)
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        grad_hidden_part_2 = fixed.x - drawn
        grad_hidden = (
            grad_hidden_part
            - (
                grad_hidden_part_2.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None] * W_cot_s.permute(0, 2, 3, 1)
            ).sum(3)
            - (grad_hidden_part_2 * product.permute(0, 3, 1, 2)).sum(1)
        )
        return {"x": grad_x, "hidden": grad_hidden}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (s,) = states
        (cot_completed,) = cotangents
        back_s = torch.einsum("Bcij,ncij->Bn", cot_completed, self.W)
        pull_level = cot_completed.sum((2, 3))
        total = -fixed.hidden.sum((1, 2)) + 100
        grad_x = (pull_level * total.reciprocal()[:, None])[:, :, None, None].expand(-1, C, S, S)
        grad_hidden_part = (fixed.x.sum((2, 3)) * pull_level).sum(1) * total ** -2
        grad_hidden = grad_hidden_part[:, None, None].expand(-1, S, S)
        return [back_s], {"x": grad_x, "hidden": grad_hidden, "W": torch.einsum("Bcij,Bn->ncij", cot_completed, s)}

    def _weights(self, fixed: Fixed) -> list[Tensor]:
        """The weights of the kinks that move proximally."""
        return [self.lambda_.expand(N).expand(len(fixed[0]), N)]

    def _weights_vjp(self, fixed: Fixed, pulls: Tensors) -> dict[str, Tensor]:
        """<pulls, d weights/dtheta> summed over the batch."""
        (pull_s,) = pulls
        return {"lambda": pull_s.sum()}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch.

        dE/dW[n,c,i,j] = -s[n] * (1 - hidden[i,j]) * (1 - hidden[i,j]) * (x[c,i,j] - drawn[c,i,j])
        dE/dlambda = sum[n](abs(s[n]))
        """
        (s,) = states
        drawn = torch.einsum("Bn,ncij->Bcij", s, self.W)
        drawn += fixed.x_hidden_part
        grad_W_part = fixed.x - drawn
        return {
            "W": -torch.einsum(
                "Bcij,Bn->ncij",
                (
                    grad_W_part.permute(0, 2, 3, 1) * fixed.drive[:, :, :, None]
                ).permute(0, 3, 1, 2) * fixed.drive[:, None],
                s,
            ),
            "lambda": torch.abs(s).sum(),
        }


class SparseCoding(ProximalEquations, SparseCodingEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}

    @torch.no_grad()
    def project_params(self) -> None:
        """Put params back on their sets."""
        self.W.copy_(unit(self.W, (1, 2, 3)))
        super().project_params()

    @torch.no_grad()
    def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The parts of gradients along the sets of their params."""
        along = dict(gradients)
        if "W" in along:
            along["W"] = along_sphere(along["W"], self.W, (1, 2, 3))
        return along
