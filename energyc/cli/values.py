"""``--set K=V``: the values of settings, in the notation of a spec."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.diagnostics import Source, SpecError, UserError
from energyc.resolve.values import plain_value
from energyc.syntax import ast, parse


def read_settings(texts: Iterable[str]) -> dict[str, object]:
    """The values of several ``K=V``, the later one winning. Raises UserError for one that cannot be read."""
    found: dict[str, object] = {}
    for text in texts:
        found |= {pair.path: plain_value(pair.value, str) for pair in _pairs(text)}
    return found


def _pairs(text: str) -> tuple[ast.Pair, ...]:
    """The pairs of ``K=V``, read as the body of a preset and as nothing else."""
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
