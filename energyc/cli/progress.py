"""What a long measurement does now: a moving line on a terminal, a line now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console as Terminal

from energyc.cli.console import Console

#: Seconds between lines where there is no terminal.
PAUSE = 10.0


@contextmanager
def progress(console: Console, title: str) -> Iterator[Callable[[str], None]]:
    """What to call with each thing that is done next; it writes to standard error."""
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
    """Write a text if the last one, or the beginning, is a pause ago."""
    last = clock()

    def show(text: str) -> None:
        nonlocal last
        if clock() - last >= pause:
            last = clock()
            write(text)

    return show
