"""Who is who in a spec: each place where a name stands, with the declaration that resolving it found."""

from __future__ import annotations

from dataclasses import dataclass, field

from energyc.language.diagnostics import Span
from energyc.language.syntax import ast


@dataclass(frozen=True, eq=False)
class Declaration:
    """A declared name, a bound index or the argument of a function.

    ``kind`` is the word of its statement, or ``network``, ``preset``, ``step``, ``index``, ``argument``; ``span`` is
    where it is declared, ``region`` where it can be read, ``tree`` what declares it (None for an index), and ``owner``
    the layer that it belongs to.
    """

    name: str
    kind: str
    span: Span
    region: Span
    tree: ast.Tree | None = None
    owner: str = ""


@dataclass
class References:
    """The declarations of a file by their places, and for each place that reads a name the place of its declaration.

    All parts of a file share one. It is filled where names are looked up, and holds what was looked up before a mistake
    ended the reading of a statement, too; the rest of that statement is filled in by ``unread``.
    """

    declarations: dict[Span, Declaration] = field(default_factory=dict)
    places: dict[Span, Span] = field(default_factory=dict)

    def declare(self, name: ast.Name, kind: str, region: Span, tree: ast.Tree | None = None, owner: str = "") -> None:
        """Note a declaration; what is noted of its place already stays."""
        if name.span not in self.declarations:
            self.declarations[name.span] = Declaration(name.text, kind, name.span, region, tree, owner)

    def note(self, place: Span, declared: Span) -> None:
        """Note that the name at a place is the one that is declared at another."""
        self.places.setdefault(place, declared)
