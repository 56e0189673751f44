"""The data that feed each clamp and target of a network: opened, bound to their names, and divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from energyc.language.diagnostics import Given, Mapped, Spoken, UserError, listed, spoken
from energyc.language.network import Binding, DataInput, Network
from energyc.running.data import Dataset, FieldSchema, Schema, find_adapter, open_dataset
from energyc.running.data.errors import WrongSize
from energyc.running.data.in_memory import Parts, dataset_of, is_array, is_samples
from energyc.running.data.named_arrays import described, held_by, lacking, read_arrays, shown, suggested
from energyc.running.data.validate import check_dataset
from energyc.running.runs.data_arguments import DIRECT, DataArguments, is_dataset
from energyc.running.training.division import WHOLE, Division, Part
from energyc.running.training.feeds import Feed, Feeds, Field


def feeds_of(
    network: Network,
    datasets: Mapping[str, Dataset],
    division: Division = WHOLE,
    direct: Mapping[str, Field] = MappingProxyType({}),
) -> Feeds:
    """Return the field of each clamp and target, and how samples are divided; ``direct`` are fed otherwise than bound.

    Raises UserError if there is no field, or if its size does not fit.
    """
    for kind, inputs in (("clamp", network.clamps), ("target", network.targets)):
        for name, item in inputs.items():
            if name in direct:
                continue
            if item.source is None:
                bind = f"bind it: {kind} {name} = BINDING.FIELD; or give it: {{}}"
                help_text = spoken(bind, Given(None, "module:factory", f'{{"{name}": ...}}'))
                raise UserError(f"nothing feeds the {kind} {name}", code="E0904", help=help_text)
            binding, field = item.source
            if not item.fits and datasets[binding].schema.fields.get(field) != field_of(network, item):
                message = f"the sizes that were set do not fit {binding}.{field}, which feeds the {kind} {name}"
                change = f"set the options of `data {binding}` too,"
                flags, keywords = f"--set {binding}.OPTION=V", f'settings={{"{binding}.OPTION": V}}'
                remedy = Spoken(f"{change} {flags}, or leave the sizes", f"{change} {keywords}, or leave the sizes")
                raise UserError(message, code="E0603", help=remedy)
    sources = {name: item.source for name, item in {**network.clamps, **network.targets}.items()}
    fields: dict[str, Field] = {name: source for name, source in {**sources, **direct}.items() if source is not None}
    clamps = {name: fields[name] for name in network.clamps}
    targets = {name: fields[name] for name in network.targets}
    shapes = {name: field_of(network, item).shape for name, item in {**network.clamps, **network.targets}.items()}
    return Feeds(datasets, clamps, targets, division, shapes)


def feed_of(
    network: Network, given: DataArguments, seed: int, *, split: Part = "test", division: Division = WHOLE
) -> Feed:
    """Return one part of the data of a network, on the CPU in float64. Raises UserError."""
    datasets, direct = opened(network, given, seed)
    return Feed(feeds_of(network, datasets, division, direct), split, "cpu", torch.float64)


def field_of(network: Network, item: DataInput) -> FieldSchema:
    """The schema of the field that a clamp or target is fed by, at the sizes that were set."""
    sizes = network.extents
    shape = tuple(sizes[dim] for dim in item.node.dims)
    return FieldSchema(shape, "integer", sizes[item.node.over]) if item.node.over else FieldSchema(shape)


# -------------------------------------------------------------------- opening


def opened(network: Network, given: DataArguments, seed: int) -> tuple[dict[str, Dataset], dict[str, Field]]:
    """The datasets of the bindings, and the fields that feed clamps and targets directly. Raises UserError."""
    datasets: dict[str, Dataset] = {}
    arrays = given.arrays
    given, fed = _placed(network, given)
    inputs = {**network.clamps, **network.targets}
    read = {item.source[0] for name, item in inputs.items() if item.source is not None and name not in fed}
    for name, binding in network.bindings.items():
        if not fed or name in read:
            datasets[name] = _open(network, name, binding, given, seed)
    if given.direct is not None:
        schema = Schema({field: field_of(network, inputs[field]) for _, field in fed.values()})
        datasets[DIRECT] = dataset_of(DIRECT, schema, given.direct, arrays)
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
        given = _with_direct(given, Parts(arrays, unread=unread))
    elif given.direct is not None and given.names:
        given = _with_direct(given, given.direct.mapped(given.names, inputs))
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
        return replace(given, things={binding: given.direct}), {}
    known = f"the inputs are {listed(inputs)}" + (f", the fields {listed(sorted(fields))}" if fields else "")
    raise UserError(
        f"the data have {listed(map(str, names)) or 'no names'}, which feed nothing: {known}",
        code="E0932",
        help="give a dict of arrays: {" + ", ".join(f'"{name}": ...' for name in inputs) + "}",
    )


def _with_direct(given: DataArguments, samples: Parts) -> DataArguments:
    return replace(given, things={**given.things, DIRECT: samples})


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
    thing = given.things.get(name)
    if isinstance(thing, Parts):
        inputs = (*network.clamps.values(), *network.targets.values())
        read = [item for item in inputs if item.source is not None and item.source[0] == name]
        schema = Schema({item.source[1]: field_of(network, item) for item in read if item.source is not None})
        return dataset_of(name, schema, thing)
    if is_dataset(thing):
        return check_dataset(thing)
    path = thing if isinstance(thing, str) else None
    adapter = find_adapter(binding.adapter) if path is not None or thing is None else thing
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
