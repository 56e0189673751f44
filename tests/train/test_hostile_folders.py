"""Run folders that were edited, damaged or made by someone else: one message, and nothing outside of them changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

import energyc as energyc_of_python
from energyc.language.diagnostics import UserError
from energyc.surfaces.cli import main
from tests.cli.run import SMALL, Done, energyc, written
from tests.quick import few

#: Commands that read a run, and whether they write into it.
COMMANDS = {
    "resume": ["train", "--resume", "{run}", "--steps", "6", "--quiet"],
    "eval": ["eval", "{run}"],
    "view": ["view", "{run}"],
    "plot": ["plot", "{run}", "--kind", "curves"],
}
#: All commands that open a run.
OPENING = {
    **COMMANDS,
    "verify": ["verify", "{run}"],
    "explain": ["explain", "{run}"],
    "export": ["export", "{run}", "--to", "sympy"],
    "sample": ["sample", "{run}"],
}
#: Those of them that read its logs.
READING_ROWS = ["resume", "view", "plot", "verify"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "run"
    spec = written(out.parent, SMALL)
    arguments = ["train", spec, "--steps", "4", "--out", out, "--quiet", "--set", "train.eval_every=2"]
    assert main([str(argument) for argument in arguments]) == 0
    return out


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("precious")
    return tmp_path / "run"


Try = Callable[[str], Done]


@pytest.fixture
def tried(run: Path, capfd: pytest.CaptureFixture[str]) -> Try:
    """A command ends with a message or does its work; nothing outside of the folder changes."""

    def tried(command: str) -> Done:
        before = _outside(run)
        done = energyc(capfd, *(word.format(run=run) for word in OPENING[command]))
        assert done.status in (0, 1), done
        assert _outside(run) == before
        return done

    return tried


def _outside(run: Path) -> dict[str, str]:
    """Everything beside the folder."""
    files = (path for path in run.parent.rglob("*") if path.is_file() and run not in path.parents)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


PIPES = ["run.json", "metrics.jsonl", "spec.energy", "checkpoints/step-00000004/manifest.json"]
LINKED = ["run.json", "metrics.jsonl", "timings.jsonl", "relaxations.jsonl", "spec.energy", ".lock"]


@pytest.mark.abridged(every=8)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", LINKED)
def test_a_link_in_the_place_of_a_file(name: str, command: str, run: Path, tried: Try) -> None:
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(run.parent / "outside" / "secret")
    done = tried(command)
    if command == "resume":
        assert done.status == 1 and name in done.err and "symbolic link" in done.err, done.err


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_the_place_of_a_file(name: str, command: str, run: Path, tried: Try) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    tried(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_checkpoints_of_another_run(command: str, run: Path, tried: Try) -> None:
    other = run.parent / "outside" / "checkpoints"
    shutil.move(run / "checkpoints", other)
    (run / "checkpoints").symlink_to(other)
    done = tried(command)
    assert command == "view" or (done.status == 1 and "symbolic link" in done.err), done


def test_a_page_and_pictures_are_not_written_through_links(run: Path, tried: Try) -> None:
    (run / "view.html").symlink_to(run.parent / "outside" / "secret")
    assert tried("view").status == 1
    (run / "pictures" / "learning.png").unlink(missing_ok=True)
    (run / "pictures" / "learning.png").symlink_to(run.parent / "outside" / "secret")
    assert tried("plot").status == 1


# -------------------------------------------------------------------- well-formed and wrong


def _rewritten(run: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change a file of each checkpoint, and make the manifest agree."""
    for folder in sorted((run / "checkpoints").iterdir()):
        path = folder / name
        if name.endswith(".json"):
            content = json.dumps(change(json.loads(path.read_text()))).encode()
        else:
            content = safetensors.torch.save(change(safetensors.torch.load(path.read_bytes())))
        path.write_bytes(content)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))


