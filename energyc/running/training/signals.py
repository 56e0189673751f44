"""Handle Ctrl-C and SIGTERM while training: the first stops after the current update, the second at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_NOTICE = b"\nfinishing this step, then saving; once more quits at once\n"


class Signals:
    """A context in which a first SIGINT or SIGTERM sets ``raised`` and a second raises KeyboardInterrupt.

    It does nothing outside the main thread, where Python delivers no signals. ``notify`` says so on standard error.
    """

    def __init__(self, *, notify: bool = True) -> None:
        self.raised = False
        self._notify = notify
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.raised:
            raise KeyboardInterrupt
        self.raised = True
        if self._notify:
            os.write(2, _NOTICE)  # not through the progress bar: its lock may be held right now
