"""Text to tree: ``parse``; and back: ``unparse`` for an expression, ``format_spec`` for a whole file.

It knows the grammar; what a name is bound to is unknown to it.

Imports: ``diagnostics``, ``resources``; libraries: ``lark``.
"""

from energyc.language.syntax.layout import format_spec
from energyc.language.syntax.parser import Parsed, parse, parse_partly
from energyc.language.syntax.read import decode, located, read_source
from energyc.language.syntax.unparse import unparse, unparse_slots

__all__ = [
    "Parsed",
    "decode",
    "format_spec",
    "located",
    "parse",
    "parse_partly",
    "read_source",
    "unparse",
    "unparse_slots",
]
