"""The target cpp: phases in kernels are those of torch, to rounding."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc import pipeline
from energyc.diagnostics import SpecError, UserError
from energyc.resources import resource
from tests.emit.judge import resolved
from tests.emit.kernels import TOLERANCE, differences, kernel_module, needs_compiler
from tests.emit.random_specs import random_spec

SPECS = sorted(Path(str(resource("specs"))).glob("*.energy"))
#: Quick to build, and between them every kind of block: boxes, masks, spheres, windows, gathers.
QUICK = ("hopfield", "cet", "thick")


def shipped(path: Path):  # type: ignore[no-untyped-def]
    """The network of a spec, small where it has a preset for that."""
    source = pipeline.read(path)
    try:
        return pipeline.resolve(source, pipeline.Choices("verify"))
    except (SpecError, UserError):
        return pipeline.resolve(source)


@needs_compiler
@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in SPECS]
)
def test_shipped_specs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    found = differences(kernel_module(shipped(path)))
    assert max(found.values()) < TOLERANCE, found


def random_case(seed: int) -> None:
    print(f"seed {seed}")
    text = random_spec(seed)
    try:
        network = resolved(text)
    except SpecError as error:
        pytest.skip(f"no spec: {error}")
    print(text)
    found = differences(kernel_module(network), seed)
    assert max(found.values()) < 1e-9, found


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_random_specs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    random_case(seed)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_random_specs_at_length(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    random_case(seed)
