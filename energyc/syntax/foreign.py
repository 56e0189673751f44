"""What to write for a sign of another notation."""

from __future__ import annotations

import tomllib
import unicodedata
from functools import lru_cache

from energyc.resources import resource


def advice(sign: str) -> str:
    """The language's own way to write a sign: by the table of grammar/mistakes.toml, or by the letter's name."""
    if sign in (table := _characters()):
        return table[sign]
    words = unicodedata.name(sign, "").lower().split()
    if len(words) >= 4 and words[0] == "greek" and words[2] == "letter":
        letter = words[3].replace("lamda", "lambda")
        return f"write it in letters: `{letter.capitalize() if words[1] == 'capital' else letter}`"
    if sign.isalpha():
        return "names hold the letters a to z, A to Z, digits and `_`"
    return "take it away"


@lru_cache(maxsize=1)
def _characters() -> dict[str, str]:
    text = resource("grammar", "mistakes.toml").read_text(encoding="utf-8")
    table: dict[str, str] = tomllib.loads(text)["characters"]
    return table
