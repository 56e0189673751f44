"""Pictures that are images: rows of samples, attention over an image or as a matrix, memories, similarities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from energyc.files import Place
from energyc.surfaces.charts.canvas import COLOURS, picture, show_image, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The most labels of an axis that are written out.
_LABELS = 72
_GAP = 1  # pixels between tiles


def draw_images(rows: Mapping[str, Tensor], path: Place) -> None:
    """Draw rows of images [batch, C, H, W] with values in [-1, 1], each row labelled on the left."""
    columns = min(len(images) for images in rows.values())
    with picture(path, len(rows), columns, (1.1, 1.1)) as canvas:
        cells = iter(canvas.panels)
        for name, images in rows.items():
            for number in range(columns):
                cell = next(cells)
                show_image(cell, _pixels(images[number]))
                if number == 0:
                    cell.set_ylabel(name, rotation=0, ha="right", va="center")
        canvas.figure.set_layout_engine("constrained", w_pad=0.01, h_pad=0.01, wspace=0, hspace=0)


def _pixels(image: Tensor) -> np.ndarray:
    """Convert [C, S, S] in [-1, 1] to [S, S] or [S, S, 3] in [0, 1]."""
    array = ((image.detach().cpu().double() + 1) / 2).clamp(0, 1).numpy()
    return array[0] if len(array) == 1 else np.moveaxis(array, 0, -1)


# ------------------------------------------------------------------ attention


@dataclass(frozen=True)
class Ground:
    """An image [height, width(, 3)] in [0, 1] and the rows and columns of the pixels amid which the tokens stand."""

    image: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The edges of a map of all tokens: left, right, bottom, top."""
        down, across = (_spacing(at) / 2 for at in (self.rows, self.columns))
        return self.columns[0] - across, self.columns[-1] + across, self.rows[-1] + down, self.rows[0] - down


def draw_over_image(
    weights: np.ndarray,
    ground: Ground,
    tokens: Sequence[tuple[int, int]],
    heads: Sequence[int],
    path: Place,
    title: str,
) -> None:
    """Draw a row for each token and a column for each head: the weights [heads, *queries, *keys] of its query.

    The first column shows where the token is. Each map is scaled by its own largest weight, which stands above it.
    """
    with picture(path, len(tokens), 1 + len(heads), (1.35, 1.5)) as canvas:
        cells = iter(canvas.panels)
        for token in tokens:
            cell = next(cells)
            show_image(cell, ground.image)
            _frame(cell, ground, token)
            cell.set_title(f"token {token[0]},{token[1]}", fontsize=8)
            for head in heads:
                cell = next(cells)
                show_image(cell, 0.55 * ground.image)
                _heat(cell, weights[(head, *token)], ground)
                _frame(cell, ground, token)
                cell.set_title(f"head {head}, up to {weights[(head, *token)].max():.2g}", fontsize=7)
        canvas.figure.suptitle(title, fontsize=9)


def draw_matrices(
    weights: np.ndarray,
    heads: Sequence[int],
    path: Place,
    *,
    title: str,
    names: tuple[str, str],
    labels: Sequence[str] = (),
) -> None:
    """Draw a matrix [queries, keys] for each of the chosen heads of ``weights``, dark where a weight is large.

    ``names`` are those of the axes, and ``labels`` are written along them, where queries and keys are alike.
    """
    columns = min(len(heads), 2 if labels else 4)
    rows = -(-len(heads) // columns)
    shape = weights.shape[-2:]
    width = 4.6 if labels or columns == 1 else 2.9
    height = np.clip(width * shape[0] / shape[1], 1.2, 1.3 * width) + 0.3
    with picture(path, rows, columns, (width, float(height))) as canvas:
        for cell, head in zip(canvas.panels, heads, strict=False):
            cell.imshow(weights[head], cmap="Blues", vmin=0, interpolation="nearest", aspect="auto")
            cell.grid(False)
            largest = f"up to {weights[head].max():.2g}"
            cell.set_title(f"head {head}, {largest}" if len(weights) > 1 else largest, fontsize=8)
            cell.set(ylabel=names[0], xlabel=names[1])
            if labels and len(labels) <= _LABELS:
                size = min(8.0, 260 / len(labels))
                cell.set_xticks(range(len(labels)), labels, fontsize=size, family="monospace")
                cell.set_yticks(range(len(labels)), labels, fontsize=size, family="monospace")
                cell.tick_params(length=0)
        canvas.figure.suptitle(title, fontsize=9)


def _heat(cell: Axes, weights: np.ndarray, ground: Ground) -> None:
    """Lay weights [*keys] over an image, opaque where they are largest."""
    from matplotlib import colormaps

    share = weights / max(weights.max(), np.finfo(float).tiny)
    colours = colormaps["inferno"](0.25 + 0.7 * share)
    colours[..., 3] = 0.9 * share
    limits = cell.get_xlim(), cell.get_ylim()
    cell.imshow(colours, extent=ground.extent, interpolation="nearest")
    cell.set(xlim=limits[0], ylim=limits[1])


def _frame(cell: Axes, ground: Ground, token: tuple[int, int]) -> None:
    """Outline a token."""
    from matplotlib.patches import Rectangle

    down, across = _spacing(ground.rows), _spacing(ground.columns)
    corner = ground.columns[token[1]] - across / 2, ground.rows[token[0]] - down / 2
    cell.add_patch(Rectangle(corner, across, down, fill=False, edgecolor=COLOURS[5], linewidth=1.4))


def _spacing(at: np.ndarray) -> float:
    return float(at[1] - at[0]) if len(at) > 1 else 1.0


# ------------------------------------------------------------------ tiles


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
