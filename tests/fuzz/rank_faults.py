"""Runs by several ranks, one of which is killed or stopped at any of its calls to the others, and which are resumed.

Each rank is a fork of this process, with the variables that ``torchrun`` sets; the store that it hosts has a process of
its own. The other ranks end in time, one of them says which rank is gone, and the resumed run has the params of one
that nothing happened to.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import safetensors.torch
import torch

from tests.fuzz.cases import Find
from tests.fuzz.faults import begun, forked, resume, run_and_leave, train, undisturbed

#: By which a rank goes: at once, or so that it is still there.
ENDS = (signal.SIGKILL, signal.SIGSTOP)
#: Seconds for which a rank waits for another.
LIMIT = 15
#: Seconds that the others may take: they look who is there for five.
LONGEST = {signal.SIGKILL: 12.0, signal.SIGSTOP: LIMIT + 15.0}
#: Seconds after which a run hangs.
HANGS = 240.0
#: Of the calls that each rank makes to the others: 32 with eight of them, some more with fewer.
CALLS = 32
#: Of params, relative to the largest number: sums over ranks are added in another order.
TOLERANCE = 1e-9
#: A batch that each number of ranks divides.
SETTINGS = ("--set", "train.dtype=float64", "--set", "train.batch=8")


@dataclass
class Rank:
    """A process: its status, when it was gone, and what it said."""

    process: int
    path: Path
    gone: float | None = None
    status: int | None = None
    said: str = ""


@dataclass
class Launched:
    """All ranks of a run, and how long the others took from when one was gone."""

    ranks: list[Rank] = field(default_factory=list)

    @property
    def said(self) -> str:
        return "".join(rank.said for rank in self.ranks)

    def seconds(self, faulty: int) -> float:
        """From the end or the stop of a rank to the end of the last one; 0 where it was the last."""
        first = self.ranks[faulty].gone
        last = max(rank.gone or float("inf") for k, rank in enumerate(self.ranks) if k != faulty)
        return 0.0 if first is None else last - first


@contextmanager
def _store() -> Iterator[int]:
    """A process that hosts the store of a launcher; the port where it does."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    ready, written = os.pipe()
    host = os.fork()
    if not host:
        store = torch.distributed.TCPStore(
            "127.0.0.1", port, None, True, timeout=timedelta(seconds=HANGS), wait_for_workers=False
        )
        os.write(written, b"1")
        time.sleep(2 * HANGS)
        del store
        os._exit(0)
    os.read(ready, 1)
    try:
        yield port
    finally:
        os.kill(host, signal.SIGKILL)
        os.waitpid(host, 0)
        os.close(ready)
        os.close(written)


def launched(
    command: Sequence[str], count: int, end: signal.Signals | None = None, faulty: int = 0, at: int = 0
) -> Launched:
    """Run a command by so many ranks, of which one goes at its call number ``at``."""
    found = Launched()
    with _store() as port, tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            path = Path(folder) / str(number)
            child = os.fork()
            if not child:
                _be_a_rank(command, number, count, port, path, at if number == faulty and end else 0, end)
            found.ranks.append(Rank(child, path))
        _wait(found)
        for rank in found.ranks:
            rank.said = rank.path.read_text(errors="replace") if rank.path.exists() else ""
    return found


def _be_a_rank(
    command: Sequence[str], number: int, count: int, port: int, path: Path, at: int, end: signal.Signals | None
) -> None:
    """What the child does; it never returns."""

    def prepare() -> None:
        os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(count)}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
        if at and end is not None:
            _go_at(at, end)

    run_and_leave(command, os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND), prepare)


def _go_at(at: int, end: signal.Signals) -> None:
    """Send this process a signal when it makes a call to the others for the ``at``-th time."""
    from energyc.running.ranks.processes import Processes

    calling, calls = Processes._calling, [0]

    @contextmanager
    def counted(self: Processes) -> Iterator[None]:
        calls[0] += 1
        if calls[0] == at:
            os.kill(os.getpid(), end)
        with calling(self):
            yield

    Processes._calling = counted  # type: ignore[method-assign]


