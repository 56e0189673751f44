"""A table as what it says; each layout decides how it looks. Verdicts, how good each is, and their colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from rich.table import Table as Terminal
    from rich.text import Text


#: Verdict -> its tone; what is not here is bad news.
_TONES: Mapping[str, str] = MappingProxyType(
    {
        "conservative": "good",
        "exact": "good",
        "proved": "good",
        "ok": "good",
        "metric-descent": "metric",
        "surrogate": "metric",
        "undecided": "open",
        "unproved": "open",
        "missing": "open",
        "inadmissible": "none",
        "-": "none",
    }
)
#: Tone -> its style in a terminal; in a page a tone is a class of style.
STYLES: Mapping[str, str] = MappingProxyType(
    {"good": "green", "metric": "cyan", "open": "yellow", "none": "bright_black", "bad": "red"}
)


def tone(verdict: str) -> str:
    """Return ``good``, ``metric``, ``open``, ``none`` or ``bad``."""
    return _TONES.get(verdict.strip(), "bad")


def painted(verdict: str, color: bool) -> str:
    """Return a verdict as a terminal shows it, in its colour unless ``color`` is off."""
    if not color:
        return verdict
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(STYLES[tone(verdict)]).render(verdict, color_system=ColorSystem.STANDARD)


@dataclass(frozen=True)
class Verdict:
    """A cell with a class or a verdict, which a layout may colour."""

    word: str

    def __str__(self) -> str:
        return self.word

    def __html__(self) -> Markup:
        """Return the word in its colour, for pages."""
        return Markup('<span class="verdict {}">{}</span>').format(tone(self.word), self.word)


@dataclass(frozen=True)
class Styled:
    """A cell of pieces of text, each with a style of rich, empty for none; only a terminal shows the styles."""

    pieces: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)


Cell = str | Verdict | Styled


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header. All columns but the first ``words`` are numbers, which a terminal aligns."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    words: int = 1

    def __rich__(self) -> Terminal:
        """Return the table as ``rich`` prints it: in a frame below its title, or else plain and never folded."""
        from rich.box import HEAVY_HEAD, SIMPLE_HEAD
        from rich.table import Table as Terminal

        framed = bool(self.title)
        box = HEAVY_HEAD if framed else SIMPLE_HEAD
        made = Terminal(title=self.title or None, title_justify="left", box=box, pad_edge=framed)
        for k, heading in enumerate(self.header):
            made.add_column(heading, justify="left" if k < self.words else "right", no_wrap=not framed)
        for row in self.rows:
            made.add_row(*map(_terminal_cell, row))
        return made


def _terminal_cell(cell: Cell) -> str | Text:
    from rich.text import Text

    if isinstance(cell, Verdict):
        return Text(cell.word, STYLES[tone(cell.word)])
    return Text.assemble(*cell.pieces) if isinstance(cell, Styled) else str(cell)


def number(value: float) -> str:
    """Return a number as a table of a page shows it."""
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    else:
        text = f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return text.replace("-", "\N{MINUS SIGN}")
