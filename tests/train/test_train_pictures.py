"""The pictures of a run: the right numbers at the right places, readable files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from energyc.language.diagnostics import UserError
from energyc.running.training.feeds import Feed
from energyc.running.training.loop import train
from energyc.running.training.seeds import train_each
from energyc.surfaces.charts import smoothed
from energyc.surfaces.charts.canvas import draw_charts
from energyc.surfaces.charts.curves import health_charts, learning_charts
from energyc.surfaces.report import images, relaxation
from energyc.surfaces.report.plots import plot_run
from energyc.surfaces.report.scene import Choice
from tests.train.tiny import make_session

pytestmark = pytest.mark.pictures

SETTINGS = {"steps": 30, "batch": 10, "eval_every": 10}
IMAGE = (3, 4, 4)


@pytest.mark.slow
def test_all_pictures_of_an_image_run(tmp_path: Path, figures: dict[str, Figure]) -> None:
    out = tmp_path / "run"
    train(make_session(out, SETTINGS, shape=IMAGE))
    session = make_session(out, SETTINGS, shape=IMAGE)
    drawn = plot_run(out, session, choice=Choice(samples=5)).paths
    assert [path.stem for path in drawn] == ["learning", "health", "energy", "triples", "growing"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    energy, residual = figures["energy"].axes
    assert [line.get_xdata()[0] for line in energy.lines if line.get_linestyle() == "--"] == [10]
    assert sum(len(line.get_xdata()) == 41 for line in energy.lines) == 5 + 1  # samples and their mean
    assert residual.get_yscale() == "log" and energy.get_ylabel() == "energy" and energy.get_xlabel() == "step"
    assert len(figures["triples"].axes) == 15
    rows = [panel.get_ylabel() for panel in figures["growing"].axes if panel.get_ylabel()]
    assert rows == ["masked", "start", "1 step", "2 steps", "5 steps", "10 steps = T1", "40 steps", "original"]


def test_shown_pixels_are_those_of_the_data(tmp_path: Path, figures: dict[str, Figure]) -> None:
    session = make_session(tmp_path, SETTINGS, shape=IMAGE)
    batch = Feed(session.feeds, "test", "cpu", torch.float32).batch(np.arange(3))
    names = relaxation.find_images(session.net, batch)
    assert names == relaxation.Answer("x", "image", "t", IMAGE)
    relaxation.triples(session.net, batch, names, tmp_path / "triples.png")
    panels = figures["triples"].axes
    shown = panels[6 + 1].images[0].get_array()  # the third row is the original, its second column sample 1
    expected = np.clip((batch.targets["t"][1].numpy().transpose(1, 2, 0) + 1) / 2, 0, 1)
    assert np.allclose(shown, expected, atol=1e-6)


@pytest.mark.slow
def test_network_without_images(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_session(out, SETTINGS))
    drawn = plot_run(out, make_session(out, SETTINGS))
    assert [path.stem for path in drawn.paths] == ["learning", "health", "energy"]
    assert drawn.without == {"images": "no readout is an image like a clamp and a target"}
    assert [path.stem for path in plot_run(out).paths] == ["learning", "health"]


def test_grey_images() -> None:
    image = torch.tensor([[[-1.0, 1.0], [0.0, 5.0]]])
    assert np.array_equal(images._pixels(image), [[0, 1], [0.5, 1]])


def test_growing_steps() -> None:
    assert relaxation.growing_steps(150, 600) == [1, 2, 5, 10, 20, 50, 100, 150, 600]
    assert relaxation.growing_steps(1, 4) == [1, 4]
    assert relaxation.growing_steps(5, 5) == [1, 2, 5]


def test_learning_curves_show_the_rows(tmp_path: Path, figures: dict[str, Figure]) -> None:
    rows = [{"step": k, "kind": "train", "cost": 1 / k, "residual": None} for k in range(1, 300)]
    rows += [{"step": k, "kind": "eval", "cost": 2 / (k + 1), "accuracy": k / 300, "samples": 9} for k in (0, 100, 200)]
    draw_charts(learning_charts({"": rows}, 200), tmp_path / "learning.png", columns=2)
    cost, accuracy = figures["learning"].axes
    assert {line.get_label() for line in cost.lines} >= {"training", "test", "best, update 200"}
    assert cost.get_yscale() == "log" and accuracy.get_ylabel() == "accuracy"
    assert list(accuracy.lines[0].get_ydata()) == [0, 100 / 300, 200 / 300]
    assert health_charts({"": rows}) == []


@pytest.mark.abridged
@pytest.mark.parametrize("gated", [[0] * 8, [8] * 8, [0, 1] * 4, [1]])
def test_health_panels_share_their_updates_and_count_in_whole_samples(
    gated: list[int], tmp_path: Path, figures: dict[str, Figure]
) -> None:
    rows = [
        {"step": k, "kind": "train", "cost": 1, "gradient_norm": 0.1 if k < 5 else None, "gated": count}
        for k, count in enumerate(gated, 1)
    ]
    draw_charts(health_charts({"": rows}), tmp_path / "health.png")
    norm, counts = (panel for panel in figures["health"].axes if panel.get_ylabel())
    assert norm.get_xlim() == counts.get_xlim()
    assert norm.get_xlim()[0] < 1 and norm.get_xlim()[1] > len(gated)
    for ticks in (counts.get_yticks(), counts.get_xticks()):
        assert all(tick == round(tick) for tick in ticks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forces", "label"),
    [
        ((), "energy"),
        (("ffn",), "energy terms alone, without force ffn"),
        (("a", "b"), "energy terms alone, without 2 forces"),
    ],
)
def test_the_energy_says_what_is_not_in_it(
    forces: tuple[str, ...], label: str, tmp_path: Path, figures: dict[str, Figure]
) -> None:
    train(make_session(tmp_path / "run", SETTINGS))
    plot_run(tmp_path / "run", replace(make_session(tmp_path / "run", SETTINGS), info={"forces": forces}))
    assert figures["energy"].axes[0].get_ylabel() == label


def test_smoothing_against_plain_means() -> None:
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    values = np.random.default_rng(seed).normal(size=250)
    values[40:60] = np.nan
    half = 2
    windows = [values[max(0, i - half) : i + half + 1] for i in range(250)]
    plain = [np.nan if np.isnan(window).all() else np.nanmean(window) for window in windows]
    found = [np.nan if value is None else value for value in smoothed(values.tolist())]
    assert np.allclose(found, plain, equal_nan=True)


def test_seeds_and_nothing(tmp_path: Path, figures: dict[str, Figure]) -> None:
    train_each(lambda seed, path: make_session(path, {**SETTINGS, "seed": seed}), [3, 4], tmp_path / "many")
    assert plot_run(tmp_path / "many").paths == [tmp_path / "many" / "pictures" / "seeds.png"]
    assert "mean of 2 seeds" in {line.get_label() for line in figures["seeds"].axes[0].lines}
    with pytest.raises(UserError, match="not a run folder"):
        plot_run(tmp_path / "none")
