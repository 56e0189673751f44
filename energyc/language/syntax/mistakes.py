"""Explains syntax errors: by the words at the place, else by an example of grammar/mistakes.toml that fails alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lark.exceptions import UnexpectedInput

from energyc.language.diagnostics import Diagnostic, Source
from energyc.language.syntax.failure import Failure
from energyc.language.syntax.grammar import grammar
from energyc.language.syntax.idioms import IDIOMS
from energyc.language.syntax.recognise import RECOGNISERS
from energyc.language.syntax.remedies import mended
from energyc.resources import table

_MOST_EXPECTED = 6


@dataclass(frozen=True)
class Mistake:
    """An entry of grammar/mistakes.toml; ``fix`` names its fix among those of ``remedies``."""

    code: str
    message: str
    text: str
    help: str
    examples: tuple[str, ...]
    fix: str = ""

    def of(self, failure: Failure) -> Diagnostic:
        """The entry's diagnostic, filled in with the words of the text."""
        words = {
            "{unexpected}": failure.unexpected.text if failure.unexpected else "the end of the file",
            "{before}": failure.before.text if failure.before else "",
            "{word}": failure.pieces[failure.start].text if failure.pieces else "",
        }
        message, text, help = (_filled(sentence, words) for sentence in (self.message, self.text, self.help))
        help = mended(help, self.fix, failure) if self.fix else help
        return Diagnostic(self.code, message, failure.span, text=text, help=help)


def explain(failure: Failure) -> Diagnostic:
    """The diagnostic of a failure."""
    for recognise in (*IDIOMS, *RECOGNISERS):
        if (diagnostic := recognise(failure)) is not None:
            return diagnostic
    mistake = _by_place().get((failure.state, failure.kind))
    return mistake.of(failure) if mistake is not None else _unexpected(failure)


def mistakes() -> tuple[Mistake, ...]:
    """The entries of grammar/mistakes.toml, in its order."""
    return tuple(
        Mistake(
            entry["code"],
            entry["message"],
            entry["text"],
            entry["help"],
            tuple(entry["examples"]),
            entry.get("fix", ""),
        )
        for entry in table("mistakes")["mistake"]
    )


def failure_of_example(example: str) -> Failure:
    """The failure of an example, which is put below ``network n`` unless it starts with ``network`` itself.

    Raises:
        ValueError: the example is not a mistake.
    """
    text = example if example.startswith("network") else f"network n\n{example}"
    source = Source("<example>", text)
    try:
        grammar().parse(text)
    except UnexpectedInput as error:
        return Failure.of(error, source)
    raise ValueError(f"the example parses: {example}")


@lru_cache(maxsize=1)
def _by_place() -> Mapping[tuple[int, str], Mistake]:
    """The entry for each state of the parser and class of word; where two share a place, the first."""
    places: dict[tuple[int, str], Mistake] = {}
    for mistake in mistakes():
        for example in mistake.examples:
            failure = failure_of_example(example)
            places.setdefault((failure.state, failure.kind), mistake)
    return places


def _unexpected(failure: Failure) -> Diagnostic:
    names = {table("mistakes")["terminals"].get(terminal, "") for terminal in failure.expected} - {""}
    expected = sorted(names, key=lambda name: (name.startswith("`"), name))
    if failure.kind == "end":
        message = "incomplete statement"
    else:
        message = f"unexpected `{failure.unexpected.text if failure.unexpected else ''}`"
    telling = 0 < len(expected) <= _MOST_EXPECTED and "a statement" not in expected
    help = f"expected {_either(expected)}" if telling else None
    return Diagnostic("E0100", message, failure.span, text="", help=help)


def _either(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _filled(text: str, words: Mapping[str, str]) -> str:
    for sign, word in words.items():
        text = text.replace(sign, word)
    return text
