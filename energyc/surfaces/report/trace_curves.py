"""Draw energy terms and states over the steps of a relaxation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from energyc.files import Place
from energyc.studies.inspection.traces import TOTAL, Trace
from energyc.surfaces.report.canvas import COLOURS, FAINT, Canvas, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (3.6, 2.6)
_MANY = 50  # steps from which on the axis is logarithmic


def draw_energies(traces: Mapping[str, Trace], path: Place) -> None:
    """Draw the change of each energy term since the start, a panel for each, the sum of a part's terms last.

    Thin lines are samples, the thick one is their mean with a band of one deviation. ``traces`` are those of parts, by
    their labels.
    """
    panels = [(label, name, trace) for label, trace in traces.items() for name in trace.values]
    with _grid(path, [len(trace.values) for trace in traces.values()]) as canvas:
        for panel, (label, name, trace) in zip(canvas.panels, panels, strict=False):
            values = _finite(trace.values[name])
            colour = COLOURS[1] if name == TOTAL else COLOURS[0]
            _band(panel, trace.steps, values - values[0], colour, samples=True)
            _end_of_free_phase(panel, trace)
            title = name if not label else f"{label}: {name}"
            panel.set_title(f"{title}\nat the start {_mean(values[0])}", fontsize=9)
            panel.set(xlabel="step", ylabel="change since the start")
        canvas.figure.suptitle(f"energy terms while the network relaxes, {_samples(traces)}")


def draw_states(runs: Mapping[str, Mapping[str, Trace]], path: Place) -> None:
    """Draw the states over the steps; ``runs`` are traces of parts by label, for ``inference`` and ``training``."""
    first = next(iter(runs.values()))
    panels = [(label, name) for label, trace in first.items() for name in trace.values]
    with _grid(path, [len(trace.values) for trace in first.values()]) as canvas:
        for panel, (label, name) in zip(canvas.panels, panels, strict=False):
            for colour, (mode, traces) in zip(COLOURS, runs.items(), strict=False):
                _band(panel, traces[label].steps, _finite(traces[label].values[name]), colour, label=mode)
            _end_of_free_phase(panel, first[label])
            panel.set_title(name if not label else f"{label}: {name}")
            panel.set(xlabel="step", ylabel=_meaning(name))
            if len(runs) > 1:
                panel.legend()
        canvas.figure.suptitle(f"states while the network relaxes, {_samples(first)}")


def _grid(path: Place, counts: Sequence[int]) -> AbstractContextManager[Canvas]:
    """A canvas for so many panels of each part: a row for each part where they are alike, few and several."""
    count = sum(counts)
    columns = count if count <= 3 else 2 if count == 4 else 3
    if len(counts) > 1 and set(counts) <= {2, 3, 4} and len(set(counts)) == 1:
        columns = counts[0]
    return picture(path, -(-count // columns), columns, _SIZE)


def _band(
    panel: Axes, steps: np.ndarray, values: np.ndarray, colour: str, *, label: str = "", samples: bool = False
) -> None:
    """Draw the mean over samples of [places, batch], one deviation around it, and perhaps each sample."""
    mean, deviation = values.mean(1), values.std(1)
    if samples:
        panel.plot(steps, values, color=FAINT, linewidth=0.5)
    panel.fill_between(steps, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0)
    panel.plot(steps, mean, color=colour, linewidth=1.8, label=label or None)
    panel.margins(x=0)


def _finite(values: np.ndarray) -> np.ndarray:
    """The values with gaps for what is not finite: where a sample diverged there is no mean."""
    return np.where(np.isfinite(values), values, np.nan)


def _end_of_free_phase(panel: Axes, trace: Trace) -> None:
    """Mark T1 where the picture goes beyond it, and choose the axis of the steps."""
    from matplotlib.ticker import MaxNLocator

    if trace.t1 < trace.steps[-1]:
        panel.axvline(trace.t1, color="black", linestyle="--", linewidth=0.8)
        panel.annotate("T1", (trace.t1, 1), xycoords=("data", "axes fraction"), xytext=(2, -8), fontsize=7,
                       textcoords="offset points")  # fmt: skip
    if trace.steps[-1] > _MANY:
        panel.set_xscale("symlog", linthresh=1)
        panel.set_xlim(0, trace.steps[-1])
    else:
        panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))


def _meaning(name: str) -> str:
    return "root mean square" if name.startswith("|") else "value"


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.4g} ± {values.std():.2g}".replace("-", "\u2212")


def _samples(traces: Mapping[str, Trace]) -> str:
    """Say how many samples there are, and what mean and band are."""
    trace = next(iter(traces.values()))
    count = next(iter(trace.values.values())).shape[1]
    return f"{count} test samples: mean and deviation" if count > 1 else "one test sample"
