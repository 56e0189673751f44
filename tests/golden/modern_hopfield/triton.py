"""modern_hopfield: Modern Hopfield network: retrieval of a stored pattern from a damaged one (Ramsauer et al.
2021).

Made by energyc 0.1.0 from modern_hopfield.energy
SHA-256 of the spec: 91ca46d785027a00a25fae9eb41e26c9583f72f613657394e0f7f6b0b439c755
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_product, room
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


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
    state_shapes = {"z": (64,)}
    clamp_shapes = {"probe": ((64,), None)}
    target_shapes = {"stored": ((64,), None)}
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
        self.X = self._param(normal(random, (100, 64), 1))

    def _prepare(self, probe: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
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
        level = (z @ self.X.T).mul_(8).logsumexp(1)
        energy_memory = -0.125 * level
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
        """The answers.

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
        total = z - stored
        cost = (total * total).mean(1)
        return [cost]

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[d] = 2/D * (z[d] - stored[d])
        """
        (z,) = states
        (stored,) = targets
        total = z - stored
        slope_z = 0.03125 * total
        return [slope_z], {}

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        (z,) = states
        (seed_z,) = seeds
        weights = (z @ self.X.T).mul_(8).softmax(1)
        product = weights * (seed_z @ self.X.T)
        total = product - weights * product.sum(1)[:, None]
        back_z = 8 * (total @ self.X)
        back_z -= seed_z
        if not params:
            return [back_z], {}
        return [back_z], {"X": weights.T @ seed_z + 8 * (total.T @ z)}

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        (seed_z,) = seeds
        return {"probe": seed_z}

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (seed_pattern,) = seeds
        return [seed_pattern], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch.

        dE/dX[m,d] = -z[d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2]))
        """
        (z,) = states
        weights = (z @ self.X.T).mul_(8).softmax(1)
        return {"X": -(weights.T @ z)}

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.X]
        if name == "nudged":
            return [self.X, targets[0]]
        raise KeyError(name)


@jit
def free_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 100 * sample + r, mask=inside & (r < 100), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 100), 8.0 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((8.0 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 100), power, 0.0), 1, keep_dims=True)
    # softmax[m](beta * sum[d](X[m,d] * z[d]))
    weights_here = power / whole
    tl.store(weights + 100 * sample + r, weights_here, mask=inside & (r < 100))


@jit
def free_group_2(z, product, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < samples
    sample = place
    step_z = tl.load(scalars)
    r = tl.arange(0, 64)[None, :]
    z_here = tl.load(z + 64 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 64 * sample + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * (-z_here + product_here)
    tl.store(next_z + 64 * sample + r, next_z_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, = now
    next_z, = then
    X, = given
    n = len(z)
    product = room(memory, n, 0, 100)
    weights = room(memory, n, 112, 100)
    product_2 = room(memory, n, 0, 64)
    # sum[d](X[m,d] * z[d])
    put_product(matrix(product, (n, 100), (100, 1)), matrix(z, (n, 64), (64, 1)), matrix(X, (64, 100), (1, 64)))
    free_group_1[(cdiv(n, 8),)](product, weights, n)
    # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
    put_product(
        matrix(product_2, (n, 64), (64, 1)),
        matrix(weights, (n, 100), (100, 1)),
        matrix(X, (100, 64), (64, 1)),
    )
    free_group_2[(cdiv(n, 16),)](z, product_2, next_z, scalars, n)


@jit
def nudged_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < samples
    sample = place
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 100 * sample + r, mask=inside & (r < 100), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 100), 8.0 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((8.0 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 100), power, 0.0), 1, keep_dims=True)
    # softmax[m](beta * sum[d](X[m,d] * z[d]))
    weights_here = power / whole
    tl.store(weights + 100 * sample + r, weights_here, mask=inside & (r < 100))


@jit
def nudged_group_2(z, product, stored, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < samples
    sample = place
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 64)[None, :]
    z_here = tl.load(z + 64 * sample + r, mask=inside, other=0.0)
    product_here = tl.load(product + 64 * sample + r, mask=inside, other=0.0).to(real)
    stored_here = tl.load(stored + 64 * sample + r, mask=inside, other=0.0)
    next_z_here = z_here + step_z * ((-z_here + product_here) - beta * (0.03125 * (-stored_here + z_here)))
    tl.store(next_z + 64 * sample + r, next_z_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, = now
    next_z, = then
    X, stored = given
    n = len(z)
    product = room(memory, n, 0, 100)
    weights = room(memory, n, 112, 100)
    product_2 = room(memory, n, 0, 64)
    # sum[d](X[m,d] * z[d])
    put_product(matrix(product, (n, 100), (100, 1)), matrix(z, (n, 64), (64, 1)), matrix(X, (64, 100), (1, 64)))
    nudged_group_1[(cdiv(n, 8),)](product, weights, n)
    # sum[m](X[m,d] * softmax[m](beta * sum[d2](X[m,d2] * z[d2])))
    put_product(
        matrix(product_2, (n, 64), (64, 1)),
        matrix(weights, (n, 100), (100, 1)),
        matrix(X, (100, 64), (64, 1)),
    )
    nudged_group_2[(cdiv(n, 16),)](z, product_2, stored, next_z, scalars, n)


class ModernHopfield(ModernHopfieldEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (centered_ep, implicit,)
    kernels = TritonKernels(
        {"free": PhaseStep(free_step, 224, matrices={0}), "nudged": PhaseStep(nudged_step, 224, matrices={0})}
    )
