"""et_image: Energy Transformer, image completion (Hoover et al. 2023, appendix A, algorithm 1).

Made by energyc 0.2.0 from et_image.energy
SHA-256 of the spec: 1fa8d4395f443198b49503d20ee6fd1f2666affd5c25f7e83e0555fdddde5d76
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import overlap_add, positions, windows
from energyc.runtime.tensors.states import Tensors

C, S, P, G, D, H, Y, K = 3, 224, 16, 14, 768, 12, 64, 3072


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    img: Tensor
    hidden: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(img=self.img[rows], hidden=self.hidden[rows])


class Lets(NamedTuple):
    """The lets at some states, and parts of them."""

    x_centered: Tensor
    x_variance: Tensor
    x_variance_rsqrt: Tensor
    g_part: Tensor
    g: Tensor


class EtImageEquations:
    """States x[G, G, D].

    Sizes: C = 3, S = 224, P = 16, G = 14, D = 768, H = 12, Y = 64, K = 3072.

    Consts: beta = 0.125, scored = 0.5, shown = 0.1.

    let hid[i in G, j in G] = hidden[P*i, P*j]
    let seen[i in G, j in G, d] = sum[c,p,r](W_enc[d,c,p,r] * img[c, P*i + p, P*j + r]) + b_enc[d]
    let g[i,j,d]   = gamma * layernorm[d](x[i,j,d]) + delta[d]
    let q[h,i,j,y] = sum[d](W_q[y,h,d] * g[i,j,d])
    let k[h,i,j,y] = sum[d](W_k[y,h,d] * g[i,j,d])
    let out[i,j,c,p,r] = sum[d](W_dec[d,c,p,r] * g[i,j,d]) + b_dec[c,p,r]
    let miss[i,j] = mean[c,p,r]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r])^2)
    let sco[i in G, j in G] = counted[P*i, P*j]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "et_image"
    state_shapes = {"x": (G, G, D)}
    clamp_shapes = {"img": ((C, S, S), None), "hidden": ((S, S), None)}
    target_shapes = {"t": ((C, S, S), None), "counted": ((S, S), None)}
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
        self.W_enc = self._param(normal(random, (D, C, P, P), 0.036084391824351615))
        self.W_dec = self._param(normal(random, (D, C, P, P), 0.02))
        self.pos = self._param(normal(random, (G, G, D), 0.5))
        self.MASK = self._param(normal(random, (D,), 0.5))
        self.b_enc = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.b_dec = self._param(torch.full((C, P, P), 0.0, dtype=torch.float64))
        self.W_q = self._param(normal(random, (Y, H, D), 0.036084391824351615))
        self.W_k = self._param(normal(random, (Y, H, D), 0.036084391824351615))
        self.xi = self._param(normal(random, (K, D), 0.036084391824351615))
        self.gamma = self._param(torch.full((), 1.0, dtype=torch.float64))
        self.delta = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self._constant(
            "mask_3",
            (
                positions(G, 0, 4, self.device) != positions(G, 1, 4, self.device)
            ) | (positions(G, 2, 4, self.device) != positions(G, 3, 4, self.device)),
        )

    def _prepare(self, img: Tensor, hidden: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        return Fixed(img, hidden)

    def _lets(self, states: Tensors, fixed: Fixed) -> Lets:
        """The lets, and parts of them, that _terms, _force, _readouts, _cost, _cost_vjp and _force_vjp share."""
        (x,) = states
        x_centered = x - x.mean(3)[:, :, :, None]
        x_variance = (x_centered * x_centered).mean(3)
        x_variance += 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        g_part = x_variance_rsqrt * self.gamma
        g = x_centered * g_part[:, :, :, None]
        g += self.delta
        return Lets(x_centered, x_variance, x_variance_rsqrt, g_part, g)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        seen = torch.einsum(
            "Bcipjr,dcpr->Bijd",
            windows(windows(fixed.img, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)),
            self.W_enc,
        )
        seen += self.b_enc
        start_x_part = -hid
        start_x_part += 1
        start_x = hid[:, :, :, None] * self.MASK
        start_x += seen * start_x_part[:, :, :, None]
        start_x += self.pos
        return [start_x]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,i,j](logsumexp[m,n | m != i or n != j](beta * sum[y](k[h,m,n,y] * q[h,i,j,y])))
        energy mem = -1/2 * sum[i,j,s](relu(sum[d](xi[s,d] * g[i,j,d]))^2)
        """
        lets = self._lets(states, fixed)
        q = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_k)
        logsumexp = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).logsumexp((2, 3))
        energy_att = -8 * logsumexp.sum((1, 2, 3))
        relu = torch.relu_(lets.g @ self.xi.T)
        energy_mem = -0.5 * (relu * relu).sum((1, 2, 3))
        return [energy_att, energy_mem]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow x[i,j,d] = -grad(att + mem, g[i,j,d])
        F_x[i,j,d] = sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * g[i,j,d2]))) + sum[y,h](W_k[y,h,d] * sum[m,n](q[h,m,n,y]
            * softmax[i,j | i != m or j != n](beta * sum[y2](q[h,m,n,y2] * k[h,i,j,y2])))) + sum[y,h](W_q[y,h,d] *
            sum[m,n](k[h,m,n,y] * softmax[m,n | m != i or n != j](beta * sum[y2](q[h,i,j,y2] * k[h,m,n,y2]))))
        """
        lets = self._lets(states, fixed)
        q = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_k)
        weights = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).flatten(2, 3).softmax(2).unflatten(2, (G, G))
        force_x = torch.relu_(lets.g @ self.xi.T) @ self.xi
        force_x += torch.einsum("Bhijy,yhd->Bijd", torch.einsum("Bhijmn,Bhmny->Bhijy", weights, q), self.W_k)
        force_x += torch.einsum("Bhijy,yhd->Bijd", torch.einsum("Bhmnij,Bhmny->Bhijy", weights, k), self.W_q)
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout patches[i,j,c,p,r] = out[i,j,c,p,r]
        """
        lets = self._lets(states, fixed)
        out = torch.einsum("Bijd,dcpr->Bijcpr", lets.g, self.W_dec)
        out += self.b_dec
        return [out]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = sum[i,j](sco[i,j] * miss[i,j]) / sum[i,j](sco[i,j])
        """
        t, counted = targets
        lets = self._lets(states, fixed)
        out = torch.einsum("Bijd,dcpr->Bijcpr", lets.g, self.W_dec)
        out += self.b_dec
        cost_part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).permute(0, 2, 4, 1, 3, 5)
        cost_part_2 = out + cost_part
        sco = counted[:, 0:209:16][:, :, 0:209:16]
        cost = 1 / (C * P * P) * (
            ((cost_part_2 * cost_part_2).sum((3, 4, 5)) * sco).sum((1, 2)) * sco.sum((1, 2)).reciprocal()
        )
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dx[i,j,d] = 2 * gamma * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
            sum[m,n](sco[m,n])) / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5) - 2 * (x[i,j,d] -
            mean[d2](x[i,j,d2])) * gamma * mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3])) * mean[c,p,r](W_dec[d2,c,p,r] *
            (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n]))) / (mean[d2]((x[i,j,d2] -
            mean[d3](x[i,j,d3]))^2) + 1e-5)^(3/2) - mean[d2](2 * gamma * mean[c,p,r](W_dec[d2,c,p,r] * (out[i,j,c,p,r]
            - t[c, P*i + p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n])) / sqrt(mean[d3]((x[i,j,d3] -
            mean[d4](x[i,j,d4]))^2) + 1e-5) - 2 * (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma * mean[d3]((x[i,j,d3] -
            mean[d4](x[i,j,d4])) * mean[c,p,r](W_dec[d3,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j]
            / sum[m,n](sco[m,n]))) / (mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)^(3/2))
        dC/dW_dec[d,c,p,r] = 2/(C*P^2) * sum[i,j](g[i,j,d] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
            sum[m,n](sco[m,n]))
        dC/db_dec[c,p,r] = 2/(C*P^2) * sum[i,j]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
            sum[m,n](sco[m,n]))
        dC/dgamma = 2 * sum[i,j,d](layernorm[d](x[i,j,d]) * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i +
            p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n])))
        dC/ddelta[d] = 2 * sum[i,j](mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j]
            / sum[m,n](sco[m,n])))
        """
        t, counted = targets
        lets = self._lets(states, fixed)
        out = torch.einsum("Bijd,dcpr->Bijcpr", lets.g, self.W_dec)
        out += self.b_dec
        part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).permute(0, 2, 4, 1, 3, 5)
        total = out + part
        sco = counted[:, 0:209:16][:, :, 0:209:16]
        product = total * (sco * sco.sum((1, 2)).reciprocal()[:, None, None])[:, :, :, None, None, None]
        product_2 = torch.einsum("Bijcpr,dcpr->Bijd", product, self.W_dec)
        product_3 = (lets.x_centered * product_2).sum(3)
        slope_x_part = 2 / (C * P * P) * (product_2 * lets.g_part[:, :, :, None])
        slope_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_3 * self.gamma))[:, :, :, None],
            alpha=-2 / (C * D * P * P),
        )
        slope_x = slope_x_part - slope_x_part.mean(3)[:, :, :, None]
        if not params:
            return [slope_x], {}
        return [slope_x], {
            "W_dec": 2 / (C * P * P) * torch.einsum("Bijcpr,Bijd->dcpr", product, lets.g),
            "b_dec": 2 / (C * P * P) * product.sum((0, 1, 2)),
            "gamma": 2 / (C * P * P) * (lets.x_variance_rsqrt * product_3).sum(),
            "delta": 2 / (C * P * P) * product_2.sum((0, 1, 2)),
        }

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (cot_x,) = cotangents
        lets = self._lets(states, fixed)
        q = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_q)
        k = torch.einsum("Bijd,yhd->Bhijy", lets.g, self.W_k)
        weights = torch.einsum("Bhmny,Bhijy->Bhijmn", q, k).mul_(0.125).masked_fill_(
            ~self.mask_3.transpose(1, 2),
            float("-inf"),
        ).flatten(2, 3).softmax(2).unflatten(2, (G, G))
        W_q_cot_x = torch.einsum("Bijd,yhd->Bijhy", cot_x, self.W_q)
        W_k_cot_x = torch.einsum("Bijd,yhd->Bijhy", cot_x, self.W_k)
        total = torch.einsum("Bhijy,Bmnhy->Bhijmn", k, W_q_cot_x)
        total += torch.einsum("Bhmny,Bijhy->Bhijmn", q, W_k_cot_x)
        product = weights * total
        total_2 = product - weights * product.sum((2, 3))[:, :, None, None]
        pull_k = torch.einsum("Bhijmn,Bmnhy->Bhijy", weights, W_q_cot_x)
        pull_k.add_(torch.einsum("Bhijmn,Bhmny->Bhijy", total_2, q), alpha=0.125)
        pull_q = torch.einsum("Bhmnij,Bmnhy->Bhijy", weights, W_k_cot_x)
        pull_q.add_(torch.einsum("Bhmnij,Bhmny->Bhijy", total_2, k), alpha=0.125)
        xi_g = lets.g @ self.xi.T
        product_2 = step(xi_g).permute(0, 3, 1, 2) * (cot_x @ self.xi.T).permute(0, 3, 1, 2)
        pull_g = torch.einsum("Bhijy,yhd->Bijd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhijy,yhd->Bijd", pull_q, self.W_q)
        pull_g += torch.einsum("Bsij,sd->Bijd", product_2, self.xi)
        product_3 = (lets.x_centered * pull_g).sum(3)
        back_x_part = pull_g * lets.g_part[:, :, :, None]
        back_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_3 * self.gamma))[:, :, :, None],
            alpha=-1 / D,
        )
        back_x = back_x_part - back_x_part.mean(3)[:, :, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhijy,Bijd->yhd", torch.einsum("Bhmnij,Bhmny->Bhijy", weights, k), cot_x)
                + torch.einsum("Bhijy,Bijd->yhd", pull_q, lets.g)
            ),
            "W_k": (
                torch.einsum("Bhijy,Bijd->yhd", torch.einsum("Bhijmn,Bhmny->Bhijy", weights, q), cot_x)
                + torch.einsum("Bhijy,Bijd->yhd", pull_k, lets.g)
            ),
            "xi": (
                torch.einsum("Bijd,Bijs->sd", cot_x, torch.relu(xi_g))
                + torch.einsum("Bijd,Bsij->sd", lets.g, product_2)
            ),
            "gamma": (lets.x_variance_rsqrt * product_3).sum(),
            "delta": pull_g.sum((0, 1, 2)),
        }

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x,) = cotangents
        product = windows(windows(fixed.img, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1))
        hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
        pull_seen_part = -hid
        pull_seen_part += 1
        pull_seen = cot_x * pull_seen_part[:, :, :, None]
        grad_img = overlap_add(
            overlap_add(
                torch.einsum("Bijd,dcpr->Bijcpr", pull_seen, self.W_enc).permute(0, 2, 3, 5, 1, 4),
                S,
                0,
                (P, 1),
            ).permute(0, 2, 4, 1, 3),
            S,
            0,
            (P, 1),
        )
        seen = torch.einsum("Bcipjr,dcpr->Bijd", product, self.W_enc)
        seen += self.b_enc
        pull_hid = cot_x @ self.MASK
        pull_hid -= (cot_x * seen).sum(3)
        grad_hidden = overlap_add(overlap_add(pull_hid.transpose(1, 2), S, 0, (P,)).transpose(1, 2), S, 0, (P,))
        return {
            "img": grad_img,
            "hidden": grad_hidden,
            "W_enc": torch.einsum("Bcipjr,Bijd->dcpr", product, pull_seen),
            "pos": cot_x.sum(0),
            "MASK": torch.einsum("Bijd,Bij->d", cot_x, hid),
            "b_enc": pull_seen.sum((0, 1, 2)),
        }

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (x,) = states
        (cot_patches,) = cotangents
        pull_g = torch.einsum("Bijcpr,dcpr->Bijd", cot_patches, self.W_dec)
        x_centered = x - x.mean(3)[:, :, :, None]
        x_variance = (x_centered * x_centered).mean(3)
        x_variance += 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        product = x_variance_rsqrt * self.gamma
        product_2 = (x_centered * pull_g).sum(3)
        back_x_part = pull_g * product[:, :, :, None]
        back_x_part.add_(x_centered * (x_variance ** -1.5 * (product_2 * self.gamma))[:, :, :, None], alpha=-1 / D)
        back_x = back_x_part - back_x_part.mean(3)[:, :, :, None]
        g = x_centered * product[:, :, :, None]
        g += self.delta
        return [back_x], {
            "W_dec": torch.einsum("Bijcpr,Bijd->dcpr", cot_patches, g),
            "b_dec": cot_patches.sum((0, 1, 2)),
            "gamma": (x_variance_rsqrt * product_2).sum(),
            "delta": pull_g.sum((0, 1, 2)),
        }


class EtImage(EtImageEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"bptt": bptt, "implicit": implicit}
