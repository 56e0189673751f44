"""The words of the language explained: a form and a sentence each, from grammar/words.toml and the tables."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from energyc.language.diagnostics import UnknownName, UserError
from energyc.language.resolve.words import CONSTANTS, INDEXED, LANGUAGE_FUNCTIONS
from energyc.language.settings import Nudge, Relax, TrainOptions, table, written
from energyc.language.settings.kinds import Flag, Kind, Variant
from energyc.language.settings.scores import SCORES
from energyc.language.settings.table import Block, Setting
from energyc.mathematics.functions import FUNCTIONS, written_out
from energyc.resources import resource
from energyc.running.data import find_adapter
from energyc.running.data.registry import DATA
from energyc.runtime import RULES

BLOCKS: Mapping[str, type[Block]] = {"relax": Relax, "nudge": Nudge, "train": TrainOptions}
#: A name that no adapter has for an option.
_NO_OPTION = "no_such_option"


@dataclass(frozen=True)
class Entry:
    """A word: how it is written, and what it is in a sentence."""

    form: str
    says: str

    @property
    def markdown(self) -> str:
        """The entry as an editor shows it."""
        return f"```energy\n{self.form}\n```\n{self.says}" if self.form else self.says


@lru_cache(maxsize=1)
def _words() -> Mapping[str, Mapping[str, Entry]]:
    tables = tomllib.loads(resource("grammar", "words.toml").read_text(encoding="utf-8"))
    return {name: {word: Entry(*entry) for word, entry in words.items()} for name, words in tables.items()}


def entries(table: str) -> Mapping[str, Entry]:
    """The words of a table of the file: ``statements`` that they open, ``inside`` of statements, ``laws``, ``sets``."""
    return _words()[table]


def functions() -> dict[str, Entry]:
    """The functions of the language, those too of which the file says nothing."""
    said = entries("functions")
    return {name: said.get(name) or _function(name) for name in sorted(LANGUAGE_FUNCTIONS)}


def constants() -> dict[str, Entry]:
    """The consts of the language."""
    return {name: Entry(f"{name} = {value:.6f}...", "A const of the language.") for name, value in CONSTANTS.items()}


def _function(name: str) -> Entry:
    if name in INDEXED:
        return Entry(f"{name}[i](e)", "Works along an index.")
    entry = FUNCTIONS.get(name)
    formula = None if entry is None else written_out(entry)
    says = f"{formula}." if formula else "A function of one number."
    return Entry(f"{name}(u)", f"{says[:-1]}; {entry.domain.rule}." if entry and entry.domain else says)


def keyword(word: str) -> Entry | None:
    """A reserved word."""
    return entries("statements").get(word) or entries("inside").get(word)


# ---------------------------------------------------------------- data


def adapters() -> dict[str, Entry]:
    """The data adapters by name."""
    return {name: adapter(name) or Entry(name, "") for name in DATA.names()}


def adapter(name: str) -> Entry | None:
    """A data adapter: its options, and what it says of itself."""
    try:
        found = find_adapter(name)
    except UserError:
        return None
    says = inspect.getdoc(type(found)) or ""
    return Entry(f"{name}({', '.join(options_of(name))})", says.replace("``", "`"))


def options_of(name: str) -> tuple[str, ...]:
    """The options of a data adapter; none where it does not tell."""
    try:
        find_adapter(name).schema({_NO_OPTION: 0})
    except UnknownName as error:
        return error.known
    except Exception:  # an adapter of the user's own, which may do anything
        return ()
    return ()


# ---------------------------------------------------------------- settings


def settings(block: str) -> dict[str, Setting]:
    """The settings of a block by name."""
    return table(BLOCKS[block]) if block in BLOCKS else {}


def setting(block: str, name: str) -> Entry | None:
    """A setting: what it takes, its default, its meaning."""
    row = settings(block).get(name)
    if row is None:
        return None
    default = row.otherwise or _default(block, name)
    unit = f" of {row.unit}" if row.unit else ""
    own = f"; `{name}.{row.owner.upper()}` is that of one {row.owner}" if row.owner else ""
    takes = f"Takes {row.kind.wanted}{unit}; the default is {default}{own}."
    return Entry(f"{block} {{ {name} = ... }}", f"{_sentence(row.meaning)}\n\n{takes}")


def _default(block: str, name: str) -> str:
    value = BLOCKS[block].__dataclass_fields__[name].default
    return "none" if value is None else f"`{written(value)}`"


def _sentence(text: str) -> str:
    """The text as a sentence, without links, which lead to places in docs/."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    return f"{plain[:1].upper()}{plain[1:]}."


def values(block: str, name: str) -> dict[str, Entry]:
    """The words that a setting may have as its value."""
    if (block, name) == ("train", "rule"):
        return {rule: value("train.rule", rule) or Entry(rule, "") for rule in RULES}
    if (block, name) == ("train", "metrics"):
        return {score: Entry(kind.example, "A metric over a whole split.") for score, kind in SCORES.items()}
    row = settings(block).get(name)
    if row is None:
        return {}
    words = list(row.kind.words)
    words += ["true", "false"] if isinstance(row.kind, Flag) else []
    words += [word] if (word := getattr(row.kind, "word", "")) else []
    return {word: Entry(_call(row.kind, word), "") for word in dict.fromkeys(words)}


def _call(kind: Kind, word: str) -> str:
    return kind.example if isinstance(kind, Variant) and kind.example.startswith(word) else word


def value(owner: str, word: str) -> Entry | None:
    """A word as the value of a setting, ``train.rule``."""
    if owner == "train.rule" and word in RULES:
        rule = RULES[word]
        exact = "for any force" if rule.exact == "any" else "where the force is a gradient"
        return Entry(f"rule = {word}", f"{rule.mathematics.splitlines()[0].replace('``', '`')} Exact {exact}.")
    return None


def keywords_of(block: str, name: str, called: str) -> tuple[str, ...]:
    """The keywords of a call as a value: ``warmup`` of ``cosine(...)``."""
    if called in SCORES:
        return tuple(SCORES[called].choices[called])
    row = settings(block).get(name)
    for kind in (row.kind, row.each) if row is not None else ():
        if isinstance(kind, Variant) and called in kind.choices:
            return tuple(kind.choices[called])
    return ()
