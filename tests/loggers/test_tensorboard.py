"""Event files, read back with TensorBoard's own reader."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import read_rows
from energyc.running.loggers.tensorboard_log import TensorBoard
from energyc.running.training.loop import train
from tests.train.tiny import make_session

pytest.importorskip("tensorboard")
SETTINGS = {"steps": 20, "batch": 5, "eval_every": 4, "save_every": 6, "optimizer": "sgd", "lr": 0.02}
#: A PNG file of 1 x 1 pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def events(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0}).Reload()


def assert_series_of(run: Path) -> None:
    """The series are those of metrics.jsonl: every number once, in order."""
    expected: dict[str, list[tuple[int, float]]] = {}
    for row in read_rows(RunFolder(run).metrics):
        part = row.get("split", row["kind"])
        for name, value in row.items():
            if name != "step" and isinstance(value, int | float):
                expected.setdefault(f"{part}/{name}", []).append((row["step"], float(np.float32(value))))
    read = events(run)
    assert set(read.Tags()["scalars"]) == set(expected) and "train/cost" in expected and "test/accuracy" in expected
    for tag, series in expected.items():
        assert [(event.step, event.value) for event in read.Scalars(tag)] == series, tag


def test_series_are_those_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: Any, **__: Any) -> None:
        raise AssertionError("a logger uses no network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    picture = tmp_path / "energies.png"
    picture.write_bytes(PIXEL)
    run = tmp_path / "run"
    outcome = train(replace(make_session(run, SETTINGS), loggers=(TensorBoard(),)), pictures=lambda: [picture])
    assert outcome.warnings == ()
    assert_series_of(run)
    read = events(run)
    (image,) = read.Images("pictures/energies")
    assert (image.encoded_image_string, image.width, image.height, image.step) == (PIXEL, 1, 1, 20)
    assert (
        read.Tags()["tensors"] == ["spec"] and b"    network tiny" in read.Tensors("spec")[0].tensor_proto.string_val[0]
    )


class Killed(BaseException):
    """The end of a process, as far as files go."""


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("calls", [0, 3, 6, 11])
def test_a_resumed_run_continues_its_series(calls: int, tmp_path: Path) -> None:
    run, logger = tmp_path / "run", TensorBoard()
    session = replace(make_session(run, SETTINGS), loggers=(logger,))
    gradients, count = session.net.gradients, 0

    def until(*arguments: Any, **settings: Any) -> Any:
        nonlocal count
        if count == calls:
            raise Killed
        count += 1
        return gradients(*arguments, **settings)

    session.net.gradients = until  # type: ignore[method-assign]
    with pytest.raises(Killed):
        train(session)
    assert len(read_rows(RunFolder(run).metrics)) >= calls
    train(replace(make_session(run, SETTINGS), loggers=(TensorBoard(),)), resume=True)
    assert len(list(run.glob("*tfevents*"))) == 2
    assert_series_of(run)
    train(replace(make_session(run, {**SETTINGS, "steps": 24}), loggers=(logger,)), resume=True)
    assert_series_of(run)


def test_a_record_that_was_cut_off_ends_only_its_own_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(replace(make_session(run, SETTINGS), loggers=(TensorBoard(),)))
    (file,) = run.glob("*tfevents*")
    file.write_bytes(file.read_bytes() + b"\x18\0\0\0\0\0\0\0\x03")
    train(replace(make_session(run, {**SETTINGS, "steps": 24}), loggers=(TensorBoard(),)), resume=True)
    assert_series_of(run)


@pytest.mark.parametrize("broken", [None, "import of a part that does not fit"])
def test_where_tensorboard_is_missing(broken: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    if broken is None:
        monkeypatch.setitem(sys.modules, "tensorboard", None)
    else:
        (tmp_path / "tensorboard").mkdir()
        (tmp_path / "tensorboard" / "__init__.py").write_text(f"raise TypeError({broken!r})\n")
        monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as error:
        TensorBoard()
    assert error.value.code == "E0952" and "pip install 'tensorboard>=2.18'" in str(error.value.help)
