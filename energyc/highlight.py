"""The lexer of specs for Pygments, found there by the name ``energy`` or a file's ending.

Its words are those of the parser and of the tables of functions, laws and sets.

Imports: ``resolve``, ``syntax``; libraries: ``pygments``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from energyc.language.resolve.words import CONSTANTS, LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax.scan import DECLARATION_WORDS, EQUATION_WORDS, RESERVED, SETTINGS_WORDS

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
#: Words that join conditions.
LOGIC = ("and", "not", "or")
#: Words with a meaning of their own, which may be names elsewhere.
SPECIAL = ("batch", "training", *CONSTANTS)


def _whole(names: Any) -> words:
    return words(sorted(names), prefix=r"\b", suffix=r"\b")


class EnergyLexer(RegexLexer):  # type: ignore[misc]
    """Specs of energyc."""

    name = "Energy"
    aliases: ClassVar[list[str]] = ["energy", "energyc"]
    filenames: ClassVar[list[str]] = ["*.energy"]
    mimetypes: ClassVar[list[str]] = ["text/x-energy"]

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            include("space"),
            # A block of settings: its words are settings, and those in values are choices.
            (
                rf"\b({'|'.join(sorted(SETTINGS_WORDS))})\b(\s*)((?:{_NAME}\s+in\s+{_NAME}\s*)?)(\{{)",
                bygroups(Keyword, Whitespace, Name, Punctuation),
                "settings",
            ),
            (
                rf"\b(preset)\b(\s+)({_NAME})(\s*)(\{{)",
                bygroups(Keyword, Whitespace, Name.Label, Whitespace, Punctuation),
                "settings",
            ),
            # A call of a data adapter: its words are options.
            (
                rf"\b(data)\b(\s+)({_NAME})(\s*)(=)(\s*)({_NAME})(\s*)(\()",
                bygroups(
                    Keyword.Declaration,
                    Whitespace,
                    Name.Namespace,
                    Whitespace,
                    Operator,
                    Whitespace,
                    Name.Class,
                    Whitespace,
                    Punctuation,
                ),
                "options",
            ),
            # A statement and what it names.
            (
                rf"\b(network|layer|repeat)\b(\s+)({_NAME})",
                bygroups(Keyword, Whitespace, Name.Namespace),
            ),
            (
                rf"\b({'|'.join(sorted(EQUATION_WORDS))})\b(\s+)({_NAME})",
                bygroups(Keyword, Whitespace, Name.Function),
            ),
            (_whole(DECLARATION_WORDS), Keyword.Declaration),
            (_whole(LOGIC), Operator.Word),
            (_whole(RESERVED), Keyword),
            # Names.
            (rf"(\.)({_NAME})", bygroups(Punctuation, Name.Attribute)),
            (words(sorted(LANGUAGE_FUNCTIONS), prefix=r"\b", suffix=r"(?='?\s*[\[(])"), Name.Builtin),
            (rf"(~)(\s*)({'|'.join(sorted(LAWS))})\b", bygroups(Operator, Whitespace, Name.Class)),
            (_whole((*SETS, *SPECIAL)), Name.Builtin.Pseudo),
            (_NAME, Name),
            include("signs"),
        ],
        "space": [(r"\s+", Whitespace), (r"#[^\n]*", Comment.Single)],
        "signs": [
            (r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z_0-9.])", Number),
            (r"<=|>=|==|!=|[-+*/^<>=~|']", Operator),
            (r"[()\[\]{},:]|\.\.\.", Punctuation),  # three dots stand for what a page leaves out
        ],
        "settings": [(r"\}", Punctuation, "#pop"), include("pairs")],
        "options": [(r"\)", Punctuation, "#pop"), include("pairs")],
        "pairs": [
            include("space"),
            (rf"({_NAME}(?:\.{_NAME})*)(\s*)(=)", bygroups(Name.Attribute, Whitespace, Operator)),
            (rf"({_NAME})(\s*)(\()", bygroups(Name.Builtin, Whitespace, Punctuation), "options"),
            (rf"{_NAME}(?:-{_NAME})*", String.Symbol),
            (rf"(?:\.{_NAME})+", Name.Attribute),
            include("signs"),
        ],
    }


__all__ = ["EnergyLexer"]
