"""Starts of standardized states that do not differ along the set: what is standardized there is rounding alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import prod

import numpy as np
from numpy.typing import NDArray

from energyc.language.network import Network, State
from energyc.language.resolve.reporter import Reporter, listed
from energyc.mathematics.ir import Input, Node, walk
from energyc.mathematics.ir.interpreter import evaluate, key

#: Starts of more numbers are not evaluated.
MOST = 1_000_000
#: How many entries of a dim are looked at first.
FEW = 4
#: What differs by less, relative to the largest number, differs by rounding.
ROUNDING = 1e-12


def check_starts(network: Network, reporter: Reporter) -> None:
    """Warn of each start that is the same along the dims along which its state is standardized."""
    for part in (network, *(layer.network for layer in network.layers.values())):
        for name, state in part.states.items():
            if _is_constant(part, state):
                assert state.constraint is not None
                along = listed([state.node.dims[axis] for axis in state.constraint.axes])
                message = f"the start of `{name}` does not differ along {along}, along which it is standardized"
                help = f"start from what differs along {along}, as a clamp, or a param drawn at random"
                reporter.warn("W0402", message, state.span, "what is left of its start is rounding", help=help)


def _is_constant(network: Network, state: State) -> bool:
    """Whether a start that is given, and is not 0, has no variance; found at one value of each of its inputs.

    At a few entries of each dim most starts are seen to differ; what does not, or cannot be cut so, is looked at whole.
    """
    kept, start = state.constraint, state.start
    if kept is None or kept.kind != "standardized" or start is None:
        return False
    few = {dim: min(size, FEW) for dim, size in network.extents.items()}
    with suppress(ValueError, IndexError, KeyError):
        if not _has_no_variance(network, state, start, few):
            return False
    if any(prod(network.extents[dim] for dim in node.dims) > MOST for node in walk([start])):
        return False
    return _has_no_variance(network, state, start, network.extents)


def _has_no_variance(network: Network, state: State, start: Node, sizes: Mapping[str, int]) -> bool:
    inputs = {key(node): _generic(node, sizes) for node in walk([start]) if isinstance(node, Input)}
    (value,) = evaluate([start], inputs, sizes=sizes, values=network.values)
    assert state.constraint is not None
    axes = tuple(axis + start.batched for axis in state.constraint.axes)
    return bool(value.any()) and bool((np.ptp(value, axis=axes) <= ROUNDING * np.abs(value).max()).all())


def _generic(node: Input, sizes: Mapping[str, int]) -> NDArray[np.float64]:
    """Values of an input of which no two are alike, as far as there are so many."""
    shape = ((1,) if node.batched else ()) + tuple(sizes[dim] for dim in node.dims)
    places = np.arange(prod(shape)).reshape(shape)
    if node.kind == "flag":
        return np.asarray(True)
    if node.over is not None:
        return np.asarray(places % sizes[node.over])
    return np.asarray(1.25 + np.sin(1.7 * places + 0.3))
