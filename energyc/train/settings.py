"""Readers of single training settings: each takes a plain value and gives a checked one, or says what it should be.

A value is what the language knows: a number (int, float or Fraction), a word (str), a call (a
``data.schema.Call``) or a list. A reader raises ``Unfit`` with what was expected; ``options`` turns that into a
``Fault``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

from energyc.data.schema import Call

Reader = Callable[[Any], Any]
LARGEST = 2**63 - 1  # of the integers that torch takes


class Unfit(ValueError):
    """A value that does not fit: what was expected, and the part of it that is wrong, where it has parts."""

    def __init__(self, expected: str, part: str | None = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.part = part


def written(value: Any) -> str:
    """A value as a spec writes it: ``jacobian(target = 1e-4)``, ``[0.9, 0.999]``."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, Call):
        keywords = (f"{key} = {written(item)}" for key, item in value.keywords.items())
        return f"{value.name}({', '.join([*map(written, value.arguments), *keywords])})"
    if isinstance(value, Fraction) and math.isfinite(_float(value)) and Fraction(repr(_float(value))) == value:
        return f"{_float(value):.15g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def number(low: float = -math.inf, high: float = math.inf, *, above: float | None = None) -> Reader:
    """A reader of finite numbers with ``low <= x <= high``, or ``above < x``."""
    floor = f"above {above:g}" if above is not None else f"of at least {low:g}"
    expected = f"a number {floor}" + (f" and at most {high:g}" if high < math.inf else "")

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise Unfit(expected)
        result = _float(value)
        if not math.isfinite(result) or not low <= result <= high or (above is not None and result <= above):
            raise Unfit(expected)
        return result

    return read


def whole(low: int = 0, high: int = LARGEST) -> Reader:
    """A reader of integers with ``low <= x <= high``; ``100.0`` and ``Fraction(100)`` count as integers."""

    def read(value: Any) -> int:
        exact = not isinstance(value, bool) and isinstance(value, int | float | Fraction) and _is_whole(value)
        if not exact or not low <= int(value) <= high:
            bounded = high < LARGEST or (exact and value > high)
            raise Unfit(f"a whole number from {low}" + (f" to {high}" if bounded else ""))
        return int(value)

    return read


def word(choices: Collection[str] = ()) -> Reader:
    """A reader of words, one of ``choices`` if there are any."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or (choices and value not in choices):
            raise Unfit("one of " + ", ".join(choices) if choices else "a word")
        return value

    return read


def flag(value: Any) -> bool:
    """Read ``true`` or ``false``."""
    if value in (True, False) and isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise Unfit("true or false")


def words(value: Any) -> tuple[str, ...]:
    """Read a list of words; a single word is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise Unfit("a list of words, as [a, b]")
    return tuple(items)


def pair(value: Any) -> tuple[float, float]:
    """Read the two betas of the Adam family, each in [0, 1)."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise Unfit("a list of two numbers, as [0.9, 0.999]")
    try:
        first, second = (number(0)(item) for item in value)
    except ValueError:
        raise Unfit("two numbers of at least 0 and under 1") from None
    if max(first, second) >= 1:
        raise Unfit("two numbers of at least 0 and under 1")
    return first, second


def split_call(value: Any, example: str = "cosine(warmup = 100)") -> tuple[str, Mapping[str, Any]]:
    """Take a word or a call of keyword arguments apart; a word is a call without arguments."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Call) and not value.arguments:
        return value.name, value.keywords
    raise Unfit(f"a word or a call, as {example}")


def read_arguments(given: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Read a call's keyword arguments by their readers."""
    for name in given:
        if name not in readers:
            raise Unfit("arguments among " + ", ".join(readers), name)
    return {name: _read_argument(name, readers[name], value) for name, value in given.items()}


def _read_argument(name: str, read: Reader, value: Any) -> Any:
    try:
        return read(value)
    except Unfit as error:
        raise Unfit(f"{error.expected} for {name}", f"{name} = {written(value)}") from None


def _float(value: float | Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_whole(value: float | Fraction) -> bool:
    return math.isfinite(_float(value)) and value == int(value)
