"""Draw memories and the similarity of positions as tiles of one image."""

from __future__ import annotations

import math

import numpy as np

from energyc.files import Place
from energyc.surfaces.charts.canvas import picture, show_image, without_frame

_GAP = 1  # pixels between tiles


def mosaic(tiles: np.ndarray, columns: int, *, empty: float = math.nan) -> np.ndarray:
    """Lay tiles [count, height, width(, colours)] in rows, a gap of ``empty`` between them."""
    count, height, width = tiles.shape[:3]
    rows = -(-count // columns)
    shape = (rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, *tiles.shape[3:])
    whole = np.full(shape, empty)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        top, left = row * (height + _GAP), column * (width + _GAP)
        whole[top : top + height, left : left + width] = tile
    return whole


def draw_memories(images: np.ndarray, path: Place, *, title: str, columns: int | None = None, rows: str = "") -> None:
    """Draw memories [count, channels, height, width], each scaled by its own largest entry; grey is zero.

    ``columns`` of them stand in a row, and ``rows`` says what the rows are; else they fill a square.
    """
    largest = np.nanmax(np.abs(images), axis=(1, 2, 3), keepdims=True)
    shades = 0.5 + 0.5 * np.divide(images, largest, out=np.zeros_like(images), where=largest > 0)
    tiles = np.moveaxis(shades, 1, -1) if images.shape[1] == 3 else shades[:, 0]
    across = columns or math.ceil(math.sqrt(len(tiles)))
    whole = mosaic(tiles, across, empty=1.0)
    side = 0.24 + 0.02 * min(32, images.shape[-1])
    down = -(-len(tiles) // across)
    with picture(path, 1, 1, (max(3.4, side * across + 0.4), side * down + 0.7)) as canvas:
        (panel,) = canvas.panels
        show_image(panel, whole)
        panel.set_ylabel(rows)
        canvas.figure.suptitle(title, fontsize=9)


def draw_similarity(cosines: np.ndarray, path: Place, *, title: str) -> None:
    """Draw the cosines [*places, *places] of position biases: for each place a map of the others.

    Places along two axes give a grid of such maps, others a matrix. The colours span what differs from a place itself.
    """
    places = cosines.shape[: cosines.ndim // 2]
    if len(places) == 2:
        whole = mosaic(cosines.reshape(math.prod(places), *places), places[1])
        label = "a map for each place: its similarity to every other"
    else:
        whole = cosines.reshape(math.prod(places), -1)
        label = "place"
    with picture(path, 1, 1, (4.6, 4.2)) as canvas:
        (panel,) = canvas.panels
        panel.set_facecolor("white")
        others = np.abs(cosines.reshape(math.prod(places), -1) - np.eye(math.prod(places)))
        limit = max(float(others.max()), 0.01)
        shown = panel.imshow(whole, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        if len(places) == 2:
            panel.set(xticks=[], yticks=[])
        without_frame(panel)
        panel.set_xlabel(label)
        canvas.figure.suptitle(title, fontsize=9)
        canvas.figure.colorbar(shown, ax=panel, label="cosine (1 with itself)", shrink=0.85, extend="max")
