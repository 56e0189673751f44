"""``energyc bench``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from energyc import pipeline
from energyc.code.plan import Passes
from energyc.studies.bench.step import _by_autograd, _module, _step, bench
from energyc.studies.verify import random_probe
from tests.cli.run import energyc

ROOT = Path(__file__).parents[2]
IN_KERNELS = ["in kernels"] if any(map(shutil.which, ("c++", "g++", "clang++"))) else []
DIMS = {"I": 12, "J": 9, "K": 4}


@pytest.mark.slow
def test_every_way_is_timed_and_the_generated_one_is_the_measure(capfd: pytest.CaptureFixture[str]) -> None:
    spec = str(ROOT / "specs" / "hopfield.energy")
    done = energyc(capfd, "bench", spec, "--preset", "verify", "--seconds", "0", "--batch", "2", "--format", "json")
    assert done.status == 0, done
    found = json.loads(done.out)
    ways = ["generated", "without passes", *IN_KERNELS, "autograd of the energy"]
    assert [t["way"] for t in found["timings"]] == ways
    assert found["timings"][0]["ratio"] == 1
    assert all(t["milliseconds"] > 0 for t in found["timings"])


@pytest.mark.slow
def test_what_is_no_gradient_has_no_energy_to_differentiate() -> None:
    network = pipeline.resolve(pipeline.read(ROOT / "specs" / "thick.energy"), pipeline.Choices("verify"))
    report = bench(network, batch=2, seconds=0)
    assert [t.way for t in report.timings] == ["generated", "without passes", *IN_KERNELS]
    assert "thick: one step, batch 2" in report.to_text()


@pytest.mark.slow
def test_steps_that_are_numbered_are_timed_outside_of_training() -> None:
    report = bench(pipeline.resolve(pipeline.read(ROOT / "specs" / "tel.energy")), batch=2, seconds=0)
    assert [t.way for t in report.timings] == ["generated", "without passes", *IN_KERNELS]


def test_both_ways_take_the_same_step() -> None:
    network = pipeline.resolve(pipeline.read(ROOT / "specs" / "cet.energy"), pipeline.Choices("verify"))
    net = _module(network, Passes.plain())
    clamps = random_probe(net, batch=2).clamps
    states = list(net.start(clamps).values())
    for own, other in zip(_step(net, states, clamps)(), _by_autograd(net, states, clamps)(), strict=True):
        assert float((own - other).abs().max()) < 1e-4


@pytest.mark.slow
def test_own_data_are_timed_at_their_sizes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Three test samples in a batch of four; an image of nine pixels."""
    (tmp_path / "own.py").write_text(
        "import numpy as np\n\ndef samples():\n"
        "    data = {'x': np.full((15, 9), 0.5), 'label': np.zeros(15, int)}\n    return data\n"
    )
    given = ("--data", f"{tmp_path / 'own.py'}:samples")
    asked = ("bench", "hopfield", "--set", "I=9", "--seconds", "0", "--batch", "4", "--format", "json")
    done = energyc(capfd, *asked, *given)
    assert done.status == 0, done
    assert json.loads(done.out)["batch"] == 4
    wrong = energyc(capfd, "bench", "hopfield", "--set", "I=8", "--seconds", "0", *given)
    assert wrong.status == 1 and "has shape" in wrong.err and "[samples, 8]" in wrong.err


@pytest.mark.parametrize("name", ["hopfield", "edges"])
def test_drawn_inputs_give_no_warning(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "bench", name, "--seconds", "0", "--batch", "2")
    assert (done.status, done.err) == (0, "")
