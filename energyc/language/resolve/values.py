"""The values of settings and options in plain Python."""

from __future__ import annotations

from collections.abc import Callable

from energyc.language.settings import Call
from energyc.language.settings.values import Value
from energyc.language.syntax import ast


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
