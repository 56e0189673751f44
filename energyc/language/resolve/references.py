"""The binding of names: each place where a name stands in a spec, with its declaration.

One pass over the tree, for editors alone: it needs the declared names of each part of a file and nothing that was read
of their equations. A mistake in a statement therefore hides none of its names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from energyc.language.diagnostics import Span
from energyc.language.resolve.blocks import LayerPart, Part, RepeatPart
from energyc.language.resolve.names import OF_STATES, declared
from energyc.language.resolve.words import INDEXED, NORMALISERS, RESERVED_FUNCTIONS
from energyc.language.settings.scores import SCORES
from energyc.language.syntax import ast

#: The places where the indices and arguments around an expression are declared.
Local = Mapping[str, Span]
#: The kinds that a word may name in every setting, and those that some settings alone ask for.
_NUMBERS, _ANSWERS = ("dim", "const"), ("metric", "readout", "target")


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
    """The declarations of a file by their places, and for each place that reads a name the place of its declaration."""

    declarations: dict[Span, Declaration] = field(default_factory=dict)
    places: dict[Span, Span] = field(default_factory=dict)

    def declare(self, name: ast.Name, kind: str, region: Span, tree: ast.Tree | None = None, owner: str = "") -> None:
        """Note a declaration; what is noted of its place already stays."""
        if name.span not in self.declarations:
            self.declarations[name.span] = Declaration(name.text, kind, name.span, region, tree, owner)

    def note(self, place: Span, declared: Span) -> None:
        """Note that the name at a place is the one that is declared at another."""
        self.places.setdefault(place, declared)


def references_of(whole: Part) -> References:
    """The references of a file, whose parts have collected their names."""
    references, spec = References(), whole.file.spec
    if spec.name.text:
        start = spec.name.span.start
        references.declare(spec.name, "network", Span(start, start), spec)
    _Binder(references, whole).bind(Span(0, len(whole.file.reporter.source.text)))
    return references


@dataclass
class _Binder:
    """Binds the names of one part of a file."""

    references: References
    part: Part

    def bind(self, region: Span) -> None:
        """Note the names of the part, which can be read in a region, and of the blocks in it."""
        for statement in self.part.statements:
            for name, kind, tree in declared(statement):
                self.references.declare(name, kind, region, tree, self.part.owner.removesuffix("."))
        for statement in self.part.statements:
            self._statement(statement)
        for block in self.part.blocks:
            _Binder(self.references, block).bind(block.tree.span)

    def _statement(self, statement: ast.Statement) -> None:
        match statement:
            case ast.Function():
                self._function(statement)
            case ast.Settings(word=word, dim=dim, pairs=pairs):
                self._read(*([] if dim is None else [dim]))
                for pair in pairs:
                    self._pair(pair, word, pair.key)
            case ast.Preset(name=name, pairs=pairs):
                self.references.declare(name, "preset", Span(0, 0), statement)
                for pair in pairs:
                    self._preset(pair)
            case ast.Data(pairs=pairs):
                for pair in pairs:
                    self._value(pair.value)
            case ast.Equation():
                self._equation(statement)
            case ast.Repeat(count=count):
                self._read(count)
            case ast.Layer():
                pass
            case _:
                self._declarations(statement)

    def _read(self, *names: ast.Name) -> None:
        """Note declared names where they stand."""
        for name in names:
            if (entry := self.part.names.get(name.text)) is not None:
                self.references.note(name.span, entry.span)

    # ------------------------------------------------------------ declarations and equations

    def _declarations(self, statement: ast.Statement) -> None:
        for tree in ast.walk(statement):
            match tree:
                case ast.InputItem(dims=dims, kind=kind):
                    self._read(*dims, *([] if kind is None else [kind]))
                case (
                    ast.ParamItem(dims=dims)
                    | ast.StateItem(dims=dims)
                    | ast.NoiseItem(dims=dims)
                    | ast.NamedSet(dims=dims)
                ):
                    self._read(*dims)
                case ast.Field(owner=name) | ast.Apply(name=name):
                    self._read(name)

    def _equation(self, equation: ast.Equation) -> None:
        left = equation.left
        if equation.word in (*OF_STATES, "force"):
            self._read(left.name)
        binders = [(binder.name, binder.dim) for binder in left.indices or ()]
        self._expression(equation.right, self._bound(binders, {}, equation.span))

    def _function(self, function: ast.Function) -> None:
        local: dict[str, Span] = {}
        for names, kind in ((function.indices or (), "index"), (function.arguments, "argument")):
            for name in names:
                self.references.declare(name, kind, function.span, function)
                local[name.text] = name.span
        along = frozenset(name.text for name in function.indices or ())
        self._expression(function.body, local, along)

    def _bound(
        self,
        binders: Iterable[tuple[ast.Name, ast.Name | None]],
        around: Local,
        region: Span,
        along: frozenset[str] = frozenset(),
    ) -> Local:
        """The names around an expression in a bracket; one of ``along`` is the index of the function that it is in."""
        bound: dict[str, Span] = {}
        for name, dim in binders:
            if dim is not None:
                self._read(dim)
            if name.text in along and dim is None:
                self.references.note(name.span, around[name.text])
            else:
                self.references.declare(name, "index", region)
                bound.setdefault(name.text, name.span)
        return {**around, **bound}

    def _expression(self, expr: ast.Expr, local: Local, along: frozenset[str] = frozenset()) -> None:
        """Every name of an expression, without recursion along it."""
        pending = [(expr, local)]
        while pending:
            tree, around = pending.pop()
            match tree:
                case ast.Apply():
                    pending += self._apply(tree, around, along)
                case ast.Field():
                    self._field(tree)
                    pending += [(slot.expr, around) for slot in tree.slots or ()]
                case _:
                    pending += [(child, around) for child in ast.children(tree) if isinstance(child, ast.Expr)]

    def _apply(self, expr: ast.Apply, local: Local, along: frozenset[str]) -> Iterator[tuple[ast.Expr, Local]]:
        """Note the name of an element or call; the expressions inside of it, with the names around them."""
        name, slots = expr.name, expr.slots or ()
        if expr.slots is None and expr.arguments is None and name.text in local:
            self.references.note(name.span, local[name.text])
        elif expr.arguments is None or name.text not in RESERVED_FUNCTIONS:
            self._read(name)
        inner = local
        if _binds(expr):
            plain = [(ast.plain_name(slot.expr), slot.dim) for slot in slots]
            inner = self._bound([(i, dim) for i, dim in plain if i is not None], local, expr.span, along)
        else:
            yield from ((slot.expr, local) for slot in slots)
        yield from ((inside, inner) for inside in (expr.guard,) if inside is not None)
        yield from ((argument.value, inner) for argument in expr.arguments or ())

    def _field(self, expr: ast.Field) -> None:
        self._read(expr.owner)
        entry, layer = self.part.names.get(expr.owner.text), _layer_of(self.part, expr.owner.text)
        if entry is not None and entry.kind == "layer" and layer is not None and expr.field.text in layer.names.own:
            _Binder(self.references, layer)._read(expr.field)

    # ------------------------------------------------------------ settings, which are read by their paths

    def _preset(self, pair: ast.Pair) -> None:
        """``N = 8``, ``relax.steps = 3``, ``block.relax.step.z = 1``."""
        first, *rest = pair.key
        layer = _layer_of(self.part, first.text) if rest else None
        if not rest:
            self._read(first)
            self._value(pair.value)
        elif layer is not None:
            self._owner(first)._pair(pair, rest[0].text, rest[1:])
        else:
            self._pair(pair, first.text, rest)

    def _pair(self, pair: ast.Pair, block: str, key: Sequence[ast.Name]) -> None:
        """``step``, ``step.y``, ``lr.memory.W``: the rest of a key behind its block, and the value."""
        here = self
        for name in key[1:]:
            here = here._owner(name)
        self._value(pair.value, f"{block}.{key[0].text}" if key else block)

    def _owner(self, name: ast.Name) -> _Binder:
        """Note a state, a param or a layer that a setting is for; the part that the rest of the key is about."""
        layer = _layer_of(self.part, name.text)
        if layer is None:
            self._read(name)
            return self
        self.references.note(name.span, layer.tree.name.span)
        return _Binder(self.references, layer)

    def _value(self, value: ast.Value, owner: str = "") -> None:
        """The dims, consts and answers that a value names; ``owner`` is its setting, or the call it is in."""
        match value:
            case ast.WordValue(span=span, word=word):
                entry = self.part.names.get(word)
                asked = owner in ("train.metrics", "train.best") or owner in SCORES
                if entry is not None and entry.kind in (*_NUMBERS, *(_ANSWERS if asked else ())):
                    self.references.note(span, entry.span)
            case ast.CallValue(word=word, pairs=pairs):
                for pair in pairs:
                    self._value(pair.value, word)
            case ast.ListValue(items=items):
                for item in items:
                    self._value(item, owner)


def _binds(expr: ast.Apply) -> bool:
    """Whether the bracket of a call binds its indices."""
    if expr.arguments is None or expr.name.text not in INDEXED or expr.name.text in NORMALISERS:
        return False
    names = [ast.plain_name(slot.expr) for slot in expr.slots or ()]
    return all(name is None or name.text != "batch" for name in names)


def _layer_of(part: Part, name: str) -> LayerPart | None:
    """A layer by its name: of a part, of a repeat in it, or around it."""
    layers = {name: layer for repeat in part.repeats for name, layer in repeat.layers.items()} | part.layers
    if name in layers:
        return layers[name]
    return _layer_of(part.around, name) if isinstance(part, LayerPart | RepeatPart) else None
