"""The settings of shipped specs: they settle before any training, and float32 carries their gradients."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from energyc.pipeline import Choices, Compiled, compile_spec, instantiate
from energyc.running.training.feeds import Batch
from energyc.studies.verify import precision_table, random_probe
from energyc.studies.verify.precision import LIMIT
from tests.specs.judging import SPECS

CET_LIMIT = 0.01
SETTLES = ("hopfield", "deep_hopfield", "modern_hopfield", "predictive_coding", "resistive", "cet:small", "cet:verify")
LARGE = ("hopfield_conv", "cet")
WITH_LARGE = pytest.mark.parametrize("spec", [*SETTLES, *(pytest.param(s, marks=pytest.mark.slow) for s in LARGE)])


@cache
def made(spec: str) -> Compiled:
    """The module of a spec, or of ``spec:preset``, as it ships."""
    name, _, preset = spec.partition(":")
    return compile_spec(SPECS / f"{name}.energy", Choices.of(preset or None), rules=["centered-ep"])[0]


@cache
def loaded(spec: str, seed: int, dtype: torch.dtype = torch.float32) -> Any:
    """The network at its start."""
    return instantiate(made(spec), "cpu", dtype, seed)


def probe(spec: str, seed: int) -> Batch:
    """A small batch; pixels of images in [-1, 1], half of the clamped ones hidden."""
    drawn = random_probe(loaded(spec, 0), batch=2, seed=seed)
    if not spec.startswith("cet"):
        return drawn
    clean = 2 * drawn.targets["t"] - 1
    return Batch({"x": clean * (drawn.clamps["x"] > 0.5)}, {"t": clean})


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("spec", SETTLES)
@pytest.mark.parametrize("seed", range(5))
def test_the_start_settles(spec: str, seed: int) -> None:
    """As in ``test_at_initialisation.py``, which has the large ones, and quicker: on random inputs."""
    net = loaded(spec, seed)
    assert net.relax_tolerance, "a shipped spec says what settled means"
    clamps = {n: v.to(net.dtype) if v.is_floating_point() else v for n, v in probe(spec, seed).clamps.items()}
    relaxed = net.relax(clamps)
    assert float(relaxed.residual.max()) <= net.relax_tolerance
    assert int(relaxed.steps.max()) <= net.relax_steps


@pytest.mark.abridged(every=3)
@WITH_LARGE
def test_float32_carries_the_gradient(spec: str) -> None:
    """No param's centred contrast is off by more than 5%, of the transformer by more than 1%."""
    table = precision_table(loaded(spec, 0), loaded(spec, 0, torch.float64), probe(spec, 0))
    print(table)
    assert {row.param for row in table.rows} == set(loaded(spec, 0).params), "every param has a gradient"
    assert table.worst.error <= (CET_LIMIT if spec.startswith("cet") else LIMIT)
    assert not table.faint


def test_a_faint_nudge_is_seen() -> None:
    """With the paper's beta on a mean over pixels, rounding drowns what the tokens learn from."""
    single, double = (loaded("cet:small", 0, dtype) for dtype in (torch.float32, torch.float64))
    single.beta, kept = 1e-4, single.beta
    try:
        assert precision_table(single, double, probe("cet:small", 0)).worst.error > LIMIT
    finally:
        single.beta = kept
