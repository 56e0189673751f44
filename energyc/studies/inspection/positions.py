"""Position biases: params with a vector of their own for each place of a state, and how alike they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.ir import Einsum, Input, walk
from energyc.studies.inspection.parts import Part


@dataclass(frozen=True)
class Positions:
    """A param of the dims of a state; along ``places`` no param mixes its entries, along the other axes one does."""

    param: str
    state: str
    places: tuple[int, ...]


def find_positions(network: Network) -> list[Positions]:
    """Return the params that add a vector to each place of a state."""
    mixed = _mixed(network)
    found = []
    for state, declared in network.states.items():
        dims = declared.node.dims
        places = tuple(axis for axis, dim in enumerate(dims) if dim not in mixed)
        if 0 < len(places) < len(dims):
            found += [Positions(name, state, places) for name, p in network.params.items() if p.node.dims == dims]
    return found


def _mixed(network: Network) -> set[str]:
    """The dims along which a product sums a param with what has a value for each sample."""
    mixed: set[str] = set()
    for node in walk(network.roots):
        if isinstance(node, Einsum):
            sides = {param: set[int]() for param in (True, False)}
            for operand in node.operands:
                is_param = isinstance(operand.node, Input) and operand.node.kind == "param" and operand.node.dims
                if is_param or operand.node.batched:
                    sides[bool(is_param)] |= set(operand.axes)
            rows = any(len(o.node.dims) > 1 and not o.node.batched for o in node.operands)
            if rows and sides[True] - sides[False]:
                mixed |= {node.labels[k] for k in sides[True] & sides[False] & set(node.contracted)}
    return mixed


def similarity(part: Part, positions: Positions) -> np.ndarray:
    """Return the cosine between the vectors of each two places: [*places, *places]; 0 for a vector of zero."""
    array = part.net.params[positions.param].detach().cpu().double().numpy()
    array = np.moveaxis(array, positions.places, range(len(positions.places)))
    places = array.shape[: len(positions.places)]
    vectors = array.reshape(math.prod(places), -1)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return np.asarray((unit @ unit.T).reshape(*places, *places))
