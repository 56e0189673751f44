"""The networks of this process, by what stands for them in a graph, which holds tensors and plain values alone.

A graph that is compiled here calls one network, by its number. A program that is exported may be loaded in another
process, where numbers mean nothing: it calls any network that a module made and left as it was, and that computes in
the same dtype. With the params of the program, all of these give the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from energyc.runtime import PhaseSettings

_networks: dict[str, WeakValueDictionary[int, Any]] = {}
_numbers = itertools.count()
#: The number that stands for any network of a module.
_ANY = -1
#: What a program may set of how a network relaxes and is nudged; ``last_beta`` is set by the network itself.
_SETTINGS = frozenset(PhaseSettings.__annotations__) | {name for name in vars(PhaseSettings) if name[0] != "_"}
_SETTINGS -= {"last_beta"}


class Handle(NamedTuple):
    """The class of a network with its module, its dtype where any network may be taken, and its number."""

    module: str
    number: int


def introduce(net: Any, module: str) -> Handle:
    """The handle of a network that a module made, for graphs of this process."""
    number = next(_numbers)
    _networks.setdefault(module, WeakValueDictionary())[number] = net
    return Handle(module, number)


def exported(handle: Handle, net: Any) -> Handle:
    """The handle of a network for a program that leaves this process. Raises ValueError for settings that changed."""
    if changed := _changed(net):
        raise ValueError(
            f"an exported program calls {net.name} as it was loaded, and {', '.join(changed)} changed since: give "
            "energyc.load these settings"
        )
    return _anywhere(handle.module, net)


def network(handle: Handle) -> Any:
    """The network of a handle. Raises ValueError where there is none."""
    found = next(iter(_standing_for(handle)), None)
    if found is None:
        raise ValueError(
            "this graph calls a network of energyc that is not in this process: load the same spec first, by "
            "energyc.load, with the same dims, settings, target and dtype, and keep the network"
        )
    return found


def _standing_for(handle: Handle) -> Iterator[Any]:
    """The networks that a handle may stand for."""
    if handle.number != _ANY:
        yield from filter(None, [_networks.get(handle.module, WeakValueDictionary()).get(handle.number)])
        return
    for module, alive in _networks.items():
        yield from (net for net in alive.values() if _anywhere(module, net) == handle and not _changed(net))


def _anywhere(module: str, net: Any) -> Handle:
    return Handle(f"{module} in {net.dtype}", _ANY)


def _changed(net: Any) -> list[str]:
    """The settings of phases that a program gave a network, or a layer of it, after it was made."""
    return sorted({name for part in net.modules() for name in _SETTINGS & vars(part).keys()})
