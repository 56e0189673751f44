"""Sources of image samples: a folder, an npz of images, or crops of a few pictures. Pillow is imported on use.

For an index a source gives a picture and the square of it that is the sample. The adapter then augments, resizes and
masks that square.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from energyc.language.diagnostics import Option, UserError, spoken
from energyc.running.data.errors import malformed
from energyc.running.data.files import check_regular, open_npz
from energyc.running.data.shipped import sklearn_datasets

if TYPE_CHECKING:
    from PIL.Image import Image

Box: TypeAlias = tuple[float, float, float, float]
"""left, top, right, bottom in pixels."""

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
EXPECTED = "a folder of images, one image, or an npz with images [N, H, W] or [N, H, W, 3] of uint8"
REMEDY = spoken(
    "give any folder of photographs (PNG, JPEG, ...); without {}, scikit-learn's pictures are used", Option("data")
)
LEAST_SIDE = 8  # a smaller image has nothing to complete
ROWS, COLUMNS = 3, 4  # a picture's tiles; one tile of each row is kept for the test
SMALLEST, LARGEST = 0.45, 0.9  # side of a crop as a share of its tile's shorter edge


@dataclass(frozen=True)
class Files:
    """One sample for each file: the centre square of its image, decoded on access."""

    paths: Sequence[Path]

    def __len__(self) -> int:
        """The number of files."""
        return len(self.paths)

    def square(self, index: int) -> tuple[Image, Box]:
        """The decoded image and its centre square; raises ``UserError`` if it does not decode."""
        image = read_image(self.paths[index])
        return image, centre_square(*image.size)


@dataclass(frozen=True)
class Stack:
    """One sample for each image of an array ``[N, H, W]`` or ``[N, H, W, 3]`` of uint8."""

    images: np.ndarray

    def __len__(self) -> int:
        """The number of images."""
        return len(self.images)

    def square(self, index: int) -> tuple[Image, Box]:
        """The image and its centre square."""
        from PIL import Image

        image = Image.fromarray(np.ascontiguousarray(self.images[index]))
        return image, centre_square(*image.size)


@dataclass(frozen=True)
class Crops:
    """Many squares of a few pictures."""

    pictures: Sequence[Image]
    numbers: np.ndarray  # [N] picture of each crop
    boxes: np.ndarray  # [N, 4]

    def __len__(self) -> int:
        """The number of crops."""
        return len(self.numbers)

    @property
    def groups(self) -> np.ndarray:
        """The tile of each crop: crops of one tile share pixels."""
        sizes = np.array([picture.size for picture in self.pictures])[self.numbers]
        middle = (self.boxes[:, :2] + self.boxes[:, 2:]) / 2
        column, row = (middle * (COLUMNS, ROWS) / sizes).astype(np.int64).T
        return (self.numbers * ROWS + row) * COLUMNS + column

    def square(self, index: int) -> tuple[Image, Box]:
        """The picture and the crop's square."""
        left, top, right, bottom = (float(edge) for edge in self.boxes[index])
        return self.pictures[int(self.numbers[index])], (left, top, right, bottom)


#: Samples as squares of pictures.
Source: TypeAlias = Files | Stack | Crops


def centre_square(width: int, height: int) -> Box:
    """The largest square about the centre."""
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side


# ------------------------------------------------------------------ reading


def read_image(path: Path) -> Image:
    """One image file, decoded; raises ``UserError``."""
    with _opened(path) as image:
        image.load()
        return image if image.mode in ("L", "RGB") else image.convert("RGB")


def read_folder(folder: Path) -> list[Path]:
    """The image files under a folder, sorted by name, each with a valid header; raises ``UserError``."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir())
    if not paths:
        raise malformed(str(folder), "no image in it", EXPECTED, REMEDY)
    for path in paths:
        with _opened(path):
            pass
    return paths


def read_stack(path: Path) -> np.ndarray:
    """The array ``images`` of an npz, or its only array; raises ``UserError``. Pickled objects are never loaded."""
    with open_npz(path, EXPECTED, REMEDY) as arrays:
        names = arrays.files
        name = "images" if "images" in names else names[0] if len(names) == 1 else None
        if name is None:
            held = ", ".join(names) or "nothing"
            raise malformed(str(path), f"no array named images (it holds {held})", EXPECTED, REMEDY)
        return _checked_stack(path, arrays[name])


def shipped_pictures() -> list[Image]:
    """scikit-learn's china.jpg and flower.jpg, 640 x 427 pixels each."""
    from PIL import Image

    datasets = sklearn_datasets("the default pictures")
    return [Image.fromarray(datasets.load_sample_image(name)) for name in ("china.jpg", "flower.jpg")]


def _checked_stack(path: Path, images: np.ndarray) -> np.ndarray:
    shape = images.shape
    if images.dtype != np.uint8 or len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] != 3):
        raise malformed(str(path), f"its images are {images.dtype} {list(shape)}", EXPECTED, REMEDY)
    _check_size(path, (shape[2], shape[1]))
    return images


def _check_size(path: Path, size: tuple[int, int]) -> None:
    if min(size) < LEAST_SIDE:
        least = f"at least {LEAST_SIDE} pixels on each side"
        raise malformed(str(path), f"an image of {size[0]} x {size[1]} pixels", least, REMEDY)


@contextmanager
def _opened(path: Path) -> Iterator[Image]:
    """An image file with its header read; whatever Pillow raises on a bad one becomes one message."""
    from PIL import Image

    check_regular(path, EXPECTED, REMEDY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                _check_size(path, image.size)
                yield image
    except (UserError, MemoryError):
        raise
    except Exception as error:  # a decoder may raise anything
        problem = f"not a readable image ({type(error).__name__})"
        raise malformed(str(path), problem, "a complete image file", REMEDY) from None


# ------------------------------------------------------------------ crops of a few pictures


def tile_crops(pictures: Sequence[Image], each: int, test: bool) -> Crops:
    """``each`` crops of every picture, from its test tiles or from the others, never across a tile's edge.

    A picture is cut into 3 x 4 tiles and one tile of each row belongs to the test, so that no pixel is in both
    splits. The crops are fixed: the same on every machine and in every run.
    """
    numbers = np.repeat(np.arange(len(pictures)), each)
    random = np.random.RandomState(1 if test else 0)
    tiles = [_tiles(*picture.size, test) for picture in pictures]
    boxes = [_crop(random, tiles[int(number)]) for number in numbers]
    return Crops(pictures, numbers, np.array(boxes))


def _tiles(width: int, height: int, test: bool) -> list[tuple[int, int, int, int]]:
    across = [width * column // COLUMNS for column in range(COLUMNS + 1)]
    down = [height * row // ROWS for row in range(ROWS + 1)]
    return [
        (across[column], down[row], across[column + 1], down[row + 1])
        for row in range(ROWS)
        for column in range(COLUMNS)
        if ((2 * row + 1) % COLUMNS == column) == test
    ]


def _crop(random: np.random.RandomState, tiles: Sequence[tuple[int, int, int, int]]) -> Box:
    left, top, right, bottom = tiles[random.randint(len(tiles))]
    side = round(min(right - left, bottom - top) * random.uniform(SMALLEST, LARGEST))
    x, y = left + random.randint(right - left - side + 1), top + random.randint(bottom - top - side + 1)
    return x, y, x + side, y + side
