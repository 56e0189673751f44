"""The report of a training run on itself, from the trials at its end, in text and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import SMALL, energyc, written
from tests.quick import few

Capture = pytest.CaptureFixture[str]
FREE = SMALL.replace("s[J] in [0, 1], y[K] in [0, 1]", "s[J], y[K]")
KINK = FREE.replace("energy leak =", "energy kinks = sum[j](abs(s[j]))\nenergy leak =").replace(
    "relax {", "relax { proximal = off,"
)
#: The states fall along a slope.
FALLING = FREE.replace("1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)", "-sum[j](s[j])").replace(
    "centered-ep", "implicit"
)
#: The free phase ends early, and the nudge is small.
DRIFTING = (
    SMALL.replace("rule = centered-ep", "rule = ep").replace("beta = 1/2", "beta = 1e-4").replace("1/2, st", "0.1, st")
)


@pytest.mark.slow
def test_a_kink_is_named(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path, KINK), "--out", tmp_path / "run", "--format", "json")
    assert done.status == 0, done.err
    symptom = json.loads(done.out)["health"]["symptoms"][0]
    assert "back and forth where its force jumps" in symptom["what"] and "sqrt(u^2 + w^2)" in symptom["helps"]
    assert "force jumps" in energyc(capfd, "verify", tmp_path / "run").out


@pytest.mark.slow
@pytest.mark.parametrize("rule", few(["implicit", "centered-ep"], ["centered-ep"]))
def test_an_energy_without_a_floor_is_named(rule: str, tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, FALLING.replace("centered-ep", rule))
    done = energyc(capfd, "train", path, "--out", tmp_path / "run")
    assert done.status in (0, 1) and "the energy has no floor" in done.out + done.err, done.err


@pytest.mark.slow
def test_a_drift_that_a_one_sided_rule_reads_is_named(tmp_path: Path, capfd: Capture) -> None:
    remark = "the free phase still moves"
    path = written(tmp_path, DRIFTING)
    assert remark in energyc(capfd, "train", path, "--out", tmp_path / "run").out
    assert remark not in energyc(capfd, "train", path, "--out", tmp_path / "more", "--set", "relax.steps=900").out
    assert remark not in energyc(capfd, "train", path, "--out", tmp_path / "two", "--rule", "centered-ep").out


def test_what_is_set_from_outside_is_named_there(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "check", written(tmp_path, SMALL), "--set", "J=0")
    assert done.status == 1 and "dim `J` is set to 0" in done.err and "-->" not in done.err


def test_check_does_not_note_a_default(tmp_path: Path, capfd: Capture) -> None:
    report = energyc(capfd, "check", written(tmp_path, SMALL.replace("beta = 1/2", "beta = auto")))
    assert report.status == 0 and "beta" not in report.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_train_says_what_check_warns_of(form: str, tmp_path: Path, capfd: Capture) -> None:
    hidden = SMALL.replace("b[K] = 0.1", "b[K] = 0.1, g = 1").replace("b[k] * y[k])", "(b[k] + detach(g)) * y[k])")
    spec, run = written(tmp_path, hidden), tmp_path / "run"
    done = energyc(capfd, "train", spec, "--out", run, "--steps", 1, "--format", form)
    assert done.status == 0
    said = done.json["warnings"] if form == "json" else done.err.splitlines()
    assert [line for line in said if "param `g` is never trained: it is read only in detach(...)" in line]
    assert any("small.energy:7:55" in line for line in said)


@pytest.mark.parametrize(("settings", "rule"), [((), "centered-ep"), (("--rule", "bptt"), None)])
def test_a_start_is_warned_of_by_the_rule_that_trains(
    settings: tuple[str, ...], rule: str | None, tmp_path: Path, capfd: Capture
) -> None:
    spec = SMALL.replace("b[K] = 0.1", "b[K] = 0.1, g[J] = 1/2").replace(
        "energy leak", "start s[j] = g[j]\nenergy leak"
    )
    path, run = written(tmp_path, spec), tmp_path / "run"
    done = energyc(capfd, "train", path, "--out", run, "--steps", 1, "--target", "torch", *settings)
    assert done.status == 0, done.err
    warned = [line for line in done.err.splitlines() if "param `g` is not trained by" in line]
    assert len(warned) == (rule is not None)
    assert all(f"by {rule}: the cost depends on it only through the start of `s`" in line for line in warned)
