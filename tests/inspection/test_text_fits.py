"""No picture cuts text off or writes one text over another: measured in the renderer, and at the edges of the file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from energyc.running.training.precision import Precision
from energyc.studies.hardware.study import Row
from energyc.studies.inspection.traces import Trace
from energyc.studies.verify.compare import Measure, Sweep
from energyc.studies.verify.looseness import Loose, Looseness
from energyc.surfaces.charts.canvas import draw_charts
from energyc.surfaces.charts.curves import health_charts, learning_charts, seed_charts
from energyc.surfaces.report import images, relaxation, sweep_plots
from energyc.surfaces.report.images import Ground, draw_matrices, draw_over_image

#: Names of a term, a state, a metric, a network: usual ones, and one as long as a spec may want it.
NAMES = ("attention", "a_rather_long_name_that_somebody_gave_to_a_term_of_the_energy")
REPORT = Path(relaxation.__file__).parent

Draw = Callable[[str, Path], object]


def trace(name: str) -> Trace:
    steps = np.arange(10)
    return Trace(steps, {name: 7e5 - np.outer(steps, [1e5, 3.0])}, 3)


def rows(name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {"step": k, "kind": "train", "cost": 1 / k, "residual": 1e-3 / k, "gradient_norm": 1.0, "lr": 0.1, "frozen": 1}
        for k in range(1, 200)
    ]
    return [*found, *({"step": k, "kind": "eval", "cost": 1e-5 * k, name: k / 200, "samples": 9} for k in (0, 100))]


def study(name: str) -> list[Row]:
    precisions = [Precision(), Precision(4), Precision(6), Precision(4, 0.01), Precision(6, 0.01)]
    return [Row(each, ({"cost": 1.0, name: 0.5}, {"cost": 2.0, name: 0.6})) for each in precisions]


def fidelity() -> Any:
    """What the sweeps of ``verify`` draw of it."""
    measure = Measure(0.9, 0.1)
    points = tuple(Loose(10.0**-k, k, measure, measure, "W", 1.0 if k else 0.5) for k in range(4))
    rule = SimpleNamespace(sweep=Sweep("beta", ((1.0, 1e-2), (0.1, 1e-4))))
    return SimpleNamespace(rules={"tracking-aep": rule}, looseness=Looseness({"tracking-aep": points}))


def image(name: str, path: Path) -> None:
    ground = Ground(np.full((6, 6), 0.5), np.array([1.5, 3.5]), np.array([1.5, 3.5]))
    draw_over_image(np.full((2, 2, 2, 2, 2), 0.123), ground, [(1, 0)], [0, 1], path, f"weights in {name} at the end")


# ruff: noqa: E501
#: Each function of the report that draws, and how it is called.
KINDS: dict[str, Draw] = {
    "draw_energies": lambda name, path: relaxation.draw_energies({"block 0": trace(name)}, path),
    "draw_states": lambda name, path: relaxation.draw_states({"inference": {"": trace(name)}}, path),
    "draw_trace": lambda name, path: relaxation.draw_trace({name: 1e6 * np.ones((60, 2)), "residual": np.ones((60, 2))}, 9, path),
    "draw_images": lambda name, path: images.draw_images({"reconstruction": torch.ones(3, 1, 4, 4)}, path),
    "draw_memories": lambda name, path: images.draw_memories(np.ones((4, 1, 3, 3)), path, title=f"{name}: 4 rows, through {name}"),
    "draw_similarity": lambda name, path: images.draw_similarity(np.eye(3), path, title=f"{name}: similarity of its 3 places"),
    "draw_over_image": image,
    "draw_matrices": lambda name, path: draw_matrices(np.ones((3, 5, 5)), [0, 1, 2], path, title=f"weights in {name} at the end of the free phase, test sample 0", names=(f"query ({name})", f"key ({name})")),
    "_plot_curves": lambda name, path: draw_charts(learning_charts({"": rows(name)}, 100), path, title=f"{name}, centered-ep", columns=2),
    "_plot_curves, health": lambda name, path: draw_charts(health_charts({"": rows(name)}), path, title=f"{name}, centered-ep"),
    "_plot_seeds": lambda name, path: draw_charts(seed_charts({"seed-0": rows(name), "seed-1": rows(name)}), path, title=f"{name}, centered-ep"),
    "draw_study": lambda name, path: sweep_plots.draw_study(f"{name} by params of few bits", study(name), path),
    "draw_sweep": lambda name, path: sweep_plots.draw_sweep(name, fidelity(), "residual", path),
    "draw_sweep, beta": lambda name, path: sweep_plots.draw_sweep(name, fidelity(), "beta", path),
}  # fmt: skip


def texts(figure: Figure) -> Iterator[tuple[Text, Bbox]]:
    """Every text that is seen, with its box in pixels."""
    figure.draw_without_rendering()
    for text in [*figure.texts, *(text for panel in figure.axes for text in _of_panel(panel))]:
        if text.get_text().strip() and text.get_visible():
            yield text, text.get_window_extent()


def _of_panel(panel: Axes) -> Iterator[Text]:
    yield from (panel.title, panel._left_title, *panel.texts)  # type: ignore[attr-defined]
    legend = panel.get_legend()
    yield from legend.get_texts() if legend else ()
    if panel.axison:
        for axis in (panel.xaxis, panel.yaxis):
            yield axis.label
            yield from (tick.label1 for tick in axis._update_ticks())  # type: ignore[attr-defined]


@pytest.mark.abridged
@pytest.mark.parametrize("kind", KINDS)
def test_text_lies_in_the_picture(kind: str, tmp_path: Path, figures: dict[str, Figure]) -> None:
    """Of usual names: within the size that the picture asks for, and no title over another text."""
    KINDS[kind](NAMES[0], tmp_path / "p.png")
    figure = figures["p"]
    found = list(texts(figure))
    assert found
    for text, box in found:
        inside = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0
        assert inside and box.y1 <= figure.bbox.y1, f"{text.get_text()!r} is cut"
    for (one, a), (other, b) in combinations(found, 2):
        assert not _over(a, b), f"{one.get_text()!r} is over {other.get_text()!r}"


@pytest.mark.abridged
@pytest.mark.parametrize("kind", KINDS)
def test_no_name_is_too_long(kind: str, tmp_path: Path, figures: dict[str, Figure]) -> None:
    """The edge of the file is as white as paper: text that is cut ends there."""
    KINDS[kind](NAMES[1], tmp_path / "p.png")
    pixels = imread(tmp_path / "p.png")[..., :3]
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert edge.min() > 0.97
    titles = [(text, box) for text, box in texts(figures["p"]) if "rather" in text.get_text()]
    assert titles or kind == "draw_images"
    for (one, a), (other, b) in combinations(titles, 2):
        assert not _over(a, b), f"{one.get_text()!r} is over {other.get_text()!r}"


def _over(a: Bbox, b: Bbox) -> bool:
    """Whether boxes share more than a rim of a pixel."""
    shared = Bbox.intersection(a, b)
    return shared is not None and shared.width > 1 and shared.height > 1


def test_every_kind_of_picture_is_measured() -> None:
    drawing = set()
    for path in REPORT.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                called = {c.func.id for c in ast.walk(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
                if called & {"picture", "draw_charts"}:
                    drawing.add(node.name)
    assert drawing == {kind.partition(",")[0] for kind in KINDS}
