"""The data that feed each clamp and target of a network, and how samples are divided."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.language.diagnostics import Given, Spoken, UserError, spoken
from energyc.language.network import DataInput, Network
from energyc.running.data import Dataset, FieldSchema
from energyc.running.training.division import WHOLE, Division
from energyc.running.training.feeds import Feeds, Field


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


def field_of(network: Network, item: DataInput) -> FieldSchema:
    """The schema of the field that a clamp or target is fed by, at the sizes that were set."""
    sizes = network.extents
    shape = tuple(sizes[dim] for dim in item.node.dims)
    return FieldSchema(shape, "integer", sizes[item.node.over]) if item.node.over else FieldSchema(shape)
