"""Reading an adapter's options: every mistake names the option and what it may be."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from energyc.data.errors import bad_option
from energyc.data.schema import Options, OptionValue
from energyc.diagnostics import UserError, near

LARGEST = 1 << 20  # no size is above this unless its adapter says so


class OptionReader:
    """The options of one binding, checked against the names that the adapter knows."""

    def __init__(self, adapter: str, options: Options, known: Iterable[str]) -> None:
        self.adapter = adapter
        self.options = options
        names = tuple(known)
        for option in options:
            if option not in names:
                raise self._unknown(option, names)

    def size(self, option: str, default: int | None = None, *, least: int = 1, most: int = LARGEST) -> int:
        """A whole number from ``least`` to ``most``; without a default it must be written."""
        allowed = f"a whole number from {least} to {most}"
        number = self._number(option, default, allowed)
        if number.denominator != 1:
            raise bad_option(self.adapter, option, f"is {number}", allowed)
        if not least <= number <= most:
            raise bad_option(self.adapter, option, f"is {number}", allowed)
        return int(number)

    def fraction(self, option: str, default: Fraction) -> Fraction:
        """A number from 0 to 1, exact."""
        allowed = "a number from 0 to 1, written 1/2 or 0.5"
        value = self._number(option, default, allowed)
        if not 0 <= value <= 1:
            raise bad_option(self.adapter, option, f"is {self.options[option]}", allowed)
        return value

    def positive(self, option: str, default: float) -> float:
        """A finite number above zero."""
        value = float(self._number(option, default, "a number above 0"))
        if not value > 0:
            raise bad_option(self.adapter, option, f"is {self.options[option]}", "a number above 0")
        return value

    def word(self, option: str, default: str, choices: Iterable[str]) -> str:
        """One of the words in ``choices``; hyphens and underscores are the same."""
        names = tuple(choices)
        value = self.options.get(option, default)
        if not isinstance(value, str) or value.replace("_", "-") not in names:
            meant = near(str(value), names)
            ask = f"; did you mean {meant[0]}?" if meant else ""
            raise bad_option(self.adapter, option, f"is {value}", _one_of(names) + ask)
        return value.replace("_", "-")

    def given(self, option: str) -> bool:
        """Whether the spec wrote this option."""
        return option in self.options

    def _number(self, option: str, default: float | Fraction | None, allowed: str) -> Fraction:
        value = self.options.get(option, default)
        if value is None:
            raise bad_option(self.adapter, option, "is missing", allowed)
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise bad_option(self.adapter, option, f"is {_shown(value)}", allowed)
        try:
            return Fraction(value)
        except (OverflowError, ValueError):
            raise bad_option(self.adapter, option, f"is {value}", allowed) from None

    def _unknown(self, option: str, names: tuple[str, ...]) -> UserError:
        meant = near(option, names)
        takes = f"{self.adapter} takes {', '.join(names)}" if names else f"{self.adapter} takes no options"
        ask = f"did you mean {meant[0]}? " if meant else ""
        return UserError(f"{self.adapter}: there is no option {option}", code="E0912", help=ask + takes)


def _one_of(choices: Iterable[object]) -> str:
    return "one of " + ", ".join(str(choice) for choice in choices)


def _shown(value: OptionValue) -> str:
    return value if isinstance(value, str) else repr(value)
