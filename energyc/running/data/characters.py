"""Next-character prediction: ``characters(context = T)``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from energyc.language.diagnostics import Given, Option, UserError, spoken
from energyc.running.data.arrays import SplitDataset, check_range
from energyc.running.data.errors import malformed
from energyc.running.data.files import read_text
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema

TRAIN_SHARE = 0.9
LARGEST_CONTEXT = 1 << 16
BLOCKS = 20  # of a part of the text: parts of the training windows are made of whole ones
EXPECTED = "a text file"
REMEDY = spoken(
    "give any plain text in UTF-8; without {}, the documentation in Python's own library is used", Option("data")
)


@dataclass(frozen=True)
class Characters:
    """``input`` and ``target`` ``[context]``; the target is the input shifted by one character.

    The alphabet is fixed, so the vocabulary is known without the text: the 65 characters of tinyshakespeare, or
    with ``alphabet = ascii`` newline and the 95 printable ones. Without a path the text is ``pydoc_data.topics``, the
    language reference that every Python carries (about 340,000 characters of English and some code).
    """

    name: str = "characters"

    def schema(self, options: Options) -> Schema:
        """Fields input, target; sizes vocabulary, context."""
        return _schema(self._context(options), self.alphabet(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The text: the first nine tenths for training, the rest for the test; ``seed`` has no effect.

        Training windows start anywhere; test windows are consecutive, so that each character counts once.
        """
        context, alphabet = self._context(options), self.alphabet(options)
        text = shipped_text() if path is None else read_text(Path(path), EXPECTED, REMEDY)
        origin = "Python's own documentation (pydoc_data.topics)" if path is None else path
        ids = alphabet.encode(text)
        cut = int(len(ids) * TRAIN_SHARE)
        if len(ids) - cut <= context:
            least = f"at least {10 * (context + 1)} for context = {context}"
            raise malformed(origin, f"only {len(ids)} characters", least, "give a longer text or a smaller context")
        train, test = Windows(ids[:cut], context, 1), Windows(ids[cut:], context, context)
        return SplitDataset(_schema(context, alphabet), origin, train, test, _notes(text, alphabet))

    def alphabet(self, options: Options) -> Alphabet:
        """The alphabet that these options select."""
        reader = OptionReader(self.name, options, ("context", "alphabet"))
        return Alphabet(ALPHABETS[reader.choice("alphabet", "shakespeare", ALPHABETS)])

    def encode(self, text: str, options: Options | None = None) -> np.ndarray:
        """The numbers of a text, ``[len(text)]`` int64, as a prompt for sampling."""
        return self.alphabet(options or {}).encode(text)

    def decode(self, ids: Iterable[int], options: Options | None = None) -> str:
        """The text of a sequence of sampled numbers."""
        return self.alphabet(options or {}).decode(ids)

    def _context(self, options: Options) -> int:
        reader = OptionReader(self.name, options, ("context", "alphabet"))
        return reader.size("context", most=LARGEST_CONTEXT)


@dataclass(frozen=True)
class Windows:
    """Windows of ``context`` characters, ``stride`` apart; the target is shifted by one character."""

    ids: np.ndarray
    context: int
    stride: int

    def __len__(self) -> int:
        """The number of windows."""
        return (len(self.ids) - 1 - self.context) // self.stride + 1

    @property
    def groups(self) -> np.ndarray:
        """The block of text that each window starts in: windows of one block share characters."""
        return np.arange(len(self)) * self.stride * BLOCKS // len(self.ids)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The windows ``[len(indices), context]``; ``seed``, ``epoch`` and ``augment`` have no effect."""
        check_range(indices, len(self))
        positions = np.asarray(indices)[:, None] * self.stride + np.arange(self.context)
        return {"input": self.ids[positions], "target": self.ids[positions + 1]}


def shipped_text() -> str:
    """Python's language reference (``pydoc_data.topics``): each paragraph once, no rulers, no runs of spaces."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise UserError(
            "the default text, pydoc_data.topics, is missing from this Python",
            code="E0913",
            help=spoken("give a text: {}", Given(None, "FILE.txt", '"FILE.txt"')),
        ) from None
    text = "\n\n".join(topics[name] for name in sorted(topics))
    tidy = re.sub(r" {2,}", " ", re.sub(r"([*=\-~^+])\1{3,}", "", text))
    # topics repeat each other's sections: without this the test would hold paragraphs of the training text
    return "\n\n".join(dict.fromkeys(tidy.split("\n\n")))


def _schema(context: int, alphabet: Alphabet) -> Schema:
    window = FieldSchema((context,), "integer", len(alphabet))
    return Schema({"input": window, "target": window}, {"vocabulary": len(alphabet), "context": context})


def _notes(text: str, alphabet: Alphabet) -> tuple[str, ...]:
    replaced = len(text) - sum(text.count(char) for char in alphabet.symbols)
    split = "the first 90% is for training, the last 10% the test"
    return (split,) if not replaced else (split, f"{replaced:,} of {len(text):,} characters mapped into the alphabet")


# ------------------------------------------------------------------ the alphabet

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
