"""``energyc export``: what it writes, where, and with which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import UNTIED, energyc, written
from tests.hardware.test_spice import needs_ngspice

Capture = pytest.CaptureFixture[str]


def test_ising_goes_to_a_file_or_to_standard_output(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    out = tmp_path / "deep" / "problem.json"
    done = energyc(capfd, "export", path, "--to", "ising", "--sample", 3, "-o", out)
    assert (done.status, done.out.strip()) == (0, str(out))
    stored = json.loads(out.read_text())
    shown = energyc(capfd, "export", path, "--to", "ising", "--sample", 3).json
    assert stored == shown and len(shown["h"]) == 16 and "sample 3 of the test split" in shown["sample"]
    other = energyc(capfd, "export", path, "--to", "ising", "--sample", 4).json
    assert other["J"]["row"] == shown["J"]["row"] and other["h"] != shown["h"]
    energyc(capfd, "export", path, "--to", "ising", "-o", tmp_path / "problem.coo")
    assert (tmp_path / "problem.coo").read_text().startswith("# vartype=SPIN\n")


@pytest.mark.slow
def test_a_run_is_exported_with_its_trained_weights(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    assert energyc(capfd, "train", path, "--steps", 2, "--out", run).status == 0
    trained = energyc(capfd, "export", run, "--to", "spice")
    assert trained.status == 0 and "the run run after 2 updates, sample 0 of the test split" in trained.out
    first = energyc(capfd, "export", path, "--to", "spice", "--format", "json").json["netlist"]
    assert trained.out.splitlines()[3:] != first.splitlines()[3:]


@needs_ngspice
def test_check_lets_ngspice_judge(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = written(tmp_path), tmp_path / "a.cir"
    done = energyc(capfd, "export", path, "--to", "spice", "--check", "-o", out)
    assert done.status == 0 and "differ by" in done.err and out.exists()
    checked = energyc(capfd, "export", path, "--to", "spice", "--check", "--format", "json").json["check"]
    assert checked["passed"] and checked["nodes"] == 16 and checked["difference"] <= 1e-6
    monkeypatch.setattr("energyc.studies.hardware.problem.AGREEMENT", 0.0)
    assert energyc(capfd, "export", path, "--to", "spice", "--check").status == 4


def test_what_cannot_be_exported_is_shown_in_the_spec(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, UNTIED, "untied")
    done = energyc(capfd, "export", path, "--to", "spice")
    assert done.status == 1 and "E0904" in done.err  # nothing feeds its clamp
    text = UNTIED.replace("dim D = 4, F = 3\nclamp x[D]\n", "dim D = 4, F = 3\n").replace("z[d] - x[d]", "z[d]")
    done = energyc(capfd, "export", written(tmp_path, text, "fed"), "--to", "spice")
    assert done.status == 1 and "error[E0960]: the force ffn is not written" in done.err and "force ffn on" in done.err
    found = energyc(capfd, "export", tmp_path / "fed.energy", "--to", "ising", "--format", "json").json
    assert {d["code"] for d in found["diagnostics"]} == {"E0962", "E0963"}


def test_wrong_usage(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    assert energyc(capfd, "export", path).status == 2
    assert energyc(capfd, "export", path, "--to", "ising", "--check").status == 2
    assert "E0964" in energyc(capfd, "export", path, "--to", "ising", "--sample", 99999).err
    assert "E0511" in energyc(capfd, "export", tmp_path, "--to", "ising").err
