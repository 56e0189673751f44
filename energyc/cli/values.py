"""``--set K=V``: the values of settings, in the notation of a spec."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.diagnostics import Source, SpecError, UserError
from energyc.resolve.network import Call
from energyc.syntax import ast, parse


def read_settings(texts: Iterable[str]) -> dict[str, object]:
    """The values of several ``K=V``, the later one winning. Raises UserError for one that cannot be read."""
    found: dict[str, object] = {}
    for text in texts:
        found |= {pair.path: plain(pair.value) for pair in _pairs(text)}
    return found


def plain(value: ast.Value) -> object:
    """A setting's value in plain Python: an exact number, a word, a call, a list."""
    match value:
        case ast.NumberValue():
            return value.number
        case ast.WordValue():
            return value.word
        case ast.CallValue():
            return Call(value.word, {pair.path: plain(pair.value) for pair in value.pairs})
        case ast.ListValue():
            return [plain(item) for item in value.items]
    raise TypeError(f"no value for {value!r}")


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
