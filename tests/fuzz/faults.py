"""Runs that are killed, or meet a full or a broken disk, at any of their file operations, and are resumed.

A resumed run has the same bytes as one that nothing happened to, nothing beside its folder changes, and what is said is
a message. Each run is a fork of this process, which has imported all that a run needs.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from energyc.surfaces.cli.main import main
from tests.fuzz.cases import Find
from tests.fuzz.injection import FAULTS, WHERE, Fault, Faults, install

SPEC = """\
network small
dim N = 3
data patterns = patterns(size = 3, count = 12)
clamp x[N] = patterns.probe
target aim[N] = patterns.stored
param W[N, N] ~ glorot
state z[N] in [-1, 1]
energy e = 1/2 * sum[n](z[n]^2) - sum[n,m](z[n] * W[n,m] * tanh(x[m]))
cost c = 1/2 * sum[n]((z[n] - aim[n])^2)
relax { step = 1/2, steps = 4 }
nudge { beta = 1/2, steps = 2 }
train { rule = centered-ep, optimizer = adam, lr = 0.01, batch = 4, steps = 3, eval_every = 2, save_every = 1 }
"""
#: Seconds that a run may take, of which it needs less than one.
SECONDS = 120.0
#: What differs between two runs: times, and the name of the process that trains.
DIFFERENT = ("timings.jsonl", ".lock")


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status (negative for a signal, None if it did not end), and what it said."""

    status: int | None
    said: str


def forked(command: Sequence[str], fault: Fault = "none", at: int = 0, count_into: Path | None = None) -> Ended:
    """Run a command of energyc in a process of its own."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        child = os.fork()
        if not child:
            faults = Faults(fault, at)

            def count() -> None:
                if count_into is not None:
                    count_into.write_text(json.dumps(faults.seen), encoding="utf-8")

            run_and_leave(command, said.fileno(), lambda: install(faults), count)
        status = _waited(child)
        said.seek(0)
        return Ended(status, said.read())


def run_and_leave(
    command: Sequence[str], said: int, prepare: Callable[[], object], done: Callable[[], object] = lambda: None
) -> None:
    """Run a command in a child, between two calls; what it says goes to a file. It never returns."""
    status = 70
    try:
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdout, sys.stderr = (open(os.dup(said), "w", encoding="utf-8") for _ in range(2))  # noqa: SIM115
        sys.modules["matplotlib"] = None  # type: ignore[assignment]  # pictures take longer than all else
        prepare()
        status = main(list(command))
        done()
    except BaseException:
        traceback.print_exc()
    finally:
        for output in (sys.stdout, sys.stderr):
            output.flush()
        os._exit(status)


def _waited(child: int) -> int | None:
    """The status of a child; one that hangs is killed, and None is returned."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


# -------------------------------------------------------------------- folders


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing happened to: its files, and its file operations."""

    files: dict[str, str]
    operations: list[str]


def train(folder: Path) -> list[str]:
    """The command that trains the spec in a folder."""
    return ["train", str(folder / "small.energy"), "--out", str(folder / "run"), "--target", "torch", "--quiet"]


def resume(folder: Path) -> list[str]:
    """The command that goes on with the run in a folder; one without run.json is trained from the start."""
    run = folder / "run"
    return ["train", "--resume", str(run), "--quiet"] if (run / "run.json").exists() else train(folder)


def begun(folder: Path) -> Path:
    """A folder with a spec, and something beside the run that no run may touch."""
    folder.mkdir()
    (folder / "small.energy").write_text(SPEC)
    (folder / "secret").write_text("precious")
    return folder


@cache
def undisturbed() -> Undisturbed:
    """The run that the others are compared with, made once."""
    torch.set_num_threads(1)  # a fork has no other
    outer = Path(tempfile.mkdtemp(prefix="energyc-faults-"))
    atexit.register(shutil.rmtree, outer, ignore_errors=True)
    folder = begun(outer / "folder")
    main([*train(begun(outer / "first")), "--steps", "0"])  # imports, once for all forks
    ended = forked(train(folder), count_into=outer / "operations")
    assert ended.status == 0, ended.said
    return Undisturbed(contents(folder), json.loads((outer / "operations").read_text()))


def contents(folder: Path) -> dict[str, str]:
    """The hash of each file below a folder, but for times; a run's own path is the same for all."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in DIFFERENT:
            content = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
            found[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


# -------------------------------------------------------------------- cases


def places(fault: Fault) -> list[int]:
    """The operations of a run at which a fault makes a difference, by their numbers."""
    return [number for number, name in enumerate(undisturbed().operations, 1) if name in WHERE[fault]]


def case(seed: int) -> Find | None:
    """The fault of a seed."""
    drawn = random.Random(seed)
    fault = drawn.choice(FAULTS)
    return of_fault(fault, drawn.choice(places(fault)))


def of_fault(fault: Fault, at: int, again: Callable[[Path], Sequence[str]] = resume) -> Find | None:
    """A run with a fault at an operation, and the same run resumed."""
    with tempfile.TemporaryDirectory(prefix="energyc-faults-") as outer:
        folder = begun(Path(outer) / "folder")
        operation = dict(enumerate(undisturbed().operations, 1)).get(at, "none")
        subject = f"{fault} at operation {at} ({operation})"
        ended = forked(train(folder), fault, at)
        if wrong := _wrong_end(fault, ended):
            return Find(f"{fault}: {wrong}", f"{subject}\n{ended.said}")
        resumed = forked(again(folder))
        if resumed.status != 0:
            return Find(f"{fault}: resumed, it ends with {resumed.status}", f"{subject}\n{ended.said}\n{resumed.said}")
        differing = differences(contents(folder))
        return Find(f"{fault}: {differing[0]}", f"{subject}\n{differing}\n{ended.said}") if differing else None


def _wrong_end(fault: Fault, ended: Ended) -> str:
    """What is wrong with the end of a run that met a fault; empty if nothing is."""
    if ended.status is None:
        return "the run hangs"
    if fault == "kill":
        return "" if ended.status in (0, -signal.SIGKILL) else f"the run ends with {ended.status}"
    if ended.status not in (0, 1) or "Traceback" in ended.said or "internal error" in ended.said:
        return f"the run ends with {ended.status}: {ended.said.strip().splitlines()[-1:]}"
    return "" if ended.status == 0 or "error[E" in ended.said else "the run fails without a message"


def differences(found: dict[str, str]) -> list[str]:
    """The files that are not as in the undisturbed run."""
    expected = undisturbed().files
    names = sorted(found.keys() | expected.keys())
    return [f"{name} differs" for name in names if found.get(name) != expected.get(name)]


def main_of_all() -> int:
    """``python -m tests.fuzz.faults kill 7 40``: the fault at the seventh operation, and at every fortieth after it."""
    fault, first, every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    assert fault in FAULTS
    found = [find for at in places(fault)[first::every] if (find := of_fault(fault, at)) is not None]
    for find in found:
        print(find.cause, find.about, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main_of_all())
