"""cet: Convergent Energy Transformer: masked image completion (Hoier, Kerjan, Scellier 2026, appendix B).

Made by energyc 0.1.0 from cet.energy
SHA-256 of the spec: 70f0f3b377af54ac38aad54fc62218e90297c32762dc9a6c8b9f2b803c3f4a1d
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_relu, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import overlap_add, windows
from energyc.runtime.tensors.sets import standardized_, standardized_adjoint
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_part: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], x_part=self.x_part[rows], drive=self.drive[rows])


class CetEquations:
    """States z[G, G, D], y[C, S, S].

    Sizes: C = 3, S = 120, P = 20, stride = 10, G = 11, split = 1, B = 20, D = 768, H = 12, A = 64, M = 3072.

    Consts: gamma = 0.25.

    let seen[i in G, j in G, d] = sum[c,p,q](W_enc[d,c,p,q] * x[c, stride*i + p, stride*j + q])
    let query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    let key[h,i,j,a]   = sum[d](W_k[h,a,d] * z[i,j,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cet"
    state_shapes = {"z": (11, 11, 768), "y": (3, 120, 120)}
    clamp_shapes = {"x": ((3, 120, 120), None)}
    target_shapes = {"t": ((3, 120, 120), None)}
    term_names = ("enc", "dec", "pos", "mem", "att")
    readout_names = ("image",)
    constrained = True
    relax_steps = 150
    relax_step = (1.0, 1.0)
    relax_tolerance = 0.0001
    relax_max_steps = 150
    beta = "auto"
    nudge_steps = 5

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_enc = self._param(normal(random, (768, 3, 20, 20), 0.08660254037844385))
        self.b_enc = self._param(torch.full((768,), 0.0, dtype=torch.float64))
        self.W_dec = self._param(normal(random, (768, 3, 20, 20), 0.004510548978043952))
        self.b_dec = self._param(torch.full((3,), 0.0, dtype=torch.float64))
        self.b_pos = self._param(normal(random, (11, 11, 768), 1))
        self.W_q = self._param(normal(random, (12, 64, 768), 0.014433756729740645))
        self.W_k = self._param(normal(random, (12, 64, 768), 0.014433756729740645))
        self.W_mem = self._param(normal(random, (768, 3072), 0.009021097956087904))

    def _prepare(self, x: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        x_part = windows(windows(x, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1))
        seen = torch.einsum("Bcipjq,dcpq->Bijd", x_part, self.W_enc)
        drive = seen + self.b_pos + self.b_enc
        return Fixed(x, x_part, drive)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.drive, torch.full((len(fixed[0]), 3, 120, 120), 0, device=self.device, dtype=self.dtype)]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy enc = 1/2 * sum[i,j,d](z[i,j,d]^2)
                   - sum[i,j,d](z[i,j,d] * seen[i,j,d])
                   - sum[i,j,d](z[i,j,d] * b_enc[d])
        energy dec = 1/2 * sum[c,u,v](y[c,u,v]^2)
                   - sum[i,j,d](z[i,j,d] * sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q]))
                   - sum[c,u,v](y[c,u,v] * b_dec[c])
        energy pos = -sum[i,j,d](z[i,j,d] * b_pos[i,j,d])
        energy mem = -sum[i,j,m](relu(sum[d](W_mem[d,m] * z[i,j,d]))^2)
        energy att = -1/gamma * sum[h,i,j](logsumexp[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a])))
        """
        z, y = states
        seen = torch.einsum("Bcipjq,dcpq->Bijd", fixed.x_part, self.W_enc)
        energy_enc = 0.5 * (z * z).sum((1, 2, 3)) - z.sum((1, 2)) @ self.b_enc - (z * seen).sum((1, 2, 3))
        product = torch.einsum(
            "Bcipjq,dcpq->Bijd",
            windows(windows(y, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1)),
            self.W_dec,
        )
        energy_dec = 0.5 * (y * y).sum((1, 2, 3)) - y.sum((2, 3)) @ self.b_dec - (z * product).sum((1, 2, 3))
        energy_pos = -torch.einsum("Bijd,ijd->B", z, self.b_pos)
        relu = torch.relu_(z @ self.W_mem)
        energy_mem = -(relu * relu).sum((1, 2, 3))
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        level = torch.einsum("Bhija,Bhkla->Bhijkl", query, key).mul_(0.25).logsumexp((4, 5))
        energy_att = -4 * level.sum((1, 2, 3))
        return [energy_enc, energy_dec, energy_pos, energy_mem, energy_att]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[i,j,d] = b_pos[i,j,d] - z[i,j,d] + seen[i,j,d] + b_enc[d] + sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a]
            * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))) + sum[h,a](W_q[h,a,d] *
            sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))) + 2 *
            sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2]))) + sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i +
            p, stride*j + q])
        F_y[c,u,v] = b_dec[c] - y[c,u,v] + sum[d,p,q,i,j | u == stride*i + p and v == stride*j + q](W_dec[d,c,p,q] *
            z[i,j,d])
        """
        z, y = states
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        weights = torch.einsum(
            "Bhija,Bhkla->Bhijkl",
            query,
            key,
        ).mul_(0.25).flatten(4, 5).softmax(4).unflatten(4, (11, 11))
        pull_key = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        pull_query = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        force_z = torch.einsum("Bhija,had->Bijd", pull_key, self.W_k)
        force_z += torch.einsum("Bhija,had->Bijd", pull_query, self.W_q)
        force_z += torch.einsum(
            "Bcipjq,dcpq->Bijd",
            windows(windows(y, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1)),
            self.W_dec,
        )
        force_z.add_(torch.relu_(z @ self.W_mem) @ self.W_mem.T, alpha=2)
        force_z += fixed.drive
        force_z -= z
        force_y = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpq->Bijcpq", z, self.W_dec).permute(0, 2, 3, 5, 1, 4),
                120,
                0,
                (10, 1),
            ).permute(0, 2, 4, 1, 3),
            120,
            0,
            (10, 1),
        )
        force_y -= y
        force_y += self.b_dec[:, None, None]
        return [force_z, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

        readout image[c,u,v] = y[c,u,v]
        """
        _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = mean[c,u,v]((y[c,u,v] - t[c,u,v])^2)
        """
        _, y = states
        (t,) = targets
        total = y - t
        cost = (total * total).mean((1, 2, 3))
        return [cost]

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[c,u,v] = 2/(C*S^2) * (y[c,u,v] - t[c,u,v])
        """
        _, y = states
        (t,) = targets
        total = y - t
        slope_y = 4.6296296296296294e-05 * total
        return [None, slope_y], {}

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        z, y = states
        seed_z, seed_y = seeds
        product = windows(windows(seed_y, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1))
        W_mem_z = z @ self.W_mem
        product_2 = step(W_mem_z).permute(0, 3, 1, 2) * (seed_z @ self.W_mem).permute(0, 3, 1, 2)
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        weights = torch.einsum(
            "Bhija,Bhkla->Bhijkl",
            query,
            key,
        ).mul_(0.25).flatten(4, 5).softmax(4).unflatten(4, (11, 11))
        W_q_seed_z = torch.einsum("Bijd,had->Bijha", seed_z, self.W_q)
        W_k_seed_z = torch.einsum("Bijd,had->Bijha", seed_z, self.W_k)
        total = torch.einsum("Bhkla,Bijha->Bhijkl", key, W_q_seed_z)
        total += torch.einsum("Bhija,Bklha->Bhijkl", query, W_k_seed_z)
        product_3 = weights * total
        total_2 = product_3 - weights * product_3.sum((4, 5))[:, :, :, :, None, None]
        pull_key = torch.einsum("Bhklij,Bklha->Bhija", weights, W_q_seed_z)
        pull_key.add_(torch.einsum("Bhklij,Bhkla->Bhija", total_2, query), alpha=0.25)
        pull_query = torch.einsum("Bhijkl,Bklha->Bhija", weights, W_k_seed_z)
        pull_query.add_(torch.einsum("Bhijkl,Bhkla->Bhija", total_2, key), alpha=0.25)
        back_z = torch.einsum("Bcipjq,dcpq->Bijd", product, self.W_dec)
        back_z.add_(torch.einsum("Bmij,dm->Bijd", product_2, self.W_mem), alpha=2)
        back_z += torch.einsum("Bhija,had->Bijd", pull_key, self.W_k)
        back_z += torch.einsum("Bhija,had->Bijd", pull_query, self.W_q)
        back_z -= seed_z
        back_y = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpq->Bijcpq", seed_z, self.W_dec).permute(0, 2, 3, 5, 1, 4),
                120,
                0,
                (10, 1),
            ).permute(0, 2, 4, 1, 3),
            120,
            0,
            (10, 1),
        )
        back_y -= seed_y
        if not params:
            return [back_z, back_y], {}
        pull_query_2 = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        pull_key_2 = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        return [back_z, back_y], {
            "W_enc": torch.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, seed_z),
            "b_enc": seed_z.sum((0, 1, 2)),
            "W_dec": (
                torch.einsum("Bcipjq,Bijd->dcpq", product, z)
                + torch.einsum(
                    "Bcipjq,Bijd->dcpq",
                    windows(windows(y, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1)),
                    seed_z,
                )
            ),
            "b_dec": seed_y.sum((0, 2, 3)),
            "b_pos": seed_z.sum(0),
            "W_q": (
                torch.einsum("Bhija,Bijd->had", pull_query_2, seed_z)
                + torch.einsum("Bhija,Bijd->had", pull_query, z)
            ),
            "W_k": (
                torch.einsum("Bhija,Bijd->had", pull_key_2, seed_z)
                + torch.einsum("Bhija,Bijd->had", pull_key, z)
            ),
            "W_mem": (
                2 * torch.einsum("Bijd,Bijm->dm", seed_z, torch.relu(W_mem_z))
                + 2 * torch.einsum("Bijd,Bmij->dm", z, product_2)
            ),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp."""
        seed_z, _ = seeds
        grad_x = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpq->Bijcpq", seed_z, self.W_enc).permute(0, 2, 3, 5, 1, 4),
                120,
                0,
                (10, 1),
            ).permute(0, 2, 4, 1, 3),
            120,
            0,
            (10, 1),
        )
        return {"x": grad_x}

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        seed_z, _ = seeds
        grad_x = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpq->Bijcpq", seed_z, self.W_enc).permute(0, 2, 3, 5, 1, 4),
                120,
                0,
                (10, 1),
            ).permute(0, 2, 4, 1, 3),
            120,
            0,
            (10, 1),
        )
        return {
            "x": grad_x,
            "W_enc": torch.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, seed_z),
            "b_enc": seed_z.sum((0, 1, 2)),
            "b_pos": seed_z.sum(0),
        }

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (seed_image,) = seeds
        return [None, seed_image], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dW_q[h,a,d] = -sum[i,j](z[i,j,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] *
            key[h,k,l,a2]))))
        dE/dW_k[h,a,d] = -sum[i,j](z[i,j,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
            key[h,i,j,a2]))))
        dE/dW_mem[d,m] = -2 * sum[i,j](z[i,j,d] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
        """
        z, _ = states
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        weights = torch.einsum(
            "Bhija,Bhkla->Bhijkl",
            query,
            key,
        ).mul_(0.25).flatten(4, 5).softmax(4).unflatten(4, (11, 11))
        pull_query = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        pull_key = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        return {
            "W_q": -torch.einsum("Bhija,Bijd->had", pull_query, z),
            "W_k": -torch.einsum("Bhija,Bijd->had", pull_key, z),
            "W_mem": -2 * torch.einsum("Bijd,Bijm->dm", z, torch.relu_(z @ self.W_mem)),
        }

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W_enc[d,c,p,q] = sum[i,j](x[c, stride*i + p, stride*j + q] * (minus_z[i,j,d] - plus_z[i,j,d]))
        c_b_enc[d] = sum[i,j](minus_z[i,j,d] - plus_z[i,j,d])
        c_W_dec[d,c,p,q] = sum[i,j](minus_y[c, stride*i + p, stride*j + q] * (minus_z[i,j,d] - plus_z[i,j,d])) +
            sum[i,j](plus_z[i,j,d] * (minus_y[c, stride*i + p, stride*j + q] - plus_y[c, stride*i + p, stride*j + q]))
        c_b_dec[c] = sum[u,v](minus_y[c,u,v] - plus_y[c,u,v])
        c_b_pos[i,j,d] = minus_z[i,j,d] - plus_z[i,j,d]
        """
        plus_z, plus_y = plus
        minus_z, minus_y = minus
        grad_b_pos = minus_z - plus_z
        total = minus_y - plus_y
        return {
            "W_enc": torch.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, grad_b_pos),
            "b_enc": grad_b_pos.sum((0, 1, 2)),
            "W_dec": (
                torch.einsum(
                    "Bcipjq,Bijd->dcpq",
                    windows(windows(minus_y, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1)),
                    grad_b_pos,
                )
                + torch.einsum(
                    "Bcipjq,Bijd->dcpq",
                    windows(windows(total, 2, 0, (11, 20), (10, 1)), 4, 0, (11, 20), (10, 1)),
                    plus_z,
                )
            ),
            "b_dec": total.sum((0, 2, 3)),
            "b_pos": grad_b_pos.sum(0),
        }

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec]
        if name == "nudged":
            return [self.W_k, self.W_q, fixed.drive, self.W_dec, self.W_mem, self.b_dec, targets[0]]
        raise KeyError(name)

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        standardized_(states[0], (3,))

    def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:
        """P^T seeds, P the derivative of the projection at a point."""
        return [standardized_adjoint(at[0], seeds[0], (3,)), seeds[1]]


