"""Masked images: the masks, the augmentation, disjoint regions, folders and arrays, files of each kind of badness."""

from __future__ import annotations

import io
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from energyc.language.diagnostics import UserError
from energyc.running.data import Dataset, find_adapter, read_schema
from energyc.running.data.arrays import generator
from energyc.running.data.masked_images import random_crop
from energyc.running.data.pictures import Crops, shipped_pictures, tile_crops

OPTIONS = {"side": 12, "patch": 4, "masked": Fraction(1, 2)}


def masked_images(path: Path | None, **options: object) -> Dataset:
    return find_adapter("masked_images").open({**OPTIONS, **options}, None if path is None else str(path))


def picture(width: int, height: int, seed: int = 0, mode: str = "RGB") -> Image.Image:
    bands = {"RGB": 3, "RGBA": 4, "CMYK": 4}.get(mode, 1)
    shape = (height, width) if bands == 1 else (height, width, bands)
    return Image.fromarray(np.random.RandomState(seed).randint(0, 256, shape).astype(np.uint8), mode)


# ------------------------------------------------------------------ masks and values


@pytest.mark.parametrize("masked", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_whole_patches_are_hidden_as_many_as_asked(masked: Fraction) -> None:
    batch = masked_images(None, masked=masked).split("train").batch(np.arange(9))
    patches = batch["mask"].reshape(9, 3, 4, 3, 4)
    assert set(np.unique(patches.sum((2, 4)))) <= {0, 16}
    np.testing.assert_array_equal(batch["mask"].sum((1, 2)), 16 * round(masked * 9))
    np.testing.assert_array_equal(batch["masked"], np.where(batch["mask"][:, None] == 1, 0, batch["clean"]))
    assert batch["clean"].min() >= -1 and batch["clean"].max() <= 1
    assert batch["clean"].std() > 0.2


def test_a_spec_may_hide_nothing() -> None:
    """There is no size of 0 then."""
    adapter = find_adapter("masked_images")
    assert "hidden" not in read_schema(adapter, {**OPTIONS, "masked": Fraction(0)}).sizes
    assert read_schema(adapter, {**OPTIONS, "masked": Fraction(1, 9)}).sizes["hidden"] == 1


def test_training_masks_change_with_epoch_and_seed_and_the_tests_never() -> None:
    dataset = masked_images(None)
    train, test = dataset.split("train"), dataset.split("test")
    usual = train.batch(np.arange(16), seed=1, epoch=1)
    for key in ({"seed": 2, "epoch": 1}, {"seed": 1, "epoch": 2}):
        other = train.batch(np.arange(16), **key)
        assert (usual["mask"] != other["mask"]).any((1, 2)).sum() > 8
        np.testing.assert_array_equal(usual["clean"], other["clean"])
    fixed = test.batch(np.arange(16), seed=1, epoch=1, augment=True)
    np.testing.assert_array_equal(fixed["mask"], test.batch(np.arange(16))["mask"])
    assert len({mask.tobytes() for mask in fixed["mask"]}) > 8  # an image has its own mask
    assert any("same mask" in note for note in dataset.notes)


def test_every_patch_is_hidden_equally_often() -> None:
    mask = masked_images(None).split("train").batch(np.arange(1500))["mask"]
    often = mask[:, ::4, ::4].mean(0)
    np.testing.assert_allclose(often, 4 / 9, atol=0.05)  # round(9/2) = 4 of 9; four deviations are 0.051


def test_some_of_the_patches_that_count_are_shown_in_training_alone() -> None:
    dataset = masked_images(None, side=40, masked=Fraction(1, 2), shown=Fraction(1, 10))
    train, test = (dataset.split(part).batch(np.arange(20), augment=True) for part in ("train", "test"))
    for batch, hidden in ((train, 45), (test, 50)):
        np.testing.assert_array_equal(batch["scored"].sum((1, 2)), 16 * 50)
        np.testing.assert_array_equal(batch["mask"].sum((1, 2)), 16 * hidden)
        assert (batch["mask"] <= batch["scored"]).all()
        np.testing.assert_array_equal(batch["masked"], np.where(batch["mask"][:, None] == 1, 0, batch["clean"]))
    plain = masked_images(None, side=40, masked=Fraction(1, 2)).split("train").batch(np.arange(20))
    np.testing.assert_array_equal(plain["scored"], plain["mask"])
    np.testing.assert_array_equal(plain["scored"], train["scored"])


# ------------------------------------------------------------------ augmentation


def test_a_share_of_the_training_images_is_mirrored() -> None:
    usual, mirrored, half = (
        masked_images(None, side=16, mirrored=share).split("train").batch(np.arange(200), augment=True)["clean"]
        for share in (Fraction(0), Fraction(1), Fraction(1, 2))
    )
    np.testing.assert_array_equal(mirrored, usual[..., ::-1])
    turned = (half == mirrored).all((1, 2, 3)) & (half != usual).any((1, 2, 3))
    assert (turned | (half == usual).all((1, 2, 3))).all()
    assert abs(turned.mean() - 1 / 2) < 0.15  # four deviations
    dataset = masked_images(None, side=16, mirrored=Fraction(1))
    for part, augment in (("test", True), ("train", False)):
        found = dataset.split(part).batch(np.arange(5), augment=augment)["clean"]
        np.testing.assert_array_equal(found, masked_images(None, side=16).split(part).batch(np.arange(5))["clean"])


def test_a_random_crop_is_torchvisions() -> None:
    square, ratios = (10.0, 20.0, 110.0, 120.0), []
    for seed in range(400):
        left, top, right, bottom = random_crop(generator(seed), square)
        assert 10 <= left < right <= 110 and 20 <= top < bottom <= 120
        assert 0.89 <= (right - left) * (bottom - top) / 1e4 <= 1
        ratios.append((right - left) / (bottom - top))
    # of an area of at least 0.9 no side is shorter than 0.9 of the square
    assert min(ratios) >= 0.89 and max(ratios) <= 1 / 0.89
    assert np.std(ratios) > 0.01


def test_augmentation_crops_the_training_images_only() -> None:
    dataset = masked_images(None, side=32, patch=8)
    train, test = dataset.split("train"), dataset.split("test")
    plain, cropped = (train.batch(np.arange(32), augment=augment)["clean"] for augment in (False, True))
    error = np.abs(plain - cropped).mean()
    assert 0.001 < error < 0.25  # moved a little, yet the same picture
    np.testing.assert_array_equal(
        test.batch(np.arange(8), augment=True)["clean"], test.batch(np.arange(8), augment=False)["clean"]
    )


# ------------------------------------------------------------------ the default pictures


def covered(crops: Crops, number: int) -> np.ndarray:
    """The pixels of a picture that some crop holds."""
    width, height = crops.pictures[number].size
    seen = np.zeros((height, width), bool)
    for left, top, right, bottom in crops.boxes[crops.numbers == number].astype(int):
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        seen[top:bottom, left:right] = True
    return seen


def test_training_and_test_see_disjoint_regions() -> None:
    pictures = shipped_pictures()
    train, test = tile_crops(pictures, 2048, test=False), tile_crops(pictures, 256, test=True)
    for which in range(2):
        first, second = covered(train, which), covered(test, which)
        assert not (first & second).any()
        assert first.mean() > 0.7 and second.mean() > 0.22  # of 3/4 and 1/4


def test_the_datasets_crops_are_those_and_lie_in_the_pictures() -> None:
    dataset = masked_images(None)
    assert (len(dataset.split("train")), len(dataset.split("test"))) == (4096, 512)
    split = dataset.split("test")
    pictures = [np.asarray(image, float).reshape(-1, 3) for image in shipped_pictures()]
    means = split.batch(np.arange(512))["clean"].mean((2, 3))
    for half, pixels in ((means[:256], pictures[0]), (means[256:], pictures[1])):
        assert (half * 127.5 + 127.5 <= pixels.max(0) + 1e-3).all()
        assert (half * 127.5 + 127.5 >= pixels.min(0) - 1e-3).all()


# ------------------------------------------------------------------ a user's images


def test_a_folder_is_split_by_name_cropped_and_scaled(tmp_path: Path) -> None:
    for number in range(12):
        picture(20, 30, number).save(tmp_path / f"{number:02}.png")
    (tmp_path / "notes.txt").write_text("not an image")
    dataset = masked_images(tmp_path, side=20, patch=5)
    assert (len(dataset.split("train")), len(dataset.split("test"))) == (11, 1)
    clean = dataset.split("test").batch(np.arange(1))["clean"][0]
    expected = np.asarray(picture(20, 30, 11))[5:25].transpose(2, 0, 1) / 127.5 - 1
    np.testing.assert_allclose(clean, expected, atol=1e-6)


def test_a_folders_own_train_and_test_are_kept(tmp_path: Path) -> None:
    for part, count in (("train", 3), ("test", 2)):
        (tmp_path / part).mkdir()
        for number in range(count):
            picture(16, 16, number).save(tmp_path / part / f"{number}.png")
    dataset = masked_images(tmp_path)
    assert (len(dataset.split("train")), len(dataset.split("test"))) == (3, 2)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_becomes_the_channels_asked_for(tmp_path: Path, mode: str, channels: int) -> None:
    for number in range(2):
        picture(12, 12, number, mode).save(tmp_path / f"{number}.tiff")
    batch = masked_images(tmp_path, channels=channels).split("train").batch(np.array([0]))
    assert batch["clean"].shape == (1, channels, 12, 12)
    if mode == "L":
        for channel in batch["clean"][0]:
            np.testing.assert_allclose(channel, np.asarray(picture(12, 12, mode="L")) / 127.5 - 1, atol=1e-6)


def test_an_array_of_images(tmp_path: Path) -> None:
    grey = np.random.RandomState(0).randint(0, 256, (20, 12, 12)).astype(np.uint8)
    colour = np.random.RandomState(1).randint(0, 256, (20, 12, 12, 3)).astype(np.uint8)
    np.savez(tmp_path / "grey.npz", images=grey, names=np.array(["a"] * 20))
    np.savez(tmp_path / "colour.npz", whatever=colour)
    one = masked_images(tmp_path / "grey.npz").split("train").batch(np.array([4]))["clean"][0]
    np.testing.assert_allclose(one, np.broadcast_to(grey[4] / 127.5 - 1, (3, 12, 12)), atol=1e-6)
    dataset = masked_images(tmp_path / "colour.npz")
    assert (len(dataset.split("train")), len(dataset.split("test"))) == (18, 2)
    last = dataset.split("test").batch(np.array([1]))["clean"][0]
    np.testing.assert_allclose(last, colour[19].transpose(2, 0, 1) / 127.5 - 1, atol=1e-6)


def test_one_picture_is_cut_into_crops(tmp_path: Path) -> None:
    picture(200, 150).save(tmp_path / "one.jpg")
    for path in (tmp_path / "one.jpg", tmp_path):
        dataset = masked_images(path)
        assert (len(dataset.split("train")), len(dataset.split("test"))) == (2048, 256)


# ------------------------------------------------------------------ bad files


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def gigantic_npz() -> bytes:
    """An npz whose header announces a petabyte."""
    head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 32768, 32768), }"
    head = head.ljust(118) + b"\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("images.npy", b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head)
    return buffer.getvalue()


