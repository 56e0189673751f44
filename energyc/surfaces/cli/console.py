"""Write the results of a command to standard output, its notes, progress and errors to standard error."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from energyc.language.diagnostics import SpecError, UserError

#: The least time between lines of progress without a terminal, in seconds.
PAUSE = 10.0
#: An array of numbers over several lines; no JSON string contains a newline.
_ROW = re.compile(r"\[\n([-+.,\deE\s]+)\]")


class Exit(Exception):
    """The end of a command with an exit status, after its messages."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Console:
    """The output of a command: ``form`` is ``text`` or ``json``, ``color`` is ``auto``, ``always`` or ``never``."""

    form: str = "text"
    quiet: bool = False
    color: str = "auto"

    @staticmethod
    def from_arguments(arguments: Sequence[str]) -> Console:
        """Return the console for errors before a command has its own, from the raw arguments."""

        def option(name: str, default: str) -> str:
            values = [value for argument, value in pairwise(arguments) if argument == name]
            values += [argument.partition("=")[2] for argument in arguments if argument.startswith(name + "=")]
            return values[-1] if values else default

        return Console(option("--format", "text"), "--quiet" in arguments, option("--color", "auto"))

    @property
    def is_json(self) -> bool:
        """Whether results are JSON."""
        return self.form == "json"

    def colors(self, stream: TextIO) -> bool:
        """Return whether to colour a stream. NO_COLOR is respected unless ``color`` is ``always``."""
        if self.color != "auto":
            return self.color == "always"
        return stream.isatty() and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """The columns of the terminal, or of no limit where there is none, as in a pipe."""
        return shutil.get_terminal_size(fallback=(sys.maxsize, 24)).columns

    # ------------------------------------------------------------ results

    def result(self, data: Any, text: str) -> None:
        """Write a result: ``data`` if results are JSON, else ``text``."""
        if self.is_json:
            self.write_json(data)
        else:
            self.write(text)

    def show(self, result: Any, **options: Any) -> None:
        """Write a result of the API, as JSON or as its text, for which there may be options."""
        if self.is_json:
            self.write_json(result.to_json())
        else:
            self.write(result.to_text(color=self.colors(sys.stdout), **options))

    def write(self, text: str) -> None:
        """Write text to standard output."""
        click.echo(text, nl=not text.endswith("\n"), color=True)

    def write_source(self, text: str) -> None:
        """Write a text that is read again, in UTF-8 whatever the encoding of standard output."""
        click.echo(text.encode(), nl=False)

    def write_json(self, value: Any) -> None:
        """Write JSON to standard output, each array of numbers on a line."""
        text = json.dumps(_finite(value), indent=2, default=str, allow_nan=False)
        click.echo(_ROW.sub(lambda row: f"[{' '.join(row[1].split())}]", text))

    # ------------------------------------------------------------ notes and errors

    def note(self, text: str) -> None:
        """Write a note unless ``--quiet`` is set."""
        if not self.quiet:
            click.echo(text, err=True, color=True)

    def warning(self, text: str) -> None:
        """Write a warning of Python's on stderr, without the place in the code that raised it."""
        click.echo(f"warning: {text}", err=True)

    def next(self, *commands: Sequence[object]) -> None:
        """Note which commands, each by its words, one may want after what was made."""
        if not self.is_json:
            self.note(f"next: {'; '.join(shlex.join(map(str, words)) for words in commands)}")

    def diagnostics(self, error: SpecError) -> None:
        """Write the diagnostics of a spec as text."""
        from energyc.language.diagnostics import render_text, summary

        click.echo(render_text(error.diagnostics, error.source, self.colors(sys.stderr)), err=True, color=True)
        click.echo("\n" + summary(error.diagnostics), err=True)

    def spec_error(self, error: SpecError) -> None:
        """Report a spec with errors."""
        if self.is_json:
            from energyc.language.diagnostics import to_json

            self.write_json({"diagnostics": [to_json(d, error.source) for d in error.diagnostics]})
        else:
            self.diagnostics(error)

    def user_error(self, error: UserError) -> None:
        """Report a mistake outside a spec."""
        if self.is_json:
            entry = {"code": error.code, "severity": "error", "message": error.message, "help": error.help}
            place = dict.fromkeys(("file", "line", "column", "end_line", "end_column"))
            self.write_json({"diagnostics": [{**entry, **place, "related": []}]})
        else:
            from energyc.language.diagnostics import render_user_error

            click.echo(render_user_error(error, self.colors(sys.stderr)), err=True, color=True)

    def stopped(self, data: Mapping[str, Any], help_text: str | None) -> None:
        """Report a training run that stopped early; ``data`` has its ``message``."""
        if self.is_json:
            self.write_json({**data, "help": help_text})
            return
        click.echo(data["message"], err=True)
        if help_text:
            click.echo(f"  = help: {help_text}", err=True)

    def bug(self, stage: str, subject: str, cause: str, remedy: str) -> None:
        """Report an internal error."""
        from energyc.version import __version__

        head = click.style("internal error", fg="red", bold=True) if self.colors(sys.stderr) else "internal error"
        lines = [f"{head}: this is a bug in energyc {__version__}, not in your spec", f"  stage: {stage}"]
        lines += [f"  input: {subject}", f"  cause: {cause}", f"  {remedy}"]
        click.echo("\n".join(lines), err=True, color=True)


@contextmanager
def progress(console: Console, title: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the next activity on standard error."""
    if console.quiet:
        yield lambda text: None
    elif sys.stderr.isatty():
        from rich.console import Console as Terminal

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


def _finite(value: Any) -> Any:
    """Replace NaN and infinity by None, since JSON lacks them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
