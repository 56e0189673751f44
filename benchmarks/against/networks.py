"""The networks by hand in torch: energies, forces derived on paper, and what of them is fixed in a relaxation.

Nothing here uses the compiler. Names are those of the specs, so that both sides take the same params.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.against.cases import Tensors


class Network:
    """A network as one writes it; all but ``fixed`` take what ``fixed`` returned."""

    #: Whether the forces are those of ``energy``.
    conservative = True

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        """The tensors that steps need of clamps: once a relaxation."""
        raise NotImplementedError

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        """The states before the first step."""
        raise NotImplementedError

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        """The energy of each sample: [batch]."""
        raise NotImplementedError

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        """The force, written out."""
        raise NotImplementedError

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        """The cost of each sample: [batch]."""
        raise NotImplementedError

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        """dC/dz of the states that the cost reads, written out."""
        raise NotImplementedError

    def project(self, z: Tensors) -> Tensors:
        """States on their sets."""
        return z


def box(state: str) -> tuple[float, float]:
    """The bounds of a state of ``hopfield`` and ``hopfield_conv``, whose output is y."""
    return (-1.0, 2.0) if state == "y" else (0.0, 1.0)


def boxed(z: Tensors) -> Tensors:
    """States on their boxes."""
    return {name: x.clamp(*box(name)) for name, x in z.items()}


def one_hot(label: Tensor, like: Tensor) -> Tensor:
    """Labels as rows of zeros with a one, as long as the last dim of ``like``."""
    return F.one_hot(label, like.shape[-1]).to(like.dtype)


class Hopfield(Network):
    """One hidden layer in [0, 1], the output in [-1, 2]."""

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        return {"drive": torch.addmm(p["b1"], c["x"], p["W1"])}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        drive = c["drive"]
        return {"s": torch.zeros_like(drive), "y": drive.new_zeros(len(drive), len(p["b2"]))}

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        s, y = z["s"], z["y"]
        leak = 0.5 * (s.square().sum(1) + y.square().sum(1))
        return leak - (c["drive"] * s).sum(1) - (torch.addmm(p["b2"], s, p["W2"]) * y).sum(1)

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        s, y = z["s"], z["y"]
        return {"s": torch.addmm(c["drive"], y, p["W2"].T) - s, "y": torch.addmm(p["b2"], s, p["W2"]) - y}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        return 0.5 * (z["y"] - one_hot(t["label"], z["y"])).square().sum(1)

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        return {"y": z["y"] - one_hot(t["label"], z["y"])}

    def project(self, z: Tensors) -> Tensors:
        return boxed(z)


class HopfieldConv(Network):
    """Two convolutions with max pooling and a linear output; the force goes back through the maxima."""

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        return {"drive": F.max_pool2d(F.conv2d(c["x"], p["W1"], p["b1"]), 2)}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        drive = c["drive"]
        batch, side = len(drive), p["W3"].shape[-1]
        return {
            "s1": torch.zeros_like(drive),
            "s2": drive.new_zeros(batch, len(p["b2"]), side, side),
            "y": drive.new_zeros(batch, len(p["b3"])),
        }

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        second = F.max_pool2d(F.conv2d(z["s1"], p["W2"], p["b2"]), 2)
        full = F.linear(z["s2"].flatten(1), p["W3"].flatten(1), p["b3"])
        leak = sum(0.5 * x.square().flatten(1).sum(1) for x in z.values())
        return leak - (z["s1"] * c["drive"]).sum((1, 2, 3)) - (z["s2"] * second).sum((1, 2, 3)) - (z["y"] * full).sum(1)

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        s1, s2, y = z["s1"], z["s2"], z["y"]
        windows = F.conv2d(s1, p["W2"], p["b2"])
        pooled, places = F.max_pool2d(windows, 2, return_indices=True)
        back = F.max_unpool2d(s2, places, 2, output_size=windows.shape[2:])
        return {
            "s1": c["drive"] + F.conv_transpose2d(back, p["W2"]) - s1,
            "s2": pooled + (y @ p["W3"].flatten(1)).view_as(s2) - s2,
            "y": F.linear(s2.flatten(1), p["W3"].flatten(1), p["b3"]) - y,
        }

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        return 0.5 * (z["y"] - one_hot(t["label"], z["y"])).square().sum(1)

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        return {"y": z["y"] - one_hot(t["label"], z["y"])}

    def project(self, z: Tensors) -> Tensors:
        return boxed(z)


#: The const S of specs/thick.energy.
S_OF_THICK = 32


class Thick(Network):
    """An equilibrium transformer block: attention and feed-forward are forces without an energy."""

    conservative = False

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        return {"x": S_OF_THICK * (p["tok"][c["idx"]] + p["pos"])}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"z": c["x"]}

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        return 0.5 * ((z["z"] - c["x"]).square() + z["z"].square()).sum((1, 2))

    def heads(self, z: Tensor, p: Tensors) -> list[Tensor]:
        """Queries, keys and values: [batch, H, T, A] each."""
        n1 = F.layer_norm(z, z.shape[-1:], p["g1"], p["h1"])
        return [torch.einsum("btd,hda->bhta", n1, p[name]) for name in ("W_q", "W_k", "W_v")]

    def block(self, z: Tensor, p: Tensors, mixed: Tensor) -> Tensor:
        """Both forces of the block, given the mixed values."""
        n2 = F.layer_norm(z, z.shape[-1:], p["g2"], p["h2"])
        hidden = F.gelu(n2 @ p["W1"] + p["b1"], approximate="tanh")
        return torch.einsum("bhta,had->btd", mixed, p["W_o"]) + hidden @ p["W2"] + p["b2"]

    def without_energy(self, z: Tensor, p: Tensors) -> Tensor:
        """Both forces by operations that torch differentiates forward, too."""
        q, k, v = self.heads(z, p)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        later = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
        return self.block(z, p, scores.masked_fill(later, -torch.inf).softmax(3) @ v)

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        x = z["z"]
        mixed = F.scaled_dot_product_attention(*self.heads(x, p), is_causal=True)
        return {"z": self.block(x, p, mixed) - x - (x - c["x"])}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        logits = (z["z"] @ p["W_head"]).transpose(1, 2)
        return F.cross_entropy(logits, t["label"], reduction="none").mean(1)

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        logits = z["z"] @ p["W_head"]
        missed = logits.softmax(2) - one_hot(t["label"], logits)
        return {"z": missed @ p["W_head"].T / logits.shape[1]}


class Cet(Network):
    """The Convergent Energy Transformer."""

    gamma = 0.25

    def __init__(self, stride: int) -> None:
        self.stride = stride

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        seen = F.conv2d(c["x"], p["W_enc"], stride=self.stride).permute(0, 2, 3, 1)
        return {"drive": seen + p["b_enc"] + p["b_pos"], "x": c["x"]}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"z": c["drive"], "y": torch.zeros_like(c["x"])}

    def feedback(self, y: Tensor, p: Tensors) -> Tensor:
        """The share of the decoder's patches in the tokens: [batch, G, G, D]."""
        return F.conv2d(y, p["W_dec"], stride=self.stride).permute(0, 2, 3, 1)

    def heads(self, tokens: Tensor, p: Tensors) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys, and gamma times their products."""
        q, k = (torch.einsum("btd,had->bhta", tokens, p[name]) for name in ("W_q", "W_k"))
        return q, k, self.gamma * q @ k.mT

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        tokens, y = z["z"].flatten(1, 2), z["y"]
        memory = torch.relu(tokens @ p["W_mem"]).square().sum((1, 2))
        attention = torch.logsumexp(self.heads(tokens, p)[2], 3).sum((1, 2)) / self.gamma
        linear = (z["z"] * (c["drive"] + self.feedback(y, p))).sum((1, 2, 3))
        decoded = 0.5 * y.square().sum((1, 2, 3)) - y.sum((2, 3)) @ p["b_dec"]
        return 0.5 * tokens.square().sum((1, 2)) + decoded - linear - memory - attention

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        tokens, y = z["z"].flatten(1, 2), z["y"]
        q, k, scores = self.heads(tokens, p)
        weights = scores.softmax(3)
        attention = torch.einsum("bhta,had->btd", weights @ k, p["W_q"])
        attention = attention + torch.einsum("bhta,had->btd", weights.mT @ q, p["W_k"])
        memory = 2 * torch.relu(tokens @ p["W_mem"]) @ p["W_mem"].T
        force = c["drive"] + (attention + memory).view_as(z["z"]) + self.feedback(y, p) - z["z"]
        decoded = F.conv_transpose2d(z["z"].permute(0, 3, 1, 2), p["W_dec"], p["b_dec"], stride=self.stride)
        return {"z": force, "y": decoded - y}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        return (z["y"] - t["t"]).square().mean((1, 2, 3))

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        return {"y": (z["y"] - t["t"]) * (2 / t["t"][0].numel())}

    def project(self, z: Tensors) -> Tensors:
        centred = z["z"] - z["z"].mean(3, keepdim=True)
        return {**z, "z": centred * centred.square().mean(3, keepdim=True).rsqrt()}


class EnergyTransformer(Network):
    """The Energy Transformer on image patches: tokens move against the gradient by their layer norm."""

    conservative = False

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        side = p["W_enc"].shape[-1]
        hid = c["hidden"][:, ::side, ::side, None]
        seen = F.conv2d(c["img"], p["W_enc"], p["b_enc"], stride=side).permute(0, 2, 3, 1)
        return {"x": hid * p["MASK"] + (1 - hid) * seen + p["pos"]}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"x": c["x"]}

    def norm(self, x: Tensor, p: Tensors) -> Tensor:
        """The tokens' layer norm, its scale a number."""
        return p["gamma"] * F.layer_norm(x, x.shape[-1:]) + p["delta"]

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        x = z["x"]
        g = self.norm(x, p).flatten(1, 2)
        q, k = (torch.einsum("btd,yhd->bhty", g, p[name]) for name in ("W_q", "W_k"))
        scores = (q.shape[-1] ** -0.5 * q) @ k.mT
        itself = torch.eye(scores.shape[-1], dtype=torch.bool)
        weights = scores.masked_fill(itself, -torch.inf).softmax(3)
        attention = torch.einsum("bhty,yhd->btd", weights @ k, p["W_q"])
        attention = attention + torch.einsum("bhty,yhd->btd", weights.mT @ q, p["W_k"])
        return {"x": (attention + torch.relu(g @ p["xi"].T) @ p["xi"]).view_as(x)}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        side, colours = p["W_dec"].shape[-1], t["t"].shape[1]
        out = torch.einsum("bijd,dcpr->bijcpr", self.norm(z["x"], p), p["W_dec"]) + p["b_dec"]
        tokens = out.shape[1]
        aim = t["t"].view(len(out), colours, tokens, side, tokens, side).permute(0, 2, 4, 1, 3, 5)
        miss = (out - aim).square().mean((3, 4, 5))
        counted = t["counted"][:, ::side, ::side]
        return (counted * miss).sum((1, 2)) / counted.sum((1, 2))


