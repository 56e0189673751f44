"""et_image: Energy Transformer, image completion (Hoover et al. 2023, appendix A, algorithm 1).

Made by energyc 0.1.0 from et_image.energy
SHA-256 of the spec: ad3bfdc4e647c613f3c32f25e2eb428178d4e4b3ea2b9c81d2df6d3bdb0c8963
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_relu, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import overlap_add, positions, windows
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    img: Tensor
    hidden: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(img=self.img[rows], hidden=self.hidden[rows])


class EtImageEquations:
    """States x[G, G, D].

    Sizes: C = 3, S = 224, P = 16, G = 14, D = 768, H = 12, Y = 64, K = 3072.

    Consts: beta = 0.125, scored = 0.5.

    let hid[i in G, j in G] = hidden[P*i, P*j]
    let seen[i in G, j in G, d] = sum[c,p,r](W_enc[d,c,p,r] * img[c, P*i + p, P*j + r]) + b_enc[d]
    let g[i,j,d]   = gamma * layernorm[d](x[i,j,d]) + delta[d]
    let q[h,i,j,y] = sum[d](W_q[y,h,d] * g[i,j,d])
    let k[h,i,j,y] = sum[d](W_k[y,h,d] * g[i,j,d])
    let out[i,j,c,p,r] = sum[d](W_dec[d,c,p,r] * g[i,j,d]) + b_dec[c,p,r]
    let miss[i,j] = mean[c,p,r]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r])^2)

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "et_image"
    state_shapes = {"x": (14, 14, 768)}
    clamp_shapes = {"img": ((3, 224, 224), None), "hidden": ((224, 224), None)}
    target_shapes = {"t": ((3, 224, 224), None)}
    term_names = ("att", "mem")
    readout_names = ("patches",)
    relax_steps = 12
    relax_step = (0.1,)
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_enc = self._param(normal(random, (768, 3, 16, 16), 0.036084391824351615))
        self.W_dec = self._param(normal(random, (768, 3, 16, 16), 0.02))
        self.pos = self._param(normal(random, (14, 14, 768), 0.5))
        self.MASK = self._param(normal(random, (768,), 0.5))
        self.b_enc = self._param(torch.full((768,), 0.0, dtype=torch.float64))
        self.b_dec = self._param(torch.full((3, 16, 16), 0.0, dtype=torch.float64))
        self.W_q = self._param(normal(random, (64, 12, 768), 0.036084391824351615))
        self.W_k = self._param(normal(random, (64, 12, 768), 0.036084391824351615))
        self.xi = self._param(normal(random, (3072, 768), 0.036084391824351615))
        self.gamma = self._param(torch.full((), 1.0, dtype=torch.float64))
        self.delta = self._param(torch.full((768,), 0.0, dtype=torch.float64))
        self._constant(
            "mask_3",
            (
                positions(14, 0, 4, self.device) != positions(14, 1, 4, self.device)
            ) | (positions(14, 2, 4, self.device) != positions(14, 3, 4, self.device)),
        )

    def _prepare(self, img: Tensor, hidden: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        return Fixed(img, hidden)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        seen = torch.einsum(
            "Bcipjr,dcpr->Bijd",
            windows(windows(fixed.img, 2, 0, (14, 16), (16, 1)), 4, 0, (14, 16), (16, 1)),
            self.W_enc,
        )
        seen += self.b_enc
        total = -hid
        total += 1
        start_x = hid[:, :, :, None] * self.MASK
        start_x += seen * total[:, :, :, None]
        start_x += self.pos
        return [start_x]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,i,j](logsumexp[m,n | m != i or n != j](beta * sum[y](k[h,m,n,y] * q[h,i,j,y])))
        energy mem = -1/2 * sum[i,j,s](relu(sum[d](xi[s,d] * g[i,j,d]))^2)
        """
        (x,) = states
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, :, None]
        g += self.delta
        q = torch.einsum("Bijd,yhd->Bhijy", g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", g, self.W_k)
        level = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).logsumexp((2, 3))
        energy_att = -8 * level.sum((1, 2, 3))
        relu = torch.relu_(g @ self.xi.T)
        energy_mem = -0.5 * (relu * relu).sum((1, 2, 3))
        return [energy_att, energy_mem]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow x[i,j,d] = -grad(att + mem, g[i,j,d])
        F_x[i,j,d] = sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * g[i,j,d2]))) + sum[y,h](W_k[y,h,d] * sum[m,n](q[h,m,n,y]
            * softmax[i,j | i != m or j != n](beta * sum[y2](q[h,m,n,y2] * k[h,i,j,y2])))) + sum[y,h](W_q[y,h,d] *
            sum[m,n](k[h,m,n,y] * softmax[m,n | m != i or n != j](beta * sum[y2](q[h,i,j,y2] * k[h,m,n,y2]))))
        """
        (x,) = states
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, :, None]
        g += self.delta
        q = torch.einsum("Bijd,yhd->Bhijy", g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", g, self.W_k)
        weights = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).flatten(2, 3).softmax(2).unflatten(2, (14, 14))
        force_x = torch.relu_(g @ self.xi.T) @ self.xi
        force_x += torch.einsum("Bhijy,yhd->Bijd", torch.einsum("Bhijmn,Bhmny->Bhijy", weights, q), self.W_k)
        force_x += torch.einsum("Bhijy,yhd->Bijd", torch.einsum("Bhmnij,Bhmny->Bhijy", weights, k), self.W_q)
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

        readout patches[i,j,c,p,r] = out[i,j,c,p,r]
        """
        (x,) = states
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, :, None]
        g += self.delta
        out = torch.einsum("Bijd,dcpr->Bijcpr", g, self.W_dec)
        out += self.b_dec
        return [out]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = sum[i,j](hid[i,j] * miss[i,j]) / sum[i,j](hid[i,j])
        """
        (x,) = states
        (t,) = targets
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, :, None]
        g += self.delta
        out = torch.einsum("Bijd,dcpr->Bijcpr", g, self.W_dec)
        out += self.b_dec
        part = -windows(windows(t, 2, 0, (14, 16), (16, 1)), 4, 0, (14, 16), (16, 1)).permute(0, 2, 4, 1, 3, 5)
        total_3 = out + part
        cost = 0.0013020833333333333 * (
            (hid * (total_3 * total_3).sum((3, 4, 5))).sum((1, 2)) * hid.sum((1, 2)).reciprocal()
        )
        return [cost]

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dx[i,j,d] = 2 * gamma * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
            sum[m,n](hid[m,n])) / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5) - 2 * (x[i,j,d] -
            mean[d2](x[i,j,d2])) * gamma * mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3])) * mean[c,p,r](W_dec[d2,c,p,r] *
            (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n]))) / (mean[d2]((x[i,j,d2] -
            mean[d3](x[i,j,d3]))^2) + 1e-5)^(3/2) - mean[d2](2 * gamma * mean[c,p,r](W_dec[d2,c,p,r] * (out[i,j,c,p,r]
            - t[c, P*i + p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n])) / sqrt(mean[d3]((x[i,j,d3] -
            mean[d4](x[i,j,d4]))^2) + 1e-5) - 2 * (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma * mean[d3]((x[i,j,d3] -
            mean[d4](x[i,j,d4])) * mean[c,p,r](W_dec[d3,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j]
            / sum[m,n](hid[m,n]))) / (mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)^(3/2))
        dC/dW_dec[d,c,p,r] = 2/(C*P^2) * sum[i,j](g[i,j,d] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
            sum[m,n](hid[m,n]))
        dC/db_dec[c,p,r] = 2/(C*P^2) * sum[i,j]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
            sum[m,n](hid[m,n]))
        dC/dgamma = 2 * sum[i,j,d](layernorm[d](x[i,j,d]) * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i +
            p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n])))
        dC/ddelta[d] = 2 * sum[i,j](mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j]
            / sum[m,n](hid[m,n])))
        """
        (x,) = states
        (t,) = targets
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        g = total * product[:, :, :, None]
        g += self.delta
        out = torch.einsum("Bijd,dcpr->Bijcpr", g, self.W_dec)
        out += self.b_dec
        part = -windows(windows(t, 2, 0, (14, 16), (16, 1)), 4, 0, (14, 16), (16, 1)).permute(0, 2, 4, 1, 3, 5)
        total_3 = out + part
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        product_2 = total_3 * (hid * hid.sum((1, 2)).reciprocal()[:, None, None])[:, :, :, None, None, None]
        product_3 = torch.einsum("Bijcpr,dcpr->Bijd", product_2, self.W_dec)
        product_4 = (total * product_3).sum(3)
        total_4 = 0.0026041666666666665 * (product_3 * product[:, :, :, None])
        total_4.add_(
            total * (total_2 ** (-1.5) * (product_4 * self.gamma))[:, :, :, None],
            alpha=-3.3908420138888887e-06,
        )
        slope_x = total_4 - total_4.mean(3)[:, :, :, None]
        if not params:
            return [slope_x], {}
        return [slope_x], {
            "W_dec": 0.0026041666666666665 * torch.einsum("Bijcpr,Bijd->dcpr", product_2, g),
            "b_dec": 0.0026041666666666665 * product_2.sum((0, 1, 2)),
            "gamma": 0.0026041666666666665 * (power * product_4).sum(),
            "delta": 0.0026041666666666665 * product_3.sum((0, 1, 2)),
        }

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        (x,) = states
        (seed_x,) = seeds
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        g = total * product[:, :, :, None]
        g += self.delta
        q = torch.einsum("Bijd,yhd->Bhijy", g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", g, self.W_k)
        weights = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).flatten(2, 3).softmax(2).unflatten(2, (14, 14))
        W_q_seed_x = torch.einsum("Bijd,yhd->Bijhy", seed_x, self.W_q)
        W_k_seed_x = torch.einsum("Bijd,yhd->Bijhy", seed_x, self.W_k)
        total_3 = torch.einsum("Bhijy,Bmnhy->Bhijmn", k, W_q_seed_x)
        total_3 += torch.einsum("Bhmny,Bijhy->Bhijmn", q, W_k_seed_x)
        product_2 = weights * total_3
        total_4 = product_2 - weights * product_2.sum((2, 3))[:, :, None, None]
        pull_k = torch.einsum("Bhijmn,Bmnhy->Bhijy", weights, W_q_seed_x)
        pull_k.add_(torch.einsum("Bhijmn,Bhmny->Bhijy", total_4, q), alpha=0.125)
        pull_q = torch.einsum("Bhmnij,Bmnhy->Bhijy", weights, W_k_seed_x)
        pull_q.add_(torch.einsum("Bhmnij,Bhmny->Bhijy", total_4, k), alpha=0.125)
        xi_g = g @ self.xi.T
        product_3 = step(xi_g).permute(0, 3, 1, 2) * (seed_x @ self.xi.T).permute(0, 3, 1, 2)
        pull_g = torch.einsum("Bhijy,yhd->Bijd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhijy,yhd->Bijd", pull_q, self.W_q)
        pull_g += torch.einsum("Bsij,sd->Bijd", product_3, self.xi)
        product_4 = (total * pull_g).sum(3)
        total_5 = pull_g * product[:, :, :, None]
        total_5.add_(
            total * (total_2 ** (-1.5) * (product_4 * self.gamma))[:, :, :, None],
            alpha=-0.0013020833333333333,
        )
        back_x = total_5 - total_5.mean(3)[:, :, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhijy,Bijd->yhd", torch.einsum("Bhmnij,Bhmny->Bhijy", weights, k), seed_x)
                + torch.einsum("Bhijy,Bijd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum("Bhijy,Bijd->yhd", torch.einsum("Bhijmn,Bhmny->Bhijy", weights, q), seed_x)
                + torch.einsum("Bhijy,Bijd->yhd", pull_k, g)
            ),
            "xi": (
                torch.einsum("Bijd,Bijs->sd", seed_x, torch.relu(xi_g))
                + torch.einsum("Bijd,Bsij->sd", g, product_3)
            ),
            "gamma": (power * product_4).sum(),
            "delta": pull_g.sum((0, 1, 2)),
        }

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        (seed_x,) = seeds
        product = windows(windows(fixed.img, 2, 0, (14, 16), (16, 1)), 4, 0, (14, 16), (16, 1))
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        total = -hid
        total += 1
        pull_seen = seed_x * total[:, :, :, None]
        grad_img = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpr->Bijcpr", pull_seen, self.W_enc).permute(0, 2, 3, 5, 1, 4),
                224,
                0,
                (16, 1),
            ).permute(0, 2, 4, 1, 3),
            224,
            0,
            (16, 1),
        )
        seen = torch.einsum("Bcipjr,dcpr->Bijd", product, self.W_enc)
        seen += self.b_enc
        pull_hid = seed_x @ self.MASK
        pull_hid -= (seed_x * seen).sum(3)
        grad_hidden = overlap_add(
            overlap_add(pull_hid.transpose(1, 2), 224, 0, (16,)).transpose(1, 2),
            224,
            0,
            (16,),
        )
        return {
            "img": grad_img,
            "hidden": grad_hidden,
            "W_enc": torch.einsum("Bcipjr,Bijd->dcpr", product, pull_seen),
            "pos": seed_x.sum(0),
            "MASK": torch.einsum("Bijd,Bij->d", seed_x, hid),
            "b_enc": pull_seen.sum((0, 1, 2)),
        }

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (x,) = states
        (seed_patches,) = seeds
        pull_g = torch.einsum("Bijcpr,dcpr->Bijd", seed_patches, self.W_dec)
        total = x - x.mean(3)[:, :, :, None]
        total_2 = (total * total).mean(3)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        product_2 = (total * pull_g).sum(3)
        total_3 = pull_g * product[:, :, :, None]
        total_3.add_(
            total * (total_2 ** (-1.5) * (product_2 * self.gamma))[:, :, :, None],
            alpha=-0.0013020833333333333,
        )
        back_x = total_3 - total_3.mean(3)[:, :, :, None]
        g = total * product[:, :, :, None]
        g += self.delta
        return [back_x], {
            "W_dec": torch.einsum("Bijcpr,Bijd->dcpr", seed_patches, g),
            "b_dec": seed_patches.sum((0, 1, 2)),
            "gamma": (power * product_2).sum(),
            "delta": pull_g.sum((0, 1, 2)),
        }

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.xi, self.delta, self.gamma, self.W_k, self.W_q]
        raise KeyError(name)


@jit
def free_group_1(x, delta, gamma, g, samples):
    """g."""
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    r = tl.arange(0, 1024)[None, :]
    # sum[d](x[i,j,d])
    x_here = tl.load(x + 150528 * sample + 10752 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    total = tl.sum(tl.where(inside & (r < 768), x_here, 0.0), 1, keep_dims=True)
    # x[i,j,d] - mean[d2](x[i,j,d2])
    total_2 = x_here + (-0.0013020833333333333 * total)
    # sum[d]((x[i,j,d] - mean[d2](x[i,j,d2]))^2)
    total_3 = tl.sum(tl.where(inside & (r < 768), total_2 * total_2, 0.0), 1, keep_dims=True)
    # g[i,j,d] = delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5)
    delta_here = tl.load(delta + r, mask=r < 768, other=0.0)
    gamma_here = tl.load(gamma)
    g_here = delta_here + total_2 * (gamma_here * (1.0 / (tl.sqrt(0.0013020833333333333 * total_3 + 1e-05 * 1.0))))
    tl.store(g + 150528 * sample + 10752 * i + 768 * j + r, g_here, mask=inside & (r < 768))


@jit
def free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    r = tl.arange(0, 4096)[None, :]
    # relu(sum[d](xi[s,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5))))
    product_here = tl.load(
        product + 602112 * sample + 43008 * i + 3072 * j + r,
        mask=inside & (r < 3072),
        other=0.0,
    ).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 602112 * sample + 43008 * i + 3072 * j + r, image_here, mask=inside & (r < 3072))


@jit
def free_group_3(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    inside = place < 2352 * samples
    sample = place // 2352
    i = place // 196 % 12
    j = place // 14 % 14
    k = place % 14
    r = tl.arange(0, 256)[None, :]
    m = r // 14
    p = r % 14
    product_here = tl.load(
        product + 460992 * sample + 38416 * i + 2744 * j + 196 * k + 14 * m + p,
        mask=inside & (r < 196) & ((m != j) | (p != k)),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(
        tl.where(
            inside & (r < 196),
            tl.where((m != j) | (p != k), 0.125 * product_here, float("-inf")),
            float("-inf"),
        ),
        1,
        keep_dims=True,
    )
    power = tl.where((m != j) | (p != k), tl.exp((0.125 * product_here) - largest_2), 0.0)
    whole = tl.sum(tl.where(inside & (r < 196), power, 0.0), 1, keep_dims=True)
    # softmax[i,j | i != m or j != n](beta * sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2]))
    #   * gamma / sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] +
    #   (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))))
    weights_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(
        weights + 460992 * sample + 38416 * i + 2744 * j + 196 * k + 14 * m + p,
        weights_here,
        mask=inside & (r < 196),
    )


@jit
def free_group_4(x, product, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)[:, None]
    inside = place < 196 * samples
    sample = place // 196
    i = place // 14 % 14
    j = place % 14
    step_x = tl.load(scalars)
    r = tl.arange(0, 1024)[None, :]
    x_here = tl.load(x + 150528 * sample + 10752 * i + 768 * j + r, mask=inside & (r < 768), other=0.0)
    product_here = tl.load(
        product + 150528 * sample + 10752 * i + 768 * j + r,
        mask=inside & (r < 768),
        other=0.0,
    ).to(real)
    next_x_here = x_here + step_x * product_here
    tl.store(next_x + 150528 * sample + 10752 * i + 768 * j + r, next_x_here, mask=inside & (r < 768))


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    xi, delta, gamma, W_k, W_q = given
    n = len(x)
    g = room(memory, n, 0, 150528)
    product = room(memory, n, 150528, 602112)
    image = room(memory, n, 752640, 602112)
    product_2 = room(memory, n, 150528, 150528)
    q = room(memory, n, 301056, 150528)
    k = room(memory, n, 451584, 150528)
    product_3 = room(memory, n, 602112, 460992)
    weights = room(memory, n, 1063104, 460992)
    product_4 = room(memory, n, 0, 150528)
    product_5 = room(memory, n, 0, 150528)
    free_group_1[(196 * n,)](x, delta, gamma, g, n)
    # sum[d](xi[s,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] -
    #   mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_product(
        matrix(product, (196 * n, 3072), (3072, 1)),
        matrix(g, (196 * n, 768), (768, 1)),
        matrix(xi, (768, 3072), (1, 768)),
    )
    free_group_2[(196 * n,)](product, image, n, num_warps=8)
    # sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * (delta[d2] + (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma /
    #   sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)))))
    put_product(
        matrix(product_2, (196 * n, 768), (768, 1)),
        matrix(image, (196 * n, 3072), (3072, 1)),
        matrix(xi, (3072, 768), (768, 1)),
    )
    # q[h,i,j,y] = sum[d](W_q[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(q, (n, 12, 196, 64), (150528, 12544, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 196, 768), (150528, 768, 1)),
        matrix(W_q, (12, 64, 768), (768, 9216, 1)),
    )
    # k[h,i,j,y] = sum[d](W_k[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(k, (n, 12, 196, 64), (150528, 12544, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 196, 768), (150528, 768, 1)),
        matrix(W_k, (12, 64, 768), (768, 9216, 1)),
    )
    # sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma
    #   / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5))))
    put_product(
        matrix(product_3, (12 * n, 196, 196), (38416, 196, 1)),
        matrix(q, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(k, (12 * n, 64, 196), (12544, 1, 64)),
    )
    free_group_3[(cdiv(2352 * n, 4),)](product_3, weights, n)
    # sum[m,n](sum[d](W_q[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * softmax[i,j | i != m or j != n](beta * sum[y2](sum[d](W_q[y2,h,d] *
    #   (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) +
    #   1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma /
    #   sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5))))))
    put_product(
        matrix(product_4, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(weights, (12 * n, 196, 196), (38416, 1, 196)),
        matrix(q, (12 * n, 196, 64), (12544, 64, 1)),
    )
    # sum[y,h](W_k[y,h,d] * sum[m,n](sum[d2](W_q[y,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * softmax[i,j | i != m or j != n](beta *
    #   sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] +
    #   (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma / sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)))))))
    put_einsum(
        matrix(product_2, (n, 196, 768), (150528, 768, 1)),
        "abde,cde->abc",
        matrix(product_4, (n, 196, 12, 64), (150528, 64, 12544, 1)),
        matrix(W_k, (768, 12, 64), (1, 768, 9216)),
        adds=True,
    )
    # sum[m,n](sum[d](W_k[y,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma / sqrt(mean[d2]((x[m,n,d2] -
    #   mean[d3](x[m,n,d3]))^2) + 1e-5))) * softmax[m,n | m != i or n != j](beta * sum[y2](sum[d](W_q[y2,h,d] *
    #   (delta[d] + (x[i,j,d] - mean[d2](x[i,j,d2])) * gamma / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) +
    #   1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[m,n,d] - mean[d2](x[m,n,d2])) * gamma /
    #   sqrt(mean[d2]((x[m,n,d2] - mean[d3](x[m,n,d3]))^2) + 1e-5))))))
    put_product(
        matrix(product_5, (12 * n, 196, 64), (12544, 64, 1)),
        matrix(weights, (12 * n, 196, 196), (38416, 196, 1)),
        matrix(k, (12 * n, 196, 64), (12544, 64, 1)),
    )
    # sum[y,h](W_q[y,h,d] * sum[m,n](sum[d2](W_k[y,h,d2] * (delta[d2] + (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5))) * softmax[m,n | m != i or n != j](beta *
    #   sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma /
    #   sqrt(mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] +
    #   (x[m,n,d2] - mean[d3](x[m,n,d3])) * gamma / sqrt(mean[d3]((x[m,n,d3] - mean[d4](x[m,n,d4]))^2) + 1e-5)))))))
    put_einsum(
        matrix(product_2, (n, 196, 768), (150528, 768, 1)),
        "abde,cde->abc",
        matrix(product_5, (n, 196, 12, 64), (150528, 64, 12544, 1)),
        matrix(W_q, (768, 12, 64), (1, 768, 9216)),
        adds=True,
    )
    free_group_4[(196 * n,)](x, product_2, next_x, scalars, n)


class EtImage(EtImageEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (bptt, implicit,)
    kernels = TritonKernels({"free": PhaseStep(free_step, 1524096, matrices={0, 3, 4})})
