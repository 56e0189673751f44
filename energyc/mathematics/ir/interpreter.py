"""The reference interpreter: what a graph means, in NumPy float64 (or complex128), slow and obvious.

Every other back end is judged by it. A batched node's array has the batch as its first axis, an unbatched one's has
none. Indicators are dense. In a product an indicator's zero absorbs: what it excludes may be infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.expressions import NoRule
from energyc.mathematics.ir.indexing import IndexExpr
from energyc.mathematics.ir.node import TRUTHS, Input, Node, walk
from energyc.mathematics.ir.nodes import (
    Add,
    ArgMax,
    BatchStatistic,
    Einsum,
    Function,
    Guard,
    Indicator,
    LogSumExp,
    Map,
    Max,
    Operand,
    Position,
    Reduction,
    Softmax,
    Stop,
)

#: Products above which a sum of them is taken in pairs of factors, and the numbers of what lies between.
LARGE, ROOM = 2**14, 2**25

Array = NDArray[Any]
Key = tuple[str, str]
Inputs = Mapping[str, Any] | Mapping[Key, Any] | Mapping[str | Key, Any]


def key(node: Input) -> Key:
    """The ``(kind, name)`` of an input, for inputs of two kinds that share a name."""
    return node.kind, node.name


def evaluate(
    roots: Sequence[Node],
    inputs: Inputs,
    *,
    sizes: Mapping[str, int],
    values: Mapping[str, float] | None = None,
    known: Mapping[Node, Array] | None = None,
) -> list[Array]:
    """The arrays of ``roots``, each ``[batch, *dims]`` or ``[*dims]`` where the node is not batched.

    ``inputs`` holds each input under its name, or under ``key(node)``; a relation is a dense array of truth values.
    ``sizes`` gives the dims and ``values`` the consts that coefficients hold; ``known`` gives the arrays of nodes that
    are not to be computed. Raises KeyError for an input that is missing, ValueError for one of a wrong shape or an
    integer outside its dim.
    """
    run = _Run(inputs, sizes, {**(values or {}), **sizes}, dict(known or {}))
    with np.errstate(all="ignore"):
        for node in walk(roots, run.done):
            run.done[node] = run.array(node)
    return [run.done[root] for root in roots]


@dataclass(frozen=True)
class _Run:
    """One evaluation: the inputs, the sizes, the numbers that coefficients hold, and what is computed so far."""

    inputs: Mapping[Any, Any]
    sizes: Mapping[str, int]
    numbers: Mapping[str, float]
    done: dict[Node, Array]

    def shape(self, dims: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.sizes[dim] for dim in dims)

    def array(self, node: Node) -> Array:
        match node:
            case Input():
                return self.input(node)
            case Indicator():
                return self.index_value(node, node.condition)
            case Position():
                return self.index_value(node, node.value)
            case Einsum():
                return self.einsum(node)
            case Add():
                return self.add(node)
            case Map():
                return self.map(node.function, self.done[node.argument])
            case Reduction():
                return self.reduction(node)
            case Stop():
                return self.done[node.argument]
            case BatchStatistic():
                statistic = np.median if node.kind == "median" else np.mean
                return np.asarray(statistic(self.done[node.argument], axis=0))
        raise NoRule("interpreter", node)

    # ------------------------------------------------------------ leaves

    def input(self, node: Input) -> Array:
        value = self.inputs.get(key(node), self.inputs.get(node.name))
        if value is None:
            raise KeyError(f"no value for {node.kind} {node.name}")
        array = np.asarray(value)
        shape = self.shape(node.dims)
        if array.ndim != len(shape) + node.batched or array.shape[node.batched :] != shape:
            expected = ("batch", *shape) if node.batched else shape
            raise ValueError(f"{node.kind} {node.name} has the shape {list(array.shape)}, not {list(expected)}")
        if node.over == TRUTHS:
            return (array != 0).astype(np.float64)
        if node.over is not None:
            return self.integers(node, array)
        return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)

    def integers(self, node: Input, array: Array) -> Array:
        integers = array.astype(np.int64)
        size = self.sizes[node.over or ""]
        if np.any(integers != array) or np.any(integers < 0) or np.any(integers >= size):
            raise ValueError(f"{node.kind} {node.name} must hold integers from 0 to {size - 1}")
        return integers

    def index_value(self, node: Indicator | Position, expr: IndexExpr) -> Array:
        shape = self.shape(node.dims)
        grid = [np.arange(n).reshape([n if j == k else 1 for j in range(len(shape))]) for k, n in enumerate(shape)]
        array = np.asarray(self.index(expr, grid), dtype=np.float64)
        batch = array.shape[: array.ndim - len(shape)] if node.batched else ()
        return np.broadcast_to(array, (*batch, *shape))

    def index(self, expr: IndexExpr, grid: Sequence[Array]) -> Any:
        match expr.op:
            case "axis":
                return grid[expr.args[0]]  # type: ignore[index]
            case "int":
                return expr.args[0]
            case "size":
                return self.sizes[expr.args[0]]  # type: ignore[index]
            case "true":
                return True
            case "read" | "related":
                return self.element(expr, grid)
        parts = [self.index(part, grid) for part in expr.parts]
        return INDEX_OPERATIONS[expr.op](*parts)

    def element(self, expr: IndexExpr, grid: Sequence[Array]) -> Array:
        """An element of an integer input, or whether a relation holds; -1, or false, at a place outside of it."""
        source = expr.args[0]
        assert isinstance(source, Input)
        array = self.done[source]
        ones = np.ones([1] * len(grid), dtype=np.int64)
        places = np.broadcast_arrays(ones, *(np.asarray(self.index(part, grid)) for part in expr.parts))[1:]
        shape = self.shape(source.dims)
        inside = np.all([(p >= 0) & (p < n) for p, n in zip(places, shape, strict=True)], axis=0)
        clipped = tuple(np.clip(p, 0, n - 1) for p, n in zip(places, shape, strict=True))
        if source.batched:  # places that are a sample's own have the batch in front already
            samples = np.arange(len(array)).reshape(-1, *[1] * len(grid))
            elements = array[samples, *clipped]
        else:
            elements = array[clipped]
        if not places:
            elements = elements.reshape((*array.shape[: source.batched], *ones.shape))
        return inside & (elements != 0) if expr.op == "related" else np.where(inside, elements, -1)

    # ------------------------------------------------------------ sums of products

    def einsum(self, node: Einsum) -> Array:
        operands = node.operands
        product = self.summed(node, [(self.done[o.node], self.axes(node, o)) for o in operands])
        if not np.all(np.isfinite(product)) and (masks := self.masks(node)):
            product = self.absorbed(node, masks)
        return self.spread(node, product * node.coefficient.number(self.numbers))

    def axes(self, node: Einsum, operand: Operand) -> list[int]:
        """The labels of an operand's array; the batch is one more label."""
        return [len(node.labels)] * operand.node.batched + list(operand.axes)

    def present(self, node: Einsum) -> list[int]:
        """The labels of the result before broadcasts."""
        labels = {a for o in node.operands for a in o.axes}
        return [len(node.labels)] * node.batched + [a for a in node.out if a in labels]

    def summed(self, node: Einsum, factors: Sequence[tuple[Array, list[int]]]) -> Array:
        if not factors:
            return np.asarray(1.0)
        if len(factors) == 1 and factors[0][1] == self.present(node):
            return factors[0][0]
        arguments = [part for factor in factors for part in factor]
        return np.asarray(np.einsum(*arguments, self.present(node), optimize=self.path(node, len(factors))))

    def path(self, node: Einsum, factors: int) -> bool | tuple[str, int]:
        """How a product is summed: as NumPy does it, or where that may take long, in pairs as large as ``ROOM``."""
        products = math.prod(self.sizes[dim] for dim in node.labels)
        return ("greedy", ROOM) if products > LARGE else factors > 2

    def masks(self, node: Einsum) -> list[tuple[Array, list[int]]]:
        """The indicators among the operands, and the guards of its softmaxes, whose zeros absorb too."""
        masks: list[tuple[Array, list[int]]] = []
        for operand in node.operands:
            axes = self.axes(node, operand)
            if isinstance(operand.node, Indicator):
                masks.append((self.done[operand.node], axes))
            elif isinstance(operand.node, Softmax | ArgMax) and (guard := operand.node.guard):
                inner = Operand(guard.indicator, tuple(operand.axes[a] for a in guard.axes))
                masks.append((self.done[guard.indicator], self.axes(node, inner)))
        return masks

    def absorbed(self, node: Einsum, masks: list[tuple[Array, list[int]]]) -> Array:
        """The product over every label at once, with zeros wherever a mask is zero."""
        labels = [*range(len(node.labels)), *([len(node.labels)] if node.batched else [])]
        product: Array = np.asarray(1.0)
        for operand in node.operands:
            product = product * aligned(self.done[operand.node], self.axes(node, operand), labels)
        for mask, axes in masks:
            product = np.where(aligned(mask, axes, labels) != 0, product, 0.0)
        full = [label for label in labels if product.shape[labels.index(label)] > 1 or label in self.present(node)]
        product = product.reshape([n for n, label in zip(product.shape, labels, strict=True) if label in full])
        return np.asarray(np.einsum(product, full, self.present(node)))

    def spread(self, node: Einsum, array: Array) -> Array:
        present = self.present(node)
        shape = [self.sizes[dim] for dim in node.dims]
        batch = list(array.shape[:1]) if node.batched else []
        if array.shape == (*batch, *shape):
            return array
        ones = [n if label in present else 1 for n, label in zip(shape, node.out, strict=True)]
        return np.broadcast_to(array.reshape(batch + ones), batch + shape)

    def add(self, node: Add) -> Array:
        return np.asarray(sum(c.number(self.numbers) * self.done[n] for c, n in node.terms))

    # ------------------------------------------------------------ functions and reductions

    def map(self, function: Function, argument: Array) -> Array:
        if function.slope is None:
            return function.entry.value(argument)
        if function.primitive is None:
            raise ValueError(f"the potential {function.name} has no closed form")
        return np.broadcast_to(self.body(function.primitive, argument), argument.shape)

    def body(self, root: Node, argument: Array) -> Array:
        """A scalar body at each element of the argument; what does not hold the argument is computed apart."""
        lifted: dict[Node, Array] = {}
        for node in walk([root]):
            if isinstance(node, Input) and node.kind == "argument":
                lifted[node] = argument
            elif any(child in lifted for child in node.children):
                parts = [lifted[n] if n in lifted else self.closed(n, argument.ndim) for n in node.children]
                lifted[node] = self.elementwise(node, parts)
        return lifted[root] if root in lifted else self.closed(root, argument.ndim)

    def elementwise(self, node: Node, parts: Sequence[Array]) -> Array:
        match node:
            case Einsum() if not node.labels:
                return math.prod(parts[1:], start=parts[0]) * node.coefficient.number(self.numbers)
            case Add():
                factors = (c.number(self.numbers) for c, _ in node.terms)
                return np.asarray(sum(c * part for c, part in zip(factors, parts, strict=True)))
            case Map():
                return self.map(node.function, parts[0])
            case Stop():
                return parts[0]
        raise TypeError(f"{node!r} is not a function of one scalar")

    def closed(self, node: Node, axes: int) -> Array:
        array = evaluate([node], self.inputs, sizes=self.sizes, values=self.numbers)[0]
        return array.reshape(array.shape + (1,) * (axes - array.ndim))

    def reduction(self, node: Reduction) -> Array:
        argument = self.done[node.argument]
        mask = self.mask(node, node.guard)
        argument, mask = np.broadcast_arrays(argument, mask)
        axes = tuple(a + argument.ndim - len(node.argument.dims) for a in node.axes)
        match node:
            case Softmax():
                return softmax(argument, mask, axes)
            case LogSumExp():
                return logsumexp(argument, mask, axes)
            case ArgMax():
                return first_largest(argument, mask, axes).astype(np.float64)
            case Max():
                return np.where(first_largest(argument, mask, axes), argument, 0.0).sum(axes)
        raise NoRule("interpreter", node)

    def mask(self, node: Reduction, guard: Guard | None) -> Array:
        if guard is None:
            return np.asarray(True)
        batch = [-1] * guard.indicator.batched
        axes = [*batch, *guard.axes]
        return aligned(self.done[guard.indicator], axes, [*batch, *range(len(node.argument.dims))]) != 0


