"""Test errors of runs that complete masked images, compared with two completions that learn nothing.

``python -m benchmarks.completion RUN...`` with run folders of ``specs/cet.energy`` on the same data. Errors are mean
squares over the whole test split, with values in [-1, 1]: over all pixels (the spec's cost) and over the hidden
pixels alone. ``mean`` fills the hidden pixels with the mean of the visible ones, ``harmonic`` with the solution of
Laplace's equation. Both keep the visible pixels, so these add nothing to their error over all pixels.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_matrix, diags
from scipy.sparse.linalg import spsolve

from energyc.pipeline import instantiate
from energyc.running.data import Dataset
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run

BATCH = 64


@dataclass(frozen=True)
class Errors:
    """Mean squared errors over all pixels and over the hidden ones."""

    every: float
    hidden: float

    @staticmethod
    def of(completed: np.ndarray, clean: np.ndarray, mask: np.ndarray) -> Errors:
        """From images ``[n, channels, side, side]`` and masks ``[n, side, side]``, 1 where hidden."""
        squares = (completed - clean) ** 2
        weights = np.broadcast_to(mask[:, None], squares.shape)
        return Errors(float(squares.mean()), float((squares * weights).sum() / weights.sum()))


def complete_by_mean(masked: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Fill each channel's hidden pixels with the mean of its visible ones."""
    visible = 1 - mask[:, None]
    mean = (masked * visible).sum((2, 3), keepdims=True) / visible.sum((2, 3), keepdims=True)
    return np.where(visible > 0, masked, mean)


def complete_by_diffusion(masked: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Fill the hidden pixels such that each is the mean of its neighbours."""
    laplacian = _laplacian(mask.shape[-1])
    pairs = zip(masked, mask.reshape(len(mask), -1) > 0, strict=True)
    return np.stack([_harmonic(image, hidden, laplacian) for image, hidden in pairs])


def _harmonic(image: np.ndarray, hidden: np.ndarray, laplacian: csr_matrix) -> np.ndarray:
    flat = image.reshape(len(image), -1).astype(np.float64)
    rows = laplacian[hidden]
    inner, outer = rows[:, hidden].tocsc(), rows[:, ~hidden]
    for channel in flat:
        channel[hidden] = spsolve(inner, -outer @ channel[~hidden])
    return flat.reshape(image.shape)


def _laplacian(side: int) -> csr_matrix:
    """The Laplacian of the pixel grid, ``[side^2, side^2]``."""
    number = np.arange(side * side).reshape(side, side)
    one = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    other = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    half = coo_matrix((np.ones(len(one)), (one, other)), (side * side, side * side))
    edges = half + half.T
    return csr_matrix(diags(np.asarray(edges.sum(1)).ravel()) - edges)


def complete(net: Any, masked: np.ndarray) -> np.ndarray:
    """The images that a trained network reconstructs from masked ones."""
    parts = torch.split(torch.from_numpy(masked), BATCH)
    with torch.no_grad():
        return torch.cat([net.relax({"x": part}).states["y"] for part in parts]).numpy()


def measured(runs: Sequence[Path]) -> tuple[dict[str, list[Errors]], dict[str, Errors]]:
    """The errors of the runs of each rule, and of the completions that learn nothing."""
    learned: dict[str, list[Errors]] = defaultdict(list)
    for run in runs:
        prepared = reopen(run)
        test = test_images(next(iter(prepared.datasets.values())))
        net = instantiate(prepared.compiled, "cpu", torch.float32, prepared.options.seed)
        load_run(run).load_into(net, "last")
        completed = complete(net, test["masked"])
        learned[str(prepared.options.rule)].append(Errors.of(completed, test["clean"], test["mask"]))
    filled = {"mean": complete_by_mean, "harmonic": complete_by_diffusion}
    given = test["masked"], test["mask"]
    return learned, {name: Errors.of(fill(*given), test["clean"], test["mask"]) for name, fill in filled.items()}


def test_images(images: Dataset) -> dict[str, np.ndarray]:
    """The whole test split."""
    split = images.split("test")
    return split.batch(np.arange(len(split)))


def report(learned: dict[str, list[Errors]], plain: dict[str, Errors]) -> list[str]:
    """A Markdown table: mean and deviation over the runs, and the share of the mean predictor's error."""
    head = "| completion | runs | all pixels | hidden pixels | share of the mean's, all / hidden |"
    rows = [head, "|---|---|---|---|---|"]
    base = plain["mean"]
    for name, errors in [*((n, [e]) for n, e in plain.items()), *learned.items()]:
        every, hidden = [e.every for e in errors], [e.hidden for e in errors]
        shares = f"{statistics.fmean(every) / base.every:.3f} / {statistics.fmean(hidden) / base.hidden:.3f}"
        rows.append(f"| {name} | {len(errors)} | {_spread(every)} | {_spread(hidden)} | {shares} |")
    return rows


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.5f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.5f}"


if __name__ == "__main__":
    print("\n".join(report(*measured([Path(run) for run in sys.argv[1:]]))))
