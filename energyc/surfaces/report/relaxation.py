"""Draw a network while it relaxes: energy and residual, each term, each state, and the images that it completes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from energyc.files import Place
from energyc.language.network import Network as Resolved
from energyc.running.training.feeds import Batch, Feeds
from energyc.running.training.network import Network
from energyc.studies.inspection.decode import Picture, Shape, answered_images, image_inputs
from energyc.studies.inspection.traces import TOTAL, Trace
from energyc.surfaces.charts import Chart, Series
from energyc.surfaces.charts.canvas import draw_charts
from energyc.surfaces.charts.curves import followed, relaxation_chart
from energyc.surfaces.report.images import draw_images

_BEYOND = 4  # multiples of the free phase that are drawn
_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Answer:
    """A readout that is an image, the clamp that it is made of and the target that it is compared with.

    ``picture`` says where its entries are in the image; None where readout, clamp and target are images as they are.
    ``shape`` is that of the images.
    """

    masked: str
    readout: str
    clean: str
    shape: Shape
    picture: Picture | None = None

    def images(self, values: Tensor) -> Tensor:
        """The images [batch, channels, height, width] of a clamp or target."""
        return values.reshape(len(values), *self.shape)

    def answered(self, values: Tensor) -> Tensor:
        """The images of a readout."""
        if self.picture is None:
            return self.images(values)
        return torch.from_numpy(self.picture.images(values.cpu().double().numpy())).nan_to_num()


def free_steps(net: Network, batch: Batch) -> int:
    """Return T1, the most steps of a sample in the free phase of the spec."""
    return int(net.relax(batch.clamps).steps.max())


def last_step(net: Network, t1: int) -> int:
    """Return how far a relaxation is drawn: beyond T1, unless the steps are numbered."""
    return t1 if net.numbered else _BEYOND * t1


@torch.no_grad()
def energy_curves(
    net: Network, batch: Batch, path: Place, *, forces: Sequence[str] = (), energies: bool = True
) -> None:
    """Draw energy and residual against steps for each sample, beyond T1, with a line at T1.

    ``forces`` names the terms without an energy, which the label mentions as missing. Without ``energies`` only the
    residual is drawn.
    """
    t1 = free_steps(net, batch)
    record = ("energy", "residual") if energies else ("residual",)
    trace = net.relax(batch.clamps, steps=last_step(net, t1), record=record).trace
    labels = {"energy": f"energy terms alone, without {_named(forces)}"} if forces else {}
    draw_trace({name: trace[name].cpu().double().numpy() for name in record}, t1, path, labels)


def _named(forces: Sequence[str]) -> str:
    """Name a single force, or count several."""
    return f"force {forces[0]}" if len(forces) == 1 else f"{len(forces)} forces"


def draw_trace(trace: Mapping[str, np.ndarray], t1: int, path: Place, labels: Mapping[str, str] = _NO_LABELS) -> None:
    """Draw each entry of a trace, [steps + 1, batch], as a panel, the residual on a log axis."""
    charts = []
    for name, values in trace.items():
        curves = list(followed(name, list(range(len(values))), values.T.tolist()))
        charts.append(relaxation_chart(name, curves, y_label=labels.get(name, name), t1=t1))
    count = next(iter(trace.values())).shape[1]
    title = f"{count} samples while the network relaxes"
    draw_charts(charts, path, title=title, columns=len(charts), size=(5.0, 3.4))


def find_images(
    net: Network, batch: Batch, network: Resolved | None = None, feeds: Feeds | None = None
) -> Answer | None:
    """Find the first readout that is an image, with a clamp that is one like it.

    Of a ``network`` it is one that the cost compares with a target; without one, it has the shape of a clamp and a
    target, [C, S, S] with C = 1 or 3.
    """
    if network is not None and feeds is not None:
        answer = _compared(network, image_inputs(feeds))
        if answer is not None:
            return answer
    readouts = net.readout(net.relax(batch.clamps).states, batch.clamps)
    for name, value in readouts.items():
        masked = _same_shape(batch.clamps, value)
        clean = _same_shape(batch.targets, value)
        if _is_image(value) and masked and clean:
            return Answer(masked, name, clean, (value.shape[1], value.shape[2], value.shape[3]))
    return None


def _compared(network: Resolved, images: Mapping[str, Shape]) -> Answer | None:
    for readout, answered in answered_images(network, images).items():
        masked = next((name for name in network.clamps if images.get(name) == answered.shape), None)
        if masked is not None:
            return Answer(masked, readout, answered.like, answered.shape, answered)
    return None


@torch.no_grad()
def triples(net: Network, batch: Batch, answer: Answer, path: Place) -> None:
    """Draw a column for each sample: the masked image, the reconstruction at equilibrium, the original."""
    values = net.readout(net.relax(batch.clamps).states, batch.clamps)[answer.readout]
    rows = {"masked": answer.images(batch.clamps[answer.masked]), "reconstruction": answer.answered(values)}
    draw_images({**rows, "original": answer.images(batch.targets[answer.clean])}, path)


@torch.no_grad()
def growing_reconstructions(net: Network, batch: Batch, answer: Answer, path: Place) -> None:
    """Draw a column for each sample and a row for each number of steps, from the start up to T1 and 4 T1."""
    t1 = free_steps(net, batch)
    rows = {"masked": answer.images(batch.clamps[answer.masked])}
    for steps in (0, *growing_steps(t1, last_step(net, t1))):
        endpoint = net.relax(batch.clamps, steps=steps)
        label = f"{steps} step{'s' if steps != 1 else ''}" + (" = T1" if steps == t1 else "")
        values = net.readout(endpoint.states, batch.clamps)[answer.readout]
        rows[label if steps else "start"] = answer.answered(values)
    draw_images({**rows, "original": answer.images(batch.targets[answer.clean])}, path)


def growing_steps(t1: int, last: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50, ... below T1, then T1 and the last step."""
    ladder = [digit * 10**power for power in range(len(str(t1))) for digit in (1, 2, 5)]
    return list(dict.fromkeys([*(steps for steps in ladder if steps < t1), t1, last]))


def _is_image(value: Tensor) -> bool:
    return value.ndim == 4 and value.shape[1] in (1, 3) and value.shape[2] == value.shape[3] > 1


def _same_shape(tensors: Mapping[str, Tensor], like: Tensor) -> str | None:
    return next((name for name, tensor in tensors.items() if tensor.shape == like.shape), None)


# ------------------------------------------------------------------ terms and states


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
