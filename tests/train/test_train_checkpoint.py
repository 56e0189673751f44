"""Checkpoints: whole or not there, damage found out, a full disk survived."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch

from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Checkpoint, Damaged, load, load_best, load_last, prune, save
from energyc.running.training.loop import train
from tests.train.tiny import make_session


def example(step: int, best: int | None = None) -> Checkpoint:
    state = {"best": None if best is None else {"step": best, "value": 0.5, "numbers": {"cost": 0.5}}}
    return Checkpoint(step, {"W": torch.full((2, 3), float(step))}, {}, {"W.step": torch.tensor(float(step))}, state)


def test_round_trip(tmp_path: Path) -> None:
    view = torch.arange(6.0).reshape(2, 3).T
    path = save(SafePath(tmp_path), Checkpoint(7, {"W": view, "V": view}, {"k": torch.tensor(3)}, {}, {"beta": 0.1}))
    loaded = load(SafePath(tmp_path), 7)
    assert loaded.step == 7 and loaded.state == {"beta": 0.1}
    assert torch.equal(loaded.params["W"], view) and torch.equal(loaded.buffers["k"], torch.tensor(3))
    assert json.loads((path / "manifest.json").read_utf8())["files"].keys() == {
        "params.safetensors",
        "buffers.safetensors",
        "optimizer.safetensors",
        "state.json",
    }
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "name", ["params.safetensors", "buffers.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]
)
@pytest.mark.parametrize("how", ["flip", "cut", "remove", "empty"])
def test_damage_is_found_and_the_one_before_is_used(tmp_path: Path, name: str, how: str) -> None:
    save(SafePath(tmp_path), example(10))
    target = (save(SafePath(tmp_path), example(20)) / name).path
    content = target.read_bytes()
    if how == "remove":
        target.unlink()
    else:
        flipped = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
        target.write_bytes({"flip": flipped, "cut": content[:-5], "empty": b""}[how])
    if (name, how) == ("manifest.json", "flip"):
        target.write_bytes(content.replace(b'"step": 20', b'"stop": 20'))
    messages: list[str] = []
    assert load_last(SafePath(tmp_path), messages.append).step == 10
    assert len(messages) == 1 and "step 20 is damaged" in messages[0]


def test_nothing_whole_is_left(tmp_path: Path) -> None:
    (save(SafePath(tmp_path), example(10)) / "state.json").write_utf8("{}")
    with pytest.raises(Damaged):
        load(SafePath(tmp_path), 10)
    with pytest.raises(UserError, match="no usable checkpoint") as caught:
        load_last(SafePath(tmp_path), lambda text: None)
    assert caught.value.code == "E0512"


def test_best_and_pruning(tmp_path: Path) -> None:
    for step in (0, 10, 20, 30):
        save(SafePath(tmp_path), example(step, best=10))
    prune(SafePath(tmp_path), best=10)
    assert checkpoints.steps(SafePath(tmp_path)) == [30, 20, 10]
    assert load_best(SafePath(tmp_path), lambda text: None).step == 10
    (tmp_path / "step-00000010" / "params.safetensors").write_bytes(b"")
    messages: list[str] = []
    assert load_best(SafePath(tmp_path), messages.append).step == 30 and messages


@pytest.mark.parametrize("failing", ["params.safetensors", "optimizer.safetensors", "manifest.json"])
def test_full_disk_keeps_the_last_good_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    out = tmp_path / "run"
    real = SafePath.write

    def full(path: SafePath, content: bytes) -> None:
        if path.name == failing and "00000010" in path.parent.name:
            real(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(SafePath, "write", full)
    with pytest.raises(UserError) as caught:
        train(make_session(out, {"steps": 20, "batch": 10, "eval_every": 5}))
    assert caught.value.code == "E0513"
    assert "the disk is full" in caught.value.message and "step 5 is kept" in caught.value.message
    assert str(out) in str(caught.value.help) and "--resume" in str(caught.value.help)
    assert load_last(SafePath(out) / "checkpoints", pytest.fail).step == 5
    assert not list((out / "checkpoints").glob(".*"))
    monkeypatch.undo()
    assert train(make_session(out, {"steps": 20, "batch": 10, "eval_every": 5}), resume=True).steps == 20


def test_full_disk_for_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from energyc.running.folder.logs import MetricsLog

    real = MetricsLog.write

    def full(log: MetricsLog, row: dict[str, object]) -> None:
        if row["step"] == 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(log, row)

    monkeypatch.setattr(MetricsLog, "write", full)
    with pytest.raises(UserError, match="disk is full"):
        train(make_session(tmp_path / "run", {"steps": 20, "batch": 10, "eval_every": 5}))
    assert load_last(SafePath(tmp_path / "run") / "checkpoints", pytest.fail).step == 5


def test_another_network_does_not_fit(tmp_path: Path) -> None:
    train(make_session(tmp_path / "run", {"steps": 2}))
    with pytest.raises(UserError, match=r"W \[6, 6\] instead of \[5, 5\]"):
        train(make_session(tmp_path / "run", {"steps": 4}, shape=(5,)), resume=True)
