"""Guarded reductions of arrays, for the reference interpreter; a complex entry counts by its real part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
