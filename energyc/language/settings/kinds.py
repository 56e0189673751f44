"""The kinds of settings: each reads a value as written and gives a typed one, or says what it should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from energyc.language.settings.values import Call, as_float

#: The largest of the integers that torch takes.
LARGEST = 2**63 - 1


class Misfit(ValueError):
    """``value`` is not ``wanted``, what a kind takes in words; ``part`` is the keyword of a call that has it."""

    def __init__(self, wanted: str, value: object, part: str | None = None) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.value = value
        self.part = part


class Kind:
    """A kind of setting."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it takes, where there is a choice of them."""
        return ()

    @property
    def takes_none(self) -> bool:
        """Whether it has a meaning of its own for the word ``none``."""
        return False

    @property
    def wanted(self) -> str:
        """The values that it takes, in words: ``a positive number``."""
        raise NotImplementedError

    def read(self, value: object) -> object:
        """The typed value. Raises Misfit."""
        raise NotImplementedError

    def instead(self, value: object) -> object:
        """The probable intention behind a value that does not fit; None where that is not known."""
        return None

    def fields(self, name: str, value: object) -> dict[str, object]:
        """The fields, one or several, that a setting of this kind sets. Raises Misfit."""
        return {name: self.read(value)}


def _nearest(kind: Kind, value: object, *changes: Callable[[Fraction], object]) -> object:
    """The first change of a finite number that a kind takes; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(as_float(value)):
        return None
    for change in changes:
        changed = change(Fraction(value))
        with suppress(Misfit):
            kind.read(changed)
            return changed
    return None


def _word(choices: Sequence[str], value: object) -> str | None:
    """The choice that is spelled like a value but for capitals."""
    return next((word for word in choices if str(value).lower() == word), None)


@dataclass(frozen=True)
class Number(Kind):
    """A finite number with ``low <= x <= high`` and ``above < x``; or a word, which stands for None."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    word: str = ""

    @property
    def takes_none(self) -> bool:
        return self.word == "none"

    @property
    def wanted(self) -> str:
        text = "a positive number" if self.above == 0 else f"a number of at least {self.low:g}"
        text += f" and at most {self.high:g}" if self.high < math.inf else ""
        return f"{text} or {self.word}" if self.word else text

    def instead(self, value: object) -> object:
        if isinstance(value, int | float | Fraction) and value == 0 and self.word:
            return self.word
        return _nearest(self, value, lambda number: -number, lambda number: min(max(number, self.low), self.high))

    def read(self, value: object) -> float | None:
        if self.word and value == self.word:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise Misfit(self.wanted, value)
        number = as_float(value)
        if not math.isfinite(number) or not self.low <= number <= self.high or number <= self.above:
            raise Misfit(self.wanted, value)
        return number


@dataclass(frozen=True)
class Integer(Kind):
    """An integer from ``low``; ``100.0`` and ``Fraction(100)`` are integers."""

    low: int = 0

    @property
    def wanted(self) -> str:
        return "a positive whole number" if self.low == 1 else f"a whole number from {self.low}"

    def instead(self, value: object) -> object:
        return _nearest(self, value, lambda number: -number, round, lambda number: max(self.low, round(-number)))

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise Misfit(self.wanted, value)
        if not math.isfinite(as_float(value)) or value != int(value) or int(value) < self.low:
            raise Misfit(self.wanted, value)
        if int(value) > LARGEST:
            raise Misfit(f"a whole number from {self.low} to {LARGEST}", value)
        return int(value)


@dataclass(frozen=True)
class Duration(Kind):
    """A part of a run: a whole number from 0, or a share of the run, which lies between 0 and 1."""

    @property
    def wanted(self) -> str:
        return f"{Integer(0).wanted}, or a share of the run below 1"

    def instead(self, value: object) -> object:
        return _nearest(self, value, lambda number: -number, round, lambda number: round(-number))

    def read(self, value: object) -> int | float:
        if not isinstance(value, bool) and isinstance(value, int | float | Fraction) and 0 < value < 1:
            return as_float(value)
        try:
            return Integer(0).read(value)
        except Misfit:
            raise Misfit(self.wanted, value) from None


@dataclass(frozen=True)
class Word(Kind):
    """A word: one of ``choices`` where there are any."""

    choices: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return self.choices

    @property
    def wanted(self) -> str:
        return "one of " + ", ".join(self.choices) if self.choices else "a word"

    def instead(self, value: object) -> object:
        return _word(self.choices, value)

    def read(self, value: object) -> str:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise Misfit(self.wanted, value)
        return value


