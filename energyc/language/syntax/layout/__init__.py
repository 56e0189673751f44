"""``energyc fmt``: one canonical layout, comments kept, the tree unchanged.

pieces   source -> words, signs and comments, with the line breaks before each
spacing  pieces -> pieces with the blanks before each
lines    pieces -> lines: the user's own breaks, one statement a line, long equations broken at + and -
align    lines  -> lines whose columns stand in line wherever the user had them so
indent   lines  -> text
"""

from __future__ import annotations

from energyc.language.diagnostics import Source
from energyc.language.syntax.layout.align import aligned
from energyc.language.syntax.layout.indent import printed
from energyc.language.syntax.layout.lines import lines_of
from energyc.language.syntax.layout.pieces import pieces_of, spaced
from energyc.language.syntax.parser import parse


def format_spec(source: Source) -> str:
    """A spec in canonical layout; formatting it again changes nothing.

    Blank lines (at most one), line breaks within a statement, columns that the user aligned and the blanks around
    ``*`` and ``/`` are kept; everything else is set.

    Raises:
        SpecError: the spec does not parse.
    """
    spec = parse(source)
    return printed(aligned(lines_of(spaced(pieces_of(spec, source)))))
