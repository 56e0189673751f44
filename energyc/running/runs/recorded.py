"""Whether ``run.json`` is of the spec that is beside it, whatever it says of itself.

What it records of the network is compared with the network before anything of it is used: the params and their shapes,
what feeds each clamp and target, and the names of terms, layers and data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from energyc.language.network import DataInput, Network
from energyc.running.folder.fit import refuse
from energyc.running.folder.formats import RunInfo
from energyc.running.runs.data_arguments import DIRECT


def refuse_other_record(info: RunInfo, network: Network) -> None:
    """Raise UserError E0514, with the first thing that is wrong, if ``run.json`` is not of this network.

    Only what it records is compared: a run of an older version may have recorded less.
    """
    refuse(_wrong(info, network), "run.json")


def _wrong(info: RunInfo, network: Network) -> Iterator[str]:
    name = info.get("network", network.name)
    if name != network.name:
        yield f"it is of the network {name}"
    if "params" in info:
        yield from _wrong_params(info["params"], network)
    if "bindings" in info:
        fed = info["bindings"]
        yield from _wrong_bindings("clamps", fed.get("clamps", {}), network.clamps)
        yield from _wrong_bindings("targets", fed.get("targets", {}), network.targets)
    for kind, names in (("energies", network.energies), ("forces", network.forces), ("layers", network.layers)):
        if kind in info:
            yield from _other_names(kind, info[kind], names)  # type: ignore[literal-required]
    yield from _unknown_data(info, network)


def _wrong_params(saved: Mapping[str, Sequence[int]], network: Network) -> Iterator[str]:
    yield from _other_names("params", saved, network.params)
    for name, param in network.params.items():
        shape = [network.extents[dim] for dim in param.node.dims]
        if list(saved[name]) != shape:
            yield f"{name} {list(saved[name])} instead of {shape}"


def _wrong_bindings(kind: str, saved: Mapping[str, Sequence[str]], inputs: Mapping[str, DataInput]) -> Iterator[str]:
    """Data that a program gave by the names of inputs may feed any of them."""
    yield from _other_names(kind, saved, inputs)
    for name, item in inputs.items():
        if saved[name][0] != DIRECT and tuple(saved[name]) != item.source:
            fed = "nothing" if item.source is None else ".".join(item.source)
            yield f"{name} is fed by {'.'.join(saved[name])} instead of {fed}"


def _unknown_data(info: RunInfo, network: Network) -> Iterator[str]:
    known = {*network.bindings, DIRECT}
    for kind in ("data", "given"):
        unknown = sorted(info.get(kind, {}).keys() - known)  # type: ignore[attr-defined]
        if unknown:
            yield f"there are no data {', '.join(unknown)}"


def _other_names(kind: str, saved: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    differing = sorted(set(saved) ^ set(names))
    if differing:
        yield f"its {kind} differ in {', '.join(differing)}"
