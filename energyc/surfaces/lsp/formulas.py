"""The formulas of gradients, as ``energyc explain`` writes them: the force on a state, the local update of a param."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from energyc.derivation.derive import Derivation, derive
from energyc.derivation.notation import Notation, left_side, of_network
from energyc.language.network import Network
from energyc.mathematics.ir import Node
from energyc.surfaces.lsp.reading import Reading
from energyc.surfaces.lsp.symbols import Symbol

#: A longer formula is left to ``energyc explain``.
LONGEST = 1200


@lru_cache(maxsize=8)
def _derived(reading: Reading, layer: str) -> tuple[Network, Derivation, Notation] | None:
    """The derivation of a spec without errors, or of a layer of it; None where that is not one network."""
    network = reading.network
    if network is not None and layer in network.layers:
        network = network.layers[layer].network
    if not reading.ok or network is None or network.blocks:
        return None
    return network, derive(network), of_network(network)


def formulas(reading: Reading, symbol: Symbol) -> list[str]:
    """The force on a state or the update of a param, in the spec's notation; nothing for other names."""
    if symbol.kind not in ("state", "param") or (derived := _derived(reading, symbol.owner)) is None:
        return []
    network, derivation, notation = derived
    if symbol.kind == "state":
        lines = _of_state(symbol.name, derivation, notation)
    else:
        lines = _of_param(symbol.name, network, derivation, notation)
    return [line if len(line) <= LONGEST else f"{line.partition(' = ')[0]}: see `energyc explain`" for line in lines]


def _of_state(name: str, derivation: Derivation, notation: Notation) -> list[str]:
    if name not in derivation.states:
        return []
    node = derivation.force[name]
    indices = notation.indices(derivation.states[name])
    return [f"{left_side(f'F_{name}', indices)} = {notation.text(node, indices)}"]


def _of_param(name: str, network: Network, derivation: Derivation, notation: Notation) -> list[str]:
    if name not in network.params:
        return []
    indices = notation.indices(network.params[name].node)
    return list(_slopes(name, indices, derivation, notation))


def _slopes(name: str, indices: Sequence[str], derivation: Derivation, notation: Notation) -> Iterator[str]:
    param = {name: derivation.params[name]}
    gradients: dict[str, Mapping[str, Node]] = {
        "E": derivation.energy_gradient,
        "(a.F)": derivation.vjp(derivation.user_forces, param),
        "C": derivation.cost_gradient,
    }
    for of, found in gradients.items():
        if name in found:
            yield f"d{of}/d{left_side(name, indices)} = {notation.text(found[name], indices)}"
