"""Verdicts and states of libraries: how good each is, and the colours of that in a terminal.

In a page a tone is a class of style.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
#: Tone -> its style in a terminal.
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