class Deq(Network):
    """A deep equilibrium layer, z = tanh(W z + U x + b), a full step at a time."""

    conservative = False

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        return {"drive": F.linear(c["x"], p["U"], p["b"])}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"z": torch.zeros_like(c["drive"])}

    def next(self, z: Tensor, p: Tensors, c: Tensors) -> Tensor:
        """The layer itself."""
        return torch.tanh(torch.addmm(c["drive"], z, p["W"].T))

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        return {"z": self.next(z["z"], p, c) - z["z"]}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        return F.cross_entropy(F.linear(z["z"], p["W_out"], p["b_out"]), t["label"], reduction="none")


class ModernHopfield(Network):
    """Retrieval from memories by softmax."""

    beta = 8

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        return c

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"z": c["probe"]}

    def energy(self, z: Tensors, p: Tensors, c: Tensors) -> Tensor:
        level = torch.logsumexp(self.beta * (z["z"] @ p["X"].T), 1)
        return 0.5 * z["z"].square().sum(1) - level / self.beta

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        return {"z": (self.beta * (z["z"] @ p["X"].T)).softmax(1) @ p["X"] - z["z"]}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        return (z["z"] - t["stored"]).square().mean(1)

    def slope(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensors:
        return {"z": (z["z"] - t["stored"]) * (2 / z["z"].shape[1])}


class Edges(Network):
    """The Energy Transformer on the edges of a graph: its attention is gathered at both ends and added up at them."""

    conservative = False

    def fixed(self, p: Tensors, c: Tensors) -> Tensors:
        nodes = c["feature"].shape[1]
        first = nodes * torch.arange(len(c["src"]))[:, None]  # all samples are one graph
        ends = {name: (c[name] + first).flatten() for name in ("src", "dst")}
        return {"x": c["feature"] @ p["W_in"] + p["lambda"], **ends}

    def start(self, p: Tensors, c: Tensors) -> Tensors:
        return {"x": c["x"]}

    def norm(self, x: Tensor, p: Tensors) -> Tensor:
        """The layer norm of nodes, its scale a number."""
        return p["gamma"] * F.layer_norm(x, x.shape[-1:]) + p["delta"]

    def force(self, z: Tensors, p: Tensors, c: Tensors) -> Tensors:
        g = self.norm(z["x"], p).flatten(0, 1)
        q, k = (torch.einsum("nd,yhd->nhy", g, p[name]) for name in ("W_q", "W_k"))
        sent, asked = k.index_select(0, c["src"]), q.index_select(0, c["dst"])
        scores = p["beta"] * (sent * asked).sum(2)
        place = c["dst"][:, None].expand_as(scores)
        largest = scores.new_full(q.shape[:2], -torch.inf).scatter_reduce(0, place, scores.detach(), "amax")
        weights = (scores - largest[c["dst"]]).exp()
        total = torch.zeros_like(largest).index_add(0, c["dst"], weights)
        weights = (weights / total[c["dst"]])[:, :, None]
        to, fro = torch.zeros_like(q).index_add(0, c["dst"], weights * sent), torch.zeros_like(q)
        fro = fro.index_add(0, c["src"], weights * asked)
        attention = torch.einsum("nhy,yhd->nd", to, p["W_q"]) + torch.einsum("nhy,yhd->nd", fro, p["W_k"])
        return {"x": (attention + torch.relu(g @ p["xi"].T) @ p["xi"]).view_as(z["x"])}

    def cost(self, z: Tensors, p: Tensors, c: Tensors, t: Tensors) -> Tensor:
        first, last = self.norm(c["x"], p), self.norm(z["x"], p)
        logit = torch.relu(first @ p["U0"].T + last @ p["U1"].T + p["b_u"]) @ p["w"] + p["b_w"]
        anomalous, scored = t["anomalous"], t["scored"]
        sigma = ((scored * (1 - anomalous)).sum(1) / (scored * anomalous).sum(1))[:, None]
        each = sigma * anomalous * F.logsigmoid(logit) + (1 - anomalous) * F.logsigmoid(-logit)
        return -(scored * each).sum(1) / scored.sum(1)


def network(spec: str, sizes: Mapping[str, Any]) -> Network:
    """The network of a spec at its sizes."""
    made = {
        "hopfield": Hopfield,
        "hopfield_conv": HopfieldConv,
        "thick": Thick,
        "et_image": EnergyTransformer,
        "deq": Deq,
        "modern_hopfield": ModernHopfield,
        "et_anomaly": Edges,
    }
    return Cet(int(sizes["stride"])) if spec == "cet" else made[spec]()
