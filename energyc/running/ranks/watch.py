"""Watch the ranks of a run: one that dies or hangs ends the run at all of them, with one message.

Each rank tells the launcher's store twice a second that it lives, and how many collective calls it has reached. A call
that other ranks never reach fails at once where a connection breaks (gloo), or never returns; so a thread looks, too.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from energyc.language.diagnostics import Resuming, UserError, spoken

Report = Callable[[UserError], None]

BEAT = 0.5  # seconds between signs of life
SILENT = 6.0  # seconds after which a rank on another machine counts as dead
PATIENCE = 8.0  # seconds in which the cause of a broken connection is looked for
GRACE = 3.0  # seconds that a thread leaves to the main one, which may be in a call that never returns

_ENDED = "ended"
_FINISHED = "finished"


class Lost(Exception):
    """A collective call failed, since another rank has ended."""


class EndedElsewhere(Exception):
    """The run has ended, and another rank gives the reason; ``error`` is this rank's own."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Sign:
    """The last sign of life of a rank: its text, when it changed by this process's clock, the calls it has reached."""

    text: str
    changed: float
    reached: int


class Watch:
    """The signs of life of all ranks through ``store``, a ``torch.distributed.Store``.

    A collective call may wait for ``limit`` seconds. ``report`` writes the message of an end that the main thread
    cannot raise.
    """

    def __init__(self, store: Any, rank: int, size: int, limit: float, report: Report) -> None:
        self.seconds = 0.0
        self.run = "RUN"
        self._store, self._rank, self._size, self._limit, self._report = store, rank, size, limit, report
        self._reached, self._assemblies = 0, 0
        self._since: float | None = None
        self._lost = False
        self._names: dict[int, str] = {}
        self._signs: dict[int, Sign] = {}
        self._claimed, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        """Begin; all ranks have to call it, since each waits for the names of the others."""
        self._store.set(f"process/{self._rank}", f"process {os.getpid()} on {socket.gethostname()}")
        self._beat()
        for other in range(self._size):
            self._names[other] = self._store.get(f"process/{other}").decode()
            self._signs[other] = Sign("", time.monotonic(), 0)
        self._thread.start()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A context around a collective call. Raises Lost."""
        self._reached += 1
        self._since = start = time.monotonic()
        try:
            yield
        except RuntimeError as error:
            self._lost = True
            raise Lost(str(error)) from error
        finally:
            self._since = None
            self.seconds += time.monotonic() - start

    def assemble(self) -> None:
        """Wait for all ranks without a limit; the thread ends the wait if one dies. All make as many calls."""
        self._assemblies += 1
        key = f"assembly/{self._assemblies}"
        self._store.add(key, 1)
        while self._store.add(key, 0) < self._size:
            time.sleep(BEAT)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """A context around the run. The first rank that fails raises the reason, the others EndedElsewhere."""
        before = signal.signal(signal.SIGTERM, self._terminated)
        try:
            yield
            signal.signal(signal.SIGTERM, before)
        except Lost as lost:
            raise self._won(self._cause(lost)) from None
        except Exception as error:
            if (winner := self._won(error)) is not error:
                raise winner from None
            raise
        finally:
            self._over.set()
            with suppress(RuntimeError):
                self._store.set(f"sign/{self._rank}", _FINISHED)
            self._thread.join(GRACE)

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        """End the process, unless it is about to say why it ends: the launcher, too, has seen that a rank is gone."""
        if not self._lost:
            raise SystemExit(128 + number)

    # ------------------------------------------------------------ the end

    def _won(self, error: Exception) -> Exception:
        """Return ``error`` if this rank is the first to give a reason, else EndedElsewhere."""
        return error if self._claim() else EndedElsewhere(error)

    def _claim(self) -> bool:
        if not self._claimed.acquire(blocking=False):
            threading.Event().wait()  # the other thread of this process is about to end it
        try:
            return str(self._store.compare_set(_ENDED, "", str(self._rank)).decode()) == str(self._rank)
        except RuntimeError:  # the launcher is gone, and with it all who could give another reason
            return True

    def _cause(self, lost: Lost) -> UserError:
        """Return why a call failed: a rank that died; or, if none did, what the call itself says."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self._has_ended():
            if (dead := self._dead()) is not None:
                return dead
            time.sleep(BEAT / 5)
        return self._error(f"the connection to another rank broke: {str(lost)[:200]}")

    def _error(self, message: str, advice: str = "") -> UserError:
        remedy = spoken(f"{advice}continue with {{}}, by as many processes as you have", Resuming(self.run))
        return UserError(message, code="E0519", help=remedy)

    def _has_ended(self) -> bool:
        try:
            return bool(self._store.check([_ENDED]))
        except RuntimeError:
            return False

    # ------------------------------------------------------------ signs of life

    def _beat(self) -> None:
        self._store.set(f"sign/{self._rank}", f"{time.monotonic():.3f} {self._reached}")

    def _look(self) -> None:
        """Tell that this rank lives, and end the process once another is known to be dead or late."""
        known: float | None = None
        while not self._over.wait(BEAT):
            try:
                self._beat()
                cause = self._dead() or self._late()
            except RuntimeError:  # the store is gone
                cause = self._error("the launcher of the first machine has ended")
            known = None if cause is None else (known or time.monotonic())
            if cause is not None and known is not None and time.monotonic() - known > GRACE:
                self._end_process(cause)

    def _end_process(self, cause: UserError) -> None:
        if self._over.is_set() or not self._claimed.acquire(blocking=False):
            return
        self._claimed.release()
        if self._claim():
            self._report(cause)
        self._end_silent()
        os._exit(1)

    def _end_silent(self) -> None:
        """End ranks of this machine that are stopped: the launcher would wait half a minute for them to end."""
        now = time.monotonic()
        for other, sign in self._signs.items():
            _, pid, _, host = self._names[other].split(maxsplit=3)
            silent = sign.text != _FINISHED and now - sign.changed > SILENT
            if other != self._rank and silent and host == socket.gethostname():
                with suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)

    def _dead(self) -> UserError | None:
        """Return an error that names a rank without a sign of life, or whose process is gone from this machine."""
        now = time.monotonic()
        for other, sign in self._signs.items():
            self._refresh(other, sign, now)
            if sign.text != _FINISHED and self._gone(other):
                return self._error(f"rank {other} ({self._names[other]}) has died")
            if sign.text != _FINISHED and now - sign.changed > SILENT:
                return self._error(f"rank {other} ({self._names[other]}) has given no sign of life for {SILENT:g} s")
        return None

    def _refresh(self, other: int, sign: Sign, now: float) -> None:
        text = self._store.get(f"sign/{other}").decode()
        if text != sign.text:
            sign.text, sign.changed = text, now
            sign.reached = sign.reached if text == _FINISHED else int(text.split()[1])

    def _gone(self, other: int) -> bool:
        _, pid, _, host = self._names[other].split(maxsplit=3)
        if host != socket.gethostname():
            return False
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return _is_zombie(int(pid))

    def _late(self) -> UserError | None:
        """Return an error that names the ranks for which this one has waited longer than the limit."""
        since, reached = self._since, self._reached
        if since is None or time.monotonic() - since <= self._limit:
            return None
        late = [other for other, sign in self._signs.items() if sign.reached < reached and other != self._rank]
        names = ", ".join(f"rank {other} ({self._names[other]})" for other in late) or "a collective call"
        message = f"{names} kept the others waiting for more than the time limit of {self._limit:g} s"
        return self._error(message, "look at what it does, or allow more time; ")


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and its parent has not noticed yet; unknown counts as no."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