def plain_npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


GOOD = npz(images=np.zeros((4, 12, 12), np.uint8))
BAD_NPZ = {
    "empty": (b"", "not an npz"),
    "no zip": (b"hello", "not an npz"),
    "cut off": (GOOD[: len(GOOD) // 2], "not a valid npz"),
    "an npy": (plain_npy(), "a single array, not an npz"),
    "gigantic": (gigantic_npz(), "not a valid npz"),
    "objects": (npz(images=np.array([{"a": 1}, None], object)), "not a valid npz of numbers"),
    "floats": (npz(images=np.zeros((4, 12, 12))), "its images are float64 [4, 12, 12]"),
    "flat": (npz(images=np.zeros((4, 144), np.uint8)), "its images are uint8 [4, 144]"),
    "two channels": (npz(images=np.zeros((4, 12, 12, 2), np.uint8)), "its images are uint8 [4, 12, 12, 2]"),
    "other names": (npz(a=np.zeros(1), b=np.zeros(1)), "no array named images (it holds a, b)"),
    "one image": (npz(images=np.zeros((1, 12, 12), np.uint8)), "1 images"),
    "no image": (npz(images=np.zeros((0, 12, 12), np.uint8)), "0 images"),
    "tiny": (npz(images=np.zeros((4, 1, 1), np.uint8)), "an image of 1 x 1 pixels"),
}


@pytest.mark.parametrize("kind", BAD_NPZ)
def test_a_bad_array_is_one_message(tmp_path: Path, kind: str) -> None:
    data, problem = BAD_NPZ[kind]
    path = tmp_path / "images.npz"
    path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        masked_images(path)
    assert raised.value.message.startswith(f"{path}: {problem}")
    assert raised.value.code == "E0914"
    assert raised.value.help


def png(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    picture(width, height).save(buffer, "png")
    return buffer.getvalue()


BAD_IMAGES = {
    "empty": (b"", "not a readable image"),
    "text": (b"hello", "not a readable image"),
    "head cut off": (png(100, 100)[:20], "not a readable image"),
    "one pixel": (png(1, 1), "an image of 1 x 1 pixels"),
}


@pytest.mark.parametrize("kind", BAD_IMAGES)
def test_a_bad_image_is_found_when_its_folder_is_opened(tmp_path: Path, kind: str) -> None:
    data, problem = BAD_IMAGES[kind]
    picture(20, 20).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(data)
    for path, place in ((tmp_path, tmp_path / "b.png"), (tmp_path / "b.png", tmp_path / "b.png")):
        with pytest.raises(UserError) as raised:
            masked_images(path)
        assert raised.value.message.startswith(f"{place}: {problem}")


def test_an_image_whose_pixels_are_cut_off_is_told_when_taken(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(png(100, 100)[:4000])
    split = masked_images(tmp_path).split("train")
    with pytest.raises(UserError, match=r"a\.png: not a readable image"):
        split.batch(np.array([0]))


def test_a_missing_place_an_empty_folder_and_a_small_picture(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "none.npz"):
        with pytest.raises(UserError, match="not found or not readable") as raised:
            masked_images(path)
        assert raised.value.code == "E0913"
    with pytest.raises(UserError, match="no image in it"):
        masked_images(tmp_path)
    picture(40, 40).save(tmp_path / "small.png")
    with pytest.raises(UserError, match="40 x 40 pixels; expected at least 96"):
        masked_images(tmp_path)
