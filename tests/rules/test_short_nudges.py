"""The warning of nudged phases that end before they converge, with steps that do."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc

SPEC = """network entmin
dim K = 2
clamp x
target y
param w = 4
state p[K] in simplex[K]
start p[k] = 1/2
energy score   = -w * x * p[0]
energy tsallis = 4/3 * sum[k](p[k]^(3/2))
cost c = 1/2 * (p[0] - y)^2
relax { step = 0.1, steps = 300, tolerance = 1e-8 }
"""
RULES = ("ep", "centered-ep", "vf", "aep", "tracking-aep", "adjoint")
#: dc/dw at x = 0.2 and y = 0: p x / (p^(-1/2) + (1 - p)^(-1/2)) at the rest, w x = 2 (sqrt(p) - sqrt(1 - p)).
EXACT = 0.04776281079


def given(x: float) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    return {"x": torch.tensor([x], dtype=torch.float64)}, {"y": torch.zeros(1, dtype=torch.float64)}


def gradient(net: Any, x: float, rule: str, **settings: Any) -> tuple[float, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = net.gradients(*given(x), rule=rule, **settings).params["w"]
    return float(found), [str(w.message) for w in caught if w.category is energyc.NotSettledWarning]


@pytest.mark.parametrize("rule", RULES)
def test_the_steps_that_are_named_do(rule: str) -> None:
    net = energyc.load(SPEC, dtype=torch.float64, rules=[rule])
    short, (message,) = gradient(net, 0.2, rule)
    assert (
        abs(short / EXACT - 1) > 0.15 and "changes the gradient by 17%" in message and "(now 10; on 1 of 1" in message
    )
    steps = re.search(r"nudge\.steps = (\d+) would do", message)
    assert steps is not None
    long, none = gradient(energyc.load(SPEC, dtype=torch.float64, rules=[rule]), 0.2, rule, nudge_steps=int(steps[1]))
    assert abs(long / EXACT - 1) < 0.02 and not none
    assert gradient(net, 0.2, rule)[1] == []  # once


def test_it_is_looked_for_again_and_of_each_rule() -> None:
    """At x = 1 nothing moves, so that all is well; the fourth gradient is looked at, those between are not."""
    net = energyc.load(SPEC, dtype=torch.float64, rules=["centered-ep", "adjoint"])
    assert gradient(net, 1.0, "centered-ep") == (0.0, [])
    assert [len(gradient(net, x, "centered-ep")[1]) for x in (0.2, 0.2, 0.2, 0.2)] == [0, 0, 1, 0]
    assert len(gradient(net, 0.2, "adjoint")[1]) == 1


@pytest.mark.parametrize("rule", ["implicit", "bptt", "tbptt"])
def test_rules_without_nudges_are_not_warned_of(rule: str) -> None:
    assert gradient(energyc.load(SPEC, dtype=torch.float64, rules=[rule]), 0.2, rule)[1] == []


def test_the_gradient_is_the_same_where_it_was_looked_at() -> None:
    net = energyc.load(SPEC, dtype=torch.float64, rules=["centered-ep"])
    assert len({gradient(net, 0.3, "centered-ep")[0] for _ in range(4)}) == 1
