"""Which checkpoint of a run ``verify`` measures, on which samples, and what the run's log says of how it settled."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from energyc.studies.verify import record
from tests.cli.run import SMALL, energyc, written

Capture = pytest.CaptureFixture[str]

#: The cost turns R, by 1 an update: eigenvalues -1 +- i w, stable under steps of 1/2 while w < 1.73.
WORSE = """\
network worse
dim I = 64, D = 2
data digits = digits(side = 8)
clamp x[I] = digits.image
param U[I, D] ~ normal(0.01), R[D, D] = 0
state z[D]
energy pull = 1/2 * sum[d](z[d]^2) - sum[i,d](x[i] * U[i,d] * z[d])
force turn on z[d] = tanh(sum[e](R[d,e] * z[e]))
readout out[d] = z[d]
cost turned = 1/100 * sum[d](z[d]^2) + sum[d,e](where(d < e, R[d,e], -R[d,e]))
relax { step = 1/2, steps = 10, tolerance = 1e-4, chunk = 5, max_steps = 20 }
nudge { beta = auto, steps = 10 }
train { rule = tracking-aep, optimizer = sgd, lr = 1, batch = 20, steps = 5, eval_every = 2, eval_samples = 40,
        best = residual }
"""


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that settles ever worse; its best checkpoint is the first."""
    from energyc.surfaces.cli import main

    folder = tmp_path_factory.mktemp("worse")
    assert main(["train", str(written(folder, WORSE, "worse")), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


@pytest.mark.slow
def test_the_newest_checkpoint_is_measured_and_said_to_be(worse: Path, capfd: Capture) -> None:
    said = energyc(capfd, "verify", worse).out
    assert "checkpoint of step 5, the newest (--checkpoint best: step 0)" in said
    assert "measured on 2 test samples that did not settle" in said
    assert "3 of 4 evaluations ended above the tolerance 1e-04 (residual up to " in said
    assert ": steps 2 to 5" in said and "5 updates ended above the tolerance" in said
    assert "step 5 is one of these: residual " in said
    assert "  why: " in said and "  what helps: " in said


def test_the_best_checkpoint_may_be_asked_for(worse: Path, capfd: Capture) -> None:
    said = energyc(capfd, "verify", worse, "--checkpoint", "best").out
    assert "checkpoint of step 0, the best by the test split (newest: step 5); measured on 2 test samples\n" in said
    assert "step 0 is not one of these: residual " in said
    assert "why:" not in said


@pytest.mark.slow
def test_the_checkpoint_in_json(worse: Path, capfd: Capture) -> None:
    found = energyc(capfd, "verify", worse, "--format", "json").json["checkpoint"]
    assert (found["step"], found["newest"], found["best"]) == (5, 5, 0)
    assert found["log"]["unsettled"] and found["log"]["residual"] > 1e-4
    (limit,) = found["log"]["limits"]
    assert (limit["name"], limit["limit"]) == ("tolerance", 1e-4)
    assert limit["evaluations"]["steps"] == [[2, 5]] and limit["evaluations"]["above"] == 3
    best = energyc(capfd, "verify", worse, "--checkpoint", "best", "--format", "json").json["checkpoint"]
    assert best["step"] == 0 and not best["log"]["unsettled"]


def test_a_log_that_goes_beyond_its_checkpoints(worse: Path, tmp_path: Path, capfd: Capture) -> None:
    run = shutil.copytree(worse, tmp_path / "run")
    shutil.rmtree(run / "checkpoints" / "step-00000005")
    said = energyc(capfd, "verify", run).out
    assert "checkpoint of step 4, the newest" in said
    assert "it continues to step 5, which no checkpoint holds" in said


def test_a_damaged_checkpoint_is_told(worse: Path, tmp_path: Path, capfd: Capture) -> None:
    run = shutil.copytree(worse, tmp_path / "run")
    (run / "checkpoints" / "step-00000005" / "params.safetensors").write_bytes(b"")
    done = energyc(capfd, "verify", run)
    assert "the checkpoint of step 5 is damaged" in done.err
    assert "checkpoint of step 4, not the newest (step 5)" in done.out


@pytest.mark.slow
def test_a_run_that_settles_is_said_to(tmp_path: Path, capfd: Capture) -> None:
    spec = written(tmp_path, SMALL.replace("steps = 20 }", "steps = 20, tolerance = 1e-2 }"))
    assert energyc(capfd, "train", spec, "--steps", "1", "--out", tmp_path / "run", "--quiet").status == 0
    said = energyc(capfd, "verify", tmp_path / "run").out
    assert "log: the free phase always ended within the tolerance 1e-02" in said
    assert "did not settle" not in said


@pytest.mark.slow
def test_a_spec_has_no_checkpoint(tmp_path: Path, capfd: Capture) -> None:
    spec = written(tmp_path)
    done = energyc(capfd, "verify", spec, "--checkpoint", "best")
    assert done.status == 2 and "--checkpoint needs a run" in done.err
    found = energyc(capfd, "verify", spec, "--preset", "tiny", "--rule", "ep", "--format", "json").json
    assert found["checkpoint"] is None


def test_what_is_missing_may_be_a_spec_or_a_run(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "verify", tmp_path / "nowhere")
    assert done.status == 1 and done.err.startswith("error[E0901]: there is no file or folder ")
    assert ".energy" in done.err and "the folder of a run" in done.err


# ---------------------------------------------------------------- the log


def row(kind: str, step: int, residual: float | None) -> dict[str, Any]:
    key = "residual_max" if kind == "eval" else "residual"
    return {"step": step, "kind": kind, key: residual}


LOG = [
    row("eval", 0, 1e-6),
    row("train", 1, 1e-6),
    row("train", 2, 3e-4),
    row("train", 3, 2e-2),
    row("train", 4, 1e-5),
    row("train", 5, None),
    row("eval", 5, 4e-3),
]


def test_the_log_is_held_against_tolerance_and_gate() -> None:
    found = record(LOG, 5, {"tolerance": 1e-4, "gate": 1e-2})
    tolerance, gate = found.crossings
    assert tolerance.updates.ranges == ((2, 3), (5, 5)) and tolerance.updates.count == 3
    assert gate.updates.ranges == ((3, 3), (5, 5)) and gate.updates.rows == 5
    assert tolerance.evaluations.ranges == ((5, 5),) and gate.evaluations.count == 0
    assert math.isinf(tolerance.updates.worst) and tolerance.evaluations.worst == 4e-3
    assert found.loose and found.residual == 4e-3 and found.last == 5
    assert json.dumps(found.to_json())


@pytest.mark.parametrize(("step", "residual"), [(0, 1e-6), (2, 2e-2), (4, math.inf), (5, 4e-3), (6, None)])
def test_an_update_is_of_the_weights_that_it_begins_with(step: int, residual: float | None) -> None:
    found = record(LOG, step, {"tolerance": 1e-4})
    assert found.residual == residual
    assert found.loose == (residual is not None and residual > 1e-4)


def test_without_a_limit_nothing_is_above_it() -> None:
    assert record(LOG, 5, {"tolerance": None, "gate": None}).crossings == ()
    assert record([], 0, {"tolerance": 1e-4}).residual is None


#: The same inputs as the digits that ship, from a program.
PROGRAM = """\
from energyc.running.data.shipped import load_digits

def samples():
    images, labels = load_digits()
    return {"x": images.reshape(-1, 64), "label": labels}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec and a program that returns data for it, where the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROGRAM)
    return written(tmp_path, SMALL)


@pytest.mark.slow
def test_a_spec_is_measured_on_data_that_are_given(own: Path, capfd: Capture) -> None:
    found = json.loads(energyc(capfd, "verify", own, "--data", "own.py:samples", "--format", "json").out)
    assert found["passed"] and found["preset"] is None
    assert found["inputs"] == "2 test samples of own.py:samples"
    said = energyc(capfd, "verify", own, "--data", "own.py:samples").out
    assert "measured on 2 test samples of own.py:samples" in said


@pytest.mark.slow
def test_a_run_on_data_of_a_program_is_measured_on_them_if_they_are_given_again(own: Path, capfd: Capture) -> None:
    assert energyc(capfd, "train", own, "--data", "own.py:samples", "--out", "run", "--steps", 2).status == 0
    assert "measured on 2 test samples\n" in energyc(capfd, "verify", "run", "--data", "own.py:samples").out
    said = energyc(capfd, "verify", "run").out
    assert "measured on drawn inputs" in said and "give them again: --data" in said


@pytest.mark.parametrize(("data", "code"), [("nowhere.npz", "E0913"), ("own.py:nothing", "E0931")])
def test_data_that_cannot_be_opened_are_an_error(data: str, code: str, own: Path, capfd: Capture) -> None:
    done = energyc(capfd, "verify", own, "--data", data)
    assert done.status == 1 and f"error[{code}]" in done.err


def test_references_have_inputs_of_their_own(own: Path, capfd: Capture) -> None:
    assert energyc(capfd, "verify", own, "--reference", "shipped", "--data", "own.py:samples").status == 2