def _first(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def changed(tensors: dict[str, Any]) -> dict[str, Any]:
        name = next((key for key, value in tensors.items() if value.ndim), None)
        return tensors if name is None else {**tensors, name: change(tensors[name])}

    return changed


WRONG: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an empty state": ("state.json", lambda state: {}),
    "a controller without a penalty": ("state.json", lambda s: {**s, "controller": {"weight": 1.0, "average": None}}),
    "a best of a later step": (
        "state.json",
        lambda s: {**s, "best": {"step": 99, "value": 1.0, "numbers": {"cost": 1.0}}},
    ),
    "a param that is not finite": ("params.safetensors", _first(lambda x: x * float("nan"))),
    "a param of another shape": ("params.safetensors", _first(lambda x: x[:1].contiguous())),
    "a param of integers": ("params.safetensors", _first(lambda x: x.long())),
    "no params": ("params.safetensors", lambda tensors: {}),
    "another param": ("params.safetensors", lambda tensors: {**tensors, "other": torch.zeros(2)}),
    "an optimizer of another shape": ("optimizer.safetensors", _first(lambda x: x[:1].contiguous())),
    "an optimizer of integers": ("optimizer.safetensors", _first(lambda x: x.long())),
    "an optimizer's unknown key": (
        "optimizer.safetensors",
        lambda tensors: {name.replace("exp_avg", "average"): value for name, value in tensors.items()},
    ),
    "an optimizer's missing key": (
        "optimizer.safetensors",
        lambda tensors: {name: value for name, value in tensors.items() if "exp_avg_sq" not in name},
    ),
    "an optimizer of another param": (
        "optimizer.safetensors",
        lambda tensors: {name.replace("W", "Q"): value for name, value in tensors.items()},
    ),
}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_the_network_is_refused(wrong: str, run: Path, tried: Try) -> None:
    name, change = WRONG[wrong]
    _rewritten(run, name, change)
    done = tried("resume")
    assert done.status == 1 and "E0514" in done.err, done.err
    if name == "params.safetensors":
        again = tried("eval")
        assert again.status == 1 and "E0514" in again.err, again.err


#: What ``run.json`` may say of another network, and the word of the message.
RECORDED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "another network": ("other", lambda info: info.update(network="other")),
    "a param of another shape": ("W [6, 64]", lambda info: info["params"].update(W=[6, 64])),
    "another param": ("Q", lambda info: info["params"].update(Q=[2])),
    "a missing param": ("b", lambda info: info["params"].pop("b")),
    "another field": ("digits.label", lambda info: info["bindings"]["clamps"].update(x=["digits", "label"])),
    "data that it has not": ("x is fed", lambda info: info["bindings"]["clamps"].update(x=["secret", "image"])),
    "a missing binding": ("label", lambda info: info["bindings"]["targets"].clear()),
    "another clamp": ("z", lambda info: info["bindings"]["clamps"].update(z=["digits", "image"])),
    "another energy": ("other", lambda info: info["energies"].append("other")),
    "a missing energy": ("leak", lambda info: info["energies"].remove("leak")),
    "a force": ("other", lambda info: info["forces"].append("other")),
    "a layer": ("other", lambda info: info.update(layers=["other"])),
    "paths of other data": ("secret", lambda info: info.update(data={"secret": "/etc/passwd"})),
}


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("command", OPENING)
@pytest.mark.parametrize("wrong", RECORDED)
def test_a_run_json_of_another_network_is_refused(wrong: str, command: str, run: Path, tried: Try) -> None:
    word, change = RECORDED[wrong]
    info = json.loads((run / "run.json").read_text())
    change(info)
    (run / "run.json").write_text(json.dumps(info))
    done = tried(command)
    assert done.status == 1 and "E0514" in done.err, done.err
    assert "run.json does not fit the network" in done.err and word in done.err, done.err


