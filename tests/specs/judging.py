"""A compiled spec beside its transcription, with the same params, inputs and states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch

import energyc
from tests.independent import ALL, Network, Random, Tensors, rules
from tests.quick import few

SPECS = Path(__file__).parents[2] / "specs"
SHIPPED = tuple(net for net in ALL if (SPECS / f"{net.name}.energy").exists())


def named(nets: tuple[Network, ...], slow: Collection[str] = ()) -> pytest.MarkDecorator:
    """One test for each network, marked slow for those named."""
    return pytest.mark.parametrize("net", few(nets, lambda net: net.name not in slow), ids=lambda net: net.name)


@dataclass(frozen=True)
class Pair:
    """The compiler's module and the problem it should solve."""

    module: Any
    problem: rules.Problem
    random: Random

    @property
    def given(self) -> tuple[Tensors, Tensors]:
        """Clamps and targets."""
        return self.problem.clamps, self.problem.targets

    def gradient(self, rule: str, **settings: Any) -> Tensors:
        """The gradient of each param by a rule of the compiler."""
        found: Tensors = self.module.gradients(*self.given, rule=rule, **settings).params
        return found


def pair(net: Network, seed: int, batch: int = 3, relax: Mapping[str, Any] = MappingProxyType({})) -> Pair:
    """Both sides of a network, ``relax`` holding settings; the seed is printed where a test fails."""
    print(f"{net.name}, seed {seed}")
    random = Random(seed)
    problem = rules.problem(net, random, batch)
    module = compiled(net, **relax)
    with torch.no_grad():
        for name, value in problem.params.items():
            module.params[name].copy_(value)
    return Pair(module, problem, random)


@cache
def compiled(net: Network, **relax: Any) -> Any:
    """The spec at the transcription's sizes and step sizes; compiled once for all tests."""
    steps = {f"relax.step.{name}": net.step_of.get(name, net.step) for name in net.states()}
    settings = {"relax.solver": "gradient", **steps, **relax}
    return energyc.load(SPECS / f"{net.name}.energy", dims=net.dims, settings=settings, dtype=torch.float64)


def assert_close(found: Tensors, expected: Tensors, tolerance: float) -> None:
    """Every tensor within a relative tolerance."""
    assert found.keys() == expected.keys()
    errors = rules.distance(found, expected)
    assert max(errors.values()) <= tolerance, errors
