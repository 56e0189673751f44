"""hopfield_conv: Deep convolutional Hopfield network: two convolutions with max pooling and a linear output
(Laborieux et al. 2021).

Made by energyc 0.2.0 from hopfield_conv.energy
SHA-256 of the spec: 63510006bdd74acd46b8903fc8d923e67a9f953038faa1734b67c5c9089bf253
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.indexing import overlap_add, positions, windows
from energyc.runtime.tensors.reductions import first_largest, largest_entry
from energyc.runtime.tensors.states import Tensors

C, S, P, R, C1, U, S1, C2 = 3, 32, 3, 2, 64, 30, 15, 128
V, Q, S2, K = 12, 4, 6, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor
    drive_2: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows], drive_2=self.drive_2[rows])


class HopfieldConvEquations:
    """States s1[C1, S1, S1], s2[C2, S2, S2], y[K].

    Sizes: C = 3, S = 32, P = 3, R = 2, C1 = 64, U = 30, S1 = 15, C2 = 128, V = 12, Q = 4, S2 = 6, K = 10.

    let a1[o, u in U, v in U] = sum[c,p,q](W1[o,c,p,q] * x[c, u + p, v + q]) + b1[o]
    let a2[o, u in V, v in V] = sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q]) + b2[o]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "hopfield_conv"
    state_shapes = {"s1": (C1, S1, S1), "s2": (C2, S2, S2), "y": (K,)}
    clamp_shapes = {"x": ((C, S, S), None)}
    target_shapes = {"label": ((), K)}
    term_names = ("leak", "conv1", "conv2", "full")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    constrained = True
    relax_steps = 40
    relax_step = (0.5, 0.5, 0.5)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 12

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W1 = self._param(normal(random, (C1, C, P, P), 0.2721655269759087))
        self.b1 = self._param(torch.full((C1,), 0.0, dtype=torch.float64))
        self.W2 = self._param(normal(random, (C2, C1, Q, Q), 0.0078125))
        self.b2 = self._param(torch.full((C2,), 0.0, dtype=torch.float64))
        self.W3 = self._param(normal(random, (K, C2, S2, S2), 0.007365695637359871))
        self.b3 = self._param(torch.full((K,), 0.5, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        part = F.conv2d(x, self.W1)
        a1 = part + self.b1[:, None, None]
        product = windows(windows(a1, 2, 0, (S1, R), (R, 1)), 4, 0, (S1, R), (R, 1))
        drive = largest_entry(product, (3, 5))
        drive_2 = first_largest(product, (3, 5))
        return Fixed(x, drive, drive_2)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak  = 1/2 * sum[o,i,j](s1[o,i,j]^2) + 1/2 * sum[o,i,j](s2[o,i,j]^2) + 1/2 * sum[k](y[k]^2)
        energy conv1 = -sum[o,i,j](s1[o,i,j] * max[e in R, f in R](a1[o, R*i + e, R*j + f]))
        energy conv2 = -sum[o,i,j](s2[o,i,j] * max[e in R, f in R](a2[o, R*i + e, R*j + f]))
        energy full  = -sum[k](y[k] * (sum[o,i,j](W3[k,o,i,j] * s2[o,i,j]) + b3[k]))
        """
        s1, s2, y = states
        energy_leak = 0.5 * (s1 * s1).sum((1, 2, 3)) + 0.5 * (s2 * s2).sum((1, 2, 3)) + 0.5 * (y * y).sum(1)
        energy_conv1 = -(s1 * fixed.drive).sum((1, 2, 3))
        a2_part = F.conv2d(s1, self.W2)
        a2 = a2_part + self.b2[:, None, None]
        energy_conv2_part = largest_entry(
            windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)),
            (3, 5),
        )
        energy_conv2 = -(s2 * energy_conv2_part).sum((1, 2, 3))
        energy_full_part = torch.einsum("Boij,koij->Bk", s2, self.W3)
        energy_full_part += self.b3
        energy_full = -(y * energy_full_part).sum(1)
        return [energy_leak, energy_conv1, energy_conv2, energy_full]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s1[o,i,j] = max[r in R, r2 in R](a1[o, R*i + r, R*j + r2]) - s1[o,i,j] + sum[c2, p, q, u in V, v in V | i ==
            u + p and j == v + q](W2[c2,o,p,q] * sum[s22, r in R, s23, r2 in R | u == R*s22 + r and v == R*s23 +
            r2](s2[c2,s22,s23] * argmax[r in R, r2 in R](a2[c2, R*s22 + r, R*s23 + r2])))
        F_s2[o,i,j] = max[r in R, r2 in R](a2[o, R*i + r, R*j + r2]) - s2[o,i,j] + sum[k](W3[k,o,i,j] * y[k])
        F_y[k] = b3[k] - y[k] + sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
        """
        s1, s2, y = states
        a2_part = F.conv2d(s1, self.W2)
        a2 = a2_part + self.b2[:, None, None]
        product = windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1))
        pull_a2_part = first_largest(product, (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (pull_a2_part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                V,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            V,
            0,
            (R, 1),
        )
        force_s1 = F.conv_transpose2d(pull_a2, self.W2)
        force_s1 += fixed.drive
        force_s1 -= s1
        force_s2_part = largest_entry(product, (3, 5))
        force_s2 = torch.einsum("Bk,koij->Boij", y, self.W3)
        force_s2 += force_s2_part
        force_s2 -= s2
        force_y = torch.einsum("Boij,koij->Bk", s2, self.W3)
        force_y -= y
        force_y += self.b3
        return [force_s1, force_s2, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout scores[k] = y[k]
        """
        _, _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        cost_part = y - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric  accuracy  = correct[k](y[k], label)
        """
        _, _, y = states
        (label,) = targets
        accuracy_part = first_largest(y, 1)
        accuracy = accuracy_part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - where(k == label, 1, 0)
        """
        _, _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_y = y - label_one_hot
        return [None, None, slope_y], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s1, s2, y = states
        cot_s1, cot_s2, cot_y = cotangents
        a2 = F.conv2d(s1, self.W2)
        a2 += self.b2[:, None, None]
        part = first_largest(windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part * cot_s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                V,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            V,
            0,
            (R, 1),
        )
        back_s1 = F.conv_transpose2d(pull_a2, self.W2)
        back_s1 -= cot_s1
        back_s2_part = windows(
            windows(F.conv2d(cot_s1, self.W2).permute(0, 2, 3, 1), 1, 0, (S2, R), (R, 1)),
            3,
            0,
            (S2, R),
            (R, 1),
        )
        back_s2 = torch.einsum("Bk,koij->Boij", cot_y, self.W3)
        back_s2 += (part * back_s2_part.permute(0, 5, 1, 2, 3, 4)).sum((3, 5))
        back_s2 -= cot_s2
        back_y = torch.einsum("Boij,koij->Bk", cot_s2, self.W3)
        back_y -= cot_y
        if not params:
            return [back_s1, back_s2, back_y], {}
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * cot_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                U,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            U,
            0,
            (R, 1),
        )
        pull_a2_2 = overlap_add(
            overlap_add(
                (part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                V,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            V,
            0,
            (R, 1),
        )
        return [back_s1, back_s2, back_y], {
            "W1": torch.nn.grad.conv2d_weight(fixed.x, (C1, C, P, P), pull_a1),
            "b1": pull_a1.sum((0, 2, 3)),
            "W2": (
                torch.nn.grad.conv2d_weight(cot_s1, (C2, C1, Q, Q), pull_a2_2)
                + torch.nn.grad.conv2d_weight(s1, (C2, C1, Q, Q), pull_a2)
            ),
            "b2": pull_a2.sum((0, 2, 3)),
            "W3": torch.einsum("Boij,Bk->koij", s2, cot_y) + torch.einsum("Boij,Bk->koij", cot_s2, y),
            "b3": cot_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_s1, _, _ = cotangents
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * cot_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                U,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            U,
            0,
            (R, 1),
        )
        grad_x = F.conv_transpose2d(pull_a1, self.W1)
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_scores,) = cotangents
        return [None, None, cot_scores], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dW2[o,c,p,q] = -sum[u in V, v in V](s1[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v ==
            R*j + r2](s2[o,i,j] * argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
        dE/db2[o] = -sum[u in V, v in V](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](s2[o,i,j] *
            argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
        """
        s1, s2, _ = states
        a2 = F.conv2d(s1, self.W2)
        a2 += self.b2[:, None, None]
        pull_a2_part = first_largest(windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (pull_a2_part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                V,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            V,
            0,
            (R, 1),
        )
        return {"W2": -torch.nn.grad.conv2d_weight(s1, (C2, C1, Q, Q), pull_a2), "b2": -pull_a2.sum((0, 2, 3))}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W1[o,c,p,q] = sum[u in U, v in U](x[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j
            + r2](argmax[r in R, r2 in R](a1[o, R*i + r, R*j + r2]) * (minus_s1[o,i,j] - plus_s1[o,i,j])))
        c_b1[o] = sum[u in U, v in U](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](argmax[r in R, r2 in
            R](a1[o, R*i + r, R*j + r2]) * (minus_s1[o,i,j] - plus_s1[o,i,j])))
        c_W3[k,o,i,j] = minus_y[k] * (minus_s2[o,i,j] - plus_s2[o,i,j]) + plus_s2[o,i,j] * (minus_y[k] - plus_y[k])
        c_b3[k] = minus_y[k] - plus_y[k]
        """
        plus_s1, plus_s2, plus_y = plus
        minus_s1, minus_s2, minus_y = minus
        total = minus_s1 - plus_s1
        product = overlap_add(
            overlap_add(
                (fixed.drive_2 * total[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                U,
                0,
                (R, 1),
            ).permute(0, 1, 4, 2, 3),
            U,
            0,
            (R, 1),
        )
        grad_W3_part = minus_s2 - plus_s2
        return {
            "W1": torch.nn.grad.conv2d_weight(fixed.x, (C1, C, P, P), product),
            "b1": product.sum((0, 2, 3)),
            "W3": (
                torch.einsum("Boij,Bk->koij", grad_W3_part, minus_y)
                + torch.einsum("Boij,Bk->koij", plus_s2, minus_y - plus_y)
            ),
            "b3": minus_y.sum(0) - plus_y.sum(0),
        }

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)
        states[1].clamp_(min=0, max=1)
        states[2].clamp_(min=-1, max=2)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            torch.where((at[0] >= 0) & (at[0] <= 1), cotangents[0], 0.0),
            torch.where((at[1] >= 0) & (at[1] <= 1), cotangents[1], 0.0),
            torch.where((at[2] >= -1) & (at[2] <= 2), cotangents[2], 0.0),
        ]


class HopfieldConv(HopfieldConvEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