def test_a_run_json_of_another_network_is_refused_in_python(run: Path) -> None:
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "params": {**info["params"], "W": [2, 2]}}))
    for opened in (energyc_of_python.load, energyc_of_python.resume):
        with pytest.raises(UserError, match=r"run\.json does not fit the network: W") as refused:
            opened(run)
        assert refused.value.code == "E0514"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("older", ["params", "bindings", "energies", "forces", "network"])
def test_a_run_of_a_version_that_recorded_less_is_opened(older: str, run: Path, tried: Try) -> None:
    info = json.loads((run / "run.json").read_text())
    del info[older]
    (run / "run.json").write_text(json.dumps(info))
    assert tried("eval").status == 0


LINES: dict[str, tuple[str, Callable[[list[str]], list[str]]]] = {
    "a cost that is infinite": ("line 2: cost is not", lambda x: _of_row(x, 1, cost=float("inf"))),
    "a cost that is not a number": ("line 2: cost is not", lambda x: _of_row(x, 1, cost=float("nan"))),
    "a number without a name that is infinite": ("line 1: other is not", lambda x: _of_row(x, 0, other=float("-inf"))),
    "a cost that is a text": ("line 1: cost:", lambda x: _of_row(x, 0, cost="low")),
    "a step before the last one": ("after step", lambda x: [x[-1], *x[:-1]]),
    "a step that is not one": ("line 3: step", lambda x: _of_row(x, 2, step=-1)),
    "a line without a step": ("line 1: step", lambda x: ["{}", *x]),
    "a line that is not JSON": ("line 2: invalid JSON", lambda x: [x[0], x[1][:9], *x[2:]]),
    "the last line": ("cost is not", lambda x: _of_row(x, -1, cost=float("nan"))),
}


def _of_row(lines: list[str], place: int, **values: object) -> list[str]:
    changed = list(lines)
    changed[place] = json.dumps({**json.loads(lines[place]), **values})
    return changed


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("command", READING_ROWS)
@pytest.mark.parametrize("wrong", LINES)
def test_rows_that_no_run_writes_are_refused(wrong: str, command: str, run: Path, tried: Try) -> None:
    word, change = LINES[wrong]
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in change(lines)))
    done = tried(command)
    assert done.status == 1 and "E0514" in done.err, done.err
    assert "metrics.jsonl does not fit the network" in done.err and word in done.err, done.err


def test_other_relaxations_are_refused(run: Path, tried: Try) -> None:
    lines = (run / "relaxations.jsonl").read_text().splitlines()
    row = json.loads(lines[0])
    row["residuals"][0].pop()
    (run / "relaxations.jsonl").write_text("\n".join([json.dumps(row), *lines[1:]]))
    done = tried("view")
    assert done.status == 1 and "relaxations.jsonl does not fit" in done.err and "residuals" in done.err, done.err


@pytest.mark.abridged
@pytest.mark.parametrize("rest", few(['{"step": 4, "cos', "\0" * 40, ""], ['{"step": 4, "cos']))
@pytest.mark.parametrize("command", READING_ROWS)
def test_a_last_line_that_was_not_finished_is_skipped(command: str, rest: str, run: Path, tried: Try) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write(rest)
    assert tried(command).status == 0


@pytest.mark.parametrize("name", ["/etc/passwd", "../../run.json", "..", "a/b"])
def test_names_in_a_manifest_stay_inside(name: str, run: Path, tried: Try) -> None:
    for folder in (run / "checkpoints").iterdir():
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][name] = manifest["files"].pop("state.json")
        (folder / "manifest.json").write_text(json.dumps(manifest))
    done = tried("resume")
    assert done.status == 1 and "no usable checkpoint" in done.err


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "value",
    few([1e308, -1e308, 5e-324, 10**400], (1e308, 5e-324, 10**400)),
    ids=["large", "small", "subnormal", "no float"],
)
def test_rows_of_extreme_numbers(value: float, command: str, run: Path, tried: Try) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    text = "".join(json.dumps({**row, "cost": value, "residual": value, "step": row["step"]}) + "\n" for row in rows)
    (run / "metrics.jsonl").write_text(text)
    tried(command)
