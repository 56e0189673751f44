"""The parser that Lark makes of grammar/energy.lark."""

from __future__ import annotations

from functools import lru_cache

from lark import Lark

from energyc.resources import cache, resource

#: In the cache folder; Lark makes it anew where the grammar, Lark or Python is another, or it cannot be read.
TABLES = "grammar.lark"


@lru_cache(maxsize=2)  # of each kind one: what is known of the states of a parser holds for that parser alone
def grammar(strict: bool = False) -> Lark:
    """The LALR(1) parser of the language; ``strict`` also refuses terminals that could be confused (for the tests).

    Its tables, a sixth of the time of ``check``, are kept in the cache folder where there is one.
    """
    text = resource("grammar", "energy.lark").read_text(encoding="utf-8")
    folder = None if strict else cache()
    kept = False if folder is None else str(folder / TABLES)
    return Lark(text, parser="lalr", propagate_positions=True, strict=strict, cache=kept)
