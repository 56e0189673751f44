"""Characters of a text to be predicted one by one: ``characters(context = T)``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.data.alphabet import ALPHABETS, Alphabet
from energyc.data.arrays import SplitDataset, check_range
from energyc.data.errors import malformed
from energyc.data.files import read_text
from energyc.data.options import OptionReader
from energyc.data.schema import FieldSchema, Options, Schema
from energyc.diagnostics import UserError

TRAIN_SHARE = 0.9
LARGEST_CONTEXT = 1 << 16
EXPECTED = "a text file"
REMEDY = "any plain text in UTF-8 will do; without --data, the documentation in Python's own library is used"


@dataclass(frozen=True)
class Characters:
    """``input`` and ``target`` ``[context]``, the target being the input one character on.

    The alphabet is fixed, so that the vocabulary is known without the text: the 65 characters of tinyshakespeare, or
    with ``alphabet = ascii`` newline and the 95 printable ones. Without a path the text is ``pydoc_data.topics``, the
    language reference that every Python carries (about 340,000 characters of English and some code).
    """

    name: str = "characters"

    def schema(self, options: Options) -> Schema:
        """Fields input, target; sizes vocabulary, context."""
        return _schema(self._context(options), self.alphabet(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The text: its first nine tenths to train on, the rest for the test; ``seed`` changes nothing.

        Training windows start anywhere; the test's follow one another, so that each character counts once.
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
        """The alphabet that these options ask for."""
        reader = OptionReader(self.name, options, ("context", "alphabet"))
        return Alphabet(ALPHABETS[reader.word("alphabet", "shakespeare", ALPHABETS)])

    def encode(self, text: str, options: Options | None = None) -> np.ndarray:
        """The numbers ``[len(text)]`` int64 of a text, as a prompt for sampling."""
        return self.alphabet(options or {}).encode(text)

    def decode(self, ids: Iterable[int], options: Options | None = None) -> str:
        """The text of sampled numbers."""
        return self.alphabet(options or {}).decode(ids)

    def _context(self, options: Options) -> int:
        reader = OptionReader(self.name, options, ("context", "alphabet"))
        return reader.size("context", most=LARGEST_CONTEXT)


@dataclass(frozen=True)
class Windows:
    """Windows of ``context`` characters, ``stride`` apart; the target is one character on."""

    ids: np.ndarray
    context: int
    stride: int

    def __len__(self) -> int:
        """The number of windows that fit."""
        return (len(self.ids) - 1 - self.context) // self.stride + 1

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The windows ``[len(indices), context]``; nothing is drawn."""
        check_range(indices, len(self))
        places = np.asarray(indices)[:, None] * self.stride + np.arange(self.context)
        return {"input": self.ids[places], "target": self.ids[places + 1]}


def shipped_text() -> str:
    """Python's language reference (``pydoc_data.topics``), each paragraph once, rulers and runs of spaces cut."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise UserError(
            "the default text, pydoc_data.topics, is missing from this Python",
            code="E0913",
            help="give --data FILE.txt",
        ) from None
    text = "\n\n".join(topics[name] for name in sorted(topics))
    tidy = re.sub(r" {2,}", " ", re.sub(r"([*=\-~^+])\1{3,}", "", text))
    # topics repeat one another's sections: without this the test would hold paragraphs trained on
    return "\n\n".join(dict.fromkeys(tidy.split("\n\n")))


def _schema(context: int, alphabet: Alphabet) -> Schema:
    window = FieldSchema((context,), "integer", len(alphabet))
    return Schema({"input": window, "target": window}, {"vocabulary": len(alphabet), "context": context})


def _notes(text: str, alphabet: Alphabet) -> tuple[str, ...]:
    foreign = len(text) - sum(text.count(char) for char in alphabet.symbols)
    split = "the first 90% is for training, the last 10% the test"
    return (split,) if not foreign else (split, f"{foreign:,} of {len(text):,} characters mapped into the alphabet")
