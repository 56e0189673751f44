"""A fixed set of characters, and the mapping of every other character into it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SHAKESPEARE = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ASCII = "\n" + "".join(chr(code) for code in range(32, 127))
ALPHABETS = {"shakespeare": SHAKESPEARE, "ascii": ASCII}

# the ASCII ones first, then the typographic ones
QUOTES = "\"'`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00ab\u00bb"
DASHES = "-_\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
OPENERS = "([{<"
STAND_INS = {**dict.fromkeys(QUOTES, "'"), **dict.fromkeys(DASHES, "-"), **dict.fromkeys(OPENERS, ",")}
STAND_INS |= {**dict.fromkeys("0123456789", "3"), "\u2026": ".", "\t": " ", "\r": "\n", "\u2028": "\n", "\u2029": "\n"}


@dataclass(frozen=True)
class Alphabet:
    """Characters numbered by their position in ``symbols``; any other is mapped to one of them.

    A character outside the alphabet is replaced by the first of these that is in it: its stand-in (``3`` for a digit,
    ``'`` for a quote, ``-`` for a dash or underscore, ``,`` for an opening bracket, a space for a tab), its base letter
    without accents, a space.
    """

    symbols: str

    def __len__(self) -> int:
        """The size of the vocabulary."""
        return len(self.symbols)

    def encode(self, text: str) -> np.ndarray:
        """The numbers of the characters, ``[len(text)]`` int64."""
        number = {char: self._number(char) for char in set(text)}
        return np.fromiter((number[char] for char in text), np.int64, len(text))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a sequence of numbers, each in ``range(len(self))``."""
        return "".join(self.symbols[int(number)] for number in ids)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {char: number for number, char in enumerate(self.symbols)}

    def _number(self, char: str) -> int:
        base = unicodedata.normalize("NFKD", char)[0]
        for candidate in (char, STAND_INS.get(char, ""), base, STAND_INS.get(base, "")):
            if candidate in self._numbers:
                return self._numbers[candidate]
        return self._numbers[" "]
