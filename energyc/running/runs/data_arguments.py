"""Data given from Python or on the command line, sorted by kind and by the inputs that they feed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeGuard

from energyc.language.diagnostics import Given, Mapped, Option, Source, Spoken, UserError, did_you_mean, listed, spoken
from energyc.language.resolve.bindings import Schemas
from energyc.language.syntax import ast
from energyc.pipeline import parse
from energyc.running import references
from energyc.running.data import Dataset, Schema, find_adapter, read_schema
from energyc.running.data.in_memory import Parts, is_array, is_samples, parts_of
from energyc.running.data.named_arrays import held_by
from energyc.running.references import Reference

#: What the samples are called that feed clamps and targets by their own names; no binding has this name.
DIRECT = "data"
#: The code of what is wrong with a function that makes data.
FACTORY = "E0931"
#: A binding, or None for all of the data, and what was given for it.
Item = tuple[str | None, Any]


@dataclass(frozen=True)
class DataArguments:
    """What was given by binding: the path of a file, an adapter, an opened dataset, or samples as ``Parts``.

    ``adapters_of`` are the names of the adapters of all bindings of the spec. Under ``DIRECT`` is what feeds inputs by
    their own names, samples or the path of an npz; ``names`` are the arrays of inputs that are named otherwise there.
    """

    adapters_of: Mapping[str, str] = field(default_factory=dict)
    things: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> dict[str, str]:
        """The paths by binding."""
        return {name: thing for name, thing in self.things.items() if isinstance(thing, str) and name != DIRECT}

    @property
    def arrays(self) -> str | None:
        """The path of the npz that feeds inputs by their own names."""
        direct = self.things.get(DIRECT)
        return direct if isinstance(direct, str) else None

    @property
    def direct(self) -> Parts | None:
        """The samples that feed inputs by their own names."""
        direct = self.things.get(DIRECT)
        return direct if isinstance(direct, Parts) else None

    @property
    def providers(self) -> dict[str, Any]:
        """The adapters and opened datasets by binding."""
        return {name: thing for name, thing in self.things.items() if not isinstance(thing, str | Parts)}

    @property
    def origins(self) -> dict[str, str]:
        """The type of what a program gave, by binding; the name of what feeds inputs directly is ``DIRECT``."""
        given = {name: thing for name, thing in self.things.items() if not isinstance(thing, str)}
        return {
            name: type(thing.train if isinstance(thing, Parts) else thing).__name__ for name, thing in given.items()
        }

    def schemas(self, recorded: Mapping[str, Schema] | None = None) -> Schemas:
        """The schema of an adapter by its name: as it was given or recorded, else that of the registry's."""
        given = {self.adapters_of[name]: thing for name, thing in self.providers.items()}

        def schema(name: str, options: Mapping[str, Any]) -> Schema:
            own = given.get(name)
            if is_dataset(own):
                return own.schema
            return (recorded or {}).get(name) or read_schema(own or find_adapter(name), options)

        return schema


# -------------------------------------------------------------------- as they were given


@dataclass(frozen=True)
class DataFlags:
    """``data`` are paths and names of factories; ``names`` are the arrays that feed inputs, by the inputs' names."""

    data: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.data or self.names)

    @staticmethod
    def of(data: tuple[str, ...], pairs: Iterable[str]) -> DataFlags:
        """Return the flags with the texts ``INPUT=ARRAY`` of ``--map``. Raises UserError E0903."""
        names: dict[str, str] = {}
        for pair in pairs:
            name, _, array = pair.partition("=")
            if not name or not array:
                raise UserError(f"--map {pair} names no array", code="E0903", help="write --map INPUT=ARRAY")
            if name in names:
                raise UserError(f"--map gives {name} twice", code="E0903", help="give one array for each input")
            names[name] = array
        return DataFlags(data, names)

    def read(self, source: Source) -> DataArguments:
        """Return what the values name, each perhaps after ``binding=``: paths, and what factories return.

        Raises UserError.
        """
        if not self:
            return DataArguments()
        adapters = adapters_of(source)
        items: list[Item] = []
        for argument in self.data:
            name, equals, text = argument.partition("=")
            binding, text = (name, text) if equals and name in adapters else (None, argument)
            if not text:
                message = f"--data {argument or repr(argument)} gives no path"
                raise UserError(message, code="E0903", help=_help(adapters))
            factory = Reference("--data", text, FACTORY)
            items.append((binding, factory.made(is_made=is_adapter) if factory.is_one else text))
        return _sorted_out(adapters, items, _inputs_of(source), self.names)

    @property
    def described(self) -> tuple[str, ...]:
        """The values of ``--data``."""
        return self.data


