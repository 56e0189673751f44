"""Show the progress of a long measurement: a status on a terminal, occasional lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console as Terminal

from energyc.surfaces.cli.console import Console

#: The least time between lines without a terminal, in seconds.
PAUSE = 10.0


@contextmanager
def progress(console: Console, title: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the next activity on standard error."""
    if console.quiet:
        yield lambda text: None
    elif sys.stderr.isatty():
        with Terminal(stderr=True, no_color=not console.colors(sys.stderr)).status(title) as status:
            yield lambda text: status.update(f"{title}: {text}")
    else:
        yield now_and_then(lambda text: console.note(f"{title}: {text}"))


def now_and_then(
    write: Callable[[str], None], clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
) -> Callable[[str], None]:
    """Return a function that writes a text if ``pause`` has passed since the last one, or since the start."""
    last = clock()

    def show(text: str) -> None:
        nonlocal last
        if clock() - last >= pause:
            last = clock()
            write(text)

    return show
