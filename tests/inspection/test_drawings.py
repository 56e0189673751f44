"""Pictures show the numbers: the mean of the samples, tiles in order, tokens at their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from energyc.studies.inspection.traces import Trace
from energyc.surfaces.charts import canvas
from energyc.surfaces.report import relaxation
from energyc.surfaces.report.images import (
    Ground,
    draw_matrices,
    draw_memories,
    draw_over_image,
    draw_similarity,
    mosaic,
)
from energyc.surfaces.report.relaxation import draw_energies, draw_states


def trace(names: str, t1: int = 3, last: int = 9) -> Trace:
    steps = np.arange(last + 1)
    return Trace(steps, {name: 7 - np.outer(steps, [1.0, 3.0]) for name in names.split()}, t1)


def test_energies_show_the_mean_change_and_leave_what_is_over_blank(tmp_path: Path, figures: dict[str, Figure]) -> None:
    draw_energies({"": trace("a b c d total")}, tmp_path / "e.png")
    panels = figures["e"].axes
    assert [panel.axison for panel in panels] == [True] * 5 + [False]
    assert panels[4].get_title(loc="left") == "total\nat the start 7 ± 0"
    mean = max(panels[0].lines, key=lambda line: line.get_linewidth())
    np.testing.assert_allclose(mean.get_ydata(), -2 * np.arange(10))
    assert [line.get_xdata()[0] for line in panels[0].lines if line.get_linestyle() == "--"] == [3]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("from_step", [0, 4])
def test_what_diverged_is_a_gap(from_step: int, tmp_path: Path, figures: dict[str, Figure]) -> None:
    one = trace("a")
    one.values["a"][from_step:, 1] = -np.inf
    draw_energies({"": one}, tmp_path / "e.png")
    draw_states({"inference": {"": one}}, tmp_path / "s.png")
    mean = max(figures["e"].axes[0].lines, key=lambda line: line.get_linewidth())
    np.testing.assert_array_equal(np.isnan(np.asarray(mean.get_ydata(), float)), np.arange(10) >= from_step)


def test_parts_that_are_alike_have_a_row_each(tmp_path: Path, figures: dict[str, Figure]) -> None:
    draw_energies({"block 0": trace("a total"), "block 1": trace("a total")}, tmp_path / "e.png")
    titles = [panel.get_title(loc="left").splitlines()[0] for panel in figures["e"].axes]
    assert titles == ["block 0: a", "block 0: total", "block 1: a", "block 1: total"]
    assert figures["e"].axes[0].get_gridspec().ncols == 2


def test_states_of_inference_and_training(tmp_path: Path, figures: dict[str, Figure]) -> None:
    runs = {"inference": {"": trace("|y| tau")}, "training": {"": trace("|y| tau")}}
    draw_states(runs, tmp_path / "s.png")
    (size, tau) = figures["s"].axes
    assert [text.get_text() for text in tau.get_legend().get_texts()] == ["inference", "training", "T1 = 3"]
    assert (size.get_ylabel(), tau.get_ylabel()) == ("root mean square", "value")


def test_a_mosaic_is_read_like_a_text() -> None:
    tiles = np.arange(3)[:, None, None] * np.ones((3, 1, 2))
    np.testing.assert_array_equal(mosaic(tiles, 2, empty=9), [[0, 0, 9, 1, 1], [9, 9, 9, 9, 9], [2, 2, 9, 9, 9]])


@pytest.mark.parametrize("channels", [1, 3])
def test_a_memory_is_scaled_by_its_largest_entry_around_grey(
    channels: int, tmp_path: Path, figures: dict[str, Figure]
) -> None:
    images = np.zeros((2, channels, 2, 2))
    images[0, 0] = [[4, -2], [0, 0]]
    draw_memories(images, tmp_path / "m.png", title="xi")
    shown = np.asarray(figures["m"].axes[0].images[0].get_array())
    shades = shown if channels == 1 else shown[..., 0]
    np.testing.assert_allclose(shades[:, :2], [[1, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(shades[:, 3:], 0.5)


def test_the_colours_of_a_similarity_span_what_differs(tmp_path: Path, figures: dict[str, Figure]) -> None:
    cosines = np.array([[1, -0.3, 0], [-0.3, 1, 0.1], [0, 0.1, 1]])
    draw_similarity(cosines, tmp_path / "p.png", title="pos")
    assert figures["p"].axes[0].images[0].get_clim() == (-0.3, 0.3)


def test_weights_lie_over_the_pixels_of_their_tokens(tmp_path: Path, figures: dict[str, Figure]) -> None:
    """On a grid of 2 x 2 windows of 4 pixels with a stride of 2, so that they stand amid 1.5 and 3.5."""
    ground = Ground(np.full((6, 6), 0.5), np.array([1.5, 3.5]), np.array([1.5, 3.5]))
    weights = np.zeros((2, 2, 2, 2, 2))
    weights[1, 1, 0] = [[0.2, 0.8], [0, 0]]
    draw_over_image(weights, ground, [(1, 0)], [0, 1], tmp_path / "a.png", "att")
    where, _, head = figures["a"].axes
    (frame,) = (patch for patch in where.patches if isinstance(patch, Rectangle))
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((0.5, 2.5), 2, 2)
    heat = head.images[1]
    assert tuple(heat.get_extent()) == (0.5, 4.5, 4.5, 0.5)
    alpha = np.asarray(heat.get_array())[..., 3]
    np.testing.assert_allclose(alpha, 0.9 * np.array([[0.25, 1], [0, 0]]))
    assert head.get_title(loc="left") == "head 1, up to 0.8"
    assert to_rgba(frame.get_edgecolor()) == to_rgba(canvas.COLOURS[5])


def test_a_matrix_has_the_text_along_it(tmp_path: Path, figures: dict[str, Figure]) -> None:
    weights = np.eye(3)[None]
    draw_matrices(weights, [0], tmp_path / "w.png", title="t", names=("query (T)", "key (T)"), labels=["a", "·", "b"])
    (panel,) = figures["w"].axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["a", "·", "b"]
    np.testing.assert_array_equal(panel.images[0].get_array(), np.eye(3))


def test_a_residual_is_drawn_once_all_states_have_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *args, **settings: drawn.append(figure))
    late = np.array([[1e11, 1e11], [1e11, 2.0], [1.0, 0.5], [0.1, 0.1]])
    relaxation.draw_trace({"residual": late}, 2, tmp_path / "energy.png")
    lines = drawn[0].axes[0].get_lines()[:2]
    assert [list(np.asarray(line.get_xdata())) for line in lines] == [[2, 3], [2, 3]]
