"""Open the bindings of a spec, at the paths of arguments or of a run, or at the data that ship with energyc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from energyc.data import Dataset, find_adapter, open_dataset
from energyc.diagnostics import UserError
from energyc.resolve import Network
from energyc.train.division import WHOLE, Division
from energyc.train.feeds import Feeds, Field


def data_paths(network: Network, arguments: Sequence[str]) -> dict[str, str]:
    """Return the path of each binding from ``--data``: a path if the spec has one binding, else ``binding=path``.

    Raises UserError if the binding of a path is unclear, or if there is no path.
    """
    paths: dict[str, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (equals and name in network.bindings):
            name, path = _only_binding(network, argument), argument
        if not path:
            message = f"--data {argument or repr(argument)} gives no path"
            raise UserError(message, code="E0903", help=_data_help(network))
        paths[name] = str(Path(path).absolute())
    return paths


def _only_binding(network: Network, argument: str) -> str:
    """Return the binding of a bare path; ``foo=PATH`` is a misspelt binding unless there is such a file."""
    name, equals, _ = argument.partition("=")
    misspelt = equals and name.isidentifier() and not Path(argument).exists()
    if misspelt or len(network.bindings) != 1:
        raise UserError(f"--data {argument} names no data of this spec", code="E0903", help=_data_help(network))
    return next(iter(network.bindings))


def _data_help(network: Network) -> str:
    if not network.bindings:
        return "the spec has no data line"
    return "write " + " or ".join(f"--data {name}=PATH" for name in network.bindings)


def open_data(network: Network, paths: Mapping[str, str], seed: int) -> dict[str, Dataset]:
    """Open every binding, at its path or at the data that ship with it. Raises UserError."""
    return {
        name: open_dataset(find_adapter(binding.adapter), binding.options, paths.get(name), seed=seed)
        for name, binding in network.bindings.items()
    }


def feeds_of(network: Network, datasets: Mapping[str, Dataset], division: Division = WHOLE) -> Feeds:
    """Return the field of each clamp and target, and how samples are divided.

    Raises UserError if there is no field, or if its size does not fit.
    """
    for kind, inputs in (("clamp", network.clamps), ("target", network.targets)):
        for name, item in inputs.items():
            if item.source is None:
                help_text = f"bind it: {kind} {name} = BINDING.FIELD"
                raise UserError(f"nothing feeds the {kind} {name}", code="E0904", help=help_text)
            if not item.fits:
                message = f"the sizes that were set do not fit {'.'.join(item.source)}, which feeds the {kind} {name}"
                raise UserError(message, code="E0603", help="set the options of the data too, or leave the sizes")
    clamps: dict[str, Field] = {name: item.source for name, item in network.clamps.items() if item.source is not None}
    targets: dict[str, Field] = {name: item.source for name, item in network.targets.items() if item.source is not None}
    return Feeds(datasets, clamps, targets, division)
