"""The presets ``mnist``: each fits MNIST's files, and learns from them as it ships."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import energyc
from energyc.resources import shipped
from tests.data.test_data_digits import NAMES, idx

PRESET = re.compile(r"^preset mnist \{", re.MULTILINE)
SPECS = [name for name, path in shipped().items() if PRESET.search(path.read_text(encoding="utf-8"))]
TRAINED, HELD_OUT = 2400, 100


def drawn(folder: Path, seed: int = 0) -> Path:
    """A folder with MNIST's four files, whose images are bars at the place of their label, in noise."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for (images, labels), count in zip((NAMES[:2], NAMES[2:]), (TRAINED, HELD_OUT), strict=True):
        label = random.integers(0, 10, count).astype(np.uint8)
        image = random.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        for number, place in enumerate(label):
            image[number, 4 + 2 * place : 6 + 2 * place, 4:24] = 255
        (folder / images).write_bytes(idx(image))
        (folder / labels).write_bytes(idx(label))
    return folder


def test_there_are_such_presets() -> None:
    assert {"hopfield", "deep_hopfield", "predictive_coding"} <= set(SPECS)


#: Rates for 20 updates with hardly a warm-up.
SLOWER = {"resistive_digits": {"train.lr": 3e-4}}


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_a_preset_learns_from_a_folder_of_files(name: str, tmp_path: Path) -> None:
    settings = {"train.epochs": 1, "train.warmup": 4, "train.eval_every": 1000, "train.log_every": 1}
    settings |= SLOWER.get(name, {})
    run = energyc.train(
        name, drawn(tmp_path / "files"), preset="mnist", settings=settings, out=tmp_path / "run", quiet=True
    )
    assert run.final["samples"] == HELD_OUT
    costs = [row["cost"] for row in run.rows if row["kind"] == "train"]
    assert len(costs) == run.steps >= 20
    assert np.mean(costs[-3:]) < 0.8 * costs[0], costs
