"""The language models as they ship: they settle at the start, float32 carries their gradients, text comes out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from energyc.pipeline import Choices, Compiled, compile_spec, instantiate
from energyc.studies.verify import precision_table, random_probe
from tests.cli.run import energyc
from tests.specs.judging import SPECS

RULE = {"thick": "tracking-aep", "thick_tied": "tracking-aep", "thin": "tracking-aep", "cet_lm": "centered-ep"}
PRESETS = ("verify", "small", pytest.param(None, marks=pytest.mark.slow))
MODELS = pytest.mark.parametrize("name", RULE)
Capture = pytest.CaptureFixture[str]


@cache
def made(name: str, preset: str | None) -> Compiled:
    """The module of a spec."""
    return compile_spec(SPECS / f"{name}.energy", Choices(preset), rules=[RULE[name]])[0]


def loaded(name: str, preset: str | None, seed: int, dtype: torch.dtype = torch.float32) -> Any:
    """The network at its start."""
    return instantiate(made(name, preset), "cpu", dtype, seed)


@pytest.mark.abridged(every=7)
@MODELS
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(5))
def test_the_start_settles(name: str, preset: str | None, seed: int) -> None:
    net = loaded(name, preset, seed)
    found = net.relax(random_probe(net, batch=2, seed=seed).clamps)
    assert net.relax_tolerance and float(found.residual.max()) <= net.relax_tolerance
    assert int(found.steps.max()) <= net.relax_steps, "no step is to be added at the start"


@pytest.mark.abridged(every=3)
@MODELS
@pytest.mark.parametrize("preset", PRESETS)
def test_float32_carries_the_gradient(name: str, preset: str | None) -> None:
    """No param is off by more than 5%."""
    single, double = loaded(name, preset, 0), loaded(name, preset, 0, torch.float64)
    table = precision_table(single, double, random_probe(single, batch=2), RULE[name])
    print(table)
    assert not table.faint
    assert table.worst.error < 0.05


# ---------------------------------------------------------------- text


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ``thick`` that has hardly begun."""
    from energyc.surfaces.cli import main

    folder = tmp_path_factory.mktemp("language") / "run"
    small = ["--preset", "small", "--set", "T=8", "--set", "D=16", "--set", "H=2", "--set", "train.eval_samples=16"]
    assert main(["train", str(SPECS / "thick.energy"), *small, "--steps", "3", "--out", str(folder), "--quiet"]) == 0
    return folder


def text_of(capfd: Capture, run: Path, *flags: str) -> str:
    """The text that ``energyc sample`` writes."""
    done = energyc(capfd, "sample", run, *flags)
    assert done.status == 0, done.err
    return done.out


@pytest.mark.slow
def test_the_seed_decides_the_text(run: Path, capfd: Capture) -> None:
    drawn = [text_of(capfd, run, "--prompt", "To be", "--length", "20", "--seed", str(k)) for k in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0].startswith("To be") and len(drawn[0].rstrip("\n")) >= 20


@pytest.mark.slow
def test_without_temperature_nothing_is_drawn(run: Path, capfd: Capture) -> None:
    cold = [text_of(capfd, run, "--length", "6", "--temperature", "0", "--seed", str(k)) for k in (1, 2)]
    assert cold[0] == cold[1]


@pytest.mark.slow
def test_what_stands_behind_a_text_changes_nothing(run: Path) -> None:
    """A text that is shorter than the window stands at its beginning: the places after it are not seen."""
    import energyc as package

    net = package.load(run, dtype=torch.float64)
    (length,), characters = net.clamp_shapes["idx"]
    text = torch.randint(characters, (1, length), generator=torch.Generator().manual_seed(0)).expand(6, length).clone()
    text[:, 3:] = torch.randint(characters, (6, length - 3), generator=torch.Generator().manual_seed(1))
    clamps = {"idx": text}
    found = net.relax(clamps, steps=60)
    logits = net.readout(found.states, clamps)["logits"]
    assert torch.allclose(logits[1:, :3], logits[:1, :3].expand(5, -1, -1), rtol=0, atol=1e-12)
    assert not torch.allclose(logits[1:, 3:], logits[:1, 3:].expand(5, -1, -1), rtol=0, atol=1e-3)


@pytest.mark.slow
def test_a_network_that_looks_ahead_is_refused(tmp_path: Path, capfd: Capture) -> None:
    """Without its guards the attention sees what stands behind a text."""
    text = (SPECS / "thick.energy").read_text().replace("[s | s <= t]", "[s]").replace("normal(0.02)", "normal(0.5)")
    spec = tmp_path / "ahead.energy"
    spec.write_text(text)
    small = ["--preset", "small", "--set", "T=8", "--set", "D=16", "--set", "H=2", "--set", "train.eval_samples=16"]
    assert energyc(capfd, "train", spec, *small, "--steps", "0", "--out", tmp_path / "run").status == 0
    done = energyc(capfd, "sample", tmp_path / "run")
    assert done.status == 1 and "is not causal" in done.err
    assert not done.out


@pytest.mark.slow
def test_a_run_that_is_no_language_model_is_told_so(tmp_path: Path, capfd: Capture) -> None:
    from tests.cli.run import written

    assert energyc(capfd, "train", written(tmp_path), "--steps", "1", "--out", tmp_path / "run").status == 0
    done = energyc(capfd, "sample", tmp_path / "run")
    assert done.status == 1
    assert "error[E0923]" in done.err and "not a language model" in done.err


# ---------------------------------------------------------------- verify


@pytest.mark.slow
def test_verify_measures_a_run_by_its_own_rule(run: Path, capfd: Capture) -> None:
    done = energyc(capfd, "verify", run, "--format", "json")
    assert done.status == 0, done.err
    assert set(done.json["rules"]) == {"tracking-aep", "implicit"}
    assert done.json["sizes"]["T"] == 8
    assert done.json["rules"]["tracking-aep"]["params"]["W_q"]["limit"]["cosine"] > 0.9999


@pytest.mark.slow
def test_verify_draws_its_sweeps(run: Path, capfd: Capture) -> None:
    done = energyc(capfd, "verify", run, "--sweep", "residual", "--rule", "tracking-aep")
    assert done.status == 0, done.err
    assert "Lowest cosine of a param" in done.out
    assert (run / "pictures" / "verify-residual.png").exists()
    assert "verify-residual.png" in done.out


# ---------------------------------------------------------------- training


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["thick", "thick_tied", "thin", "cet_lm"])
def test_the_small_preset_learns(name: str, tmp_path: Path, capfd: Capture) -> None:
    """The first sixty updates of the shipped run: all settle, and the cost falls by more than a tenth."""
    options = ("--preset", "small", "--steps", "60", "--set", "train.eval_samples=128", "--format", "json", "--quiet")
    done = energyc(capfd, "train", SPECS / f"{name}.energy", *options, "--out", tmp_path / "run")
    assert done.status == 0, done.err
    assert done.json["final"]["cost"] < 0.9 * 4.17
    assert done.json["final"]["residual_max"] < 1e-2 and done.json["warnings"] == []