@jit
def free_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 1452 * samples
    sample = place // 1452
    i = place // 121 % 12
    j = place // 11 % 11
    k = place % 11
    r = tl.arange(0, 128)[None, :]
    m = r // 11
    p = r % 11
    product_here = tl.load(
        product + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        mask=inside & (r < 121),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 121), 0.25 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((0.25 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 121), power, 0.0), 1, keep_dims=True)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    weights_here = power / whole
    tl.store(
        weights + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        weights_here,
        mask=inside & (r < 121),
    )


@jit
def free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](W_mem[d,m] * z[i,j,d]))
    product_here = tl.load(
        product + 371712 * sample + 33792 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 371712 * sample + 33792 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def free_group_3(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 79200 * samples
    sample = place // 79200
    i = place // 7200 % 11
    j = place // 2400 % 3
    k = place // 120 % 20
    m = place % 120
    r = tl.arange(0, 16)[None, :]
    # sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
    product_here = tl.load(
        product + 145200 * sample + 1200 * i + 400 * j + k + 20 * m + 13000 * r,
        mask=inside & (r < 11) & (((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(
        tl.where(
            inside & (r < 11),
            tl.where(((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20), product_here, 0.0),
            0.0,
        ),
        1,
        keep_dims=True,
    )
    tl.store(total + 79200 * sample + 7200 * i + 2400 * j + 120 * k + m, total_here, mask=inside)


@jit
def free_group_4(total, y, b_dec, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 43200 * samples
    sample = place // 43200
    i = place // 14400 % 3
    j = place // 120 % 120
    k = place % 120
    step_y = tl.load(scalars + 1)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_here = tl.load(
        total + 79200 * sample + 2400 * i + j + 120 * k + 6000 * r,
        mask=inside & (r < 11) & (((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(
        tl.where(inside & (r < 11), tl.where(((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20), total_here, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_here = tl.load(y + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    b_dec_here = tl.load(b_dec + i, mask=inside, other=0.0)
    next_y_here = y_here + step_y * (-y_here + b_dec_here + total_2)
    tl.store(next_y + 43200 * sample + 14400 * i + 120 * j + k, next_y_here, mask=inside)


@jit
def free_group_5(z, product, drive, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    step_z = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    z_here = tl.load(z + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 92928 * sample + 8448 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    drive_here = tl.load(drive + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    moved = z_here + step_z * (-z_here + product_here + drive_here)
    mean = tl.sum(tl.where(inside & (r < 768), moved, 0.0), 1, keep_dims=True)
    centred_2 = moved - 0.0013020833333333333 * mean
    square = tl.sum(tl.where(inside & (r < 768), centred_2 * centred_2, 0.0), 1, keep_dims=True)
    deviation = tl.sqrt(0.0013020833333333333 * square)
    next_z_here = tl.where(deviation == 0.0, moved, centred_2 / deviation)
    tl.store(next_z + 92928 * sample + 8448 * i + 768 * j + r, next_z_here, mask=inside & (r < 768))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, y = now
    next_z, next_y = then
    W_k, W_q, drive, W_dec, W_mem, b_dec = given
    n = len(z)
    query = room(memory, n, 0, 92928)
    key = room(memory, n, 92928, 92928)
    product = room(memory, n, 185856, 175692)
    weights = room(memory, n, 361552, 175692)
    pull_key = room(memory, n, 185856, 92928)
    product_2 = room(memory, n, 0, 92928)
    pull_query = room(memory, n, 185856, 92928)
    product_3 = room(memory, n, 92928, 371712)
    image = room(memory, n, 464640, 371712)
    product_4 = room(memory, n, 92928, 145200)
    total = room(memory, n, 238128, 79200)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_q, (12, 64, 768), (49152, 768, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_k, (12, 64, 768), (49152, 768, 1)),
    )
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    put_product(
        matrix(product, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(key, (12 * n, 64, 121), (7744, 1, 64)),
    )
    free_group_1[(cdiv(1452 * n, 8),)](product, weights, n)
    # pull_key[h,i,j,a] = sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))
    put_product(
        matrix(pull_key, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 1, 121)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
    #   key[h,i,j,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_key, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_k, (768, 12, 64), (1, 49152, 768)),
    )
    # pull_query[h,i,j,a] = sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))
    put_product(
        matrix(pull_query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(key, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_query, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_q, (768, 12, 64), (1, 49152, 768)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_2, (n, 11, 11, 768), (92928, 8448, 768, 1)),
        "abcefg,defg->abcd",
        matrix(y, (n, 11, 11, 3, 20, 20), (43200, 1200, 10, 14400, 120, 1)),
        matrix(W_dec, (768, 3, 20, 20), (1200, 400, 20, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_3, (121 * n, 3072), (3072, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_mem, (768, 3072), (3072, 1)),
    )
    free_group_2[(121 * n,)](product_3, image, n, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_2, (121 * n, 768), (768, 1)),
        matrix(image, (121 * n, 3072), (3072, 1)),
        matrix(W_mem, (3072, 768), (1, 3072)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_4, (121 * n, 1200), (1200, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_dec, (768, 1200), (1200, 1)),
    )
    free_group_3[(cdiv(79200 * n, 64),)](product_4, total, n)
    free_group_4[(cdiv(43200 * n, 64),)](total, y, b_dec, next_y, scalars, n)
    free_group_5[(121 * n,)](z, product_2, drive, next_z, scalars, n)


@jit
def nudged_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 1452 * samples
    sample = place // 1452
    i = place // 121 % 12
    j = place // 11 % 11
    k = place % 11
    r = tl.arange(0, 128)[None, :]
    m = r // 11
    p = r % 11
    product_here = tl.load(
        product + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        mask=inside & (r < 121),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 121), 0.25 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp((0.25 * product_here) - largest_2)
    whole = tl.sum(tl.where(inside & (r < 121), power, 0.0), 1, keep_dims=True)
    # softmax[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a]))
    weights_here = power / whole
    tl.store(
        weights + 175692 * sample + 14641 * i + 1331 * j + 121 * k + 11 * m + p,
        weights_here,
        mask=inside & (r < 121),
    )


@jit
def nudged_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](W_mem[d,m] * z[i,j,d]))
    product_here = tl.load(
        product + 371712 * sample + 33792 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 371712 * sample + 33792 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def nudged_group_3(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 79200 * samples
    sample = place // 79200
    i = place // 7200 % 11
    j = place // 2400 % 3
    k = place // 120 % 20
    m = place % 120
    r = tl.arange(0, 16)[None, :]
    # sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d]))
    product_here = tl.load(
        product + 145200 * sample + 1200 * i + 400 * j + k + 20 * m + 13000 * r,
        mask=inside & (r < 11) & (((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_here = tl.sum(
        tl.where(
            inside & (r < 11),
            tl.where(((m - (10 * r)) >= 0) & ((m - (10 * r)) < 20), product_here, 0.0),
            0.0,
        ),
        1,
        keep_dims=True,
    )
    tl.store(total + 79200 * sample + 7200 * i + 2400 * j + 120 * k + m, total_here, mask=inside)


@jit
def nudged_group_4(total, y, b_dec, t, next_y, scalars, samples):
    """next_y."""
    real = next_y.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 64 + tl.arange(0, 64)[:, None]
    inside = place < 43200 * samples
    sample = place // 43200
    i = place // 14400 % 3
    j = place // 120 % 120
    k = place % 120
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 3), 1.0, -1.0)
    step_y = tl.load(scalars + 2)
    r = tl.arange(0, 16)[None, :]
    # sum[i,p | v == stride*i + p](sum[j,q | u == stride*j + q](sum[d](W_dec[d,c,q,p] * z[j,i,d])))
    total_here = tl.load(
        total + 79200 * sample + 2400 * i + j + 120 * k + 6000 * r,
        mask=inside & (r < 11) & (((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20)),
        other=0.0,
    ).to(real)
    total_2 = tl.sum(
        tl.where(inside & (r < 11), tl.where(((k - (10 * r)) >= 0) & ((k - (10 * r)) < 20), total_here, 0.0), 0.0),
        1,
        keep_dims=True,
    )
    y_here = tl.load(y + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    b_dec_here = tl.load(b_dec + i, mask=inside, other=0.0)
    t_here = tl.load(t + 43200 * sample + 14400 * i + 120 * j + k, mask=inside, other=0.0)
    next_y_here = (
        y_here
        + step_y * ((-y_here + b_dec_here + total_2) - beta * (4.6296296296296294e-05 * (-t_here + y_here)))
    )
    tl.store(next_y + 43200 * sample + 14400 * i + 120 * j + k, next_y_here, mask=inside)


@jit
def nudged_group_5(z, product, drive, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 121 * samples
    sample = place // 121
    i = place // 11 % 11
    j = place % 11
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 1024)[None, :]
    z_here = tl.load(z + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 92928 * sample + 8448 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    drive_here = tl.load(drive + 92928 * sample + 8448 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    moved = z_here + step_z * (-z_here + product_here + drive_here)
    mean = tl.sum(tl.where(inside & (r < 768), moved, 0.0), 1, keep_dims=True)
    centred_2 = moved - 0.0013020833333333333 * mean
    square = tl.sum(tl.where(inside & (r < 768), centred_2 * centred_2, 0.0), 1, keep_dims=True)
    deviation = tl.sqrt(0.0013020833333333333 * square)
    next_z_here = tl.where(deviation == 0.0, moved, centred_2 / deviation)
    tl.store(next_z + 92928 * sample + 8448 * i + 768 * j + r, next_z_here, mask=inside & (r < 768))


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, y = now
    next_z, next_y = then
    W_k, W_q, drive, W_dec, W_mem, b_dec, t = given
    n = len(z)
    query = room(memory, n, 0, 92928)
    key = room(memory, n, 92928, 92928)
    product = room(memory, n, 185856, 175692)
    weights = room(memory, n, 361552, 175692)
    pull_key = room(memory, n, 185856, 92928)
    product_2 = room(memory, n, 0, 92928)
    pull_query = room(memory, n, 185856, 92928)
    product_3 = room(memory, n, 92928, 371712)
    image = room(memory, n, 464640, 371712)
    product_4 = room(memory, n, 92928, 145200)
    total = room(memory, n, 238128, 79200)
    # query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(query, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_q, (12, 64, 768), (49152, 768, 1)),
    )
    # key[h,i,j,a] = sum[d](W_k[h,a,d] * z[i,j,d])
    put_einsum(
        matrix(key, (n, 12, 121, 64), (92928, 7744, 64, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 121, 768), (92928, 768, 1)),
        matrix(W_k, (12, 64, 768), (49152, 768, 1)),
    )
    # sum[a](query[h,i,j,a] * key[h,k,l,a])
    put_product(
        matrix(product, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(key, (12 * n, 64, 121), (7744, 1, 64)),
    )
    nudged_group_1[(cdiv(1452 * n, 8),)](product, weights, n)
    # pull_key[h,i,j,a] = sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))
    put_product(
        matrix(pull_key, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 1, 121)),
        matrix(query, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
    #   key[h,i,j,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_key, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_k, (768, 12, 64), (1, 49152, 768)),
    )
    # pull_query[h,i,j,a] = sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))
    put_product(
        matrix(pull_query, (12 * n, 121, 64), (7744, 64, 1)),
        matrix(weights, (12 * n, 121, 121), (14641, 121, 1)),
        matrix(key, (12 * n, 121, 64), (7744, 64, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2]))))
    put_einsum(
        matrix(product_2, (n, 121, 768), (92928, 768, 1)),
        "abde,cde->abc",
        matrix(pull_query, (n, 121, 12, 64), (92928, 64, 7744, 1)),
        matrix(W_q, (768, 12, 64), (1, 49152, 768)),
        adds=True,
    )
    # sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q])
    put_einsum(
        matrix(product_2, (n, 11, 11, 768), (92928, 8448, 768, 1)),
        "abcefg,defg->abcd",
        matrix(y, (n, 11, 11, 3, 20, 20), (43200, 1200, 10, 14400, 120, 1)),
        matrix(W_dec, (768, 3, 20, 20), (1200, 400, 20, 1)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[i,j,d])
    put_product(
        matrix(product_3, (121 * n, 3072), (3072, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_mem, (768, 3072), (3072, 1)),
    )
    nudged_group_2[(121 * n,)](product_3, image, n, num_warps=8)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    put_product(
        matrix(product_2, (121 * n, 768), (768, 1)),
        matrix(image, (121 * n, 3072), (3072, 1)),
        matrix(W_mem, (3072, 768), (1, 3072)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_dec[d,c,p,q] * z[i,j,d])
    put_product(
        matrix(product_4, (121 * n, 1200), (1200, 1)),
        matrix(z, (121 * n, 768), (768, 1)),
        matrix(W_dec, (768, 1200), (1200, 1)),
    )
    nudged_group_3[(cdiv(79200 * n, 64),)](product_4, total, n)
    nudged_group_4[(cdiv(43200 * n, 64),)](total, y, b_dec, t, next_y, scalars, n)
    nudged_group_5[(121 * n,)](z, product_2, drive, next_z, scalars, n)


class Cet(CetEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (centered_ep, implicit,)
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 836352, matrices={0, 1, 3, 4}),
            "nudged": PhaseStep(nudged_step, 836352, matrices={0, 1, 3, 4}),
        }
    )
