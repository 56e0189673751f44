"""Data given from Python or on the command line, sorted by kind and by the inputs that they feed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from energyc.language.diagnostics import Given, Mapped, Option, Source, Spoken, UserError, did_you_mean, listed, spoken
from energyc.language.network import Binding, Network
from energyc.language.resolve.bindings import Schemas
from energyc.language.syntax import ast
from energyc.pipeline import parse
from energyc.running.data import Adapter, Dataset, Schema, find_adapter, open_dataset, read_schema
from energyc.running.data.errors import WrongSize
from energyc.running.data.factory import called, made_by, names_factory
from energyc.running.data.in_memory import Parts, dataset_of, is_array, is_samples, parts_of
from energyc.running.data.named_arrays import described, held_by, lacking, read_arrays, shown, suggested
from energyc.running.data.validate import check_dataset
from energyc.running.runs.data import field_of
from energyc.running.training.feeds import Field

#: What the samples are called that feed clamps and targets by their own names.
DIRECT = "data"
#: A binding, or None for all of the data, and what was given for it.
Item = tuple[str | None, Any]


@dataclass(frozen=True)
class DataArguments:
    """Data by binding: paths, adapters, opened datasets, samples; and samples for inputs by their own names.

    ``adapters_of`` are the names of the adapters of all bindings of the spec. What feeds inputs by their own names is
    ``direct``, or the npz at ``arrays``; ``names`` are the arrays of inputs that are named otherwise there.
    """

    adapters_of: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    adapters: Mapping[str, Adapter] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    samples: Mapping[str, Parts] = field(default_factory=dict)
    direct: Parts | None = None
    arrays: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_direct(self) -> bool:
        """Whether something feeds inputs by their own names."""
        return self.direct is not None or self.arrays is not None

    @property
    def origins(self) -> dict[str, str]:
        """The type of what a program gave, by binding; the name of what feeds inputs directly is ``DIRECT``."""
        things = {**self.adapters, **self.datasets, **{name: parts.train for name, parts in self.samples.items()}}
        direct = {} if self.direct is None else {DIRECT: self.direct.train}
        return {name: type(thing).__name__ for name, thing in {**things, **direct}.items()}

    def schemas(self, recorded: Mapping[str, Schema] | None = None) -> Schemas:
        """The schema of an adapter by its name: as it was given or recorded, else that of the registry's."""
        datasets = {self.adapters_of[name]: dataset.schema for name, dataset in self.datasets.items()}
        adapters = {self.adapters_of[name]: adapter for name, adapter in self.adapters.items()}

        def schema(name: str, options: Mapping[str, Any]) -> Schema:
            known = datasets.get(name) or (recorded or {}).get(name)
            return known or read_schema(adapters.get(name) or find_adapter(name), options)

        return schema


# -------------------------------------------------------------------- as they were given


class Data(Protocol):
    """Data that take the place of what a spec binds; false where none were given."""

    def __bool__(self) -> bool: ...

    def read(self, source: Source) -> DataArguments:
        """Return the data by the bindings and inputs of a spec. Raises UserError."""
        ...

    @property
    def described(self) -> tuple[str, ...]:
        """What was given, for a report."""
        ...


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
        """Return the data by the bindings and inputs of a spec. Raises UserError."""
        return of_arguments(source, self)

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
        return of_program(source, self.data, self.test, self.validation, self.names)

    @property
    def described(self) -> tuple[str, ...]:
        """The path, or the type of what was given."""
        return (self.data if isinstance(self.data, str) else type(self.data).__name__,)


NO_DATA = DataFlags()


# -------------------------------------------------------------------- reading


def of_arguments(source: Source, flags: DataFlags) -> DataArguments:
    """The values of ``--data``: paths and names of factories, each perhaps after ``binding=``. Raises UserError."""
    if not flags:
        return DataArguments()
    adapters = adapters_of(source)
    items: list[Item] = []
    for argument in flags.data:
        name, equals, text = argument.partition("=")
        binding, text = (name, text) if equals and name in adapters else (None, argument)
        if not text:
            raise UserError(f"--data {argument or repr(argument)} gives no path", code="E0903", help=_help(adapters))
        items.append((binding, made_by(text) if names_factory(text) else text))
    return _sorted_out(adapters, items, _inputs_of(source), flags.names)


