"""predictive_coding: A predictive-coding network (Rao and Ballard 1999; Whittington and Bogacz 2017): energy is
squared prediction error.

Made by energyc 0.1.0 from predictive_coding.energy
SHA-256 of the spec: 4bd8f23387b8445233beec864fbe9b5356fa4cac35010559e42cf6b29850edca
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_tanh, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_product, room
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import uniform
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.reductions import first_largest
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    m1: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], m1=self.m1[rows])


class PredictiveCodingEquations:
    """States s1[J], s2[L], y[K].

    Sizes: I = 784, J = 256, L = 128, K = 10.

    Consts: v1 = 1, v2 = 1, v3 = 1.

    let m1[j] = sum[i](W1[j,i] * x[i]) + b1[j]
    let m2[l] = sum[j](W2[l,j] * f(s1[j])) + b2[l]
    let m3[k] = sum[l](W3[k,l] * f(s2[l])) + b3[k]
    let p2[l] = sum[j](W2[l,j] * f(m1[j])) + b2[l]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "predictive_coding"
    state_shapes = {"s1": (256,), "s2": (128,), "y": (10,)}
    clamp_shapes = {"x": ((784,), None)}
    target_shapes = {"label": ((), 10)}
    term_names = ("first", "second", "third")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    relax_steps = 10
    relax_step = (0.2, 0.2, 0.5)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 50

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W1 = self._param(uniform(random, (256, 784), -0.075955452531275, 0.075955452531275))
        self.W2 = self._param(uniform(random, (128, 256), -0.125, 0.125))
        self.W3 = self._param(uniform(random, (10, 128), -0.20851441405707477, 0.20851441405707477))
        self.b1 = self._param(torch.full((256,), 0.0, dtype=torch.float64))
        self.b2 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.b3 = self._param(torch.full((10,), 0.0, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        m1 = x @ self.W1.T
        m1 += self.b1
        return Fixed(x, m1)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        p2 = torch.tanh(fixed.m1) @ self.W2.T
        p2 += self.b2
        start_y = (self.W3 @ torch.tanh(p2).T).T
        start_y += self.b3
        return [fixed.m1, p2, start_y]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy first  = 1/(2*v1) * sum[j]((s1[j] - m1[j])^2)
        energy second = 1/(2*v2) * sum[l]((s2[l] - m2[l])^2)
        energy third  = 1/(2*v3) * sum[k]((y[k] - m3[k])^2)
        """
        s1, s2, y = states
        total = s1 - fixed.m1
        energy_first = 0.5 * (total * total).sum(1)
        m2 = torch.tanh(s1) @ self.W2.T
        m2 += self.b2
        total_2 = s2 - m2
        energy_second = 0.5 * (total_2 * total_2).sum(1)
        m3 = (self.W3 @ torch.tanh(s2).T).T
        m3 += self.b3
        total_3 = y - m3
        energy_third = 0.5 * (total_3 * total_3).sum(1)
        return [energy_first, energy_second, energy_third]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s1[j] = 1/v2 * sum[l](W2[l,j] * (s2[l] - m2[l])) * (1 - tanh(s1[j])^2) - (s1[j] - m1[j]) / v1
        F_s2[l] = 1/v3 * sum[k](W3[k,l] * (y[k] - m3[k])) * (1 - tanh(s2[l])^2) - (s2[l] - m2[l]) / v2
        F_y[k] = -(y[k] - m3[k]) / v3
        """
        s1, s2, y = states
        tanh = torch.tanh(s1)
        total = -(tanh * tanh)
        total += 1
        m2 = tanh @ self.W2.T
        m2 += self.b2
        total_2 = s2 - m2
        force_s1 = total * (total_2 @ self.W2)
        force_s1 += fixed.m1
        force_s1 -= s1
        tanh_2 = torch.tanh(s2)
        total_3 = -(tanh_2 * tanh_2)
        total_3 += 1
        m3 = (self.W3 @ tanh_2.T).T
        m3 += self.b3
        total_4 = y - m3
        force_s2 = total_3 * (total_4 @ self.W3)
        force_s2 -= total_2
        pull_m3 = -total_4
        return [force_s1, force_s2, pull_m3]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

        readout scores[k] = y[k]
        """
        _, _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, _, y = states
        (label,) = targets
        hit = (positions(10, 0, 1, self.device) == label[:, None]).to(self.dtype)
        total = y - hit
        cost = 0.5 * (total * total).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What is only reported.

        metric accuracy = correct[k](y[k], label)
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
        tanh = torch.tanh(s1)
        total = -(tanh * tanh)
        total += 1
        m2 = tanh @ self.W2.T
        m2 += self.b2
        total_2 = s2 - m2
        product = total * seed_s1
        total_3 = product @ self.W2.T
        total_3 -= seed_s2
        total_4 = -2 * (tanh * (seed_s1 * (total_2 @ self.W2)))
        total_4 -= total_3 @ self.W2
        back_s1 = total * total_4
        back_s1 -= seed_s1
        tanh_2 = torch.tanh(s2)
        total_5 = -(tanh_2 * tanh_2)
        total_5 += 1
        m3 = (self.W3 @ tanh_2.T).T
        m3 += self.b3
        total_6 = y - m3
        product_2 = total_5 * seed_s2
        back_y = (self.W3 @ product_2.T).T
        back_y -= seed_y
        total_7 = -2 * (tanh_2 * (seed_s2 * (total_6 @ self.W3)))
        total_7 -= back_y @ self.W3
        back_s2 = total_5 * total_7
        back_s2 += total_3
        if not params:
            return [back_s1, back_s2, back_y], {}
        return [back_s1, back_s2, back_y], {
            "W1": seed_s1.T @ fixed.x,
            "W2": total_2.T @ product - total_3.T @ tanh,
            "W3": total_6.T @ product_2 - back_y.T @ tanh_2,
            "b1": seed_s1.sum(0),
            "b2": -total_3.sum(0),
            "b3": -back_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp."""
        seed_s1, _, _ = seeds
        grad_x = seed_s1 @ self.W1
        return {"x": grad_x}

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        seed_s1, seed_s2, seed_y = seeds
        tanh = torch.tanh(fixed.m1)
        p2 = tanh @ self.W2.T
        p2 += self.b2
        tanh_2 = torch.tanh_(p2)
        total = -(tanh_2 * tanh_2)
        total += 1
        pull_p2 = seed_y @ self.W3 * total
        pull_p2 += seed_s2
        total_2 = -(tanh * tanh)
        total_2 += 1
        pull_m1 = pull_p2 @ self.W2 * total_2
        pull_m1 += seed_s1
        grad_x = pull_m1 @ self.W1
        return {
            "x": grad_x,
            "W1": pull_m1.T @ fixed.x,
            "W2": pull_p2.T @ tanh,
            "W3": seed_y.T @ tanh_2,
            "b1": pull_m1.sum(0),
            "b2": pull_p2.sum(0),
            "b3": seed_y.sum(0),
        }

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (seed_scores,) = seeds
        return [None, None, seed_scores], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dW2[l,j] = -1/v2 * tanh(s1[j]) * (s2[l] - m2[l])
        dE/dW3[k,l] = -1/v3 * tanh(s2[l]) * (y[k] - m3[k])
        dE/db2[l] = -(s2[l] - m2[l]) / v2
        dE/db3[k] = -(y[k] - m3[k]) / v3
        """
        s1, s2, y = states
        tanh = torch.tanh(s1)
        tanh_2 = torch.tanh(s2)
        return {
            "W2": -((s2 - tanh @ self.W2.T - self.b2).T @ tanh),
            "W3": -((y - (self.W3 @ tanh_2.T).T - self.b3).T @ tanh_2),
            "b2": -(s2.sum(0) - len(states[0]) * self.b2 - tanh.sum(0) @ self.W2.T),
            "b3": -(y.sum(0) - len(states[0]) * self.b3 - tanh_2.sum(0) @ self.W3.T),
        }

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W1[j,i] = 1/v1 * x[i] * (minus_s1[j] - plus_s1[j])
        c_b1[j] = (minus_s1[j] - plus_s1[j]) / v1
        """
        plus_s1, _, _ = plus
        minus_s1, _, _ = minus
        return {"W1": (minus_s1 - plus_s1).T @ fixed.x, "b1": minus_s1.sum(0) - plus_s1.sum(0)}

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [fixed.m1, self.W2, self.b2, self.W3, self.b3]
        if name == "nudged":
            return [fixed.m1, self.W2, self.b2, self.W3, self.b3, targets[0]]
        raise KeyError(name)


@jit
def free_group_1(s1, s2, image, image_2, samples):
    """image."""
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 256)[None, :]
    # tanh(s1[j])
    s1_here = tl.load(s1 + 256 * sample + r, mask=inside, other=0.0)
    image_here = block_tanh(s1_here)
    tl.store(image + 256 * sample + r, image_here, mask=inside)
    r_2 = tl.arange(0, 128)[None, :]
    # tanh(s2[l])
    s2_here = tl.load(s2 + 128 * sample + r_2, mask=inside, other=0.0)
    image_here_2 = block_tanh(s2_here)
    tl.store(image_2 + 128 * sample + r_2, image_here_2, mask=inside)


@jit
def free_group_2(s2, b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    # s2[l] - m2[l]
    s2_here = tl.load(s2 + 128 * sample + r, mask=inside, other=0.0)
    b2_here = tl.load(b2 + r)
    product_here = tl.load(product + 128 * sample + r, mask=inside, other=0.0).to(real)
    total_here = s2_here - (b2_here + product_here)
    tl.store(total + 128 * sample + r, total_here, mask=inside)


@jit
def free_group_3(y, b3, product, s1, m1, image, product_2, total, next_s1, next_y, scalars, samples):
    """total, next_s1, next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < samples
    sample = place
    step_s1 = tl.load(scalars)
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    # y[k] - m3[k]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    total_here = y_here - (b3_here + product_here)
    tl.store(total + 10 * sample + r, total_here, mask=inside & (r < 10))
    r_2 = tl.arange(0, 256)[None, :]
    s1_here = tl.load(s1 + 256 * sample + r_2, mask=inside, other=0.0)
    m1_here = tl.load(m1 + 256 * sample + r_2, mask=inside, other=0.0)
    image_here = tl.load(image + 256 * sample + r_2, mask=inside, other=0.0).to(real)
    product_2_here = tl.load(product_2 + 256 * sample + r_2, mask=inside, other=0.0).to(real)
    next_s1_here = s1_here + step_s1 * (-(s1_here - m1_here) + (1.0 - image_here * image_here) * product_2_here)
    tl.store(next_s1 + 256 * sample + r_2, next_s1_here, mask=inside)
    next_y_here = y_here + step_y * (-total_here)
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


@jit
def free_group_4(s2, total, image, product, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    step_s2 = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    s2_here = tl.load(s2 + 128 * sample + r, mask=inside, other=0.0)
    total_here = tl.load(total + 128 * sample + r, mask=inside, other=0.0).to(real)
    image_here = tl.load(image + 128 * sample + r, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 128 * sample + r, mask=inside, other=0.0).to(real)
    next_s2_here = s2_here + step_s2 * (-total_here + (1.0 - image_here * image_here) * product_here)
    tl.store(next_s2 + 128 * sample + r, next_s2_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    m1, W2, b2, W3, b3 = given
    n = len(s1)
    image = room(memory, n, 0, 256)
    image_2 = room(memory, n, 256, 128)
    product = room(memory, n, 384, 128)
    total = room(memory, n, 512, 128)
    product_2 = room(memory, n, 640, 256)
    product_3 = room(memory, n, 384, 10)
    total_2 = room(memory, n, 400, 10)
    product_4 = room(memory, n, 0, 128)
    free_group_1[(cdiv(n, 4),)](s1, s2, image, image_2, n)
    # sum[j](W2[l,j] * tanh(s1[j]))
    put_product(
        matrix(product, (n, 128), (128, 1)),
        matrix(image, (n, 256), (256, 1)),
        matrix(W2, (256, 128), (1, 256)),
    )
    free_group_2[(cdiv(n, 8),)](s2, b2, product, total, n)
    # sum[l](W2[l,j] * (s2[l] - m2[l]))
    put_product(
        matrix(product_2, (n, 256), (256, 1)),
        matrix(total, (n, 128), (128, 1)),
        matrix(W2, (128, 256), (256, 1)),
    )
    # sum[l](W3[k,l] * tanh(s2[l]))
    put_product(
        matrix(product_3, (n, 10), (10, 1)),
        matrix(image_2, (n, 128), (128, 1)),
        matrix(W3, (128, 10), (1, 128)),
    )
    free_group_3[(cdiv(n, 4),)](y, b3, product_3, s1, m1, image, product_2, total_2, next_s1, next_y, scalars, n)
    # sum[k](W3[k,l] * (y[k] - m3[k]))
    put_product(
        matrix(product_4, (n, 128), (128, 1)),
        matrix(total_2, (n, 10), (10, 1)),
        matrix(W3, (10, 128), (128, 1)),
    )
    free_group_4[(cdiv(n, 8),)](s2, total, image_2, product_4, next_s2, scalars, n)


@jit
def nudged_group_1(s1, s2, image, image_2, samples):
    """image."""
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 256)[None, :]
    # tanh(s1[j])
    s1_here = tl.load(s1 + 256 * sample + r, mask=inside, other=0.0)
    image_here = block_tanh(s1_here)
    tl.store(image + 256 * sample + r, image_here, mask=inside)
    r_2 = tl.arange(0, 128)[None, :]
    # tanh(s2[l])
    s2_here = tl.load(s2 + 128 * sample + r_2, mask=inside, other=0.0)
    image_here_2 = block_tanh(s2_here)
    tl.store(image_2 + 128 * sample + r_2, image_here_2, mask=inside)


@jit
def nudged_group_2(s2, b2, product, total, samples):
    """total."""
    real = b2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    # s2[l] - m2[l]
    s2_here = tl.load(s2 + 128 * sample + r, mask=inside, other=0.0)
    b2_here = tl.load(b2 + r)
    product_here = tl.load(product + 128 * sample + r, mask=inside, other=0.0).to(real)
    total_here = s2_here - (b2_here + product_here)
    tl.store(total + 128 * sample + r, total_here, mask=inside)


@jit
def nudged_group_3(y, b3, product, s1, m1, image, product_2, label, total, next_s1, next_y, scalars, samples):
    """total, next_s1, next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 4), 1.0, -1.0)
    step_s1 = tl.load(scalars + 1)
    step_y = tl.load(scalars + 3)
    r = tl.arange(0, 16)[None, :]
    # y[k] - m3[k]
    y_here = tl.load(y + 10 * sample + r, mask=inside & (r < 10), other=0.0)
    b3_here = tl.load(b3 + r, mask=r < 10, other=0.0)
    product_here = tl.load(product + 10 * sample + r, mask=inside & (r < 10), other=0.0).to(real)
    total_here = y_here - (b3_here + product_here)
    tl.store(total + 10 * sample + r, total_here, mask=inside & (r < 10))
    r_2 = tl.arange(0, 256)[None, :]
    s1_here = tl.load(s1 + 256 * sample + r_2, mask=inside, other=0.0)
    m1_here = tl.load(m1 + 256 * sample + r_2, mask=inside, other=0.0)
    image_here = tl.load(image + 256 * sample + r_2, mask=inside, other=0.0).to(real)
    product_2_here = tl.load(product_2 + 256 * sample + r_2, mask=inside, other=0.0).to(real)
    next_s1_here = s1_here + step_s1 * (-(s1_here - m1_here) + (1.0 - image_here * image_here) * product_2_here)
    tl.store(next_s1 + 256 * sample + r_2, next_s1_here, mask=inside)
    label_here = tl.load(label + sample, mask=inside, other=0)
    next_y_here = (
        y_here
        + step_y * ((-total_here) - beta * (y_here - tl.where(r == label_here, tl.full((1, 1), 1.0, real), 0.0)))
    )
    tl.store(next_y + 10 * sample + r, next_y_here, mask=inside & (r < 10))


