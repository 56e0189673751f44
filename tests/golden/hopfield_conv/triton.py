"""hopfield_conv: Deep convolutional Hopfield network: two convolutions with max pooling and a linear output
(Laborieux et al. 2021).

Made by energyc 0.1.0 from hopfield_conv.energy
SHA-256 of the spec: e31e82a6df599c66c85d1a826766c67187e677c150e56c5f89101b360e0b7314
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_floor_div, block_modulo, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.indexing import overlap_add, positions, windows
from energyc.runtime.tensors.reductions import first_largest, largest_entry
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


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
    state_shapes = {"s1": (64, 15, 15), "s2": (128, 6, 6), "y": (10,)}
    clamp_shapes = {"x": ((3, 32, 32), None)}
    target_shapes = {"label": ((), 10)}
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
        self.W1 = self._param(normal(random, (64, 3, 3, 3), 0.2721655269759087))
        self.b1 = self._param(torch.full((64,), 0.0, dtype=torch.float64))
        self.W2 = self._param(normal(random, (128, 64, 4, 4), 0.0078125))
        self.b2 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.W3 = self._param(normal(random, (10, 128, 6, 6), 0.007365695637359871))
        self.b3 = self._param(torch.full((10,), 0.5, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        part = F.conv2d(x, self.W1)
        a1 = part + self.b1[:, None, None]
        product = windows(windows(a1, 2, 0, (15, 2), (2, 1)), 4, 0, (15, 2), (2, 1))
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
        part = F.conv2d(s1, self.W2)
        a2 = part + self.b2[:, None, None]
        part_2 = largest_entry(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        energy_conv2 = -(s2 * part_2).sum((1, 2, 3))
        total = torch.einsum("Boij,koij->Bk", s2, self.W3)
        total += self.b3
        energy_full = -(y * total).sum(1)
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
        part = F.conv2d(s1, self.W2)
        a2 = part + self.b2[:, None, None]
        product = windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1))
        part_2 = first_largest(product, (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part_2 * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        force_s1 = F.conv_transpose2d(pull_a2, self.W2)
        force_s1 += fixed.drive
        force_s1 -= s1
        part_3 = largest_entry(product, (3, 5))
        force_s2 = torch.einsum("Bk,koij->Boij", y, self.W3)
        force_s2 += part_3
        force_s2 -= s2
        force_y = torch.einsum("Boij,koij->Bk", s2, self.W3)
        force_y -= y
        force_y += self.b3
        return [force_s1, force_s2, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

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
        hit = (positions(10, 0, 1, self.device) == label[:, None]).to(self.dtype)
        total = y - hit
        cost = 0.5 * (total * total).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What is only reported.

        metric  accuracy  = correct[k](y[k], label)
        """
        _, _, y = states
        (label,) = targets
        part = first_largest(y, 1)
        accuracy = part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - where(k == label, 1, 0)
        """
        _, _, y = states
        (label,) = targets
        hit = (positions(10, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_y = y - hit
        return [None, None, slope_y], {}

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        s1, s2, y = states
        seed_s1, seed_s2, seed_y = seeds
        a2 = F.conv2d(s1, self.W2)
        a2 += self.b2[:, None, None]
        part = first_largest(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part * seed_s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        back_s1 = F.conv_transpose2d(pull_a2, self.W2)
        back_s1 -= seed_s1
        product_3 = windows(
            windows(F.conv2d(seed_s1, self.W2).permute(0, 2, 3, 1), 1, 0, (6, 2), (2, 1)),
            3,
            0,
            (6, 2),
            (2, 1),
        )
        back_s2 = torch.einsum("Bk,koij->Boij", seed_y, self.W3)
        back_s2 += (part * product_3.permute(0, 5, 1, 2, 3, 4)).sum((3, 5))
        back_s2 -= seed_s2
        back_y = torch.einsum("Boij,koij->Bk", seed_s2, self.W3)
        back_y -= seed_y
        if not params:
            return [back_s1, back_s2, back_y], {}
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * seed_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        pull_a2_2 = overlap_add(
            overlap_add(
                (part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        return [back_s1, back_s2, back_y], {
            "W1": torch.nn.grad.conv2d_weight(fixed.x, (64, 3, 3, 3), pull_a1),
            "b1": pull_a1.sum((0, 2, 3)),
            "W2": (
                torch.nn.grad.conv2d_weight(seed_s1, (128, 64, 4, 4), pull_a2_2)
                + torch.nn.grad.conv2d_weight(s1, (128, 64, 4, 4), pull_a2)
            ),
            "b2": pull_a2.sum((0, 2, 3)),
            "W3": torch.einsum("Boij,Bk->koij", s2, seed_y) + torch.einsum("Boij,Bk->koij", seed_s2, y),
            "b3": seed_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp."""
        seed_s1, _, _ = seeds
        pull_a1 = overlap_add(
            overlap_add(
                (fixed.drive_2 * seed_s1[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        grad_x = F.conv_transpose2d(pull_a1, self.W1)
        return {"x": grad_x}

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (seed_scores,) = seeds
        return [None, None, seed_scores], {}

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
        part = first_largest(windows(windows(a2, 2, 0, (6, 2), (2, 1)), 4, 0, (6, 2), (2, 1)), (3, 5))
        pull_a2 = overlap_add(
            overlap_add(
                (part * s2[:, :, :, None, :, None]).permute(0, 1, 4, 5, 2, 3),
                12,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            12,
            0,
            (2, 1),
        )
        return {"W2": -torch.nn.grad.conv2d_weight(s1, (128, 64, 4, 4), pull_a2), "b2": -pull_a2.sum((0, 2, 3))}

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
                30,
                0,
                (2, 1),
            ).permute(0, 1, 4, 2, 3),
            30,
            0,
            (2, 1),
        )
        total_2 = minus_s2 - plus_s2
        return {
            "W1": torch.nn.grad.conv2d_weight(fixed.x, (64, 3, 3, 3), product),
            "b1": product.sum((0, 2, 3)),
            "W3": (
                torch.einsum("Boij,Bk->koij", total_2, minus_y)
                + torch.einsum("Boij,Bk->koij", plus_s2, minus_y - plus_y)
            ),
            "b3": minus_y.sum(0) - plus_y.sum(0),
        }

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3]
        if name == "nudged":
            return [fixed.drive, self.W2, self.b2, self.W3, self.b3, targets[0]]
        raise KeyError(name)

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)
        states[1].clamp_(min=0, max=1)
        states[2].clamp_(min=0, max=1)

    def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:
        """P^T seeds, P the derivative of the projection at a point."""
        return [
            seeds[0] * ((at[0] >= 0) & (at[0] <= 1)),
            seeds[1] * ((at[1] >= 0) & (at[1] <= 1)),
            seeds[2] * ((at[2] >= 0) & (at[2] <= 1)),
        ]


@jit
def free_group_1(b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q])
    b2_here = tl.load(b2 + i, mask=inside, other=0.0)
    product_here = tl.load(
        product + 18432 * sample + i + 3072 * j + 1536 * k + 256 * m + 128 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    total_here = b2_here + product_here
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def free_group_2(total, first, largest_2, samples):
    """first, largest."""
    real = tl.float32 if largest_2.dtype.element_ty == tl.bfloat16 else largest_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 4608 * samples
    sample = place // 4608
    i = place // 36 % 128
    j = place // 6 % 6
    k = place % 6
    r = tl.arange(0, 4)[None, :]
    m = r // 2
    p = r % 2
    total_here = tl.load(
        total + 18432 * sample + 144 * i + 24 * j + 2 * k + 12 * m + p,
        mask=inside,
        other=0.0,
    ).to(real)
    largest_3 = tl.max(total_here, 1, keep_dims=True)
    first_here = tl.max(
        tl.where((total_here - largest_3) == 0.0, -((2 * m) + p).to(real), float("-inf")),
        1,
        keep_dims=True,
    )
    tl.store(first + 4608 * sample + 36 * i + 6 * j + k, first_here, mask=inside)
    largest_here = tl.max(total_here, 1, keep_dims=True)
    tl.store(largest_2 + 4608 * sample + 36 * i + 6 * j + k, largest_here, mask=inside)


@jit
def free_group_3(first, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # argmax[r in R, r2 in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q]))
    first_here = tl.load(first + 4608 * sample + 36 * i + 6 * j + m, mask=inside, other=0.0).to(real)
    total_here = tl.where((first_here - (-((2 * k) + r).to(real))) == 0.0, tl.full((1, 1), 1.0, real), 0.0)
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def free_group_4(s2, total, pull_a2, samples):
    """pull_a2."""
    real = s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 144 * samples
    sample = place // 144
    i = place // 12 % 12
    j = place % 12
    r = tl.arange(0, 128)[None, :]
    # pull_a2[o,u,v] = sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[o,j,i] * argmax[r2 in R, r
    #   in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*j + r2 + p, R*i + r + q]))))
    s2_here = tl.load(
        s2 + 4608 * sample + 6 * (block_floor_div(i, 2)) + block_floor_div(j, 2) + 36 * r,
        mask=inside,
        other=0.0,
    )
    total_here = tl.load(
        total + 18432 * sample + 24 * (
            block_floor_div(i, 2)
        ) + 12 * (block_modulo(i, 2)) + 2 * (block_floor_div(j, 2)) + block_modulo(j, 2) + 144 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    pull_a2_here = s2_here * total_here
    tl.store(pull_a2 + 18432 * sample + 1536 * i + 128 * j + r, pull_a2_here, mask=inside)


@jit
def free_group_5(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 46080 * samples
    sample = place // 46080
    i = place // 3840 % 12
    j = place // 60 % 64
    k = place // 15 % 4
    m = place % 15
    r = tl.arange(0, 4)[None, :]
    # sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[j, r in R | u == R*j + r](sum[s22, r2 in R | v == R*s22
    #   + r2](s2[c2,s22,j] * argmax[r2 in R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s22 + r2 + q2,
    #   R*j + r + q3]))))))
    product_here = tl.load(
        product + 147456 * sample + 1024 * i + 16 * j + k + 12288 * m - 12284 * r,
        mask=inside & (((m - r) >= 0) & ((m - r) < 12)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(tl.where(((m - r) >= 0) & ((m - r) < 12), product_here, 0.0), 1, keep_dims=True)
    tl.store(total + 46080 * sample + 3840 * i + 60 * j + 15 * k + m, total_here, mask=inside)


@jit
def free_group_6(total, s1, drive, next_s1, scalars, samples):
    """next_s1."""
    real = next_s1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 14400 * samples
    sample = place // 14400
    i = place // 225 % 64
    j = place // 15 % 15
    k = place % 15
    step_s1 = tl.load(scalars)
    r = tl.arange(0, 4)[None, :]
    # sum[u in V, p | j == u + p](sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[s22, r in R | u == R*s22 +
    #   r](sum[s23, r2 in R | v == R*s23 + r2](s2[c2,s23,s22] * argmax[r2 in R, r in R](b2[c2] +
    #   sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s23 + r2 + q2, R*s22 + r + q3])))))))
    total_here = tl.load(
        total + 46080 * sample + 60 * i + j + 3840 * k - 3825 * r,
        mask=inside & (((k - r) >= 0) & ((k - r) < 12)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(tl.where(((k - r) >= 0) & ((k - r) < 12), total_here, 0.0), 1, keep_dims=True)
    s1_here = tl.load(s1 + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    drive_here = tl.load(drive + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    free = s1_here + step_s1 * (-s1_here + drive_here + total_2)
    next_s1_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s1 + 14400 * sample + 225 * i + 15 * j + k, next_s1_here, mask=inside)


@jit
def free_group_7(s2, product, largest_2, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < 768 * samples
    sample = place // 768
    i = place // 6 % 128
    j = place % 6
    step_s2 = tl.load(scalars + 1)
    r = tl.arange(0, 8)[None, :]
    s2_here = tl.load(s2 + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0)
    product_here = tl.load(product + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0).to(real)
    largest_2_here = tl.load(
        largest_2 + 4608 * sample + 36 * i + 6 * j + r,
        mask=inside & (r < 6),
        other=0.0,
    ).to(real)
    free = s2_here + step_s2 * (-s2_here + product_here + largest_2_here)
    next_s2_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s2 + 4608 * sample + 36 * i + 6 * j + r, next_s2_here, mask=inside & (r < 6))


@jit
def free_group_8(y, b3, product, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < samples
    sample = place
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    free = y_here + step_y * (-y_here + (b3_here + product_here))
    next_y_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    drive, W2, b2, W3, b3 = given
    n = len(s1)
    product = room(memory, n, 0, 18432)
    total = room(memory, n, 18432, 18432)
    first = room(memory, n, 0, 4608)
    largest_2 = room(memory, n, 4608, 4608)
    total_2 = room(memory, n, 9216, 18432)
    pull_a2 = room(memory, n, 27648, 18432)
    product_2 = room(memory, n, 46080, 147456)
    total_3 = room(memory, n, 193536, 46080)
    product_3 = room(memory, n, 0, 4608)
    product_4 = room(memory, n, 9216, 10)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product, (n, 12, 12, 128), (18432, 1536, 128, 1)),
        "abcefg,defg->abcd",
        matrix(s1, (n, 12, 12, 64, 4, 4), (14400, 15, 1, 225, 15, 1)),
        matrix(W2, (128, 64, 4, 4), (1024, 16, 4, 1)),
    )
    free_group_1[(cdiv(9216 * n, 512),)](b2, product, total, n)
    free_group_2[(cdiv(4608 * n, 256),)](total, first, largest_2, n)
    free_group_3[(cdiv(9216 * n, 512),)](first, total_2, n)
    free_group_4[(cdiv(144 * n, 8),)](s2, total_2, pull_a2, n)
    # sum[c2](W2[c2,o,p,q] * sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[c2,j,i] * argmax[r2 in
    #   R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*j + r2 + q2, R*i + r + q3])))))
    put_product(
        matrix(product_2, (144 * n, 1024), (1024, 1)),
        matrix(pull_a2, (144 * n, 128), (128, 1)),
        matrix(W2, (128, 1024), (1024, 1)),
    )
    free_group_5[(cdiv(46080 * n, 256),)](product_2, total_3, n)
    free_group_6[(cdiv(14400 * n, 256),)](total_3, s1, drive, next_s1, scalars, n)
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3, (n, 4608), (4608, 1)),
        matrix(y, (n, 10), (10, 1)),
        matrix(W3, (10, 4608), (4608, 1)),
    )
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    put_product(
        matrix(product_4, (n, 10), (10, 1)),
        matrix(s2, (n, 4608), (4608, 1)),
        matrix(W3, (4608, 10), (1, 4608)),
    )
    free_group_7[(cdiv(768 * n, 128),)](s2, product_3, largest_2, next_s2, scalars, n)
    free_group_8[(cdiv(n, 64),)](y, b3, product_4, next_y, scalars, n)


@jit
def nudged_group_1(b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q])
    b2_here = tl.load(b2 + i, mask=inside, other=0.0)
    product_here = tl.load(
        product + 18432 * sample + i + 3072 * j + 1536 * k + 256 * m + 128 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    total_here = b2_here + product_here
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def nudged_group_2(total, first, largest_2, samples):
    """first, largest."""
    real = tl.float32 if largest_2.dtype.element_ty == tl.bfloat16 else largest_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 4608 * samples
    sample = place // 4608
    i = place // 36 % 128
    j = place // 6 % 6
    k = place % 6
    r = tl.arange(0, 4)[None, :]
    m = r // 2
    p = r % 2
    total_here = tl.load(
        total + 18432 * sample + 144 * i + 24 * j + 2 * k + 12 * m + p,
        mask=inside,
        other=0.0,
    ).to(real)
    largest_3 = tl.max(total_here, 1, keep_dims=True)
    first_here = tl.max(
        tl.where((total_here - largest_3) == 0.0, -((2 * m) + p).to(real), float("-inf")),
        1,
        keep_dims=True,
    )
    tl.store(first + 4608 * sample + 36 * i + 6 * j + k, first_here, mask=inside)
    largest_here = tl.max(total_here, 1, keep_dims=True)
    tl.store(largest_2 + 4608 * sample + 36 * i + 6 * j + k, largest_here, mask=inside)


@jit
def nudged_group_3(first, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 512 + tl.arange(0, 512)[:, None]
    inside = place < 9216 * samples
    sample = place // 9216
    i = place // 72 % 128
    j = place // 12 % 6
    k = place // 6 % 2
    m = place % 6
    r = tl.arange(0, 2)[None, :]
    # argmax[r in R, r2 in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*i + r + p, R*j + r2 + q]))
    first_here = tl.load(first + 4608 * sample + 36 * i + 6 * j + m, mask=inside, other=0.0).to(real)
    total_here = tl.where((first_here - (-((2 * k) + r).to(real))) == 0.0, tl.full((1, 1), 1.0, real), 0.0)
    tl.store(total + 18432 * sample + 144 * i + 24 * j + 12 * k + 2 * m + r, total_here, mask=inside)


@jit
def nudged_group_4(s2, total, pull_a2, samples):
    """pull_a2."""
    real = s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 144 * samples
    sample = place // 144
    i = place // 12 % 12
    j = place % 12
    r = tl.arange(0, 128)[None, :]
    # pull_a2[o,u,v] = sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[o,j,i] * argmax[r2 in R, r
    #   in R](b2[o] + sum[c,p,q](W2[o,c,p,q] * s1[c, R*j + r2 + p, R*i + r + q]))))
    s2_here = tl.load(
        s2 + 4608 * sample + 6 * (block_floor_div(i, 2)) + block_floor_div(j, 2) + 36 * r,
        mask=inside,
        other=0.0,
    )
    total_here = tl.load(
        total + 18432 * sample + 24 * (
            block_floor_div(i, 2)
        ) + 12 * (block_modulo(i, 2)) + 2 * (block_floor_div(j, 2)) + block_modulo(j, 2) + 144 * r,
        mask=inside,
        other=0.0,
    ).to(real)
    pull_a2_here = s2_here * total_here
    tl.store(pull_a2 + 18432 * sample + 1536 * i + 128 * j + r, pull_a2_here, mask=inside)


@jit
def nudged_group_5(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 46080 * samples
    sample = place // 46080
    i = place // 3840 % 12
    j = place // 60 % 64
    k = place // 15 % 4
    m = place % 15
    r = tl.arange(0, 4)[None, :]
    # sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[j, r in R | u == R*j + r](sum[s22, r2 in R | v == R*s22
    #   + r2](s2[c2,s22,j] * argmax[r2 in R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s22 + r2 + q2,
    #   R*j + r + q3]))))))
    product_here = tl.load(
        product + 147456 * sample + 1024 * i + 16 * j + k + 12288 * m - 12284 * r,
        mask=inside & (((m - r) >= 0) & ((m - r) < 12)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(tl.where(((m - r) >= 0) & ((m - r) < 12), product_here, 0.0), 1, keep_dims=True)
    tl.store(total + 46080 * sample + 3840 * i + 60 * j + 15 * k + m, total_here, mask=inside)


@jit
def nudged_group_6(total, s1, drive, next_s1, scalars, samples):
    """next_s1."""
    real = next_s1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 256 + tl.arange(0, 256)[:, None]
    inside = place < 14400 * samples
    sample = place // 14400
    i = place // 225 % 64
    j = place // 15 % 15
    k = place % 15
    step_s1 = tl.load(scalars + 1)
    r = tl.arange(0, 4)[None, :]
    # sum[u in V, p | j == u + p](sum[v in V, q | i == v + q](sum[c2](W2[c2,o,q,p] * sum[s22, r in R | u == R*s22 +
    #   r](sum[s23, r2 in R | v == R*s23 + r2](s2[c2,s23,s22] * argmax[r2 in R, r in R](b2[c2] +
    #   sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*s23 + r2 + q2, R*s22 + r + q3])))))))
    total_here = tl.load(
        total + 46080 * sample + 60 * i + j + 3840 * k - 3825 * r,
        mask=inside & (((k - r) >= 0) & ((k - r) < 12)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(tl.where(((k - r) >= 0) & ((k - r) < 12), total_here, 0.0), 1, keep_dims=True)
    s1_here = tl.load(s1 + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    drive_here = tl.load(drive + 14400 * sample + 225 * i + 15 * j + k, mask=inside, other=0.0)
    free = s1_here + step_s1 * (-s1_here + drive_here + total_2)
    next_s1_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s1 + 14400 * sample + 225 * i + 15 * j + k, next_s1_here, mask=inside)


@jit
def nudged_group_7(s2, product, largest_2, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    inside = place < 768 * samples
    sample = place // 768
    i = place // 6 % 128
    j = place % 6
    step_s2 = tl.load(scalars + 2)
    r = tl.arange(0, 8)[None, :]
    s2_here = tl.load(s2 + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0)
    product_here = tl.load(product + 4608 * sample + 36 * i + 6 * j + r, mask=inside & (r < 6), other=0.0).to(real)
    largest_2_here = tl.load(
        largest_2 + 4608 * sample + 36 * i + 6 * j + r,
        mask=inside & (r < 6),
        other=0.0,
    ).to(real)
    free = s2_here + step_s2 * (-s2_here + product_here + largest_2_here)
    next_s2_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_s2 + 4608 * sample + 36 * i + 6 * j + r, next_s2_here, mask=inside & (r < 6))


@jit
def nudged_group_8(y, b3, product, label, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 4), 1.0, -1.0)
    step_y = tl.load(scalars + 3)
    r = tl.arange(0, 16)[None, :]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    label_here = tl.load(label + sample, mask=inside, other=0)
    free = (
        y_here
        + step_y * (
            (-y_here + (b3_here + product_here)) - beta * (
                y_here - tl.where(r == label_here, tl.full((1, 1), 1.0, real), 0.0)
            )
        )
    )
    next_y_here = tl.where(free < 0.0, 0.0, tl.where(free > 1.0, 1.0, free))
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    drive, W2, b2, W3, b3, label = given
    n = len(s1)
    product = room(memory, n, 0, 18432)
    total = room(memory, n, 18432, 18432)
    first = room(memory, n, 0, 4608)
    largest_2 = room(memory, n, 4608, 4608)
    total_2 = room(memory, n, 9216, 18432)
    pull_a2 = room(memory, n, 27648, 18432)
    product_2 = room(memory, n, 46080, 147456)
    total_3 = room(memory, n, 193536, 46080)
    product_3 = room(memory, n, 0, 4608)
    product_4 = room(memory, n, 9216, 10)
    # sum[c,p,q](W2[o,c,p,q] * s1[c, u + p, v + q])
    put_einsum(
        matrix(product, (n, 12, 12, 128), (18432, 1536, 128, 1)),
        "abcefg,defg->abcd",
        matrix(s1, (n, 12, 12, 64, 4, 4), (14400, 15, 1, 225, 15, 1)),
        matrix(W2, (128, 64, 4, 4), (1024, 16, 4, 1)),
    )
    nudged_group_1[(cdiv(9216 * n, 512),)](b2, product, total, n)
    nudged_group_2[(cdiv(4608 * n, 256),)](total, first, largest_2, n)
    nudged_group_3[(cdiv(9216 * n, 512),)](first, total_2, n)
    nudged_group_4[(cdiv(144 * n, 8),)](s2, total_2, pull_a2, n)
    # sum[c2](W2[c2,o,p,q] * sum[i, r in R | v == R*i + r](sum[j, r2 in R | u == R*j + r2](s2[c2,j,i] * argmax[r2 in
    #   R, r in R](b2[c2] + sum[c,q2,q3](W2[c2,c,q2,q3] * s1[c, R*j + r2 + q2, R*i + r + q3])))))
    put_product(
        matrix(product_2, (144 * n, 1024), (1024, 1)),
        matrix(pull_a2, (144 * n, 128), (128, 1)),
        matrix(W2, (128, 1024), (1024, 1)),
    )
    nudged_group_5[(cdiv(46080 * n, 256),)](product_2, total_3, n)
    nudged_group_6[(cdiv(14400 * n, 256),)](total_3, s1, drive, next_s1, scalars, n)
    # sum[k](W3[k,o,i,j] * y[k])
    put_product(
        matrix(product_3, (n, 4608), (4608, 1)),
        matrix(y, (n, 10), (10, 1)),
        matrix(W3, (10, 4608), (4608, 1)),
    )
    # sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    put_product(
        matrix(product_4, (n, 10), (10, 1)),
        matrix(s2, (n, 4608), (4608, 1)),
        matrix(W3, (4608, 10), (1, 4608)),
    )
    nudged_group_7[(cdiv(768 * n, 128),)](s2, product_3, largest_2, next_s2, scalars, n)
    nudged_group_8[(cdiv(n, 64),)](y, b3, product_4, label, next_y, scalars, n)


class HopfieldConv(HopfieldConvEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (centered_ep, implicit,)
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 239616, matrices={1, 3}),
            "nudged": PhaseStep(nudged_step, 239616, matrices={1, 3}),
        }
    )