@dataclass(frozen=True)
class ProgramData:
    """The ``data``, ``test``, ``validation`` and ``map`` of ``energyc.train`` and other functions."""

    data: Any = None
    test: Any = None
    validation: Any = None
    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.data is not None

    def read(self, source: Source) -> DataArguments:
        """Return the data by the bindings and inputs of a spec. Raises UserError."""
        adapters = adapters_of(source)
        return _sorted_out(adapters, list(self._items(adapters)), _inputs_of(source), self.names)

    def _items(self, adapters: Mapping[str, str]) -> Iterator[Item]:
        """Yield the data with what is held out beside them. Raises UserError."""
        data, held = self.data, {"test": self.test, "validation": self.validation}
        if data is None:
            if any(part is not None for part in held.values()):
                help_text = "give the training samples too: data=..."
                raise UserError("test= is given without data=", code="E0932", help=help_text)
        elif not isinstance(data, Mapping) or not data or not set(data) <= set(adapters):
            yield None, _with(data, *held.values())
        else:
            for name, part in held.items():
                if part is not None and not (isinstance(part, Mapping) and set(part) <= set(data)):
                    message = f"{name} is {type(part).__name__}, and data is by binding"
                    raise UserError(message, code="E0932", help=f"give {name}={{binding: ...}}")
            for name, value in data.items():
                yield name, _with(value, *((part or {}).get(name) for part in held.values()))

    @property
    def described(self) -> tuple[str, ...]:
        """The path, or the type of what was given."""
        return (self.data if isinstance(self.data, str) else type(self.data).__name__,)


#: Data that take the place of what a spec binds; false where none were given.
Data: TypeAlias = DataFlags | ProgramData
NO_DATA = DataFlags()


# -------------------------------------------------------------------- sorting


def _with(value: Any, test: Any, validation: Any) -> Any:
    """Something with what is held out beside it."""
    return value if test is None and validation is None else parts_of(value, test, validation)


def adapters_of(source: Source) -> dict[str, str]:
    """The name of the adapter of each binding of a spec. Raises SpecError where it cannot be parsed."""
    statements = parse(source).statements
    return {s.name.text: s.adapter.text for s in statements if isinstance(s, ast.Data)}


def _inputs_of(source: Source) -> list[str]:
    """The names of a spec's clamps and targets."""
    lines = (s for s in parse(source).statements if isinstance(s, ast.Inputs))
    return [item.name.text for line in lines for item in line.items]


