"""The Thermodynamic Equilibrium Layer (algorithm 1 of its paper) in plain torch; gradients are autograd's.

Its statistics are those of the Gaussian estimate, detached.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.independent.network import Random, Tensors

ALPHA, BETA1, BETA0, EPSILON = 0.01, 1.0, 0.0, 1e-5
T_MIN, T_MAX = 0.05, 0.909


@dataclass(frozen=True)
class Run:
    """The states after each step, the start included, of each sample; and how many steps it made."""

    y: list[Tensor]
    tau: list[Tensor]
    steps: Tensor

    @property
    def end(self) -> Tensor:
        """y where each sample left."""
        return torch.stack([self.y[k][row] for row, k in enumerate(self.steps.tolist())])


def draw_params(random: Random, inputs: int, channels: int, steps: int) -> Tensors:
    """Generic params, the step sizes and the temperature inside their bounds."""
    return {
        "W": random.normal(channels, inputs, std=0.5),
        "b": random.normal(channels, std=0.5),
        "log_eta": random.uniform(steps, low=-2.0, high=-0.1),
        "tau0": random.uniform(low=-2.0, high=-0.2),
    }


def entropy(z: Tensor) -> Tensor:
    """The entropy estimate of the entropy force z [batch, channels], up to a constant."""
    variance = z.square().mean(0) - z.mean(0).square()
    return (0.5 * (variance + EPSILON).log()).mean()


def run(params: Tensors, x: Tensor, training: bool, tolerance: float = 0.0, patience: int = 1) -> Run:
    """Algorithm 1; with a ``tolerance`` samples leave, outside of training, at the ``patience``-th small gradient."""
    low, high = torch.log(torch.tensor([T_MIN, T_MAX], dtype=x.dtype)).tolist()
    anchor = x @ params["W"].T + params["b"]
    y, tau = anchor, params["tau0"].clamp(low, high)
    ys, taus = [y], [tau]
    streak = torch.zeros(len(x), dtype=torch.int64)
    steps = torch.full((len(x),), len(params["log_eta"]))
    for i, log_eta in enumerate(params["log_eta"]):
        force = F.silu(y)
        gradient = (y - anchor) - tau.exp() * force
        if training:
            tau = (tau + ALPHA * (BETA1 * entropy(force.detach()) + BETA0)).clamp(low, high)
        elif tolerance:
            streak = torch.where(gradient.norm(dim=1) <= tolerance, streak + 1, 0)
            steps = torch.where((streak >= patience) & (steps == len(params["log_eta"])), i + 1, steps)
        y = y - log_eta.exp() * gradient
        ys.append(y)
        taus.append(tau)
    return Run(ys, taus, steps)
