"""Completion of images with hidden patches: ``masked_images(side = S, patch = P, masked = 1/2)``.

After appendix C of the CET paper (Convergent Energy Transformer): crop to the centre square, resize to ``side``, scale
to [-1, 1], and set a fixed number of the patches of a grid to zero. Training first applies torchvision's
RandomResizedCrop with scale (0.9, 1.0). Patches that count and stay visible, and mirrored images, are those of the
Energy Transformer (Hoover et al. 2023, appendix A).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from energyc.running.data.arrays import SplitDataset, generator
from energyc.running.data.errors import bad_option, malformed
from energyc.running.data.options import OptionReader
from energyc.running.data.pictures import (
    REMEDY,
    Box,
    Files,
    Source,
    Stack,
    read_folder,
    read_image,
    read_stack,
    shipped_pictures,
    tile_crops,
)
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import require_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SIDE = 1024
TEST_SHARE = 0.1
CROPS_EACH = {"train": 2048, "test": 256}
LEAST_PICTURE = 96  # side of a picture that is cut into tiles
AREA = (0.9, 1.0)  # of a random crop, as a share of the square
RATIO = (3 / 4, 4 / 3)
CROP, MASK, TEST_MASK, MIRROR = 1, 2, 3, 4  # one random stream for each purpose


@dataclass(frozen=True)
class Masking:
    """The options of one binding."""

    side: int
    patch: int
    masked: Fraction
    channels: int
    shown: Fraction
    mirrored: Fraction

    @property
    def grid(self) -> int:
        """Patches along a side."""
        return self.side // self.patch

    @property
    def hidden(self) -> int:
        """Patches that are hidden in each image of the test; in training some of them are shown."""
        return round(self.masked * self.grid**2)


@dataclass(frozen=True)
class MaskedImages:
    """Images in [-1, 1] with some of their patches set to 0 (mid grey).

    Fields: ``masked`` and ``clean`` ``[channels, side, side]``; ``mask`` ``[side, side]``, 1 where hidden; ``scored``
    ``[side, side]``, 1 where hidden or, by ``shown``, chosen and left as it is, as some patches are in training.
    """

    name: str = "masked_images"

    def schema(self, options: Options) -> Schema:
        """Fields masked, clean, mask, scored; sizes channels, side, patch, grid, hidden."""
        return _schema(self._read(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The images; ``seed`` has no effect, since each batch is drawn with its own."""
        masking = self._read(options)
        require_pillow()
        train, test, notes = _sources(path)
        origin = path or "scikit-learn's china.jpg and flower.jpg, crops"
        fixed = "a test image has the same mask at every evaluation"
        return SplitDataset(
            _schema(masking),
            origin,
            MaskedSplit(train, masking, fixed=False),
            MaskedSplit(test, masking, fixed=True),
            (notes, fixed),
        )

    def _read(self, options: Options) -> Masking:
        reader = OptionReader(self.name, options, ("side", "patch", "masked", "channels", "shown", "mirrored"))
        side = reader.size("side", least=2, most=LARGEST_SIDE)
        patch = reader.size("patch", most=side)
        if side % patch:
            raise bad_option(self.name, "patch", f"is {patch}", f"a divisor of side = {side}")
        channels = reader.size("channels", 3)
        if channels not in (1, 3):
            raise bad_option(self.name, "channels", f"is {channels}", "1 (grey) or 3 (colour)")
        masked, none = reader.fraction("masked", Fraction(1, 2)), Fraction(0)
        return Masking(side, patch, masked, channels, reader.fraction("shown", none), reader.fraction("mirrored", none))


