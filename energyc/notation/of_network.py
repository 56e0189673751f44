"""The notation of a whole network: its lets and ties by name, the spec's own names for indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from energyc.ir import Input, Node
from energyc.notation.notation import Notation

if TYPE_CHECKING:
    from energyc.resolve.network import Network


def of_network(network: Network, further: Mapping[Node, tuple[str, tuple[str, ...]]] | None = None) -> Notation:
    """A notation in which lets and ties go by their names; ``further`` nodes too."""
    names: dict[Node, tuple[str, tuple[str, ...]]] = {}
    for quantity in network.lets.values():
        if not isinstance(quantity.node, Input):
            names.setdefault(quantity.node, (quantity.name, quantity.indices))
    for tie in network.ties.values():
        if not isinstance(tie.node, Input):
            names.setdefault(tie.node, (tie.name, network.index_names.get(tie.node, ())))
    names.update(further or {})
    return Notation(names, network.index_names, network.extents, _declared(network))


def _declared(network: Network) -> frozenset[str]:
    """Every name that means something in the spec, so that no index gets it."""
    tables: tuple[Mapping[str, object], ...] = (
        network.sizes,
        network.consts,
        network.bindings,
        network.clamps,
        network.targets,
        network.params,
        network.ties,
        network.states,
        network.lets,
        network.terms,
        network.readouts,
        network.metrics,
    )
    return frozenset(name for table in tables for name in table)
