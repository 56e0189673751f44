"""Handle Ctrl-C, SIGTERM and SIGHUP while training: the first stops after the current update, the second at once.

A terminal that is closed sends SIGHUP, several times and with others; it never counts as the second.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

_NOTICE = b"\nfinishing this step, then saving; once more quits at once\n"


class Signals:
    """A context in which a first SIGINT or SIGTERM sets ``raised`` and a second raises KeyboardInterrupt.

    SIGHUP sets ``raised`` too, unless it is ignored, as under ``nohup``. Nothing happens outside the main thread, where
    Python delivers no signals. ``notify`` says so on standard error.
    """

    def __init__(self, *, notify: bool = True) -> None:
        self.raised = False
        self._notify = notify
        self._asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
            if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
                self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._hang_up)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self.raised = self._asked = True
        if self._notify:
            with suppress(OSError):
                os.write(2, _NOTICE)  # not through the progress bar: its lock may be held right now

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        self.raised = True
        for descriptor in (1, 2):
            _leave_terminal(descriptor)


def _leave_terminal(descriptor: int) -> None:
    """Discard what is written to a terminal that is gone: the first line would fail and end the run unsaved."""
    with suppress(OSError):
        if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
