"""Parse ``--set K=V``, the values of settings in the notation of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable

from energyc.language.diagnostics import Source, SpecError, UserError
from energyc.language.resolve.values import plain_value
from energyc.language.syntax import ast, parse

#: Commas that are in no brackets.
_AT_COMMAS = re.compile(r",(?![^(\[]*[)\]])")


def read_settings(texts: Iterable[str]) -> dict[str, object]:
    """Return the values of several ``K=V``; later ones win. Raises UserError for one that cannot be parsed."""
    settings: dict[str, object] = {}
    for text in texts:
        settings |= {pair.path: plain_value(pair.value, str) for pair in _pairs(text)}
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


def _pairs(text: str) -> tuple[ast.Pair, ...]:
    """Parse the pairs of ``K=V`` as the body of a preset and nothing else."""
    message = f"--set {text} cannot be read"
    help_text = "write --set K=V: a number, a fraction, a word, a call or a list, as in --set relax.step=0.1"
    try:
        spec = parse(Source("--set", f"network n preset p {{ {text} }}"))
    except SpecError:
        raise UserError(message, code="E0905", help=help_text) from None
    match spec.statements:
        case (ast.Preset(pairs=pairs),) if pairs:
            return pairs
    raise UserError(message, code="E0905", help=help_text)
