"""Held-out evaluation: mean cost and metrics at the equilibria of a split."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from energyc.diagnostics import UserError, arithmetic
from energyc.runtime.unrest import settled_within
from energyc.settings import TrainOptions
from energyc.settings.train import ALWAYS_MEASURED
from energyc.train.checkpoint import load_best
from energyc.train.feeds import Batch, Feed
from energyc.train.folder import RunFolder
from energyc.train.health import NotFinite, not_finite_state
from energyc.train.network import Network
from energyc.train.order import evenly_spread, key_noise
from energyc.train.outcome import Numbers
from energyc.train.session import Session
from energyc.train.snapshot import restore

Notify = Callable[[str], None]
_LOWER_IS_BETTER = ("cost", "error", "loss", "mse", "rmse", "mae", "perplexity", "residual", "entropy")


class Stopped(Exception):
    """An evaluation was stopped early."""


def evaluate(
    session: Session,
    *,
    split: Literal["train", "test"] = "test",
    samples: int | None = None,
    notify: Notify = lambda text: None,
) -> Numbers:
    """Evaluate the best checkpoint in ``session.out``, whose weights the network keeps.

    ``samples`` limits the number of samples (all of the split by default), which are spread evenly over the split.
    Raises UserError if the run has no usable checkpoint, and E0515 if something is not finite.
    """
    checkpoint = load_best(RunFolder(Path(session.out)).checkpoints, notify)
    restore(session.net, checkpoint)
    feed = Feed(session.feeds, split, session.device, session.dtype)
    try:
        with arithmetic("the evaluation", session.extremes):
            numbers = evaluate_split(session.net, feed, session.options, samples=samples or len(feed))
    except NotFinite as bad:
        message = f"the {split} split cannot be evaluated: {bad.what} is not finite"
        help_text = f"energyc verify {session.out} says whether the network settles; look at the data too"
        raise UserError(message, code="E0515", help=help_text) from None
    return {"step": checkpoint.step, **numbers}


@torch.no_grad()
def evaluate_split(
    net: Network,
    feed: Feed,
    options: TrainOptions,
    *,
    samples: int,
    stop: Callable[[], bool] = lambda: False,
) -> Numbers:
    """Return means over the samples: ``cost``, each metric, ``residual``, ``settled`` (the share within the tolerance),
    ``relax_steps``; and ``residual_max``, ``samples``.

    Raises NotFinite, and Stopped once ``stop()`` is true.
    """
    indices = evenly_spread(len(feed), samples)
    key_noise(options.seed, 0)
    net.train(False)
    limit = settled_within(net.relax_tolerance)
    collected: dict[str, list[Tensor]] = {}
    for start in range(0, len(indices), options.batch):
        if stop():
            raise Stopped
        batch = feed.batch(indices[start : start + options.batch], seed=options.seed)
        measured = _measure(net, batch, limit)
        for name, value in measured.items():
            collected.setdefault(name, []).append(value.detach().double().reshape(-1))
    return _means(collected, options.metrics)


def _measure(net: Network, batch: Batch, limit: float) -> dict[str, Tensor]:
    """Return cost, metrics, residual, steps and whether samples settled, each [batch]. Raises NotFinite."""
    relaxed = net.relax(batch.clamps)
    cost = net.cost(relaxed.states, batch.clamps, batch.targets)
    bad = not_finite_state(net, batch, relaxed.states, cost)
    if bad is not None:
        raise NotFinite(bad)
    metrics = net.metrics(relaxed.states, batch.clamps, batch.targets)
    settled = relaxed.residual <= limit
    return {"cost": cost, **metrics, "residual": relaxed.residual, "relax_steps": relaxed.steps, "settled": settled}


def check_names(net: Network, feed: Feed, options: TrainOptions) -> None:
    """Check the names in ``metrics`` and ``best`` on one sample. Raises UserError E0501, NotFinite."""
    numbers = evaluate_split(net, feed, TrainOptions(batch=1, seed=options.seed), samples=1)
    for fault in options.misnamed(numbers):
        raise fault.error()


def is_better(options: TrainOptions, value: float, best: float | None) -> bool:
    """Whether ``value`` of the deciding quantity is better than the best so far; a tie is not better."""
    if best is None or math.isnan(best):
        return True
    lower = options.best_mode == "min" or (options.best_mode == "auto" and _lower_is_better(options.best))
    return value < best if lower else value > best


def _lower_is_better(name: str) -> bool:
    return any(part in _LOWER_IS_BETTER for part in name.lower().split("_"))


def _means(collected: dict[str, list[Tensor]], metrics: Sequence[str] | None) -> Numbers:
    joined = {name: torch.cat(parts) for name, parts in collected.items()}
    numbers = {name: float(values.mean()) for name, values in joined.items()}
    if metrics is not None:
        numbers = {name: number for name, number in numbers.items() if name in ("cost", *ALWAYS_MEASURED, *metrics)}
    return {**numbers, "residual_max": float(joined["residual"].max()), "samples": len(joined["cost"])}
