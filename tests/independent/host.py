"""A network inside a host: real inputs are differentiated like params, and the host makes the cost of the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tests.independent.network import Network, Random, Tensors
from tests.independent.rules import Problem


@dataclass(frozen=True)
class Host(Network):
    """``inner`` with the sum of ``weights`` times answers as its cost; params and real inputs are one dictionary."""

    inner: Network
    weights: Tensors

    def states(self) -> dict[str, tuple[int, ...]]:
        return self.inner.states()

    def draw_params(self, random: Random) -> Tensors:
        return self.inner.draw_params(random)

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        return self.inner.draw_clamps(random, batch)

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        return {}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        return self.inner.terms(params, states, clamps | params)

    def forces(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        return self.inner.forces(params, states, clamps | params)

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        return self.inner.start(params, clamps | params)

    def project(self, states: Tensors) -> Tensors:
        return self.inner.project(states)

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        return self.inner.readout(params, states, clamps | params)

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """[batch]; its mean over the batch is the host's sum."""
        answers = self.readout(params, states, clamps)
        each = [(self.weights[name] * answer).flatten(1).sum(1) for name, answer in answers.items()]
        return torch.stack(each).sum(0) * len(each[0])


def hosted(p: Problem, weights: Tensors) -> Problem:
    """The same problem inside a host."""
    real = {name: clamp for name, clamp in p.clamps.items() if clamp.is_floating_point()}
    return replace(p, net=Host(p.net, weights), params=p.params | real)