def _sorted_out(
    adapters: Mapping[str, str],
    items: Sequence[Item],
    inputs: Collection[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> DataArguments:
    """Data by their bindings, with the arrays of ``inputs`` by ``names`` that differ."""
    _refuse_other_names(names, inputs)
    things: dict[str, Any] = {}
    for binding, given in items:
        if isinstance(given, str | PathLike):
            feeds_inputs = binding is None and _feeds_inputs(adapters, given, inputs, names)
            name = DIRECT if feeds_inputs else binding or _only_binding(adapters, fspath(given))
            thing: Any = str(Path(given).absolute())
        else:
            value = _called(given)
            if isinstance(value, Mapping) and value and binding is None and set(value) <= set(adapters):  # of a factory
                things |= _sorted_out(adapters, list(value.items())).things
                continue
            thing = _thing(value)
            feeds_inputs = binding is None and isinstance(thing, Parts)
            name = DIRECT if feeds_inputs else binding or _only_binding(adapters, f"the {type(thing).__name__}")
        if name in things:
            help_text = spoken("give {} once for each binding", Option("data"))
            raise UserError(f"{name} is given twice", code="E0903", help=help_text)
        things[name] = thing
    return DataArguments(adapters, things, names)


def _called(value: Any) -> Any:
    """What a function without arguments returns; data that are not a function are returned as they are."""
    if not callable(value) or is_adapter(value):
        return value
    return references.called(value, getattr(value, "__name__", "data"), FACTORY)


def _refuse_other_names(names: Mapping[str, str], inputs: Collection[str]) -> None:
    """Raise UserError E0903 for a ``--map`` of what is not an input, or not by the name of an array."""
    for name, array in names.items():
        if name not in inputs or not isinstance(array, str):
            message = spoken("{} names no input of this spec", Mapped({name: str(array)}))
            help_text = did_you_mean(name, inputs, f"the inputs are {listed(inputs)}" if inputs else "it has none")
            raise UserError(message, code="E0903", help=help_text)


def _feeds_inputs(
    adapters: Mapping[str, str], path: str | PathLike[str], inputs: Collection[str], names: Mapping[str, str]
) -> bool:
    """Whether a path without a binding is an npz for the inputs of the spec, and not for an adapter."""
    if not inputs or _misspells(fspath(path)):
        return False
    if names or not adapters:
        return True
    held = held_by(path)
    return bool(held) and (len(adapters) > 1 or set(inputs) <= set(held))


def _misspells(text: str) -> bool:
    """Whether ``foo=PATH`` stands for a binding, since there is no such file."""
    name, equals, _ = text.partition("=")
    return bool(equals) and name.isidentifier() and not Path(text).exists()


def is_adapter(thing: Any) -> bool:
    """Whether an object, which may also be callable, is an adapter; a class of adapters is called."""
    return hasattr(thing, "schema") and hasattr(thing, "open") and not isinstance(thing, type)


def is_dataset(thing: Any) -> TypeGuard[Dataset]:
    """Whether an object is an opened dataset."""
    return isinstance(getattr(thing, "schema", None), Schema) and hasattr(thing, "split")


def _thing(value: Any) -> Any:
    """An adapter or a dataset as it is, anything else as samples. Raises UserError where it is not data."""
    if callable(getattr(value, "schema", None)) and callable(getattr(value, "open", None)):
        return value
    if is_dataset(value):
        return value
    if isinstance(value, Parts):
        if isinstance(value.train, str | PathLike) or not isinstance(_thing(value.train), Parts):
            message = f"{_shown(value.train)} has a test part of its own"
            raise UserError(message, code="E0932", help="leave out test= and validation=")
        return value
    if isinstance(value, Mapping) or is_array(value) or is_samples(value) or hasattr(value, "__iter__"):
        return parts_of(value)
    help_text = "give a dict of arrays, a torch Dataset, an adapter or a path"
    raise UserError(f"the data are {type(value).__name__}, which is not data", code="E0932", help=help_text)


def _shown(value: Any) -> str:
    return f"the path {fspath(value)}" if isinstance(value, str | PathLike) else f"the {type(value).__name__}"


def _only_binding(adapters: Mapping[str, str], text: str) -> str:
    """The binding of what is given without one; ``foo=PATH`` is a misspelt binding unless there is such a file."""
    if _misspells(text) or not adapters:
        message = Spoken(f"--data {text} names no data of this spec", f"data: {text} names no data of this spec")
        raise UserError(message, code="E0903", help=_help(adapters))
    if len(adapters) > 1:
        which = f"does not say whether it is the data {listed(adapters, 'or')}"
        raise UserError(Spoken(f"--data {text} {which}", f"data: {text} {which}"), code="E0903", help=_help(adapters))
    return next(iter(adapters))


def _help(adapters: Mapping[str, str]) -> str:
    if not adapters:
        return "the spec has no data line; an npz with an array for each input feeds them by their names"
    return spoken(f"write {' or '.join(['{}'] * len(adapters))}", *(Given(name) for name in adapters))
