"""Transcriptions of the networks that are not conservative beside the compiler's modules, at rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch

from energyc import pipeline
from energyc.code.module.context import Options
from energyc.code.module.names import class_name
from energyc.code.targets.torch.module import torch_module
from energyc.pipeline import Choices, Compiled
from tests.independent import NOT_CONSERVATIVE, Network, Random, Tensors, rules
from tests.specs.judging import SPECS

THICK = next(net for net in NOT_CONSERVATIVE if net.name == "thick")
TIED = next(net for net in NOT_CONSERVATIVE if net.name == "thick_tied")
BLOCK = ("W_q", "W_k", "W_v", "W_o", "W1", "W2")
RULES = ("aep", "tracking-aep", "adjoint", "vf", "bptt", "tbptt", "implicit")


@dataclass(frozen=True)
class Side:
    """A module, the problem it should solve, and the equilibrium of both."""

    module: Any
    problem: rules.Problem
    free: Tensors

    def gradient(self, rule: str, **settings: Any) -> Tensors:
        """By a rule, from the equilibrium."""
        start = {name: value.clone() for name, value in self.free.items()}
        given = (self.problem.clamps, self.problem.targets)
        found: Tensors = self.module.gradients(
            *given, rule, steps=0, states=start, allow_biased=True, **settings
        ).params
        return found

    def limit(self, rule: str, beta: float = 1e-3, order: int = 2, **settings: Any) -> Tensors:
        """As beta vanishes, by Richardson's extrapolation."""
        coarse, fine = (self.gradient(rule, beta=b, **settings) for b in (beta, beta / 2))
        return rules.extrapolate(coarse, fine, order)


@cache
def module(net: Network, unproved: tuple[str, ...] | None = None) -> Compiled:
    """The spec at the transcription's sizes, plain nudges; J_nc is that of the terms in ``unproved``."""
    settings = {"relax.step": net.step, "nudge.snapshots": "none", "train.penalty": "jacobian"}
    source = pipeline.read(SPECS / f"{net.name}.energy")
    network = pipeline.resolve(source, Choices.of(dims=net.dims, settings=settings))
    held = (*RULES, "holomorphic-aep") if net is THICK else RULES  # thin has a relu
    options = Options(rules=held, label=net.name, version="0", unproved=unproved)
    printed = torch_module(options.plan(network), options)
    classes = pipeline.classify(network)
    return Compiled(network, classes, "torch", printed, f"{net.name}_torch.py", class_name(network.name))


@cache
def side(net: Network, seed: int, scale: float = 1.0, unproved: tuple[str, ...] | None = None) -> Side:
    """Both sides with drawn params, those of the block times ``scale``, at rest; one for all tests of the same seed."""
    print(f"{net.name}, seed {seed}")
    drawn = rules.problem(net, Random(seed))
    problem = replace(drawn, params={n: v * scale if n in BLOCK else v for n, v in drawn.params.items()})
    made = pipeline.instantiate(module(net, unproved), "cpu", torch.float64, 0)
    with torch.no_grad():
        for name, value in problem.params.items():
            made.params[name].copy_(value)
    return Side(made, problem, settled(made, problem))


def settled(made: Any, problem: rules.Problem) -> Tensors:
    """The equilibrium by the module, since that is fast; that it is one is for the transcription to say."""
    states = None
    for _ in range(30):
        found = made.relax(problem.clamps, steps=200, states=states)
        states = found.states
        if float(found.residual.max()) < 1e-15:
            break
    assert rules.residual(problem, states).max() < 1e-14
    return dict(states)


def error(found: Tensors, exact: Tensors) -> float:
    """|found - exact| / |exact| over all params."""
    a, b = (torch.cat([tensors[name].flatten() for name in exact]) for tensors in (found, exact))
    return float((a - b).norm() / b.norm())
