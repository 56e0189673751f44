"""Checks of what states are clamped to: it comes with the sample, and lies on the state's set."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.language.diagnostics import Label
from energyc.language.network import ConstraintSet, Network, State
from energyc.language.resolve.reporter import Reporter, listed
from energyc.language.syntax import ast
from energyc.mathematics.ir import Input, Node, walk
from energyc.mathematics.ir.interpreter import evaluate

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
