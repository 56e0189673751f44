"""Data bindings: their options in plain values, and the schemas that say what fields and sizes they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from energyc.diagnostics import Label, UserError
from energyc.resolve.names import Names
from energyc.resolve.network import Binding, Call
from energyc.resolve.reporter import Reporter, did_you_mean, listed
from energyc.syntax import ast

if TYPE_CHECKING:
    from energyc.resolve.sizes import Sizes


class Field(Protocol):
    """Shape and kind of a field of one sample."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape without a batch axis."""
        ...

    @property
    def kind(self) -> str:
        """``real`` or ``integer``."""
        ...

    @property
    def classes(self) -> int | None:
        """An integer field's values run over ``range(classes)``."""
        ...


class Schema(Protocol):
    """What a binding offers."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Its fields, each a :class:`Field`."""
        ...

    @property
    def sizes(self) -> Mapping[str, int]:
        """Its sizes."""
        ...


Schemas = Callable[[str, Mapping[str, Any]], Schema]


@dataclass
class Bindings:
    """The bindings of a file; a schema is asked for when it is first needed."""

    names: Names
    reporter: Reporter
    schemas: Schemas | None
    sizes: Sizes | None = None
    made: dict[str, Binding] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _schemas: dict[str, Schema | None] = field(default_factory=dict)

    def compute(self) -> None:
        """Every binding with its options and schema."""
        for entry in self.names.of_kind("data"):
            self.schema(entry.name)

    def schema(self, name: str) -> Schema | None:
        """What a binding offers; None where that is wrong or not known."""
        if name not in self._schemas:
            self._schemas[name] = self._find(name)
        return self._schemas[name]

    def _find(self, name: str) -> Schema | None:
        tree = self.names.entries[name].tree
        assert isinstance(tree, ast.Data)
        options = {pair.path: self.option(pair.value) for pair in tree.pairs}
        self.made[name] = Binding(name, tree.adapter.text, options, tree.span)
        if self.schemas is None or None in options.values():
            return None
        try:
            return self.schemas(tree.adapter.text, options)
        except UserError as error:
            self.reporter.error("E0601", error.message, tree.span, help=error.help)
            return None

    def option(self, value: ast.Value) -> object:
        """A setting's value in plain Python; a word that names a dim or const is its number (None: a wrong one)."""
        match value:
            case ast.NumberValue(number=number):
                return number
            case ast.WordValue(word=word):
                return self._word(word)
            case ast.CallValue(word=word, pairs=pairs):
                return Call(word, {pair.path: self.option(pair.value) for pair in pairs})
            case ast.ListValue(items=items):
                return [self.option(item) for item in items]
        raise TypeError(f"no rule for {value!r}")

    def _word(self, word: str) -> object:
        entry = self.names.get(word)
        assert self.sizes is not None
        if entry is not None and entry.kind == "dim":
            self.sizes.used.add(word)
            size = self.sizes.size(word)
            return size
        if entry is not None and entry.kind == "const":
            self.sizes.used.add(word)
            const = self.sizes.const(word)
            return None if const is None else (const.value if const.exact is None else const.exact)
        return word

    # ------------------------------------------------------------ what a spec asks of a binding

    def size(self, expr: ast.Field) -> int | None:
        """``text.vocabulary`` in a dim; reported and None where there is no such size."""
        schema = self._of(expr)
        if schema is None:
            return None
        if expr.field.text in schema.sizes:
            return schema.sizes[expr.field.text]
        self._unknown(expr, "size", schema.sizes)
        return None

    def field(self, expr: ast.Field) -> Field | None:
        """``digits.image`` of a clamp or target; reported and None where there is no such field."""
        schema = self._of(expr)
        if schema is None:
            return None
        if expr.field.text in schema.fields:
            found: Field = schema.fields[expr.field.text]
            return found
        self._unknown(expr, "field", schema.fields)
        return None

    def _of(self, expr: ast.Field) -> Schema | None:
        entry = self.names.get(expr.owner.text)
        if entry is None or entry.kind != "data":
            known = [e.name for e in self.names.of_kind("data")]
            said = (
                f"`{expr.owner.text}` is {entry.spoken}, not a data binding"
                if entry
                else f"there is no data binding `{expr.owner.text}`"
            )
            self.reporter.error("E0602", said, expr.owner.span, help=did_you_mean(expr.owner.text, known))
            return None
        self.used.add(entry.name)
        return self.schema(entry.name)

    def _unknown(self, expr: ast.Field, what: str, known: Mapping[str, object]) -> None:
        entry = self.names.entries[expr.owner.text]
        self.reporter.error(
            "E0602",
            f"`{entry.name}` has no {what} `{expr.field.text}`",
            expr.field.span,
            labels=[Label(entry.span, "bound here")],
            help=did_you_mean(expr.field.text, known, f"it has {listed(f'`{k}`' for k in known)}" if known else None),
        )
