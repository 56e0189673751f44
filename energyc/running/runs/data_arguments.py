"""Data given from Python or on the command line, sorted by kind and by the inputs that they feed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Given, Option, Source, Spoken, UserError, listed, spoken
from energyc.language.network import Binding, Network
from energyc.language.resolve.bindings import Schemas
from energyc.language.syntax import ast
from energyc.pipeline import parse
from energyc.running.data import Adapter, Dataset, Schema, find_adapter, open_dataset, read_schema
from energyc.running.data.factory import called, made_by, names_factory
from energyc.running.data.in_memory import Parts, dataset_of, is_array, is_samples, parts_of
from energyc.running.data.named_arrays import named_arrays
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

    ``adapters_of`` are the names of the adapters of all bindings of the spec; ``arrays`` is the npz of ``direct``.
    """

    adapters_of: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    adapters: Mapping[str, Adapter] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    samples: Mapping[str, Parts] = field(default_factory=dict)
    direct: Parts | None = None
    arrays: str | None = None

    @property
    def origins(self) -> dict[str, str]:
        """The type of what a program gave, by binding; the name of what feeds inputs directly is ``DIRECT``."""
        things = {**self.adapters, **self.datasets, **{name: parts.train for name, parts in self.samples.items()}}
        direct = {} if self.direct is None or self.arrays else {DIRECT: self.direct.train}
        return {name: type(thing).__name__ for name, thing in {**things, **direct}.items()}

    def schemas(self, recorded: Mapping[str, Schema] | None = None) -> Schemas:
        """The schema of an adapter by its name: as it was given or recorded, else that of the registry's."""
        datasets = {self.adapters_of[name]: dataset.schema for name, dataset in self.datasets.items()}
        adapters = {self.adapters_of[name]: adapter for name, adapter in self.adapters.items()}

        def schema(name: str, options: Mapping[str, Any]) -> Schema:
            known = datasets.get(name) or (recorded or {}).get(name)
            return known or read_schema(adapters.get(name) or find_adapter(name), options)

        return schema


# -------------------------------------------------------------------- reading


def of_arguments(source: Source, arguments: Sequence[str]) -> DataArguments:
    """The values of ``--data``: paths and names of factories, each perhaps after ``binding=``. Raises UserError."""
    if not arguments:
        return DataArguments()
    adapters = adapters_of(source)
    items: list[Item] = []
    for argument in arguments:
        name, equals, text = argument.partition("=")
        binding, text = (name, text) if equals and name in adapters else (None, argument)
        if not text:
            raise UserError(f"--data {argument or repr(argument)} gives no path", code="E0903", help=_help(adapters))
        items.append((binding, made_by(text) if names_factory(text) else text))
    return _sorted_out(adapters, items, _inputs_of(source))


def with_arrays(given: DataArguments, source: Source, path: str) -> DataArguments:
    """Data with the npz of a run beside them, which feeds inputs by their names. Raises UserError E0914."""
    inputs = _inputs_of(source)
    if not (arrays := named_arrays(path, inputs)):
        names = listed(inputs)
        message = f"{path}: not the npz that the run was made with; expected one with the arrays {names}"
        raise UserError(message, code="E0914", help=spoken("give it anew: {}", Given(None, python='"PATH"')))
    return replace(given, direct=parts_of(arrays), arrays=path)


def of_program(source: Source, data: Any, test: Any = None, validation: Any = None) -> DataArguments:
    """The ``data`` of ``energyc.train``. Raises UserError."""
    if data is None:
        if test is not None or validation is not None:
            raise UserError(
                "test= is given without data=", code="E0932", help="give the training samples too: data=..."
            )
        return DataArguments()
    adapters = adapters_of(source)
    if not isinstance(data, Mapping) or not data or not set(data) <= set(adapters):
        return _sorted_out(adapters, [(None, _with(data, test, validation))], _inputs_of(source))
    for name, part in (("test", test), ("validation", validation)):
        if part is not None and not (isinstance(part, Mapping) and set(part) <= set(data)):
            message = f"{name} is {type(part).__name__}, and data is by binding"
            raise UserError(message, code="E0932", help=f"give {name}={{binding: ...}}")
    held = [(part or {}) for part in (test, validation)]
    return _sorted_out(adapters, [(n, _with(value, *(part.get(n) for part in held))) for n, value in data.items()])


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


def _sorted_out(adapters: Mapping[str, str], items: Sequence[Item], inputs: Collection[str] = ()) -> DataArguments:
    """Data by their kinds; an npz without a binding that has an array for each of ``inputs`` feeds these."""
    paths: dict[str, str] = {}
    arrays: str | None = None
    found: dict[str, dict[str, Any]] = {"adapters": {}, "datasets": {}, "samples": {}}
    direct: Parts | None = None
    for binding, value in items:
        value = called(value, getattr(value, "__name__", "data")) if not isinstance(value, str | PathLike) else value
        if binding is None and isinstance(value, str | PathLike) and (own := named_arrays(value, inputs)):
            arrays, value = str(Path(value).absolute()), own
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
    return DataArguments(adapters, paths, **found, direct=direct, arrays=arrays)


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
    name, equals, _ = text.partition("=")
    misspelt = equals and name.isidentifier() and not Path(text).exists()
    if misspelt or len(adapters) != 1:
        message = Spoken(f"--data {text} names no data of this spec", f"data: {text} names no data of this spec")
        raise UserError(message, code="E0903", help=_help(adapters))
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
    if given.direct is None:
        return given, {}
    inputs = list({**network.clamps, **network.targets})
    names = _names(given.direct.train)
    fields = {
        item.source[1] for item in (*network.clamps.values(), *network.targets.values()) if item.source is not None
    }
    if names is None:
        return given, {name: (DIRECT, name) for name in inputs}
    known_fields = fields if len(network.bindings) == 1 else set()
    by_input, by_field = set(names) & set(inputs), set(names) & known_fields
    if by_input and len(by_input) >= len(by_field):
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
    except UserError as error:
        if path is None or Path(path).suffix.lower() != ".npz" or error.code not in ("E0913", "E0914"):
            raise
        names = listed([*network.clamps, *network.targets])
        own = f"an npz of your own has an array for each input: {names}"
        raise UserError(error.message, code=error.code, help=f"{own}; for {binding.adapter}, {error.help}") from None
