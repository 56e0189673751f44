"""The arithmetic of the published code of equilibrium propagation (Ernoult et al. 2019, Laborieux et al. 2021).

The primitive function Phi is written layer by layer, first layer and nudge included, each step differentiates it by
autograd, and an update differentiates the difference of Phi at both nudged states. Written anew from the papers'
equations, with the leak and the step of the spec: s + h (dPhi/ds - s), then clipped to the boxes of the spec.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.against.by_hand import Rules, walk
from benchmarks.against.cases import Problem, Tensors, Way
from benchmarks.against.networks import Network, boxed, network, one_hot


def dense(z: Tensors, p: Tensors, c: Tensors) -> Tensor:
    """Phi of a network of two linear layers: [batch]."""
    first = F.linear(c["x"], p["W1"].T, p["b1"])
    second = F.linear(z["s"], p["W2"].T, p["b2"])
    return (first * z["s"]).sum(1) + (second * z["y"]).sum(1)


def convolutional(z: Tensors, p: Tensors, c: Tensors) -> Tensor:
    """Phi of two convolutions with max pooling and a linear layer: [batch]."""
    first = F.max_pool2d(F.conv2d(c["x"], p["W1"], p["b1"]), 2)
    second = F.max_pool2d(F.conv2d(z["s1"], p["W2"], p["b2"]), 2)
    last = F.linear(z["s2"].flatten(1), p["W3"].flatten(1), p["b3"])
    return (first * z["s1"]).sum((1, 2, 3)) + (second * z["s2"]).sum((1, 2, 3)) + (last * z["y"]).sum(1)


PRIMITIVES = {"hopfield": dense, "hopfield_conv": convolutional}


class Published(Rules):
    """Phases and updates by the primitive function; nothing is kept from step to step."""

    def begin(self, p: Tensors) -> tuple[Tensors, Tensors]:
        clamps = self.problem.clamps
        return clamps, {name: torch.zeros_like(x) for name, x in self.problem.states.items()}

    def centered_ep(self) -> Tensors:
        beta, free, clamps = self.case.beta, self.phase(), self.problem.clamps
        plus, minus = (
            walk(self.step, free, self.params, clamps, self.targets, b, self.case.nudges) for b in (beta, -beta)
        )
        p = self.leaves()
        phi = PRIMITIVES[self.case.spec]
        return self.slopes((phi(minus, p, clamps) - phi(plus, p, clamps)).mean() / (2 * beta), p)


def step(z: Tensors, p: Tensors, c: Tensors, t: Tensors, beta: float, *, spec: str, size: dict[str, float]) -> Tensors:
    """A step by autograd of Phi."""
    leaves = {name: x.detach().requires_grad_() for name, x in z.items()}
    with torch.enable_grad():
        phi = PRIMITIVES[spec](leaves, p, c)
        if beta:
            phi = phi - beta * 0.5 * F.mse_loss(leaves["y"], one_hot(t["label"], z["y"]), reduction="none").sum(1)
        slopes = torch.autograd.grad(phi.sum(), list(leaves.values()))
    moved = zip(z.items(), slopes, strict=True)
    return boxed({name: x + size[name] * (slope - x) for (name, x), slope in moved})


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """The two networks that the papers have."""
    case = problem.case
    if case.spec not in PRIMITIVES:
        return {}
    net: Network = network(case.spec, problem.sizes)
    rules = Published(problem, net, partial(step, spec=case.spec, size=problem.step))
    found = rules.ways(tuple(name for name in case.rules if name == "centered-ep"))
    return {"published EP": {**found, "step": lambda: rules.steps(problem.clamps)}}
