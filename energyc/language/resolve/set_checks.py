"""Checks of states against their sets, by evaluating: where they start, and what they are clamped to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.language.diagnostics import Label, listed
from energyc.language.network import ConstraintSet, Network, State
from energyc.language.resolve.reporter import Reporter
from energyc.language.syntax import ast
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


#: The number of samples that are tried, and of entries above which none is.
TRIES, LARGEST = 4, 10**7
#: How far rounding may take a value off its set.
NEAR = 1e-9

Array = NDArray[Any]


def check_clamped(network: Network, reporter: Reporter) -> None:
    """Report values that no sample decides, and values off their set that integers alone lead to."""
    for name, node in network.clamped.items():
        read = [n for n in walk([node]) if isinstance(n, Input)]
        tree = _equation(network, name)
        if not any(n.kind in ("target", "clamp") for n in read):
            message = f"`{name}` is clamped to the same values for every sample, which teaches nothing"
            known = [*network.targets, *network.clamps]
            help = f"read a target or a clamp: {listed(known, 'or')}" if known else "declare a `target` and read it"
            reporter.error("E0454", message, tree.right.span, help=help)
        elif (found := _off(network, network.states[name], node, read)) is not None:
            message = f"`{name}` would be clamped off its set: {found}"
            labels = [Label(network.states[name].span, "it stays on its set")]
            help = "clamp it to values of its set, or declare the state with another one"
            reporter.error("E0455", message, tree.right.span, labels=labels, help=help)


def _equation(network: Network, name: str) -> ast.Equation:
    statements = network.tree.statements
    return next(
        s for s in statements if isinstance(s, ast.Equation) and s.word == "clamped" and s.left.name.text == name
    )


def _off(network: Network, state: State, node: Node, read: list[Input]) -> str | None:
    """How a sample leads off the set; None where none that was tried does, and where real inputs have a say."""
    sizes = network.extents
    entries = sum(prod(sizes[dim] for dim in n.dims) for n in walk([node]))
    if state.constraint is None or any(n.over is None for n in read) or entries > LARGEST:
        return None
    random = np.random.default_rng(0)
    for _ in range(TRIES):
        inputs = {n.name: random.integers(sizes[n.over or ""], size=(1, *(sizes[d] for d in n.dims))) for n in read}
        (value,) = evaluate([node], inputs, sizes=sizes, values=network.values)
        found = off_set(np.broadcast_to(value, (1, *(sizes[d] for d in node.dims)))[0], state.constraint)
        if found is not None:
            return found
    return None


def off_set(value: Array, constraint: ConstraintSet) -> str | None:
    """The reason why a value of a state is off its set, in words; None where it lies on it."""
    low, high = constraint.low, constraint.high
    if constraint.kind in ("nonnegative", "simplex"):
        low = 0.0
    for place, number in np.ndenumerate(value):
        outside = (low is not None and number < low - NEAR) or (high is not None and number > high + NEAR)
        if outside or not np.isfinite(number):
            where = f" at [{', '.join(map(str, place))}]" if place else ""
            return f"the value{where} is {number:g}"
    for what, found, wanted in _measures(value, constraint):
        apart = np.abs(found - wanted)
        if apart.max(initial=0.0) > NEAR:
            return f"its {what} is {np.ravel(found)[apart.argmax()]:g}, not {wanted:g}"
    return None


def _measures(value: Array, constraint: ConstraintSet) -> Iterator[tuple[str, Array, float]]:
    """The quantities that are constant on a set, along its axes, beside their required values."""
    match constraint.kind:
        case "simplex":
            yield "sum", value.sum(constraint.axes), 1.0
        case "sphere":
            yield "norm", np.sqrt(np.square(value).sum(constraint.axes)), 1.0
        case "standardized":
            yield "mean", value.mean(constraint.axes), 0.0
            yield "variance", value.var(constraint.axes), 1.0
