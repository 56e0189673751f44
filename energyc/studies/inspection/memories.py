"""Params that can be looked at: memories as images, and position biases.

The rows of memories are compared with a tensor that is, or is mapped to, an image, or are one. A position bias has a
vector of its own for each place of a state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.ir import Einsum, Indicator, Input, Node, Operand, walk
from energyc.studies.inspection.decode import Decoder
from energyc.studies.inspection.parts import Part

#: Rows that are taken to the image at once.
CHUNK = 16


@dataclass(frozen=True)
class Memories:
    """A param with an index of a row along ``rows``, and of the source of a decoder along its other axes.

    ``features`` gives for each of those the axis of the source. A window of the source may be compared with a row: a
    param's axis is then shorter than that of the source.
    """

    param: str
    decoder: Decoder
    rows: tuple[int, ...]
    features: Mapping[int, int]


def find_memories(network: Network, decoders: Sequence[Decoder]) -> list[Memories]:
    """Return the params with rows that can be shown, each once, in the order of the spec.

    A product sums them against the source of a decoder, or they have the dims of an image among their own.
    """
    by_source = {decoder.source: decoder for decoder in decoders}
    found: dict[str, Memories] = {}
    for node in walk(network.roots):
        for memories in _in_product(node, by_source) if isinstance(node, Einsum) else ():
            found.setdefault(memories.param, memories)
    for decoder in decoders:
        for memories in _with_pixels(network, decoder) if decoder.node is None else ():
            found.setdefault(memories.param, memories)
    return [found[name] for name in network.params if name in found]


def _with_pixels(network: Network, decoder: Decoder) -> Iterator[Memories]:
    """The params with the dims of an image among theirs, in its order, and further ones."""
    wanted = decoder.source.dims
    for name, param in network.params.items():
        features: dict[int, int] = {}
        for axis, dim in enumerate(param.node.dims):
            if len(features) < len(wanted) and dim == wanted[len(features)]:
                features[axis] = len(features)
        rows = tuple(axis for axis in range(len(param.node.dims)) if axis not in features)
        if len(features) == len(wanted) and rows:
            yield Memories(name, decoder, rows, features)


def _in_product(node: Einsum, by_source: Mapping[Node, Decoder]) -> Iterator[Memories]:
    links = [operand.axes for operand in node.operands if isinstance(operand.node, Indicator)]
    for operand in node.operands:
        param = operand.node
        if not isinstance(param, Input) or param.kind != "param":
            continue
        for other in node.operands:
            decoder = by_source.get(other.node)
            if decoder is None or param.name in decoder.params:
                continue
            features = _features(operand, other, links)
            rows = tuple(axis for axis in range(len(param.dims)) if axis not in features)
            if features and rows and all(operand.axes[axis] not in other.axes for axis in rows):
                yield Memories(param.name, decoder, rows, features)


def _features(param: Operand, source: Operand, links: Sequence[tuple[int, ...]]) -> dict[int, int]:
    """The axes of a param that run with an axis of the source, the same or one that an indicator ties to it."""
    features: dict[int, int] = {}
    for axis, label in enumerate(param.axes):
        for other, place in enumerate(source.axes):
            tied = any(label in link and place in link for link in links)
            if (label == place or tied) and other not in features.values():
                features[axis] = other
                break
    return features


def strongest(part: Part, memories: Memories, most: int) -> np.ndarray:
    """Return the numbers of the rows of largest norm, at most so many, in falling order; all in order if they fit."""
    rows = _rows(part, memories)
    if len(rows) <= most:
        return np.arange(len(rows))
    norms = np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
    return np.argsort(-norms, kind="stable")[:most]


def row_count(part: Part, memories: Memories) -> tuple[int, ...]:
    """The sizes of the axes of the rows."""
    return tuple(part.net.params[memories.param].shape[axis] for axis in memories.rows)


def memory_images(part: Part, memories: Memories, chosen: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return what rows of a param add to the image through the decoder: [rows, channels, height, width].

    The rows are numbered in the order of the param's axes. If one moves a patch alone, the result is the smallest
    window that holds what they move in the middle of the image.
    """
    rows = _rows(part, memories)[np.asarray(chosen)]
    sizes = [part.network.extents[dim] for dim in memories.decoder.source.dims]
    place: list[slice | int] = [size // 2 for size in sizes]
    for axis, size in zip(sorted(memories.features.values()), rows.shape[1:], strict=True):
        place[axis] = slice(0, size)
    images = []
    for some in np.array_split(rows, range(CHUNK, len(rows), CHUNK)):
        directions = np.zeros((len(some), *sizes))
        directions[(slice(None), *place)] = some
        images.append(memories.decoder.images(part, directions))
    whole = math.prod(sizes) == math.prod(rows.shape[1:])
    return np.concatenate(images) if whole else _cropped(np.concatenate(images))


def _rows(part: Part, memories: Memories) -> np.ndarray:
    """The rows [rows, *features], the features in the order of the source's axes."""
    array = part.net.params[memories.param].detach().cpu().double().numpy()
    features = sorted(memories.features, key=lambda axis: memories.features[axis])
    ordered = array.transpose(*memories.rows, *features)
    return np.asarray(ordered.reshape(-1, *ordered.shape[len(memories.rows) :]))


def _cropped(images: np.ndarray) -> np.ndarray:
    moved = np.nan_to_num(images).any((0, 1))
    rows, columns = (np.flatnonzero(moved.any(axis)) for axis in (1, 0))
    if not len(rows):
        return images
    return images[:, :, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


# ------------------------------------------------------------------ position biases


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
