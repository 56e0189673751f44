"""``nudge.tolerance``: nudged phases that go on while their contrast changes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc
from energyc.studies.verify import random_probe
from energyc.studies.verify.compare import measure_all
from tests.emit.kernels import needs_compiler
from tests.specs.judging import SPECS

TARGETS = pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=needs_compiler)])


def gradients(rule: str, target: str = "torch", **settings: Any) -> tuple[Any, Any]:
    """The gradient of ``thick`` by a rule with settings of ``nudge``, and the exact one."""
    given = {f"nudge.{name}": value for name, value in {"tolerance": None, **settings}.items()}
    free = {"relax.tolerance": 1e-11, "relax.max_steps": 4000}
    net = energyc.load(
        SPECS / "thick.energy",
        preset="verify",
        rules=[rule, "implicit"],
        dtype=torch.float64,
        seed=3,
        target=target,
        settings=given | free,
    )
    probe = random_probe(net, batch=2, seed=4)
    return tuple(net.gradients(probe.clamps, probe.targets, name) for name in (rule, "implicit"))


@TARGETS
@pytest.mark.parametrize("rule", ["tracking-aep", "aep"])
def test_phases_go_on_to_the_tolerance(rule: str, target: str) -> None:
    short, exact = gradients(rule, target, steps=10, snapshots=5)
    error = measure_all(short.params, exact.params).relative_error
    before = 10
    for tolerance in (1e-1, 1e-3, 1e-6):
        found, exact = gradients(rule, target, steps=10, snapshots=5, tolerance=tolerance, max_steps=1000)
        made = int(found.health["nudged"][0])
        assert made >= before
        now = measure_all(found.params, exact.params).relative_error
        assert now <= max(4 * tolerance, 1e-8) and now <= error
        before, error = made, now
    assert before > 10


def test_max_steps_ends_them() -> None:
    found, _ = gradients("tracking-aep", steps=10, snapshots=5, tolerance=1e-12, max_steps=32)
    assert set(found.health["nudged"].tolist()) == {30}


def test_a_number_of_steps_that_a_call_gives_is_made() -> None:
    net = energyc.load(
        SPECS / "thick.energy",
        preset="verify",
        rules=["tracking-aep"],
        settings={"nudge.tolerance": 1e-9, "nudge.snapshots": 5},
    )
    probe = random_probe(net, batch=2, seed=4)
    found = net.gradients(probe.clamps, probe.targets, "tracking-aep", nudge_steps=15)
    assert set(found.health["nudged"].tolist()) == {15}
