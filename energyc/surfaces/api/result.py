"""Results: what the functions of the API return."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


class Result:
    """A result with its text by ``str``, its JSON by ``to_json``, and a card in a notebook.

    A command prints the same text, or the same JSON with ``--format json``.
    """

    def to_json(self) -> dict[str, Any]:
        """Return the object that the command prints with ``--format json``."""
        raise NotImplementedError

    def to_text(self, *, color: bool = False) -> str:
        """Return the text that the command prints."""
        raise NotImplementedError

    @property
    def passed(self) -> bool:
        """Return whether the command's exit status is 0."""
        return True

    def __str__(self) -> str:
        return self.to_text().rstrip("\n")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows."""
        return f"<pre>{escape(str(self))}</pre>"


class Tabular(Result):
    """A result that is a table too."""

    def records(self) -> Iterable[dict[str, Any]]:
        """Return the rows of the table, a dict each."""
        raise NotImplementedError

    def to_frame(self) -> DataFrame:
        """Return the records as a DataFrame. Raises ImportError without pandas."""
        from pandas import DataFrame

        return DataFrame(list(self.records()))
