"""Diagnostics of a spec: a code, one sentence, the places that matter, what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from energyc.language.diagnostics.remedy import Fix, Remedy
from energyc.language.diagnostics.source import Span
from energyc.language.diagnostics.spoken import in_python

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Label:
    """A secondary place with its text (``d runs over D here``)."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One error, warning or note about a spec.

    ``code`` is stable (``E0301``; the pages under docs/errors list all), ``message`` one sentence on what is
    wrong, ``text`` what the caret itself is labelled with, ``help`` what to write instead where that is known; a
    :class:`Remedy` where that is an exact text.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = "error"
    text: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """The changes of the source that carry the help out."""
        return self.help.fixes if isinstance(self.help, Remedy) else ()


class UserError(Exception):
    """A mistake of the user outside a spec: in data, an option, a file (exit status 1).

    Its text is the message and the help, which name options as Python does; both are attributes too, where they
    name them as the command line does, and so is the ``code`` of its page under docs/errors.
    """

    def __init__(self, message: str, *, code: str = "E0900", help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.help = help

    def __str__(self) -> str:
        message = in_python(self.message)
        return message if self.help is None else f"{message}\n  = help: {in_python(self.help)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.message, vars(self))


class Misuse(UserError):
    """An option that would change nothing, or that excludes another one (exit status 2)."""


class UnknownName(UserError):
    """A name that is not among the ``known`` ones."""

    def __init__(self, message: str, name: str, known: Sequence[str], *, code: str = "E0900", help: str | None) -> None:
        super().__init__(message, code=code, help=help)
        self.name = name
        self.known = tuple(known)


def _restored(kind: type[UserError], message: str, attributes: dict[str, Any]) -> UserError:
    """An error as it was pickled, whatever the arguments of its class."""
    error = kind.__new__(kind, message)
    vars(error).update(attributes)
    return error
