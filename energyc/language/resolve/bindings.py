"""Data bindings: their options as plain values, and the schemas that list their fields and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from energyc.language.diagnostics import Remedy, UnknownName, UserError, did_you_mean, near, quoted, writing
from energyc.language.network import Binding
from energyc.language.resolve.names import Names
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Sizes
from energyc.language.resolve.values import plain_value
from energyc.language.resolve.words import CONSTANTS
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart, is_module

T = TypeVar("T")


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
    """The fields and sizes that a binding offers."""

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
    """The data bindings of a file; each schema is looked up when it is first needed.

    ``outer`` has the options that a preset (as written) and overrides (plain values) set, by binding.
    """

    names: Names
    reporter: Reporter
    schemas: Schemas | None
    sizes: Sizes = field(init=False)
    bindings: dict[str, Binding] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    outer: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _schemas: dict[str, Schema | None] = field(default_factory=dict)

    def compute(self) -> None:
        """Every binding with its options and schema."""
        for entry in self.names.of_kind("data"):
            self.schema(entry.name)

    def schema(self, name: str) -> Schema | None:
        """The fields and sizes that a binding offers; None where they are wrong or not known."""
        if name not in self._schemas:
            self._schemas[name] = self._schema(name)
        return self._schemas[name]

    def _schema(self, name: str) -> Schema | None:
        tree = self.names.entries[name].tree
        assert isinstance(tree, ast.Data)
        options = {pair.path: self.option(pair.value) for pair in tree.pairs}
        options |= {key: self._outer_option(value) for key, value in self.outer.get(name, {}).items()}
        self.bindings[name] = Binding(name, tree.adapter.text, options, tree.span, self._dims(tree))
        if self.schemas is None or None in options.values():
            return None
        try:
            return self.schemas(tree.adapter.text, options)
        except UserError as error:
            self.reporter.error("E0601", error.message, tree.span, help=_remedy(tree, error))
            return None

    def option(self, value: ast.Value) -> Any:
        """A setting's value in plain Python; a dim or const is its number, or None where that is wrong."""
        return plain_value(value, self._number_or_word)

    def _dims(self, tree: ast.Data) -> dict[str, str]:
        """The dim that an option is, by the option, where nothing else was set for it."""
        words = {pair.path: pair.value.word for pair in tree.pairs if isinstance(pair.value, ast.WordValue)}
        entries = {option: self.names.get(word) for option, word in words.items()}
        outer = self.outer.get(tree.name.text, {})
        return {o: e.name for o, e in entries.items() if e is not None and e.kind == "dim" and o not in outer}

    def _outer_option(self, value: Any) -> Any:
        if isinstance(value, ast.Value):
            return self.option(value)
        return self._number_or_word(value) if isinstance(value, str) else value

    def _number_or_word(self, word: str) -> Any:
        entry = self.names.get(word)
        if entry is None or entry.kind not in ("dim", "const"):
            return word
        self.sizes.used.add(word)
        if entry.kind == "dim":
            return self.sizes.size(word)
        const = self.sizes.const(word)
        return None if const is None else (const.value if const.exact is None else const.exact)

    # ------------------------------------------------------------ fields and sizes

    def size(self, expr: ast.Field) -> int | None:
        """``text.vocabulary`` in a dim; reported and None where there is no such size."""
        schema = self._schema_of(expr)
        return None if schema is None else self._item(expr, "size", schema.sizes)

    def field(self, expr: ast.Field) -> Field | None:
        """``digits.image`` of a clamp or target; reported and None where there is no such field."""
        schema = self._schema_of(expr)
        return None if schema is None else self._item(expr, "field", schema.fields)

    def _schema_of(self, expr: ast.Field) -> Schema | None:
        field = expr.field.text
        number = f"write `{field}`" if field in CONSTANTS else counterpart("names", field)
        number = number if is_module(expr.owner.text) else None
        entry = self.names.find(expr.owner, ("data",), self.reporter, "E0602", number)
        if entry is None:
            return None
        self.used.add(entry.name)
        return self.schema(entry.name)

    def _item(self, expr: ast.Field, what: str, items: Mapping[str, T]) -> T | None:
        name = expr.field.text
        if name in items:
            return items[name]
        entry = self.names.entries[expr.owner.text]
        self.reporter.error(
            "E0602",
            f"`{entry.name}` has no {what} `{name}`",
            expr.field.span,
            labels=[entry.label("bound here")],
            help=did_you_mean(name, items, f"it has {quoted(items)}" if items else None, expr.field.span),
        )
        return None


def _remedy(tree: ast.Data, error: UserError) -> str | None:
    """The help of an adapter, with the fix that writes the adapter or option that was probably meant."""
    if not isinstance(error, UnknownName) or error.help is None:
        return error.help
    places = {tree.adapter.text: tree.adapter.span, **{pair.path: pair.key[-1].span for pair in tree.pairs}}
    meant = near(error.name, error.known)
    return Remedy(error.help, writing(meant[0], places[error.name])) if meant and error.name in places else error.help
