"""Parse ``--set K=V``, the values of settings in the notation of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable

from energyc.language.diagnostics import SpecError, UserError
from energyc.language.resolve.values import read_pairs

#: Commas that are in no brackets.
_AT_COMMAS = re.compile(r",(?![^(\[]*[)\]])")


def read_settings(texts: Iterable[str]) -> dict[str, object]:
    """Return the values of several ``K=V``; later ones win. Raises UserError for one that cannot be parsed."""
    settings: dict[str, object] = {}
    for text in texts:
        try:
            settings |= read_pairs(text)
        except (SpecError, ValueError):
            message = f"--set {text} cannot be read"
            help_text = "write --set K=V: a number, a fraction, a word, a call or a list, as in --set relax.step=0.1"
            raise UserError(message, code="E0905", help=help_text) from None
    return settings


def read_values(texts: Iterable[str]) -> dict[str, list[object]]:
    """Return the values of several ``K=V,V`` for a sweep. Raises UserError for one that cannot be parsed."""
    found: dict[str, list[object]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        for value in _AT_COMMAS.split(values):
            for key, read in read_settings([f"{name}={value}"]).items():
                found.setdefault(key, []).append(read)
    return found
