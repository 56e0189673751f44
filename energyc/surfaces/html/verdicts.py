"""Verdicts as coloured words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from markupsafe import Markup

from energyc.surfaces.html.markup import tag

#: Verdict -> the class of style that colours it; what is not here is bad news.
_TONES: Mapping[str, str] = MappingProxyType(
    {
        "conservative": "good",
        "exact": "good",
        "proved": "good",
        "metric-descent": "metric",
        "undecided": "open",
        "unproved": "open",
        "inadmissible": "none",
    }
)


def tone(verdict: str) -> str:
    """Return ``good``, ``metric``, ``open``, ``none`` or ``bad``."""
    return _TONES.get(verdict, "bad")


def verdict(word: str) -> Markup:
    """Return a verdict in its colour."""
    return tag("span", word, class_=f"verdict {tone(word)}")
