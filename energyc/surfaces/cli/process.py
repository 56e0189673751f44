"""The command line as a process: what the ``energyc`` script and ``python -m energyc`` run."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

from energyc.surfaces.cli.main import main


class Ending:
    """The end of a process with ``status``, without freeing its objects one by one, which takes up to a second.

    Python calls it last: after it has joined all threads, and after the exit functions of all libraries. Where
    ``status`` is None, an exception is on its way that Python reports.
    """

    status: int | None = None

    def __call__(self) -> None:
        """Flush the streams and end the process."""
        if self.status is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(self.status)


def process() -> NoReturn:
    """Run the command line on the arguments of the process, and end the process."""
    ending = Ending()
    if not atexit._ncallbacks():  # an exit function that is there already, as of a profiler, would not be called
        atexit.register(ending)
    ending.status = main()
    if "WORLD_SIZE" in os.environ:
        from energyc.running.ranks.launch import leave

        leave(ending.status)
    sys.exit(ending.status)
