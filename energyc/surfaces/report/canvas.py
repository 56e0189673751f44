"""The style of all pictures, and writing them. Matplotlib is imported when a picture is drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from energyc.language.diagnostics import UserError
from energyc.running.training.disk import replace_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours: distinct for everyone, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FAINT = "#9AA5B1"

_LOOK: Mapping[Any, Any] = MappingProxyType(
    {
        "figure.dpi": 150,
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E5E8EB",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 1.4,
        "legend.frameon": False,
        "legend.fontsize": 8,
    }
)


@dataclass(frozen=True)
class Canvas:
    """A figure with its panels in reading order."""

    figure: Figure
    panels: list[Axes]


@contextmanager
def picture(path: Path, rows: int, columns: int, size: tuple[float, float]) -> Iterator[Canvas]:
    """Yield a canvas of ``rows`` x ``columns`` panels, each of ``size`` inches, and write it to ``path``.

    A panel that nothing was drawn on is left blank.

    Raises UserError E0530 if matplotlib is not installed, E0513 if the picture cannot be written.
    """
    try:
        import matplotlib
        from matplotlib import cycler
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("pictures need matplotlib", code="E0530", help="pip install 'energyc[plots]'") from None
    with matplotlib.rc_context({**_LOOK, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        yield Canvas(figure, panels)
        for panel in panels:
            if not panel.has_data():
                panel.set_axis_off()
        _write(figure, path)


def _write(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        suffix = path.suffix.removeprefix(".")
        figure.savefig(buffer, format=suffix, metadata={"Software": None} if suffix == "png" else None)
        replace_bytes(path, buffer.getvalue())
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise UserError(message, code="E0513", help="free some space or choose another folder") from None
