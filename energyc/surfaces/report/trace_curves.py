"""Draw energy terms and states over the steps of a relaxation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from energyc.files import Place
from energyc.studies.inspection.traces import TOTAL, Trace
from energyc.surfaces.charts import Chart, Series
from energyc.surfaces.charts.canvas import draw_charts
from energyc.surfaces.charts.relaxing import followed, relaxation_chart


def draw_energies(traces: Mapping[str, Trace], path: Place) -> None:
    """Draw the change of each energy term since the start, a panel for each, the sum of a part's terms last.

    Thin lines are samples, the thick one is their mean. ``traces`` are those of parts, by their labels.
    """
    charts = []
    for label, trace in traces.items():
        for name in trace.values:
            values = _known(trace, name)
            start = f"{values[0].mean():.4g} ± {values[0].std():.2g}".replace("-", "\N{MINUS SIGN}")
            curves = _curves(trace, name, values - values[0], colour=int(name == TOTAL))
            title = f"{_titled(label, name)}\nat the start {start}"
            charts.append(_chart(trace, name, list(curves), "change since the start", title))
    counts = [len(trace.values) for trace in traces.values()]
    title = f"energy terms while the network relaxes, {_samples(traces)}"
    draw_charts(charts, path, title=title, columns=_columns(counts), size=(3.6, 2.6))


def draw_states(runs: Mapping[str, Mapping[str, Trace]], path: Place) -> None:
    """Draw the states over the steps; ``runs`` are traces of parts by label, for ``inference`` and ``training``."""
    first = next(iter(runs.values()))
    charts = []
    for label, trace in first.items():
        for name in trace.values:
            curves: list[Series] = []
            for colour, (mode, traces) in enumerate(runs.items()):
                said = mode if len(runs) > 1 else ""
                curves += _curves(traces[label], name, _known(traces[label], name), said, colour)
            meaning = "root mean square" if name.startswith("|") else "value"
            charts.append(_chart(trace, name, curves, meaning, _titled(label, name)))
    counts = [len(trace.values) for trace in first.values()]
    title = f"states while the network relaxes, {_samples(first)}"
    draw_charts(charts, path, title=title, columns=_columns(counts), size=(3.6, 2.6))


def _chart(trace: Trace, name: str, curves: Sequence[Series], y_label: str, title: str) -> Chart:
    """Return a panel, with a mark at T1 where the picture goes beyond it."""
    t1 = trace.t1 if trace.t1 < trace.steps[-1] else 0
    return relaxation_chart(name, curves, y_label=y_label, title=title, t1=t1)


def _known(trace: Trace, name: str) -> np.ndarray:
    """Values with gaps for what is not finite: where a sample diverged."""
    return np.where(np.isfinite(trace.values[name]), trace.values[name], np.nan)


def _curves(trace: Trace, name: str, values: np.ndarray, label: str = "", colour: int = 0) -> Iterator[Series]:
    """Yield each sample of [places, batch] and their mean."""
    return followed(name, trace.steps.tolist(), values.T.tolist(), label=label, colour=colour)


def _columns(counts: Sequence[int]) -> int:
    """The panels side by side: those of a part where parts are alike, few and several."""
    if len(counts) > 1 and set(counts) <= {2, 3, 4} and len(set(counts)) == 1:
        return counts[0]
    return 2 if sum(counts) == 4 else 3


def _titled(label: str, name: str) -> str:
    return f"{label}: {name}" if label else name


def _samples(traces: Mapping[str, Trace]) -> str:
    trace = next(iter(traces.values()))
    count = next(iter(trace.values.values())).shape[1]
    return f"{count} test samples and their mean" if count > 1 else "one test sample"
