"""Reading an adapter's options: every error names the option and its valid values."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from energyc.language.diagnostics import UnknownName, UserError, near
from energyc.running.data.errors import bad_option
from energyc.running.data.schema import Options

LARGEST = 1 << 20  # of a size, unless its adapter sets another bound


class OptionReader:
    """The options of one binding, checked against the names that its adapter knows."""

    def __init__(self, adapter: str, options: Options, known: Iterable[str]) -> None:
        self.adapter = adapter
        self.options = options
        names = tuple(known)
        for option in options:
            if option not in names:
                raise self._unknown(option, names)

    def size(self, option: str, default: int | None = None, *, least: int = 1, most: int = LARGEST) -> int:
        """An integer from ``least`` to ``most``; required if there is no default."""
        allowed = f"a whole number from {least} to {most}"
        number = self._number(option, default, allowed)
        if number.denominator != 1 or not least <= number <= most:
            raise bad_option(self.adapter, option, f"is {number}", allowed)
        return int(number)

    def fraction(self, option: str, default: Fraction) -> Fraction:
        """An exact number from 0 to 1."""
        allowed = "a number from 0 to 1, written 1/2 or 0.5"
        value = self._number(option, default, allowed)
        if not 0 <= value <= 1:
            raise bad_option(self.adapter, option, f"is {self.options[option]}", allowed)
        return value

    def positive(self, option: str, default: float) -> float:
        """A finite number above 0."""
        value = float(self._number(option, default, "a number above 0"))
        if not value > 0:
            raise bad_option(self.adapter, option, f"is {self.options[option]}", "a number above 0")
        return value

    def choice(self, option: str, default: str, choices: Iterable[str]) -> str:
        """One of ``choices``; hyphens and underscores are equivalent."""
        names = tuple(choices)
        value = self.options.get(option, default)
        if not isinstance(value, str) or value.replace("_", "-") not in names:
            suggestion = "".join(f"; did you mean {nearest}?" for nearest in near(str(value), names)[:1])
            raise bad_option(self.adapter, option, f"is {value}", f"one of {', '.join(names)}{suggestion}")
        return value.replace("_", "-")

    def word(self, option: str, default: str) -> str:
        """Any word."""
        value = self.options.get(option, default)
        if not isinstance(value, str):
            raise bad_option(self.adapter, option, f"is {value}", "a word")
        return value

    def is_set(self, option: str) -> bool:
        """Whether the spec sets this option."""
        return option in self.options

    def _number(self, option: str, default: float | Fraction | None, allowed: str) -> Fraction:
        value = self.options.get(option, default)
        if value is None:
            raise bad_option(self.adapter, option, "is missing", allowed)
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise bad_option(self.adapter, option, f"is {value if isinstance(value, str) else repr(value)}", allowed)
        try:
            return Fraction(value)
        except (OverflowError, ValueError):
            raise bad_option(self.adapter, option, f"is {value}", allowed) from None

    def _unknown(self, option: str, names: tuple[str, ...]) -> UserError:
        suggestion = "".join(f"did you mean {nearest}? " for nearest in near(option, names)[:1])
        takes = f"{self.adapter} takes {', '.join(names) or 'no options'}"
        message = f"{self.adapter}: there is no option {option}"
        return UnknownName(message, option, names, code="E0912", help=suggestion + takes)
