"""cet: Convergent Energy Transformer: masked image completion (Hoier, Kerjan, Scellier 2026, appendix B).

Made by energyc 0.3.0 from cet.energy
SHA-256 of the spec: 70f0f3b377af54ac38aad54fc62218e90297c32762dc9a6c8b9f2b803c3f4a1d
Rules: centered-ep, implicit
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from energyc import runtime as rt

rt.require_contract(1)

C, S, P, stride, G, D, H, A = 3, 120, 20, 10, 11, 768, 12, 64
M = 3072


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_part: Tensor
    drive: Tensor


class Cet(rt.EnergyNetwork):
    """States z[G, G, D], y[C, S, S].

    Consts: gamma = 0.25.

    let seen[i in G, j in G, d] = sum[c,p,q](W_enc[d,c,p,q] * x[c, stride*i + p, stride*j + q])
    let query[h,i,j,a] = sum[d](W_q[h,a,d] * z[i,j,d])
    let key[h,i,j,a]   = sum[d](W_k[h,a,d] * z[i,j,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cet"
    states = {"z": rt.Standardized((G, G, D), axes=(2,)), "y": rt.Real((C, S, S))}
    clamps = {"x": rt.Real((C, S, S))}
    targets = {"t": rt.Real((C, S, S))}
    term_names = ("enc", "dec", "pos", "mem", "att")
    readout_names = ("image",)
    relaxation = rt.Relax(steps=150, step=(1.0, 1.0), tolerance=0.0001, max_steps=150)
    nudging = rt.Nudge(beta="auto", steps=5)
    learning_rules = (rt.centered_ep, rt.implicit)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.W_enc = self._param(rt.draws.normal(random, (D, C, P, P), 3 / math.sqrt(C * P * P)))
        self.b_enc = self._param(torch.zeros((D,)))
        self.W_dec = self._param(rt.draws.normal(random, (D, C, P, P), 0.125 / math.sqrt(D)))
        self.b_dec = self._param(torch.zeros((C,)))
        self.b_pos = self._param(rt.draws.normal(random, (G, G, D), 1))
        self.W_q = self._param(rt.draws.normal(random, (H, A, D), 0.4 / math.sqrt(D)))
        self.W_k = self._param(rt.draws.normal(random, (H, A, D), 0.4 / math.sqrt(D)))
        self.W_mem = self._param(rt.draws.normal(random, (D, M), 0.25 / math.sqrt(D)))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x_part = rt.ops.windows(x, (2, 3), 0, (G, P), (stride, 1))
        seen = torch.einsum("Bcipjq,dcpq->Bijd", x_part, self.W_enc)
        drive = seen + self.b_pos + self.b_enc
        return Fixed(x, x_part, drive)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.drive, torch.full((len(fixed[0]), C, S, S), 0, device=self.device, dtype=self.dtype)]

    def _terms(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
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
        energy_dec_part = torch.einsum(
            "Bcipjq,dcpq->Bijd",
            rt.ops.windows(y, (2, 3), 0, (G, P), (stride, 1)),
            self.W_dec,
        )
        energy_dec = 0.5 * (y * y).sum((1, 2, 3)) - y.sum((2, 3)) @ self.b_dec - (z * energy_dec_part).sum((1, 2, 3))
        energy_pos = -torch.einsum("Bijd,ijd->B", z, self.b_pos)
        relu = torch.relu(z @ self.W_mem)
        energy_mem = -(relu * relu).sum((1, 2, 3))
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        logsumexp = (0.25 * torch.einsum("Bhija,Bhkla->Bhijkl", query, key)).logsumexp((4, 5))
        energy_att = -4 * logsumexp.sum((1, 2, 3))
        return [energy_enc, energy_dec, energy_pos, energy_mem, energy_att]

    def _force(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
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
        weights = (0.25 * torch.einsum("Bhija,Bhkla->Bhijkl", query, key)).flatten(4, 5).softmax(4).unflatten(4, (G, G))
        pull_key = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        pull_query = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        force_z = (
            torch.einsum("Bhija,had->Bijd", pull_key, self.W_k)
            + torch.einsum("Bhija,had->Bijd", pull_query, self.W_q)
            + fixed.drive
            + torch.einsum("Bcipjq,dcpq->Bijd", rt.ops.windows(y, (2, 3), 0, (G, P), (stride, 1)), self.W_dec)
            + 2 * (torch.relu(z @ self.W_mem) @ self.W_mem.T)
            - z
        )
        force_y = (
            rt.ops.overlap_add(torch.einsum("Bijd,dcpq->Bcipjq", z, self.W_dec), (S, S), 0, (stride, 1))
            - y
            + self.b_dec[:, None, None]
        )
        return [force_z, force_y]

    def _readouts(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts: image[c,u,v] = y[c,u,v]"""
        _, y = states
        return [y]

    def _cost(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: mse = mean[c,u,v]((y[c,u,v] - t[c,u,v])^2)"""
        _, y = states
        (t,) = targets
        cost_part = y - t
        cost = (cost_part * cost_part).mean((1, 2, 3))
        return [cost]

    def _cost_vjp(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors, params: bool = True) -> rt.Pullback:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[c,u,v] = 2/(C*S^2) * (y[c,u,v] - t[c,u,v])
        """
        _, y = states
        (t,) = targets
        slope_y_part = y - t
        slope_y = 2 / (C * S * S) * slope_y_part
        return [None, slope_y], {}

    def _force_vjp(self, states: rt.Tensors, fixed: Fixed, cotangents: rt.Tensors, params: bool = True) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        z, y = states
        cot_z, cot_y = cotangents
        product = rt.ops.windows(cot_y, (2, 3), 0, (G, P), (stride, 1))
        W_mem_z = z @ self.W_mem
        product_2 = rt.ops.step(W_mem_z).permute(0, 3, 1, 2) * (cot_z @ self.W_mem).permute(0, 3, 1, 2)
        query = torch.einsum("Bijd,had->Bhija", z, self.W_q)
        key = torch.einsum("Bijd,had->Bhija", z, self.W_k)
        weights = (0.25 * torch.einsum("Bhija,Bhkla->Bhijkl", query, key)).flatten(4, 5).softmax(4).unflatten(4, (G, G))
        W_q_cot_z = torch.einsum("Bijd,had->Bijha", cot_z, self.W_q)
        W_k_cot_z = torch.einsum("Bijd,had->Bijha", cot_z, self.W_k)
        total = (
            torch.einsum("Bhkla,Bijha->Bhijkl", key, W_q_cot_z)
            + torch.einsum("Bhija,Bklha->Bhijkl", query, W_k_cot_z)
        )
        product_3 = weights * total
        total_2 = product_3 - weights * product_3.sum((4, 5))[:, :, :, :, None, None]
        pull_key = (
            torch.einsum("Bhklij,Bklha->Bhija", weights, W_q_cot_z)
            + 0.25 * torch.einsum("Bhklij,Bhkla->Bhija", total_2, query)
        )
        pull_query = (
            torch.einsum("Bhijkl,Bklha->Bhija", weights, W_k_cot_z)
            + 0.25 * torch.einsum("Bhijkl,Bhkla->Bhija", total_2, key)
        )
        back_z = (
            torch.einsum("Bcipjq,dcpq->Bijd", product, self.W_dec)
            + 2 * torch.einsum("Bmij,dm->Bijd", product_2, self.W_mem)
            + torch.einsum("Bhija,had->Bijd", pull_key, self.W_k)
            + torch.einsum("Bhija,had->Bijd", pull_query, self.W_q)
            - cot_z
        )
        back_y = (
            rt.ops.overlap_add(torch.einsum("Bijd,dcpq->Bcipjq", cot_z, self.W_dec), (S, S), 0, (stride, 1))
            - cot_y
        )
        if not params:
            return [back_z, back_y], {}
        pull_query_2 = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        pull_key_2 = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        return [back_z, back_y], {
            "W_enc": torch.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, cot_z),
            "b_enc": cot_z.sum((0, 1, 2)),
            "W_dec": (
                torch.einsum("Bcipjq,Bijd->dcpq", product, z)
                + torch.einsum("Bcipjq,Bijd->dcpq", rt.ops.windows(y, (2, 3), 0, (G, P), (stride, 1)), cot_z)
            ),
            "b_dec": cot_y.sum((0, 2, 3)),
            "b_pos": cot_z.sum(0),
            "W_q": (
                torch.einsum("Bhija,Bijd->had", pull_query_2, cot_z)
                + torch.einsum("Bhija,Bijd->had", pull_query, z)
            ),
            "W_k": torch.einsum("Bhija,Bijd->had", pull_key_2, cot_z) + torch.einsum("Bhija,Bijd->had", pull_key, z),
            "W_mem": (
                2 * torch.einsum("Bijd,Bijm->dm", cot_z, torch.relu(W_mem_z))
                + 2 * torch.einsum("Bijd,Bmij->dm", z, product_2)
            ),
        }

    def _energy_gradient(self, states: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
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
        weights = (0.25 * torch.einsum("Bhija,Bhkla->Bhijkl", query, key)).flatten(4, 5).softmax(4).unflatten(4, (G, G))
        pull_query = torch.einsum("Bhijkl,Bhkla->Bhija", weights, key)
        pull_key = torch.einsum("Bhklij,Bhkla->Bhija", weights, query)
        return {
            "W_q": -torch.einsum("Bhija,Bijd->had", pull_query, z),
            "W_k": -torch.einsum("Bhija,Bijd->had", pull_key, z),
            "W_mem": -2 * torch.einsum("Bijd,Bijm->dm", z, torch.relu(z @ self.W_mem)),
        }

    def _energy_contrast(self, plus: rt.Tensors, minus: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
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
                torch.einsum("Bcipjq,Bijd->dcpq", rt.ops.windows(minus_y, (2, 3), 0, (G, P), (stride, 1)), grad_b_pos)
                + torch.einsum("Bcipjq,Bijd->dcpq", rt.ops.windows(total, (2, 3), 0, (G, P), (stride, 1)), plus_z)
            ),
            "b_dec": total.sum((0, 2, 3)),
            "b_pos": grad_b_pos.sum(0),
        }
