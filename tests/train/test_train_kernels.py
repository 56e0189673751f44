"""Training with phases in kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from energyc.resources import folder
from tests.cli.run import SMALL, energyc, written
from tests.emit.kernels import needs_compiler

Capture = pytest.CaptureFixture[str]
NEWTON = (
    SMALL.replace("relax { ", "relax { solver = newton, ").replace(" in [0, 1]", "").replace("centered-ep", "implicit")
)


@pytest.mark.slow
@needs_compiler
def test_a_run_resumes_with_its_kernels(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped halfway and resumed, it writes the rows of a run that went through."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    path = written(tmp_path)
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    done = energyc(capfd, "train", path, "--target", "cpp", "--out", whole)
    assert done.status == 0, done.err
    assert "phases run in C++ kernels" in done.err + done.out
    energyc(capfd, "train", path, "--target", "cpp", "--out", halved, "--steps", "3")
    done = energyc(capfd, "train", "--resume", halved, "--steps", "6")
    assert done.status == 0, done.err
    info = json.loads((halved / "run.json").read_text())
    assert info["target"] == "cpp" and info["module"] == "small_cpp.py"
    last = [(out / "metrics.jsonl").read_text().splitlines()[-1] for out in (whole, halved)]
    assert last[0] == last[1]
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = energyc(capfd, "train", "--resume", halved, "--steps", "7")
    assert done.status == 0, done.err
    assert "no-such-compiler" in done.out + done.err and "from here on rounding differs" in done.out + done.err
    assert json.loads((halved / "run.json").read_text())["target"] == "torch"


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("rule", ["tracking-aep", "bptt"])
def test_a_run_with_products_in_bfloat16_resumes_bit_for_bit(
    rule: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped halfway and resumed, it writes the rows of a run that went through."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    sizes = (
        "--set",
        "T=17",
        "--set",
        "D=32",
        "--set",
        "H=2",
        "--set",
        "train.batch=4",
        "--set",
        "train.eval_samples=8",
    )
    relaxed = ("--set", "relax.step=0.4", "--set", "relax.steps=12", "--set", "relax.chunk=4", "--set", "nudge.steps=6")
    given = ("train", folder("specs") / "thick.energy", "--target", "cpp", "--rule", rule, *sizes, *relaxed)
    given = (*given, "--set", "train.products=bfloat16", "--set", "train.log_every=1")
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    done = energyc(capfd, *given, "--steps", "4", "--out", whole)
    assert done.status == 0, done.err
    assert "phases run in C++ kernels" in done.err + done.out
    energyc(capfd, *given, "--steps", "2", "--out", halved)
    done = energyc(capfd, "train", "--resume", halved, "--steps", "4")
    assert done.status == 0, done.err
    rows = [(out / "metrics.jsonl").read_text().splitlines()[-1] for out in (whole, halved)]
    assert rows[0] == rows[1]


def test_kernels_that_cannot_be_had(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    done = energyc(capfd, "train", written(tmp_path, NEWTON), "--target", "cpp", "--out", tmp_path / "run")
    assert done.status == 1
    assert "error[E0518]: small cannot be trained in C++ kernels: its solver is newton" in done.err
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = energyc(capfd, "train", written(tmp_path), "--target", "cpp", "--out", tmp_path / "run")
    assert "error[E0518]" in done.err and "no-such-compiler" in done.err
    done = energyc(capfd, "train", written(tmp_path), "--target", "auto", "--out", tmp_path / "run")
    assert done.status == 0 and "phases run as torch operations: no-such-compiler" in done.err + done.out
    monkeypatch.setenv("ENERGYC_TARGET", "rust")
    done = energyc(capfd, "train", written(tmp_path), "--out", tmp_path / "other")
    assert "error[E0518]: ENERGYC_TARGET is rust" in done.err