def _wait(run: Launched) -> None:
    """Wait for all ranks. End those that hang, and, as torchrun does, one that is stopped when the others are gone."""
    until = time.monotonic() + HANGS
    while waiting := [rank for rank in run.ranks if rank.status is None]:
        for rank in waiting:
            done, status = os.waitpid(rank.process, os.WNOHANG | os.WUNTRACED)
            if done and os.WIFSTOPPED(status):
                rank.gone = time.monotonic()
            elif done:
                rank.gone, rank.status = rank.gone or time.monotonic(), os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until or all(other.gone for other in waiting):
                os.kill(rank.process, signal.SIGKILL)
        time.sleep(0.005)


# -------------------------------------------------------------------- cases


def params(folder: Path) -> dict[str, torch.Tensor]:
    """The params of the last checkpoint of the run in a folder."""
    (path,) = sorted((folder / "run" / "checkpoints").glob("step-*/params.safetensors"))[-1:]
    return safetensors.torch.load_file(path)


@cache
def alone() -> dict[str, torch.Tensor]:
    """The params of the run by one process."""
    undisturbed()  # imports
    import torch.distributed  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="energyc-ranks-") as outer:
        folder = begun(Path(outer) / "folder")
        ended = forked([*train(folder), *SETTINGS])
        assert ended.status == 0, ended.said
        return params(folder)


def case(seed: int) -> Find | None:
    """A rank of a few goes at a random call."""
    drawn = random.Random(seed)
    count = drawn.choice((2, 2, 4, 8))
    return of_end(count, drawn.choice(ENDS), drawn.randrange(count), drawn.randint(1, CALLS))


def of_end(count: int, end: signal.Signals, faulty: int, at: int) -> Find | None:
    """A run of which a rank goes, resumed by another number of ranks."""
    expected = alone()
    with tempfile.TemporaryDirectory(prefix="energyc-ranks-") as outer:
        folder = begun(Path(outer) / "folder")
        run = launched([*train(folder), *SETTINGS, "--time-limit", str(LIMIT)], count, end, faulty, at)
        subject = f"{end.name} of rank {faulty} of {count} at call {at}, {run.seconds(faulty):.1f} s to the end of all"
        print(subject, flush=True)
        if wrong := wrong_end(run, end, faulty):
            return Find(f"{end.name}: {wrong}", f"{subject}\n{run.said}")
        again = resume(folder) if (folder / "run" / "run.json").exists() else [*train(folder), *SETTINGS]
        resumed = forked(again)
        if resumed.status != 0:
            return Find(f"{end.name}: resumed, it ends with {resumed.status}", f"{subject}\n{run.said}\n{resumed.said}")
        if (folder / "secret").read_text() != "precious":
            return Find(f"{end.name}: something beside the folder changed", subject)
        found = params(folder)
        apart = max(float((found[name] - x).abs().max() / x.abs().max()) for name, x in expected.items())
        return None if apart <= TOLERANCE else Find(f"{end.name}: other params", f"{subject}\n{apart}")


def wrong_end(run: Launched, end: signal.Signals, faulty: int) -> str:
    """What is wrong with how the ranks ended; empty if nothing is."""
    others = [rank.status for k, rank in enumerate(run.ranks) if k != faulty]
    if run.ranks[faulty].status == 0 and set(others) == {0}:
        return ""  # it made fewer calls
    if run.seconds(faulty) > LONGEST[end]:
        return "the others take long"
    if "Traceback" in run.said or "internal error" in run.said:
        return "an internal error"
    if set(others) == {0}:
        return ""  # it was gone when all was done
    if run.said.count("error[E0519]") != 1 or f"rank {faulty}" not in run.said:
        return f"{run.said.count('error[')} messages"
    return "" if 0 not in others else "a rank ends as if nothing were wrong"
