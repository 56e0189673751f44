"""Who is who: the names of a tree, looked up as ``resolve`` does it.

It reads the tree alone, so that a spec with errors has its symbols too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from energyc.language.diagnostics import Span
from energyc.language.resolve.names import OF_STATES, declared
from energyc.language.resolve.words import CONSTANTS, INDEXED, LANGUAGE_FUNCTIONS, NORMALISERS, RESERVED_FUNCTIONS
from energyc.language.settings.scores import SCORES
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, DECLARATION_WORDS, OPENERS, STATEMENT_WORDS, Scanned
from energyc.surfaces.lsp.symbols import Occurrence, Role, Symbol, Symbols, Word

#: What a word in settings may name, beside a dim or const.
_ANSWERS = ("metric", "readout", "target")


@dataclass
class _Part:
    """The names of a part of a file: the file itself, a layer, a repeat."""

    region: Span
    names: dict[str, Symbol]
    around: _Part | None = None
    layers: dict[str, _Part] = field(default_factory=dict)

    def find(self, name: str) -> Symbol | None:
        """The symbol of a name, of this part or around it."""
        part: _Part | None = self
        while part is not None:
            if name in part.names:
                return part.names[name]
            part = part.around
        return None

    def layer(self, name: str) -> _Part | None:
        """A layer of this part, or around it."""
        part: _Part | None = self
        while part is not None:
            if name in part.layers:
                return part.layers[name]
            part = part.around
        return None


def symbols_of(spec: ast.Spec | None, pieces: tuple[Scanned, ...], length: int) -> Symbols:
    """The symbols of a tree, and of the statements among ``pieces`` that are not in it, as far as their heads tell."""
    walker = _Walker(Span(0, length))
    walker.unparsed(spec, pieces)
    if spec is not None:
        walker.file(spec)
    occurrences = {occurrence.span: occurrence for occurrence in walker.occurrences}
    words = {word.span: word for word in walker.words if word.span not in occurrences}
    return Symbols(
        tuple(occurrences[span] for span in sorted(occurrences)), tuple(words[span] for span in sorted(words))
    )


Local = Mapping[str, Symbol]


class _Walker:
    """Walks a tree with the names in scope."""

    def __init__(self, region: Span) -> None:
        self.occurrences: list[Occurrence] = []
        self.words: list[Word] = []
        self.whole = _Part(region, {})
        self._repeats: dict[Span, _Part] = {}

    # ------------------------------------------------------------ statements that do not parse

    def unparsed(self, spec: ast.Spec | None, pieces: tuple[Scanned, ...]) -> None:
        """The names that the heads of broken statements declare."""
        parsed = {tree.span.start for tree in ast.walk(spec) if isinstance(tree, ast.Statement)} if spec else set()
        for place, piece in enumerate(pieces):
            if piece.first and piece.text in STATEMENT_WORDS and piece.span.start not in parsed:
                for name in _names_of_head(pieces, place):
                    symbol = Symbol(name.text, piece.text, name.span, self.whole.region)
                    self._declare(self.whole, symbol)

    def _declare(self, part: _Part, symbol: Symbol) -> Symbol:
        first = part.names.setdefault(symbol.name, symbol)
        self.occurrences.append(Occurrence(symbol.span, symbol, "declaration"))
        return first

    # ------------------------------------------------------------ parts of a file

    def file(self, spec: ast.Spec) -> None:
        """The whole file."""
        if spec.name.text:
            region = Span(spec.name.span.start, spec.name.span.start)
            self._declared_as(Symbol(spec.name.text, "network", spec.name.span, region, spec))
        self._collect(self.whole, spec.statements)
        self._statements(self.whole, spec.statements)

    def _declared_as(self, symbol: Symbol) -> None:
        self.occurrences.append(Occurrence(symbol.span, symbol, "declaration"))

    def _collect(self, part: _Part, statements: Iterable[ast.Statement], owner: str = "") -> None:
        """Declare the names of a part before anything reads them."""
        for statement in statements:
            for name, kind, tree in declared(statement):
                if not isinstance(statement, ast.Repeat):  # its states are declared in it, and read around it
                    self._declare(part, Symbol(name.text, kind, name.span, part.region, tree, owner))
            match statement:
                case ast.Layer(name=name, body=body):
                    part.layers.setdefault(name.text, inner := _Part(statement.span, {}, part))
                    self._collect(inner, body, name.text)
                case ast.Repeat(body=body):
                    inner = _Part(statement.span, {}, part)
                    self._collect(inner, body, owner)
                    part.layers = {**inner.layers, **part.layers}
                    outside = {key: symbol for key, symbol in inner.names.items() if symbol.kind in ("state", "layer")}
                    part.names = {**outside, **part.names}
                    self._repeats[statement.span] = inner
                case ast.Preset(name=name):
                    self._declared_as(Symbol(name.text, "preset", name.span, Span(0, 0), statement))

    def _statements(self, part: _Part, statements: Iterable[ast.Statement]) -> None:
        for statement in statements:
            self._statement(part, statement)

    def _statement(self, part: _Part, statement: ast.Statement) -> None:
        match statement:
            case ast.Definitions(items=items):
                for item in items:
                    self._expr(part, item.value, {})
            case ast.Data():
                self._data(part, statement)
            case ast.Inputs(items=inputs):
                for clamp in inputs:
                    self._dims(part, [*clamp.dims, clamp.kind])
                    if clamp.source is not None:
                        self._field(part, clamp.source, {})
            case ast.Params(items=params):
                for param in params:
                    self._param(part, param)
            case ast.Noise(dims=dims, law=law):
                self._dims(part, dims)
                self._law(part, law)
            case ast.States(items=states):
                for state in states:
                    self._dims(part, state.dims)
                    self._domains(part, state.domains)
            case ast.Equation():
                self._equation(part, statement)
            case ast.Function():
                self._function(part, statement)
            case ast.Layer(name=name, body=body):
                self._statements(part.layers.get(name.text, part), body)
            case ast.Repeat(count=count, body=body):
                self._dims(part, [count])
                self._statements(self._repeats[statement.span], body)
            case ast.Settings(dim=dim, pairs=pairs, word=word):
                self._dims(part, [dim])
                for pair in pairs:
                    self._setting(part, pair, word, pair.key)
            case ast.Preset(pairs=pairs):
                for pair in pairs:
                    self._preset(part, pair)

    # ------------------------------------------------------------ declarations

    def _read(self, symbol: Symbol | None, span: Span, role: Role = "read") -> None:
        if symbol is not None:
            self.occurrences.append(Occurrence(span, symbol, role))

    def _dims(self, part: _Part, names: Iterable[ast.Name | None]) -> None:
        for name in names:
            if name is not None:
                self._read(part.find(name.text), name.span)

    def _param(self, part: _Part, item: ast.ParamItem) -> None:
        self._dims(part, item.dims)
        self._law(part, item.law)
        if item.value is not None:
            self._expr(part, item.value, {})
        self._domains(part, item.domains)

    def _law(self, part: _Part, law: ast.Law | None) -> None:
        if law is not None:
            self.words.append(Word(law.name.span, "law", law.name.text))
            for argument in law.arguments:
                self._expr(part, argument.value, {})

    def _domains(self, part: _Part, domains: Iterable[ast.Box | ast.NamedSet]) -> None:
        for domain in domains:
            match domain:
                case ast.Box(low=low, high=high):
                    self._expr(part, low, {})
                    self._expr(part, high, {})
                case ast.NamedSet(name=name, dims=dims):
                    self.words.append(Word(name.span, "set", name.text))
                    self._dims(part, dims)

    def _data(self, part: _Part, data: ast.Data) -> None:
        self.words.append(Word(data.adapter.span, "adapter", data.adapter.text))
        for pair in data.pairs:
            self.words.append(Word(pair.key[0].span, "option", pair.key[0].text, data.adapter.text))
            self._value(part, pair.value, data.adapter.text)

    # ------------------------------------------------------------ equations

    def _equation(self, part: _Part, equation: ast.Equation) -> None:
        left = equation.left
        if equation.word in (*OF_STATES, "force"):
            self._read(part.find(left.name.text), left.name.span, "write")
        local = self._bound(part, ((b.name, b.dim) for b in left.indices or ()), {}, equation.span)
        self._expr(part, equation.right, local)

    def _function(self, part: _Part, function: ast.Function) -> None:
        local: dict[str, Symbol] = {}
        for names, kind in ((function.indices or (), "index"), (function.arguments, "argument")):
            for name in names:
                local[name.text] = self._local(name, kind, function.span, function)
        self._expr(part, function.body, local)

    def _local(self, name: ast.Name, kind: str, region: Span, tree: ast.Tree | None = None) -> Symbol:
        symbol = Symbol(name.text, kind, name.span, region, tree)
        self._declared_as(symbol)
        return symbol

    def _bound(
        self, part: _Part, binders: Iterable[tuple[ast.Name, ast.Name | None]], around: Local, region: Span
    ) -> dict[str, Symbol]:
        """The names in scope inside of a bracket that binds indices."""
        local = dict(around)
        for name, dim in binders:
            self._dims(part, [dim])
            outer = local.get(name.text)
            if outer is not None and isinstance(outer.tree, ast.Function) and dim is None:
                self._read(outer, name.span)  # a function works along its own index
            else:
                local[name.text] = self._local(name, "index", region)
        return local

    def _expr(self, part: _Part, expr: ast.Expr, local: Local) -> None:
        match expr:
            case ast.Apply():
                self._apply(part, expr, local)
            case ast.Field():
                self._field(part, expr, local)
            case _:
                for child in ast.children(expr):
                    if isinstance(child, ast.Expr):
                        self._expr(part, child, local)

    def _apply(self, part: _Part, expr: ast.Apply, local: Local) -> None:
        name = expr.name
        bare = expr.slots is None and expr.arguments is None
        symbol = local.get(name.text) if bare else None
        symbol = symbol or part.find(name.text)
        if symbol is None or (expr.arguments is not None and name.text in RESERVED_FUNCTIONS):
            if name.text in CONSTANTS:
                self.words.append(Word(name.span, "constant", name.text))
            elif name.text in LANGUAGE_FUNCTIONS or name.text in ("training", "batch"):
                self.words.append(Word(name.span, "function", name.text))
        else:
            self._read(symbol, name.span)
        inner = self._slots(part, expr, local)
        if expr.guard is not None:
            self._expr(part, expr.guard, inner)
        for argument in expr.arguments or ():
            if argument.keyword is not None:
                self.words.append(Word(argument.keyword.span, "option", argument.keyword.text, name.text))
            self._expr(part, argument.value, inner)

    def _slots(self, part: _Part, expr: ast.Apply, local: Local) -> Local:
        """Read the slots of a bracket; the names in scope behind it."""
        slots = expr.slots or ()
        plain = [ast.plain_name(slot.expr) for slot in slots]
        binds = expr.arguments is not None and expr.name.text in INDEXED and expr.name.text not in NORMALISERS
        if binds and [name.text for name in plain if name is not None] != ["batch"]:
            binders = [(name, slot.dim) for name, slot in zip(plain, slots, strict=True) if name is not None]
            return self._bound(part, binders, local, expr.span)
        for slot in slots:
            self._dims(part, [slot.dim])
            self._expr(part, slot.expr, local)
        return local

    def _field(self, part: _Part, expr: ast.Field, local: Local) -> None:
        owner = part.find(expr.owner.text)
        self._read(owner, expr.owner.span)
        layer = part.layer(expr.owner.text)
        if owner is not None and owner.kind == "layer" and layer is not None:
            self._read(layer.names.get(expr.field.text), expr.field.span)
        else:
            self.words.append(Word(expr.field.span, "field", expr.field.text, expr.owner.text))
        for slot in expr.slots or ():
            self._expr(part, slot.expr, local)

    # ------------------------------------------------------------ settings

    def _preset(self, part: _Part, pair: ast.Pair) -> None:
        first, *rest = pair.key
        layer = part.layer(first.text)
        if not rest:
            self._read(part.find(first.text), first.span)
            self._value(part, pair.value, first.text)
        elif layer is not None:
            self._read(part.find(first.text), first.span)
            self.words.append(Word(rest[0].span, "block", rest[0].text))
            self._setting(layer, pair, rest[0].text, tuple(rest[1:]))
        else:
            self.words.append(Word(first.span, "block", first.text))
            self._setting(part, pair, first.text, tuple(rest))

    def _setting(self, part: _Part, pair: ast.Pair, block: str, key: tuple[ast.Name, ...]) -> None:
        """``step``, ``step.y``, ``lr.memory.W``: the rest of a key behind its block, and the value."""
        if not key:
            return
        self.words.append(Word(key[0].span, "setting", key[0].text, block))
        for name in key[1:]:
            self._read(part.find(name.text), name.span)
            part = part.layer(name.text) or part
        self._value(part, pair.value, f"{block}.{key[0].text}")

    def _value(self, part: _Part, value: ast.Value, owner: str) -> None:
        match value:
            case ast.WordValue(span=span, word=word):
                symbol = part.find(word)
                names = ("dim", "const", *_ANSWERS)
                if symbol is not None and symbol.kind in names and (symbol.kind not in _ANSWERS or _names(owner)):
                    self._read(symbol, span)
                else:
                    self.words.append(Word(span, "value", word, owner))
            case ast.CallValue(span=span, word=word, pairs=pairs):
                head = Span(span.start, span.start + len(word))
                self.words.append(Word(head, "value", word, owner))
                for pair in pairs:
                    self.words.append(Word(pair.key[0].span, "option", pair.key[0].text, word))
                    self._value(part, pair.value, f"{word}.{pair.path}")
            case ast.ListValue(items=items):
                for item in items:
                    self._value(part, item, owner)


def _names(owner: str) -> bool:
    """Whether the value of a setting, or of a keyword of a metric, names what a network answers."""
    return owner in ("train.metrics", "train.best") or owner.partition(".")[0] in SCORES


def _names_of_head(pieces: tuple[Scanned, ...], place: int) -> Iterator[Scanned]:
    """The names that a statement declares, by its head: all of a declaration, the first one of an equation."""
    word, depth, expected = pieces[place].text, 0, True
    if word in (*OF_STATES, "relax", "nudge", "train", "network", "preset"):
        return
    for piece in pieces[place + 1 :]:
        if piece.first and piece.text in STATEMENT_WORDS:
            return
        if piece.kind == "word" and expected and not depth and piece.text not in STATEMENT_WORDS:
            yield piece
            if word not in DECLARATION_WORDS or word == "data":
                return
        expected = piece.text == "," and not depth
        depth = max(depth + (piece.text in OPENERS) - (piece.text in CLOSERS), 0)
