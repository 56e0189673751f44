"""Which tensors of a network are images, and the linear maps that take others to pixels: its decoders."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from energyc.derivation.derive import derive
from energyc.language.network import Network
from energyc.mathematics.calculus import tangent
from energyc.mathematics.ir import ONE, Add, BatchStatistic, Coefficient, Einsum, Input, Map, Node, Reduction, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.running.training.feeds import Feeds
from energyc.studies.inspection.parts import Part

#: What a linear map may not depend on.
_CHANGING = frozenset({"state", "clamp", "target", "noise", "step", "flag"})


@dataclass(frozen=True)
class Decoder:
    """The derivative of a picture by a tensor ``source``, which is the same at all states and clamps.

    ``node`` is that derivative along the input ``direction``; both are None where the picture is the source itself.
    """

    source: Node
    picture: Picture
    node: Node | None
    direction: Input | None

    @cached_property
    def params(self) -> frozenset[str]:
        """The params that it is made of."""
        read = walk([self.node]) if self.node is not None else ()
        return frozenset(node.name for node in read if isinstance(node, Input) and node.kind == "param")

    def images(self, part: Part, directions: np.ndarray) -> np.ndarray:
        """Return what directions [batch, *dims of the source] add to the image: [batch, channels, height, width]."""
        if self.node is None or self.direction is None:
            return self.picture.images(directions)
        given = {("direction", self.direction.name): directions}
        (moved,) = part.values([self.node], {}, given)
        return self.picture.images(np.broadcast_to(moved, (len(directions), *moved.shape[-self.picture.at.ndim :])))

    def region(self, part: Part, position: Mapping[int, int]) -> tuple[float, float, float, float]:
        """Return the edges (left, right, bottom, top) of the pixels that the source moves at a position.

        ``position`` gives the place along some of its axes.
        """
        sizes = [part.network.extents[dim] for dim in self.source.dims]
        places = tuple(position.get(axis, slice(None)) for axis in range(len(sizes)))
        direction = np.zeros((1, *sizes))
        direction[(0, *places)] = np.random.default_rng(0).normal(size=direction[(0, *places)].shape)
        moved = np.nan_to_num(self.images(part, direction)[0]).any(0)
        rows, columns = (np.flatnonzero(moved.any(axis)) for axis in (1, 0))
        if not len(rows):
            rows, columns = (np.arange(size) for size in moved.shape)
        return columns[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5, rows[0] - 0.5


def find_decoders(network: Network, images: Mapping[str, Shape]) -> list[Decoder]:
    """Return the tensors that are images or are mapped to one linearly, each with the map to the first image.

    An image is a clamp, a readout that the cost compares with an image, or the rest of a state that is such a readout.
    """
    found: dict[Node, Decoder] = {}
    for picture in (*answered_images(network, images).values(), *seen_images(network, images)):
        found.setdefault(picture.node, Decoder(picture.node, picture, None, None))
        for root in (picture.node, *_at_rest(network, picture.node)):
            for source in _sources(root, picture.node):
                decoder = _decoder(network, replace(picture, node=root), source)
                if decoder is not None:
                    found.setdefault(source, decoder)
    return list(found.values())


def _at_rest(network: Network, node: Node) -> Iterator[Node]:
    """Where a free state rests, but for a part that is its own, if its force is c (f - itself) with a constant c."""
    state = next((state for state in network.states.values() if state.node is node), None)
    if state is None or state.constraint is not None:
        return
    graph, force = network.graph, derive(network).force[state.node.name]
    direction = graph.input("source", "direction", node.dims)
    (slope,) = tangent(graph, [force], {node: direction})
    rate = _multiple(slope, direction)
    inverse = None if rate is None or rate.is_zero else rate.power(Fraction(-1))
    if inverse is not None:
        yield graph.scale(-inverse, force)


def _multiple(node: Node, of: Node) -> Coefficient | None:
    """c where a node is c times another."""
    if node is of:
        return ONE
    if isinstance(node, Einsum) and len(node.operands) == 1 and node.operands[0].node is of:
        return node.coefficient if node.operands[0].axes == node.out else None
    return None


def _sources(root: Node, besides: Node) -> list[Node]:
    """The tensors with dims that a root is linear in, as far as its operators tell, nearest first."""
    found: list[Node] = []
    seen, queue = {root, besides}, deque([root])
    while queue:
        node = queue.popleft()
        if node is not root and node.dims:
            found.append(node)
        if not isinstance(node, Map | Reduction | BatchStatistic):
            children = [child for child in node.children if child.batched and child not in seen]
            seen.update(children)
            queue.extend(children)
    return found


def _decoder(network: Network, picture: Picture, source: Node) -> Decoder | None:
    direction = network.graph.input("source", "direction", source.dims)
    (node,) = tangent(network.graph, [picture.node], {source: direction})
    if _changes([node]):
        return None
    return Decoder(source, picture, node, direction)


def _changes(nodes: Iterable[Node]) -> bool:
    return any(isinstance(node, Input) and node.kind in _CHANGING for node in walk(nodes))


def moved_by(network: Network, decoders: Sequence[Decoder]) -> tuple[str, Decoder] | None:
    """Return the first state that moves along what a decoder takes to an image, and that decoder.

    The source is the state itself, or a let of its dims that it moves through: a token ``x`` by its norm ``g``.
    """
    for decoder in decoders:
        read = set(walk([decoder.source]))
        for name, state in network.states.items():
            if state.node in read and state.node.dims == decoder.source.dims:
                return name, decoder
    return None


def force_images(part: Part, state: str, decoder: Decoder, steps: Sequence[int]) -> np.ndarray:
    """Return what the force on a state adds to the image after so many steps: [steps, batch, channels, height, width].

    The entries of the force are taken for those of the source, as in ``flow x = -grad(E, g)``.
    """
    images = []
    for step in steps:
        states = part.net.relax(part.clamps, steps=step).states
        force = part.net.force(states, part.clamps)[state]
        images.append(decoder.images(part, force.detach().cpu().double().numpy()))
    return np.stack(images)


def centres(part: Part, decoder: Decoder, axes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns of the pixels amid what a source moves at each place along two of its axes.

    They are taken to lie evenly between the first and the last place.
    """
    sizes = [part.network.extents[decoder.source.dims[axis]] for axis in axes]
    first, last = (
        decoder.region(part, dict(zip(axes, place, strict=True))) for place in ((0, 0), [n - 1 for n in sizes])
    )
    rows, columns = (
        np.linspace((first[low] + first[high]) / 2, (last[low] + last[high]) / 2, size)
        for low, high, size in ((3, 2, sizes[0]), (0, 1, sizes[1]))
    )
    return rows, columns


