"""Which tensors of a network are images, and how the entries of a readout lie in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.ir import Add, Input, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.running.training.feeds import Feeds

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
