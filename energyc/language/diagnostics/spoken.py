"""Texts that name options, in the words of who reads them: of the command line, or of a program in Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple


class Option(NamedTuple):
    """An option that the command line and functions of Python share: ``--device cpu`` is ``device="cpu"``."""

    name: str
    value: object = None

    @property
    def flag(self) -> str:
        """As the command line has it."""
        flag = f"--{self.name.replace('_', '-')}"
        return flag if self.value is None or self.value is True else f"{flag} {self.value}"

    @property
    def keyword(self) -> str:
        """As Python has it."""
        value = _quoted(self.value) if isinstance(self.value, str) else "" if self.value is None else str(self.value)
        return f"{self.name}={value}"


class Resuming(NamedTuple):
    """How a run is continued: ``energyc train --resume RUN``, ``energyc.resume("RUN")``."""

    run: str | PathLike[str]

    @property
    def flag(self) -> str:
        """As the command line has it."""
        return f"energyc train --resume {shlex.quote(str(self.run))}"

    @property
    def keyword(self) -> str:
        """As Python has it."""
        return f"energyc.resume({_quoted(str(self.run))})"


def _quoted(text: str) -> str:
    """A text as a literal of Python."""
    return json.dumps(text, ensure_ascii=False)


class Given(NamedTuple):
    """The data for a binding of a spec, or with None for its only one: ``--data d=PATH``, ``data={"d": PATH}``.

    ``value`` is what the reader is to put there on the command line, ``python`` what in a program.
    """

    binding: str | None
    value: str = "PATH"
    python: str = "..."

    @property
    def flag(self) -> str:
        """As the command line has it."""
        return f"--data {self.value}" if self.binding is None else f"--data {self.binding}={self.value}"

    @property
    def keyword(self) -> str:
        """As Python has it."""
        return f"data={self.python}" if self.binding is None else f"data={{{_quoted(self.binding)}: {self.python}}}"


class Mapped(NamedTuple):
    """The arrays that feed inputs: ``--map x=X label=y``, ``map={"x": "X", "label": "y"}``."""

    names: Mapping[str, str]

    @property
    def flag(self) -> str:
        """As the command line has it."""
        return shlex.join(["--map", *(f"{name}={array}" for name, array in self.names.items())])

    @property
    def keyword(self) -> str:
        """As Python has it."""
        return f"map={{{', '.join(f'{_quoted(name)}: {_quoted(array)}' for name, array in self.names.items())}}}"


class Spoken(str):
    """A text in the words of the command line; ``python`` is the same for a program."""

    python: str

    def __new__(cls, text: str, python: str | None = None) -> Any:
        """A text, and what it is in Python."""
        made = super().__new__(cls, text)
        made.python = text if python is None else python
        return made


def spoken(text: str, *options: Option | Resuming | Given | Mapped) -> Spoken:
    """A text with an option in the place of each ``{}``: ``spoken("use {}", Option("device", "cpu"))``."""
    flags, keywords = [o.flag for o in options], [o.keyword for o in options]
    return Spoken(text.format(*flags), text.format(*keywords))


def in_python(text: str) -> str:
    """A text in the words of a program."""
    return text.python if isinstance(text, Spoken) else text