#: What each operation of an index expression means.
INDEX_OPERATIONS: Mapping[str, Any] = MappingProxyType(
    {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "neg": np.negative,
        "abs": np.abs,
        "floor_div": np.floor_divide,
        "mod": np.mod,
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
        "and": lambda *parts: np.logical_and.reduce(np.broadcast_arrays(*parts)),
        "or": lambda *parts: np.logical_or.reduce(np.broadcast_arrays(*parts)),
        "not": np.logical_not,
    }
)


# ---------------------------------------------------- guarded reductions: a complex entry counts by its real part


def aligned(array: Array, axes: Sequence[int], labels: Sequence[int]) -> Array:
    """An array with the axes ``labels``, of length 1 where it has none; a label that it has twice is its diagonal."""
    distinct = sorted(set(axes), key=labels.index)
    diagonal = np.asarray(np.einsum(array, [labels.index(a) for a in axes], [labels.index(a) for a in distinct]))
    sizes = dict(zip(distinct, diagonal.shape, strict=True))
    return diagonal.reshape([sizes.get(label, 1) for label in labels])


def _shifted_exponentials(argument: Array, mask: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    largest = np.max(np.where(mask, argument.real, -np.inf), axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return np.where(mask, np.exp(np.where(mask, argument - largest, 0.0)), 0.0), largest


def softmax(argument: Array, mask: Array, axes: tuple[int, ...]) -> Array:
    """Weights of the entries that the mask lets in; 0 of the others, and everywhere where it lets none in."""
    weights, _ = _shifted_exponentials(argument, mask, axes)
    return np.where(mask, weights / weights.sum(axes, keepdims=True), 0.0)


def logsumexp(argument: Array, mask: Array, axes: tuple[int, ...]) -> Array:
    """Of the entries that the mask lets in; 0 where it lets none in."""
    weights, largest = _shifted_exponentials(argument, mask, axes)
    result = np.log(weights.sum(axes)) + largest.squeeze(axes)
    return np.where(mask.any(axes), result, 0.0)


def first_largest(argument: Array, mask: Array, axes: tuple[int, ...]) -> Array:
    """True at the first of the largest guarded entries, by real part, in the order of the axes."""
    largest = np.max(np.where(mask, argument.real, -np.inf), axis=axes, keepdims=True)
    hit = np.moveaxis(mask & (argument.real == largest), axes, range(-len(axes), 0))
    flat = hit.reshape(*hit.shape[: hit.ndim - len(axes)], -1)
    first = (np.cumsum(flat, axis=-1) == 1) & flat
    return np.moveaxis(first.reshape(hit.shape), range(-len(axes), 0), axes)