def of_program(
    source: Source,
    data: Any,
    test: Any = None,
    validation: Any = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> DataArguments:
    """The ``data`` of ``energyc.train``, and its ``map`` as ``names``. Raises UserError."""
    if data is None:
        if test is not None or validation is not None:
            raise UserError(
                "test= is given without data=", code="E0932", help="give the training samples too: data=..."
            )
        return _sorted_out(adapters_of(source), [], _inputs_of(source), names)
    adapters = adapters_of(source)
    if not isinstance(data, Mapping) or not data or not set(data) <= set(adapters):
        return _sorted_out(adapters, [(None, _with(data, test, validation))], _inputs_of(source), names)
    for name, part in (("test", test), ("validation", validation)):
        if part is not None and not (isinstance(part, Mapping) and set(part) <= set(data)):
            message = f"{name} is {type(part).__name__}, and data is by binding"
            raise UserError(message, code="E0932", help=f"give {name}={{binding: ...}}")
    held = [(part or {}) for part in (test, validation)]
    items = [(name, _with(value, *(part.get(name) for part in held))) for name, value in data.items()]
    return _sorted_out(adapters, items, _inputs_of(source), names)


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
    """Data by their kinds, with the arrays of ``inputs`` by ``names`` that differ."""
    _refuse_other_names(names, inputs)
    paths: dict[str, str] = {}
    arrays: str | None = None
    found: dict[str, dict[str, Any]] = {"adapters": {}, "datasets": {}, "samples": {}}
    direct: Parts | None = None
    for binding, value in items:
        value = called(value, getattr(value, "__name__", "data")) if not isinstance(value, str | PathLike) else value
        if binding is None and isinstance(value, str | PathLike) and _feeds_inputs(adapters, value, inputs, names):
            _refuse_twice(DIRECT, {DIRECT: None} if arrays is not None else {})
            arrays = str(Path(value).absolute())
            continue
        if isinstance(value, str | PathLike):
            name = binding or _only_binding(adapters, fspath(value))
            _refuse_twice(name, paths)
            paths[name] = str(Path(value).absolute())
            continue
        if isinstance(value, Mapping) and value and binding is None and set(value) <= set(adapters):  # of a factory
            part = _sorted_out(adapters, list(value.items()))
            paths |= part.paths
            found = {kind: {**own, **getattr(part, kind)} for kind, own in found.items()}
            continue
        kind, thing = _kind(value)
        if kind != "samples":
            name = binding or _only_binding(adapters, f"the {type(thing).__name__}")
            _refuse_twice(name, found[kind])
            found[kind][name] = thing
        elif binding is not None:
            _refuse_twice(binding, found[kind])
            found[kind][binding] = thing
        else:
            _refuse_twice(DIRECT, {} if direct is None else {DIRECT: direct})
            direct = thing
    if direct is not None and arrays is not None:
        _refuse_twice(DIRECT, {DIRECT: direct})
    return DataArguments(adapters, paths, **found, direct=direct, arrays=arrays, names=names)


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


def _refuse_twice(name: str, given: Mapping[str, Any]) -> None:
    if name in given:
        help_text = spoken("give {} once for each binding", Option("data"))
        raise UserError(f"{name} is given twice", code="E0903", help=help_text)


def _kind(value: Any) -> tuple[str, Any]:
    """``adapters``, ``datasets`` or ``samples``, and the value itself. Raises UserError where it is not data."""
    if callable(getattr(value, "schema", None)) and callable(getattr(value, "open", None)):
        return "adapters", value
    if isinstance(getattr(value, "schema", None), Schema) and hasattr(value, "split"):
        return "datasets", value
    if isinstance(value, Parts):
        if isinstance(value.train, str | PathLike) or _kind(value.train)[0] != "samples":
            message = f"{_shown(value.train)} has a test part of its own"
            raise UserError(message, code="E0932", help="leave out test= and validation=")
        return "samples", value
    if isinstance(value, Mapping) or is_array(value) or is_samples(value) or hasattr(value, "__iter__"):
        return "samples", parts_of(value)
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


# -------------------------------------------------------------------- opening


def opened(network: Network, given: DataArguments, seed: int) -> tuple[dict[str, Dataset], dict[str, Field]]:
    """The datasets of the bindings, and the fields that feed clamps and targets directly. Raises UserError."""
    datasets: dict[str, Dataset] = {}
    given, fed = _placed(network, given)
    inputs = {**network.clamps, **network.targets}
    read = {item.source[0] for name, item in inputs.items() if item.source is not None and name not in fed}
    for name, binding in network.bindings.items():
        if not fed or name in read:
            datasets[name] = _open(network, name, binding, given, seed)
    if given.direct is not None:
        schema = Schema({field: field_of(network, inputs[field]) for _, field in fed.values()})
        datasets[DIRECT] = dataset_of(DIRECT, schema, given.direct, given.arrays)
    _refuse_other_fields(network, datasets, fed)
    return datasets, fed


def _refuse_other_fields(network: Network, datasets: Mapping[str, Dataset], fed: Mapping[str, Field]) -> None:
    """Raise UserError E0915 where the fields of opened data are not those that the network was compiled for."""
    for name, item in {**network.clamps, **network.targets}.items():
        if item.source is None or name in fed or not item.fits:
            continue
        binding, field = item.source
        wanted, found = field_of(network, item), datasets[binding].schema.fields.get(field)
        if found is None or not found.fills(wanted):
            message = f"{binding}.{field}, which feeds {name}, is {found}, and the network was compiled for {wanted}"
            raise UserError(message, code="E0915", help="give the data that the run was made with")


def _placed(network: Network, given: DataArguments) -> tuple[DataArguments, dict[str, Field]]:
    """Samples without a binding feed inputs by their names, or are the fields of the only binding."""
    inputs = {**network.clamps, **network.targets}
    wanted = wanted_by(network)
    if given.arrays is not None:
        arrays, unread = read_arrays(given.arrays, wanted, given.names)
        given = replace(given, direct=Parts(arrays, unread=unread))
    elif given.direct is not None and given.names:
        given = replace(given, direct=given.direct.mapped(given.names, inputs))
    if given.direct is None:
        if given.names:
            idle = spoken("{} feeds nothing: no data are given without a binding", Mapped(given.names))
            raise UserError(idle, code="E0903", help=spoken("give them: {}", Given(None, "mine.npz")))
        return given, {}
    names = _names(given.direct.train)
    fields = {item.source[1] for item in inputs.values() if item.source is not None}
    if names is None:
        return given, {name: (DIRECT, name) for name in inputs}
    known_fields = fields if len(network.bindings) == 1 else set()
    by_input, by_field = set(names) & set(inputs), set(names) & known_fields
    if by_input and len(by_input) >= len(by_field):
        if (unknown := [name for name in names if name not in inputs]) and by_input != set(inputs):
            lack = listed(name for name in inputs if name not in names)
            message = f"the data have {listed(map(str, unknown))}, which feeds nothing, and lack {lack}"
            raise UserError(message, code="E0932", help=f"the inputs are {described(wanted)}")
        return given, {name: (DIRECT, name) for name in inputs if name in names}
    if by_field:
        (binding,) = network.bindings
        return replace(given, samples={binding: given.direct}, direct=None), {}
    known = f"the inputs are {listed(inputs)}" + (f", the fields {listed(sorted(fields))}" if fields else "")
    raise UserError(
        f"the data have {listed(map(str, names)) or 'no names'}, which feed nothing: {known}",
        code="E0932",
        help="give a dict of arrays: {" + ", ".join(f'"{name}": ...' for name in inputs) + "}",
    )


def _names(samples: Any) -> list[str] | None:
    """The names in some samples: the keys of arrays, or of the first sample; None where there are none."""
    if isinstance(samples, Mapping):
        return list(samples)
    if is_samples(samples) and not isinstance(samples, tuple) and not is_array(samples):
        try:
            first = samples[0]
        except Exception:  # reported with its sample when it is opened
            return None
        return list(first) if isinstance(first, Mapping) else None
    return None


def _open(network: Network, name: str, binding: Binding, given: DataArguments, seed: int) -> Dataset:
    if name in given.samples:
        inputs = (*network.clamps.values(), *network.targets.values())
        read = [item for item in inputs if item.source is not None and item.source[0] == name]
        schema = Schema({item.source[1]: field_of(network, item) for item in read if item.source is not None})
        return dataset_of(name, schema, given.samples[name])
    if name in given.datasets:
        return check_dataset(given.datasets[name])
    adapter, path = given.adapters.get(name) or find_adapter(binding.adapter), given.paths.get(name)
    try:
        return open_dataset(adapter, binding.options, path, seed=seed)
    except WrongSize as error:
        raise _to_be_set(binding, error) from None
    except UserError as error:
        if path is None or error.code not in ("E0913", "E0914"):
            raise
        raise _or_own(network, binding, path, error) from None


def _to_be_set(binding: Binding, error: WrongSize) -> UserError:
    """The error for data of other sizes, with what sets these: a dim that is an option, or the option itself."""
    if not error.sizes:
        return error
    dims = {dim: size for option, size in error.sizes.items() if (dim := binding.dims.get(option))}
    options = {f"{binding.name}.{option}": n for option, n in error.sizes.items() if option not in binding.dims}
    flags = " ".join(f"--set {name}={size}" for name, size in {**dims, **options}.items())
    keywords = ", ".join(f"{name}={given!r}" for name, given in (("dims", dims), ("settings", options)) if given)
    help_text = Spoken(f"give {flags}{error.otherwise}", f"give {keywords}{error.otherwise}")
    return UserError(error.message, code=error.code, help=help_text)


def _or_own(network: Network, binding: Binding, path: str, error: UserError) -> UserError:
    """The error of an adapter for a file; of an npz whose arrays fit the inputs, what would feed these."""
    wanted = wanted_by(network)
    own = f"an npz of your own has an array for each input: {described(wanted)}"
    if not (held := held_by(path)):
        return error if Path(path).exists() else UserError(error.message, code=error.code, help=f"{error.help}; {own}")
    if set(suggested(wanted, held, {})) | (set(held) & set(wanted.fields)) >= set(wanted.fields):
        return lacking(path, [name for name in wanted.fields if name not in held], held, wanted, {})
    return UserError(
        error.message,
        code=error.code,
        help=f"it holds {shown(held)}; {own}; for {binding.adapter}, {error.help}",
    )


def wanted_by(network: Network) -> Schema:
    """The fields that the inputs of a network want, by the inputs' names."""
    return Schema({name: field_of(network, item) for name, item in {**network.clamps, **network.targets}.items()})