@dataclass(frozen=True)
class Flag(Kind):
    """``true`` or ``false``."""

    @property
    def wanted(self) -> str:
        return "true or false"

    def read(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value not in ("true", "false"):
            raise Misfit(self.wanted, value)
        return value == "true"


@dataclass(frozen=True)
class Pair(Kind):
    """Two numbers in [0, 1)."""

    @property
    def wanted(self) -> str:
        return "a list of two numbers of at least 0 and under 1, as [0.9, 0.999]"

    def read(self, value: object) -> tuple[float, float]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise Misfit(self.wanted, value)
        try:
            first, second = (Number(low=0).read(item) or 0.0 for item in value)
        except Misfit:
            raise Misfit(self.wanted, value) from None
        if max(first, second) >= 1:
            raise Misfit(self.wanted, value)
        return first, second


@dataclass(frozen=True)
class Variant(Kind):
    """A word of ``choices``, which maps each to its keywords and their kinds; a word alone is a call without any."""

    choices: Mapping[str, Mapping[str, Kind]]
    example: str

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.choices)

    @property
    def wanted(self) -> str:
        words = "one of " + ", ".join(self.choices) if len(self.choices) > 1 else self.words[0]
        return f"{words}, or a call as {self.example}"

    def instead(self, value: object) -> object:
        return _word(self.words, value)

    def read(self, value: object) -> Call:
        call = Call(value) if isinstance(value, str) else value
        if not isinstance(call, Call) or call.name not in self.choices:
            raise Misfit(self.wanted, value)
        kinds = self.choices[call.name]
        if call.keywords and not kinds:
            raise Misfit(f"called with options only as {self.example}", value)
        return Call(call.name, {name: _keyword(kinds, name, item) for name, item in call.keywords.items()})  # type: ignore[misc]


class Spread(Variant):
    """A word, or a call whose keywords are settings too: ``anderson(memory = 5)``."""

    def fields(self, name: str, value: object) -> dict[str, object]:
        call = self.read(value)
        return {name: call.name, **call.keywords}


@dataclass(frozen=True)
class Recorded(Variant):
    """A word or a call that becomes a record: ``record`` makes it of the word and its keywords."""

    record: Callable[..., object]

    def fields(self, name: str, value: object) -> dict[str, object]:
        call = self.read(value)
        return {name: self.record(call.name, **call.keywords)}


def _keyword(kinds: Mapping[str, Kind], name: str, value: object) -> object:
    """The typed value of a keyword of a call. Raises Misfit."""
    if name not in kinds:
        raise Misfit(f"called with {', '.join(kinds)}", name)
    try:
        return kinds[name].read(value)
    except Misfit as error:
        raise Misfit(error.wanted, value, name) from None


@dataclass(frozen=True)
class Geometric:
    """Rates from ``first`` to ``last``, each the one before times the same factor."""

    first: float
    last: float

    def rates(self, count: int) -> tuple[float, ...]:
        """So many of them; one alone is ``first``."""
        factor = math.log(self.last / self.first) / max(count - 1, 1)
        return tuple(self.first * math.exp(factor * k) for k in range(count))


Rate: TypeAlias = "float | tuple[float, ...] | Geometric"
_POSITIVE, _NOT_NEGATIVE = Number(above=0), Number(low=0)
_GEOMETRIC = Variant({"geometric": {"first": _POSITIVE, "last": _POSITIVE}}, "geometric(first = 0.1, last = 0.001)")


@dataclass(frozen=True)
class Rates(Kind):
    """A rate, a list of rates, or ``geometric(first = 0.1, last = 0.001)``."""

    @property
    def wanted(self) -> str:
        return "a number of at least 0, a list of them, or geometric(first = 1, last = 0.1)"

    def read(self, value: object) -> Rate:
        if isinstance(value, Call):
            keywords = _GEOMETRIC.read(value).keywords
            if set(keywords) != {"first", "last"}:
                raise Misfit(self.wanted, value)
            return Geometric(**keywords)  # type: ignore[arg-type]
        try:
            if isinstance(value, list | tuple):
                return tuple(_NOT_NEGATIVE.read(item) or 0.0 for item in value)
            return _NOT_NEGATIVE.read(value) or 0.0
        except Misfit:
            raise Misfit(self.wanted, value) from None


def rate_as_written(rate: object) -> object:
    """The value of ``lr.PARAM`` that gave a rate, from its JSON."""
    return Call("geometric", rate) if isinstance(rate, Mapping) else rate
