"""The parser that Lark makes of grammar/energy.lark."""

from __future__ import annotations

from functools import lru_cache

from lark import Lark

from energyc.resources import resource


@lru_cache(maxsize=2)  # of each kind one: what is known of the states of a parser holds for that parser alone
def grammar(strict: bool = False) -> Lark:
    """The LALR(1) parser of the language; ``strict`` also refuses terminals that could be confused (for the tests)."""
    text = resource("grammar", "energy.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", propagate_positions=True, strict=strict)