@jit
def nudged_group_4(s2, total, image, product, next_s2, scalars, samples):
    """next_s2."""
    real = next_s2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    step_s2 = tl.load(scalars + 2)
    r = tl.arange(0, 128)[None, :]
    s2_here = tl.load(s2 + 128 * sample + r, mask=inside, other=0.0)
    total_here = tl.load(total + 128 * sample + r, mask=inside, other=0.0).to(real)
    image_here = tl.load(image + 128 * sample + r, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 128 * sample + r, mask=inside, other=0.0).to(real)
    next_s2_here = s2_here + step_s2 * (-total_here + (1.0 - image_here * image_here) * product_here)
    tl.store(next_s2 + 128 * sample + r, next_s2_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    s1, s2, y = now
    next_s1, next_s2, next_y = then
    m1, W2, b2, W3, b3, label = given
    n = len(s1)
    image = room(memory, n, 0, 256)
    image_2 = room(memory, n, 256, 128)
    product = room(memory, n, 384, 128)
    total = room(memory, n, 512, 128)
    product_2 = room(memory, n, 640, 256)
    product_3 = room(memory, n, 384, 10)
    total_2 = room(memory, n, 400, 10)
    product_4 = room(memory, n, 0, 128)
    nudged_group_1[(cdiv(n, 4),)](s1, s2, image, image_2, n)
    # sum[j](W2[l,j] * tanh(s1[j]))
    put_product(
        matrix(product, (n, 128), (128, 1)),
        matrix(image, (n, 256), (256, 1)),
        matrix(W2, (256, 128), (1, 256)),
    )
    nudged_group_2[(cdiv(n, 8),)](s2, b2, product, total, n)
    # sum[l](W2[l,j] * (s2[l] - m2[l]))
    put_product(
        matrix(product_2, (n, 256), (256, 1)),
        matrix(total, (n, 128), (128, 1)),
        matrix(W2, (128, 256), (256, 1)),
    )
    # sum[l](W3[k,l] * tanh(s2[l]))
    put_product(
        matrix(product_3, (n, 10), (10, 1)),
        matrix(image_2, (n, 128), (128, 1)),
        matrix(W3, (128, 10), (1, 128)),
    )
    nudged_group_3[(cdiv(n, 4),)](
        y,
        b3,
        product_3,
        s1,
        m1,
        image,
        product_2,
        label,
        total_2,
        next_s1,
        next_y,
        scalars,
        n,
    )
    # sum[k](W3[k,l] * (y[k] - m3[k]))
    put_product(
        matrix(product_4, (n, 128), (128, 1)),
        matrix(total_2, (n, 10), (10, 1)),
        matrix(W3, (10, 128), (128, 1)),
    )
    nudged_group_4[(cdiv(n, 8),)](s2, total, image_2, product_4, next_s2, scalars, n)


class PredictiveCoding(PredictiveCodingEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (centered_ep, implicit,)
    kernels = TritonKernels(
        {"free": PhaseStep(free_step, 896, matrices={1, 3}), "nudged": PhaseStep(nudged_step, 896, matrices={1, 3})}
    )
