"""The values of settings and options in plain Python, and in the notation of a spec."""

from __future__ import annotations

from collections.abc import Callable

from energyc.language.diagnostics import Source
from energyc.language.settings import Call
from energyc.language.settings.values import Value
from energyc.language.syntax import ast, parse


def plain_value(value: ast.Value, word: Callable[[str], Value]) -> Value:
    """A number, a word, a call or a list; ``word`` gives what a word stands for."""
    match value:
        case ast.NumberValue(number=number):
            return number
        case ast.WordValue(word=name):
            return word(name)
        case ast.CallValue(word=name, pairs=pairs):
            return Call(name, {pair.path: plain_value(pair.value, word) for pair in pairs})
        case ast.ListValue(items=items):
            return [plain_value(item, word) for item in items]
    raise TypeError(f"no rule for {value!r}")


def read_pairs(text: str) -> dict[str, Value]:
    """The settings in a text as ``train.lr = 1e-3, relax.steps = 40``, the body of a preset and nothing else.

    Raises SpecError for a text that cannot be parsed, ValueError for one that goes on after its pairs.
    """
    spec = parse(Source("settings", f"network n preset p {{ {text} }}"))
    match spec.statements:
        case (ast.Preset(pairs=pairs),) if pairs:
            return {pair.path: plain_value(pair.value, str) for pair in pairs}
    raise ValueError(text)
