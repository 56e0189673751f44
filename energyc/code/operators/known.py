"""The networks of this process by modules and numbers, which stand for them in a graph that holds tensors alone."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

_networks: dict[str, WeakValueDictionary[int, Any]] = {}
_numbers = itertools.count()


class Handle(NamedTuple):
    """The class of a network with its module, and a number of its own in this process."""

    module: str
    number: int


def introduce(net: Any, module: str) -> Handle:
    """The handle of a network that a module made."""
    number = next(_numbers)
    _networks.setdefault(module, WeakValueDictionary())[number] = net
    return Handle(module, number)


def network(handle: Handle) -> Any:
    """The network of a handle, or another one of the same module, as in a process that loads an exported program.

    Raises ValueError where there is none.
    """
    alive = _networks.get(handle.module, WeakValueDictionary[int, Any]())
    found = alive.get(handle.number) or next(iter(alive.values()), None)
    if found is None:
        raise ValueError(
            "this graph calls a network of energyc that is not in this process: load the same spec first, by "
            "energyc.load, with the same dims, settings and target, and keep the network"
        )
    return found
