"""The parser of grammar/energy.lark, from tables that ship beside it.

Making the tables takes ten times as long as reading them. They are plain JSON, which cannot run anything, and part of
the installation: nothing is kept in a cache that others might write to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from energyc.resources import resource

#: The tables of this grammar, beside it; ``pytest --update-golden tests/syntax`` writes them.
TABLES = "tables.json"


@lru_cache(maxsize=2)  # of each kind one: what is known of the states of a parser holds for that parser alone
def grammar(strict: bool = False) -> Lark:
    """The LALR(1) parser of the language; ``strict`` also refuses terminals that could be confused (for the tests).

    Where the tables are of another grammar or another version of Lark, they are made anew.
    """
    text = _grammar_text()
    kept = None if strict else _read_tables()
    if kept is None or kept["made_of"] != identity(text):
        return Lark(text, parser="lalr", propagate_positions=True, strict=strict)
    parser: dict[str, Any] = kept["data"]["parser"]["parser"]
    parser["tokens"] = _by_number(parser["tokens"])
    parser["states"] = _by_number(parser["states"], lambda actions: _by_number(actions, tuple))
    return Lark.load({"data": kept["data"], "memo": _by_number(kept["memo"])})


def tables_are_current() -> bool:
    """Whether the shipped tables are of this grammar and this version of Lark."""
    kept = _read_tables()
    return kept is not None and kept["made_of"] == identity(_grammar_text())


def tables() -> str:
    """The tables of the grammar as it is, with Lark as it is: the text of the file."""
    text = _grammar_text()
    data, memo = Lark(text, parser="lalr", propagate_positions=True).memo_serialize([TerminalDef, Rule])
    content = {"made_of": identity(text), "data": data, "memo": memo}
    return json.dumps(content, separators=(",", ":"), sort_keys=True) + "\n"


def identity(text: str) -> dict[str, str]:
    """The grammar and the version of Lark that tables belong to."""
    return {"grammar": hashlib.sha256(text.encode()).hexdigest(), "lark": lark.__version__}


def _grammar_text() -> str:
    return resource("grammar", "energy.lark").read_text(encoding="utf-8")


def _read_tables() -> dict[str, Any] | None:
    path = resource("grammar", TABLES)
    kept: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return kept


def _by_number(table: Mapping[str, Any], of: Callable[[Any], Any] = lambda value: value) -> dict[int, Any]:
    """JSON's keys are strings; Lark's are numbers."""
    return {int(key): of(value) for key, value in table.items()}