# ------------------------------------------------------------------ images

#: Channels, height, width.
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Picture:
    """A tensor whose entries are pixels: ``at`` [*dims] says which, as a place in the flattened ``shape``.

    ``like`` is the clamp or target that is the image.
    """

    node: Node
    shape: Shape
    at: np.ndarray
    like: str

    def images(self, values: np.ndarray) -> np.ndarray:
        """Put values [batch, *dims] at their pixels, as [batch, channels, height, width].

        Where several lie in one pixel it is their mean, where none does it is NaN.
        """
        at, pixels = self.at.ravel(), int(np.prod(self.shape))
        count = np.bincount(at, minlength=pixels)
        sums = np.stack([np.bincount(at, weights=sample.ravel(), minlength=pixels) for sample in values])
        means = np.divide(sums, count, out=np.full_like(sums, np.nan), where=count > 0)
        return means.reshape(len(values), *self.shape)


def image_inputs(feeds: Feeds) -> dict[str, Shape]:
    """Return the clamps and targets that are images, as their data say, or by their shape [1 or 3, H, W]."""
    images = {}
    for name, (binding, field) in {**feeds.clamps, **feeds.targets}.items():
        schema = feeds.datasets[binding].schema.fields[field]
        shape = schema.image or schema.shape
        if schema.kind == "real" and len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1:
            images[name] = (shape[0], shape[1], shape[2])
    return images


def seen_images(network: Network, images: Mapping[str, Shape]) -> list[Picture]:
    """Return the clamps that are images."""
    return [_whole(network, name, network.clamps[name].node, images[name]) for name in images if name in network.clamps]


def answered_images(network: Network, images: Mapping[str, Shape]) -> dict[str, Picture]:
    """Return the readouts that the cost compares with an image, entry by entry.

    The cost has ``readout - view``, where the view reads each entry at a place of a target: whole, or in patches.
    """
    found: dict[str, Picture] = {}
    if network.cost is None:
        return found
    readouts = {quantity.node: name for name, quantity in network.readouts.items()}
    for node in walk([network.cost.node]):
        if isinstance(node, Add) and len(node.terms) == 2:
            for (_, answer), (_, view) in (node.terms, node.terms[::-1]):
                picture = _compared(network, answer, view, images) if answer in readouts else None
                if picture is not None:
                    found.setdefault(readouts[answer], picture)
    return found


def _compared(network: Network, answer: Node, view: Node, images: Mapping[str, Shape]) -> Picture | None:
    read = [node for node in walk([view]) if isinstance(node, Input)]
    if len(read) != 1 or read[0].kind != "target" or read[0].name not in images:
        return None
    name, shape = read[0].name, images[read[0].name]
    whole = _whole(network, name, read[0], shape)
    ones, places = (
        evaluate([view], {name: array[None]}, sizes=network.extents, values=network.values)[0][0]
        for array in (np.ones(whole.at.shape), whole.at.astype(float))
    )
    at = np.divide(places, ones, out=np.full_like(places, np.nan), where=ones != 0)
    if not np.array_equal(at, np.round(at)):
        return None  # an entry is compared with several pixels, or with none
    return Picture(answer, shape, at.astype(int), name)


def _whole(network: Network, name: str, node: Node, shape: Shape) -> Picture:
    dims = tuple(network.extents[dim] for dim in node.dims)
    return Picture(node, shape, np.arange(int(np.prod(dims))).reshape(dims), name)
