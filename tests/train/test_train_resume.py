"""Stopping a run in every way there is, and going on bit for bit."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.running.folder.checkpoints import load_last
from energyc.running.runs.saved import load_run
from energyc.running.training.feeds import Feeds
from energyc.running.training.identity import files_digest
from energyc.running.training.loop import train
from energyc.running.training.outcome import Interrupted
from energyc.running.training.session import Session
from energyc.running.training.signals import Signals
from tests.emit.kernels import needs_compiler
from tests.quick import few
from tests.train.tiny import TinyData, make_session

HERE = Path(__file__).parent
SETTINGS = {
    "steps": 80,
    "batch": 7,
    "optimizer": "adamw",
    "lr": 0.02,
    "schedule": "cosine",
    "warmup": 1 / 16,
    "eval_every": 16,
    "save_every": 5,
    "clip": 0.5,
}


def start(
    out: Path, pause: float = 0.0, resume: bool = False, *, streams: int = subprocess.PIPE, in_session: bool = False
) -> subprocess.Popen[str]:
    """The worker; it imports energyc from the same place as this process does."""
    places = [str(HERE.parents[1]), *(path for path in sys.path if path)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, str(HERE / "worker.py"), str(out), json.dumps(SETTINGS), str(pause)]
    return subprocess.Popen(
        command + (["resume"] if resume else []),
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=streams,
        stderr=streams,
        start_new_session=in_session,
    )


def wait_for_rows(out: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        log = out / "metrics.jsonl"
        if log.exists() and log.read_text().count("\n") >= count:
            return
        time.sleep(0.005)
    pytest.fail(f"no {count} rows within a minute")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    worker = start(out)
    _, errors = worker.communicate(timeout=120)
    assert worker.returncode == 0, errors
    return out


def assert_same_run(one: Path, other: Path) -> None:
    first, second = (load_last(SafePath(out) / "checkpoints", pytest.fail) for out in (one, other))
    assert first.step == second.step == 80
    for kind in ("params", "buffers", "optimizer"):
        mine, theirs = getattr(first, kind), getattr(second, kind)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine), kind
    assert first.state == second.state
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()


@pytest.mark.slow
def test_killed_twice_and_resumed(tmp_path: Path, uninterrupted: Path) -> None:
    out, seed = tmp_path / "run", random.randrange(10**6)
    print(f"seed {seed}")
    cuts = sorted(random.Random(seed).sample(range(8, 75), 2))
    for number, rows in enumerate(cuts):
        worker = start(out, pause=0.02, resume=number > 0)
        wait_for_rows(out, rows)
        worker.kill()
        worker.communicate()
        assert worker.returncode == -signal.SIGKILL
    worker = start(out, resume=True)
    _, errors = worker.communicate(timeout=120)
    assert worker.returncode == 0, errors
    assert_same_run(uninterrupted, out)


@pytest.mark.slow
@pytest.mark.parametrize("number", few([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], [signal.SIGHUP]))
def test_asked_to_stop(tmp_path: Path, uninterrupted: Path, number: signal.Signals) -> None:
    out = tmp_path / "run"
    worker = start(out, pause=0.02)
    wait_for_rows(out, 22)
    worker.send_signal(number)
    output, errors = worker.communicate(timeout=60)
    assert worker.returncode == 130, errors
    assert "Traceback" not in errors and f"energyc train --resume {out}" in output
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert load_last(SafePath(out) / "checkpoints", pytest.fail).step == rows[-1]["step"] < 80
    worker = start(out, resume=True)
    worker.communicate(timeout=120)
    assert_same_run(uninterrupted, out)


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_the_run_saved(tmp_path: Path, uninterrupted: Path) -> None:
    """Nothing can be written any more, and the process is told of it several times."""
    out = tmp_path / "run"
    terminal, end = pty.openpty()
    worker = start(out, pause=0.02, streams=end, in_session=True)
    os.close(end)
    wait_for_rows(out, 22)
    os.close(terminal)
    for _ in range(3):
        worker.send_signal(signal.SIGHUP)
    assert worker.wait(timeout=60) == 130
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert load_last(SafePath(out) / "checkpoints", pytest.fail).step == rows[-1]["step"] < 80
    worker = start(out, resume=True)
    worker.communicate(timeout=120)
    assert_same_run(uninterrupted, out)


def test_hanging_up_is_ignored_under_nohup_and_never_quits_at_once() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with Signals(notify=False) as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not signals.raised
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with Signals(notify=False) as signals:
            for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
                assert signals.raised
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_second_interrupt_quits_at_once(tmp_path: Path) -> None:
    out = tmp_path / "run"
    worker = start(out, pause=30)
    wait_for_rows(out, 1)
    time.sleep(0.3)
    worker.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert worker.poll() is None
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=10)
    assert worker.returncode not in (0, None)
    assert load_last(SafePath(out) / "checkpoints", pytest.fail).step == 0


def test_interrupted_while_evaluating(tmp_path: Path) -> None:
    settings = {"steps": 10, "batch": 5, "eval_every": 5}
    whole, out = tmp_path / "whole", tmp_path / "run"
    train(make_session(whole, settings))
    session, seen = make_session(out, settings), []
    plain = session.net.cost

    def interrupting(*arguments: object) -> torch.Tensor:
        seen.append(1)
        if len(seen) == 8:  # one try of the names, four batches at step 0, the third of those at step 5
            os.kill(os.getpid(), signal.SIGINT)
        return plain(*arguments)  # type: ignore[arg-type]

    plain_gradients = session.net.gradients
    session.net.cost = interrupting  # type: ignore[method-assign, assignment]
    session.net.gradients = lambda *given, **named: _without(seen, lambda: plain_gradients(*given, **named))
    with pytest.raises(Interrupted) as caught:
        train(session)
    assert caught.value.step == 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not Signals().raised
    train(make_session(out, settings), resume=True)
    assert (whole / "metrics.jsonl").read_bytes() == (out / "metrics.jsonl").read_bytes()


def _without(seen: list[int], call: object) -> object:
    """Call without counting."""
    before = len(seen)
    result = call()  # type: ignore[operator]
    del seen[before:]
    return result


def test_finished_run_goes_on(tmp_path: Path) -> None:
    settings = {"batch": 7, "eval_every": 10, "optimizer": "sgd", "momentum": 0.9}
    train(make_session(tmp_path / "long", {**settings, "steps": 60}))
    train(make_session(tmp_path / "short", {**settings, "steps": 30}))
    again = train(make_session(tmp_path / "short", {**settings, "steps": 30}), resume=True)
    assert again.steps == 30 and again.final["cost"] > 0
    train(make_session(tmp_path / "short", {**settings, "steps": 60}), resume=True)
    logs = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("long", "short")]
    assert logs[0] == logs[1]


@pytest.mark.sampled
@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("products", ["float32", "bfloat16"])
def test_two_threads_go_on_bit_for_bit(tmp_path: Path, products: str) -> None:
    def energyc(*arguments: str) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": str(HERE.parents[1])}
        command = [sys.executable, "-m", "energyc", "train", *arguments, "--quiet"]
        subprocess.run(command, env=env, check=True, capture_output=True, timeout=300)

    settings = {
        "train.products": products,
        "train.eval_every": 1000,
        "train.eval_samples": 16,
        "T": 16,
        "train.schedule": "constant",
    }
    sizes = ["--preset", "small", *(part for item in settings.items() for part in ("--set", "{}={}".format(*item)))]
    for name, steps in (("whole", "8"), ("halves", "3")):
        energyc("thick", *sizes, "--target", "cpp", "--steps", steps, "--out", str(tmp_path / name))
    energyc("--resume", str(tmp_path / "halves"), "--steps", "8")
    whole, halves = (load_last(SafePath(tmp_path / out) / "checkpoints", pytest.fail) for out in ("whole", "halves"))
    assert all(torch.equal(value, halves.params[name]) for name, value in whole.params.items())


def test_a_run_is_never_shortened(tmp_path: Path) -> None:
    settings, out = {"batch": 7, "eval_every": 10}, tmp_path / "run"
    train(make_session(out, {**settings, "steps": 60}))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=r"has already made 60 updates, more than 30\n") as caught:
        train(make_session(out, {**settings, "steps": 30}), resume=True)
    assert caught.value.code == "E0502" and "--steps" in str(caught.value.help)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    train(make_session(out, {**settings, "steps": 90}), resume=True)
    weights = out / "checkpoints" / "step-00000090" / "params.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"boom")
    with pytest.raises(UserError, match="has already made 90 updates"):
        train(make_session(out, {**settings, "steps": 85}), resume=True)


def test_an_early_end_leaves_the_intended_length(tmp_path: Path) -> None:
    out = tmp_path / "run"
    session = make_session(out, {"batch": 7, "eval_every": 10, "steps": 60})
    plain = session.net.gradients

    def interrupting(*given: object, **named: object) -> object:
        if int(session.net.calls) == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return plain(*given, **named)  # type: ignore[arg-type]

    session.net.gradients = interrupting  # type: ignore[method-assign, assignment]
    with pytest.raises(Interrupted):
        train(session)
    assert train(make_session(out, {"batch": 7, "eval_every": 10, "steps": 40}), resume=True).steps == 40
    assert load_run(out).options.steps == load_run(out).info["steps"] == 60


def test_a_run_does_not_go_on_with_something_else(tmp_path: Path) -> None:
    settings, out = {"batch": 7, "steps": 10}, tmp_path / "run"
    file, folder = tmp_path / "pairs.txt", tmp_path / "pairs"
    folder.mkdir()
    (folder / "a.txt").write_text("1 2")
    file.write_text("1 2")

    def session(place: Path = file, **changes: Any) -> Session:
        return replace(make_session(out, settings), sources={"pairs": str(place)}, **changes)

    train(session())
    made = json.loads((out / "run.json").read_text())["made_of"]
    assert made["files"]["pairs"] == hashlib.sha256(b"1 2").hexdigest()
    file.rename(tmp_path / "moved.txt")
    train(session(tmp_path / "moved.txt"), resume=True)
    file.write_text("1 3")
    other = Feeds({"pairs": TinyData(factor=0.9)}, {"x": ("pairs", "x")}, {"t": ("pairs", "t")})
    for changed, code, said in (
        (session(), "E0520", "the data pairs are not those"),
        (session(folder), "E0520", "the data pairs are not those"),
        (session(tmp_path / "moved.txt", feeds=other), "E0520", "the training samples are not those"),
        (
            session(tmp_path / "moved.txt", files={"spec.energy": "network tiny2\n"}),
            "E0514",
            "spec.energy is not the one",
        ),
    ):
        with pytest.raises(UserError, match=said) as caught:
            train(changed, resume=True)
        assert caught.value.code == code
    info = json.loads((out / "run.json").read_text())
    del info["made_of"]
    (out / "run.json").write_text(json.dumps(info))
    train(session(), resume=True)  # a run made before identities were kept


def test_the_digest_of_a_folder(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.txt").write_text("x")
    before = files_digest(tmp_path)
    assert files_digest(tmp_path) == before
    (tmp_path / "000.txt").write_text("y")
    content = files_digest(tmp_path)
    (tmp_path / "199.txt").rename(tmp_path / "200.txt")
    assert len({before, content, files_digest(tmp_path)}) == 3


def test_resume_falls_back_from_damage(tmp_path: Path) -> None:
    from energyc.running.training.progress import Reporter

    class Listener(Reporter):
        def message(self, text: str) -> None:
            messages.append(text)

    messages: list[str] = []
    settings = {"steps": 40, "batch": 7, "eval_every": 10}
    out = tmp_path / "run"
    train(make_session(out, settings))
    before = (out / "metrics.jsonl").read_bytes()
    weights = out / "checkpoints" / "step-00000040" / "params.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"boom")
    train(make_session(out, settings), resume=True, reporter=Listener())
    assert "step 40 is damaged" in messages[0]
    assert (out / "metrics.jsonl").read_bytes() == before
