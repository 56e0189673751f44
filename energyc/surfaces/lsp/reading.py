"""One version of a text, as far as it can be understood: the front end's passes, each with what it found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from energyc.language.diagnostics import CompilerBug, Diagnostic, Source, Span, UserError, stage
from energyc.language.network import Network
from energyc.language.resolve import Resolved, resolve_partly
from energyc.language.settings.values import Value
from energyc.language.syntax import Parsed, ast, decode, parse_partly
from energyc.language.syntax.scan import Scanned, scan
from energyc.running.data import find_adapter, read_schema
from energyc.running.data.schema import Schema
from energyc.runtime import RULES
from energyc.surfaces.lsp.symbols import Symbol, Symbols, occurrences_of, occurrences_unparsed, words_of

#: Of a text that is longer nothing is said but that it is: a spec of the literature has some thousand characters.
LONGEST = 100_000
TOO_LONG = "E0901"
#: What stands in place of a code where the compiler itself has failed.
INTERNAL = "internal"
#: What can be said of a whole spec only: what is unused, what nothing moves, what is missing.
OF_THE_WHOLE = frozenset({"E0441", "E0442", "E0443", "E0444", "W0201", "W0401", "W0404", INTERNAL})

_QUOTED, _NAME = re.compile(r"`([^`]*)`"), re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass(frozen=True, eq=False)
class Reading:
    """The reading of a text, with its errors or without.

    Positions are those of ``source``, whose text is the document's, character by character.
    """

    source: Source
    parsed: Parsed
    resolved: Resolved

    @property
    def spec(self) -> ast.Spec | None:
        """The tree of what parses."""
        return self.parsed.spec

    @property
    def network(self) -> Network | None:
        """The part that could be typed, without the statements that are wrong."""
        return self.resolved.network

    @property
    def ok(self) -> bool:
        """Whether the spec has no error, so that the passes behind the front end take it."""
        return self.network is not None and not self.parsed.diagnostics and self.resolved.ok

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The report of ``energyc check`` on the text.

        Where it does not parse ``check`` says that alone. Here the errors of the statements that do parse stay, so that
        they do not come and go while someone types; but for those that a broken statement may be the reason of.
        """
        if not self.parsed.diagnostics:
            return self.resolved.diagnostics
        unread = {piece.text for piece in self._unread if piece.kind == "word"}
        sure = (d for d in self.resolved.diagnostics if d.code not in OF_THE_WHOLE and not unread & self._named(d))
        return (*self.parsed.diagnostics, *sure)

    def _named(self, diagnostic: Diagnostic) -> set[str]:
        """The names that a diagnostic is about: those in its message, and those where it points to."""
        quoted = " ".join(_QUOTED.findall(diagnostic.message))
        place = self.source.slice(diagnostic.span) if diagnostic.span is not None else ""
        return set(_NAME.findall(f"{quoted} {place}"))

    @property
    def _unread(self) -> list[Scanned]:
        """The words and signs that are in no statement that parses."""
        trees = ast.walk(self.spec) if self.spec is not None else iter(())
        ends = [t.span for t in trees if isinstance(t, ast.Statement) and not isinstance(t, ast.Layer | ast.Repeat)]
        starts = [span.start for span in ends]
        unread: list[Scanned] = []
        for piece in self.pieces:
            around = bisect_right(starts, piece.span.start) - 1
            if around < 0 or piece.span.start >= ends[around].end:
                unread.append(piece)
        return unread

    @cached_property
    def pieces(self) -> tuple[Scanned, ...]:
        """The text as words, signs and comments."""
        return scan(self.source, comments=True)

    @cached_property
    def symbols(self) -> Symbols:
        """Who is who in it, as ``resolve`` found it; names of statements that do not parse by their heads."""
        found = {occurrence.span: occurrence for occurrence in occurrences_of(self.spec, self.resolved.references)}
        words = {word.span: word for word in words_of(self.spec, found)} if self.spec is not None else {}
        if self.parsed.diagnostics:
            pieces = [piece for piece in self.pieces if piece.kind != "comment"]
            region = Span(0, len(self.source.text))
            unparsed = occurrences_unparsed(self.spec, pieces, region, {*found, *words})
            found |= {occurrence.span: occurrence for occurrence in unparsed}
        return Symbols(tuple(found[span] for span in sorted(found)), tuple(words[span] for span in sorted(words)))

    # ------------------------------------------------------------ facts

    def size(self, dim: str) -> int | None:
        """The size of a dim."""
        return self.network.sizes[dim].value if self.network and dim in self.network.sizes else None

    def dims(self, symbol: Symbol) -> tuple[str, ...] | None:
        """The dims of a tensor; None for what has none, or where they are not known."""
        return self.resolved.shapes.get(symbol.span)

    def range(self, symbol: Symbol) -> str | None:
        """The dim of an index."""
        return self.resolved.ranges.get(symbol.span)

    def shape(self, dims: tuple[str, ...]) -> str:
        """``[T, D]``, with sizes where they are known: ``[T, D] = 64 x 128``."""
        sizes = [self.size(dim) for dim in dims]
        if not dims:
            return "one number"
        known = " x ".join(str(size) for size in sizes) if None not in sizes else ""
        return f"[{', '.join(dims)}]" + (f" = {known}" if known else "")

    def schema(self, binding: str) -> Schema | None:
        """The schema of a data binding; None where its options are wrong."""
        bindings = self.network.bindings if self.network else {}
        if binding not in bindings:
            return None
        try:
            return read_schema(find_adapter(bindings[binding].adapter), bindings[binding].options)
        except UserError:
            return None


def read(name: str, text: str) -> Reading:
    """Read a text by the front end alone, which imports neither torch nor sympy."""
    source = Source(name, " " + text[1:] if text.startswith("\ufeff") else text)
    if (refused := _refused(name, text)) is not None:
        return Reading(Source(name, ""), Parsed(None, (refused,)), Resolved(None, ()))
    parsed = parse_partly(source)
    if parsed.spec is None:
        return Reading(source, parsed, Resolved(None, ()))
    return Reading(source, parsed, _resolved(parsed.spec, source))


def _resolved(spec: ast.Spec, source: Source) -> Resolved:
    try:
        with stage("resolve", source.name):
            return resolve_partly(spec, source, schemas=_schema, rules=RULES)
    except CompilerBug as bug:
        report = "please report it with the spec"
        return Resolved(None, (Diagnostic(INTERNAL, f"internal error: {bug}", Span(0, 0), help=report),))


def _schema(adapter: str, options: Mapping[str, Value]) -> Schema:
    return read_schema(find_adapter(adapter), options)


def _refused(name: str, text: str) -> Diagnostic | None:
    """Why a text is not read at all."""
    if len(text) > LONGEST:
        message = f"a text of more than {LONGEST:,} characters is not checked while it is edited"
        return Diagnostic(TOO_LONG, message, Span(0, 0), help="run `energyc check` on the file")
    try:
        decode(text.encode("utf-8", "surrogatepass"), name)
    except UserError as error:
        return Diagnostic(error.code, error.message, Span(0, 0), help=error.help)
    return None