@dataclass(frozen=True)
class MaskedSplit:
    """Images of a source, resized and masked on access; ``fixed`` masks depend on the index alone."""

    source: Source
    masking: Masking
    fixed: bool

    def __len__(self) -> int:
        """The number of images."""
        return len(self.source)

    @property
    def groups(self) -> np.ndarray | None:
        """The groups of the source's images, None where they share no pixels."""
        groups: np.ndarray | None = getattr(self.source, "groups", None)
        return groups

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """Masked and clean images with their masks; ``augment`` crops and mirrors at random, except in a test split."""
        keys = [(seed, epoch, int(index)) for index in indices]
        clean = np.stack([self._image(key, augment and not self.fixed) for key in keys])
        mask, scored = (np.stack(parts) for parts in zip(*(self._masks(key) for key in keys), strict=True))
        return {"masked": clean * (1 - mask[:, None]), "clean": clean, "mask": mask, "scored": scored}

    def _image(self, key: tuple[int, int, int], augment: bool) -> np.ndarray:
        from PIL import Image

        picture, box = self.source.square(key[2])
        if augment:
            box = random_crop(generator(CROP, *key), box)
        picture = picture.convert("L" if self.masking.channels == 1 else "RGB")
        size = (self.masking.side, self.masking.side)
        pixels = np.asarray(picture.resize(size, Image.Resampling.BILINEAR, box), np.float32)
        if augment and generator(MIRROR, *key).random() < self.masking.mirrored:
            pixels = pixels[:, ::-1]
        return np.atleast_3d(pixels).transpose(2, 0, 1) / np.float32(127.5) - 1

    def _masks(self, key: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Where the image is hidden, and where it counts."""
        random = generator(TEST_MASK, key[2]) if self.fixed else generator(MASK, *key)
        chosen = random.permutation(self.masking.grid**2)[: self.masking.hidden]
        shown = 0 if self.fixed else round(self.masking.shown * len(chosen))
        return self._pixels(chosen[shown:]), self._pixels(chosen)

    def _pixels(self, patches: np.ndarray) -> np.ndarray:
        grid, patch = self.masking.grid, self.masking.patch
        within = np.zeros(grid * grid, np.float32)
        within[patches] = 1
        return within.reshape(grid, grid).repeat(patch, 0).repeat(patch, 1)


def random_crop(random: np.random.Generator, square: Box) -> Box:
    """A crop of a square by the algorithm of torchvision's RandomResizedCrop with scale (0.9, 1.0).

    Area uniform in the scale, aspect ratio log-uniform in [3/4, 4/3]; after ten draws that do not fit, the square.
    """
    left, top, right, _ = square
    side = right - left
    for _ in range(10):
        area = side * side * random.uniform(*AREA)
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= side and 0 < height <= side:
            x = left + int(random.integers(0, int(side) - width + 1))
            y = top + int(random.integers(0, int(side) - height + 1))
            return x, y, x + width, y + height
    return square


def _schema(masking: Masking) -> Schema:
    image = FieldSchema((masking.channels, masking.side, masking.side))
    mask = FieldSchema((masking.side, masking.side))
    fields = {"masked": image, "clean": image, "mask": mask, "scored": mask}
    sizes = {"channels": masking.channels, "side": masking.side, "patch": masking.patch, "grid": masking.grid}
    return Schema(fields, {**sizes, **({"hidden": masking.hidden} if masking.hidden else {})})  # no size is 0


def _sources(path: str | None) -> tuple[Source, Source, str]:
    """Training and test images, and a note on how they were split."""
    if path is None:
        return _tiled(shipped_pictures())
    place = Path(path)
    if place.is_dir():
        return _folder(place)
    if place.suffix.lower() == ".npz":
        images = read_stack(place)
        cut = _cut(path, len(images))
        return Stack(images[:cut]), Stack(images[cut:]), "the last tenth of the images is the test"
    return _single(place)


def _folder(folder: Path) -> tuple[Source, Source, str]:
    parts = folder / "train", folder / "test"
    if all(part.is_dir() for part in parts):
        return Files(read_folder(parts[0])), Files(read_folder(parts[1])), "the folder's own train and test"
    paths = read_folder(folder)
    if len(paths) == 1:
        return _single(paths[0])
    cut = _cut(str(folder), len(paths))
    return Files(paths[:cut]), Files(paths[cut:]), "the last tenth of the files, by name, is the test"


def _single(path: Path) -> tuple[Source, Source, str]:
    picture = read_image(path)
    if min(picture.size) < LEAST_PICTURE:
        size = f"an image of {picture.size[0]} x {picture.size[1]} pixels"
        raise malformed(str(path), size, f"at least {LEAST_PICTURE} on each side, to be cut into crops", REMEDY)
    return _tiled([picture])


def _tiled(pictures: Sequence[Image]) -> tuple[Source, Source, str]:
    train, test = (tile_crops(pictures, CROPS_EACH[name], test=name == "test") for name in ("train", "test"))
    return train, test, "training and test crops come from disjoint tiles of the pictures"


def _cut(path: str, count: int) -> int:
    if count < 2:
        raise malformed(path, f"{count} images", "at least 2, one for training and one for the test", REMEDY)
    return count - max(1, round(count * TEST_SHARE))
