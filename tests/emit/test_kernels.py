"""Phases in the kernels of each target are those of torch operations, to rounding."""

from __future__ import annotations

import pytest
import torch

from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.drawing import draws
from tests.emit.judge import resolved
from tests.emit.kernels import (
    EDGES,
    FLAGGED,
    KINKS,
    NUMBERED,
    SIMPLICES,
    SPEC_OF,
    SWEEPS,
    TARGETS,
    agrees,
    kernel_module,
    numbered_phases,
    shipped,
)
from tests.emit.random_specs import random_spec
from tests.quick import few

pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)


@pytest.mark.abridged
@pytest.mark.parametrize("spec", EDGES)
def test_reductions_over_edges(spec: str, target: str) -> None:
    made = pipeline.emit(resolved(spec), target=target)
    if spec is EDGES[-1] and target == "triton":
        assert made.fallback == "an edge is looked up by way of another one"
        return
    agrees(kernel_module(resolved(spec), target=target))


def test_steps_that_are_numbered(target: str) -> None:
    net = kernel_module(resolved(NUMBERED), target=target)
    agrees(net)
    assert numbered_phases(net) < 1e-12


def test_kernels_leave_out_what_is_for_training(target: str) -> None:
    """So that a statistic of the batch that is read in training alone does not keep a network from having them."""
    net = kernel_module(resolved(FLAGGED), target=target)
    agrees(net)
    assert net.train()._serving("free", [torch.zeros(2, 5)]) is None
    whole = kernel_module(shipped(SPEC_OF["tel_digits"]), target=target)
    assert whole.train()._serving("free", [torch.zeros(2, 6)]) is None


def test_projections_on_simplices(target: str) -> None:
    agrees(kernel_module(resolved(SIMPLICES.format(large=70)), target=target))


def test_proximal_steps(target: str) -> None:
    found = agrees(kernel_module(resolved(KINKS), ["centered-ep"], target))
    assert found.keys() == {"free", "residual", "nudged"}


def test_sweeps_by_blocks(target: str) -> None:
    """At a nudge that leaves a slope, and at one that leaves none."""
    net = kernel_module(resolved(SWEEPS), ["centered-ep"], target)
    assert net.block_slopes == {0: None, 1: None, 2: None, 4: 2.0}
    assert agrees(net).keys() == {"free", "residual", "nudged"}
    agrees(net, beta=-4.0)


@pytest.mark.parametrize("seed", few([*range(4), *range(100, 100 + draws(60))], range(4)))
def test_random_specs(seed: int, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    text = random_spec(seed, real=bool(seed % 2))
    print(f"seed {seed}\n{text}")
    try:
        network = resolved(text)
    except SpecError as error:
        pytest.skip(f"no spec: {error}")
    agrees(kernel_module(network, target=target), 1e-9, seed=seed)
