"""The benchmarked networks by hand in plain torch: as energies differentiated by autograd, and as derived steps.

Nothing here uses the compiler. Sizes and names are those of the shipped specs, so that both sides can use the same
params; ``step.py`` checks that they take the same step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Tensors = dict[str, Tensor]
#: (states, params, clamps) to the states after a step.
Step = Callable[[Tensors, Tensors, Tensors], Tensors]


@dataclass(frozen=True)
class ByHand:
    """A network and its step: by autograd of its energy, and written out from the derived force."""

    spec: str
    autograd: Step | None
    written: Step | None = None


def descent(
    energy: Callable[[Tensors, Tensors, Tensors], Tensor], project: Callable[[Tensors], Tensors], step: float
) -> Step:
    """A step of gradient descent by autograd, then the projection."""

    def advance(states: Tensors, params: Tensors, clamps: Tensors) -> Tensors:
        leaves = {name: value.detach().requires_grad_() for name, value in states.items()}
        with torch.enable_grad():
            slopes = torch.autograd.grad(energy(leaves, params, clamps).sum(), list(leaves.values()))
        moved = {n: value.detach() - step * slope for (n, value), slope in zip(leaves.items(), slopes, strict=True)}
        return project(moved)

    return advance


# ---------------------------------------------------------------- hopfield


def _hopfield_energy(z: Tensors, p: Tensors, c: Tensors) -> Tensor:
    s, y = z["s"], z["y"]
    quadratic = 0.5 * (s.square().sum(1) + y.square().sum(1))
    drive = c["x"] @ p["W1"] + p["b1"]
    return quadratic - (drive * s).sum(1) - ((s @ p["W2"] + p["b2"]) * y).sum(1)


def _hopfield_written(z: Tensors, p: Tensors, c: Tensors) -> Tensors:
    s, y = z["s"], z["y"]
    force_s = c["drive"] + y @ p["W2"].T - s
    force_y = s @ p["W2"] + p["b2"] - y
    return {"s": (s + 0.5 * force_s).clamp_(0, 1), "y": (y + 0.5 * force_y).clamp_(0, 1)}


def _boxed(z: Tensors) -> Tensors:
    return {name: value.clamp(0, 1) for name, value in z.items()}


# ---------------------------------------------------------------- cet


def cet_energy(stride: int, gamma: float = 0.25) -> Callable[[Tensors, Tensors, Tensors], Tensor]:
    """The energy of the Convergent Energy Transformer."""

    def energy(states: Tensors, p: Tensors, c: Tensors) -> Tensor:
        z, y = states["z"], states["y"]
        seen = F.conv2d(c["x"], p["W_enc"], stride=stride).permute(0, 2, 3, 1)
        feedback = F.conv2d(y, p["W_dec"], stride=stride).permute(0, 2, 3, 1)
        tokens = z.flatten(1, 2)
        q = torch.einsum("btd,had->bhta", tokens, p["W_q"])
        k = torch.einsum("btd,had->bhta", tokens, p["W_k"])
        memory = torch.relu(tokens @ p["W_mem"]).square().sum((1, 2))
        attention = torch.logsumexp(gamma * q @ k.mT, 3).sum((1, 2)) / gamma
        linear = (z * (seen + feedback + p["b_enc"] + p["b_pos"])).sum((1, 2, 3))
        decoded = 0.5 * y.square().sum((1, 2, 3)) - (y.sum((2, 3)) @ p["b_dec"])
        return 0.5 * z.square().sum((1, 2, 3)) + decoded - linear - memory - attention

    return energy


def cet_written(stride: int, gamma: float = 0.25) -> Step:
    """The same step without autograd; the drive of the encoder is precomputed."""

    def advance(states: Tensors, p: Tensors, c: Tensors) -> Tensors:
        z, y = states["z"], states["y"]
        tokens = z.flatten(1, 2)
        q = torch.einsum("btd,had->bhta", tokens, p["W_q"])
        k = torch.einsum("btd,had->bhta", tokens, p["W_k"])
        weights = (gamma * q @ k.mT).softmax(3)
        attention = torch.einsum("bhta,had->btd", weights @ k, p["W_q"])
        attention += torch.einsum("bhta,had->btd", weights.mT @ q, p["W_k"])
        memory = 2 * torch.relu_(tokens @ p["W_mem"]) @ p["W_mem"].T
        feedback = F.conv2d(y, p["W_dec"], stride=stride).permute(0, 2, 3, 1)
        z_next = c["drive"] + (attention + memory).view_as(z) + feedback  # the step is 1: z - z
        y_next = F.conv_transpose2d(z.permute(0, 3, 1, 2), p["W_dec"], p["b_dec"], stride=stride)
        return {"z": _standardized(z_next), "y": y_next}

    return advance


def _standardized(z: Tensor) -> Tensor:
    centred = z - z.mean(3, keepdim=True)
    return centred / centred.square().mean(3, keepdim=True).sqrt()


def _on_sets(z: Tensors) -> Tensors:
    return {**z, "z": _standardized(z["z"])}


# ---------------------------------------------------------------- hopfield_conv


def _conv_energy(z: Tensors, p: Tensors, c: Tensors) -> Tensor:
    first = F.max_pool2d(F.conv2d(c["x"], p["W1"], p["b1"]), 2)
    second = F.max_pool2d(F.conv2d(z["s1"], p["W2"], p["b2"]), 2)
    full = torch.einsum("koij,boij->bk", p["W3"], z["s2"]) + p["b3"]
    leak = sum(0.5 * value.square().flatten(1).sum(1) for value in z.values())
    synapses = (z["s1"] * first).sum((1, 2, 3)) + (z["s2"] * second).sum((1, 2, 3)) + (z["y"] * full).sum(1)
    return leak - synapses


# ---------------------------------------------------------------- thick


def _thick_force(z: Tensor, p: Tensors, c: Tensors) -> Tensor:
    n1 = F.layer_norm(z, z.shape[-1:], p["g1"], p["h1"])
    q, k, v = (torch.einsum("btd,hda->bhta", n1, p[name]) for name in ("W_q", "W_k", "W_v"))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    attention = torch.einsum("bhta,had->btd", mixed, p["W_o"])
    n2 = F.layer_norm(z, z.shape[-1:], p["g2"], p["h2"])
    hidden = F.gelu(n2 @ p["W1"] + p["b1"], approximate="tanh")
    return attention + hidden @ p["W2"] + p["b2"] - z - (z - c["x"])


def thick_step(step: float) -> Step:
    """A step of the transformer block, whose forces are written directly; no autograd is needed."""
    return lambda z, p, c: {"z": z["z"] + step * _thick_force(z["z"], p, c)}


HOPFIELD = ByHand("hopfield", descent(_hopfield_energy, _boxed, 0.5), _hopfield_written)


def cet(stride: int) -> ByHand:
    """The Convergent Energy Transformer with a given patch stride."""
    return ByHand("cet", descent(cet_energy(stride), _on_sets, 1.0), cet_written(stride))


THICK = ByHand("thick", None, thick_step(0.1))
CONV = ByHand("hopfield_conv", descent(_conv_energy, _boxed, 1.0))
