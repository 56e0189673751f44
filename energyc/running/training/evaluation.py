"""Held-out evaluation: mean cost and metrics at the equilibria of a split, and how a few samples relax.

A row of ``relaxations.jsonl`` has the update (``step``), the steps ``at`` which it was looked, and a list for each
sample of its ``energies`` (where there are any) and its ``residuals`` there, rounded, null where they are not finite.
It is the free phase of the spec, outside of training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import UserError, arithmetic
from energyc.language.settings import TrainOptions
from energyc.language.settings.train import ALWAYS_MEASURED
from energyc.running.folder.checkpoints import load_best
from energyc.running.folder.layout import RunFolder
from energyc.running.ranks.group import ALONE, Group
from energyc.running.training.division import Part
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.health import NotFinite, not_finite_state
from energyc.running.training.network import Network, Tensors
from energyc.running.training.order import evenly_spread, key_noise
from energyc.running.training.outcome import Numbers, best_by
from energyc.running.training.precision import as_deployed
from energyc.running.training.saturation import Bounds, Saturating, Saturation, saturation
from energyc.running.training.scores import Gathered
from energyc.running.training.session import Session
from energyc.running.training.snapshot import restore
from energyc.runtime import convergence_threshold

Notify = Callable[[str], None]
_LOWER_IS_BETTER = ("cost", "error", "loss", "mse", "rmse", "mae", "perplexity", "residual", "entropy")


class Stopped(Exception):
    """An evaluation was stopped early."""


class Evaluation(NamedTuple):
    """The held-out numbers of a split, and its saturated units; None without states that have bounds.

    ``best_by`` says which samples chose the checkpoint, where it is the best one of a run.
    """

    numbers: Numbers
    saturated: Saturation | None = None
    best_by: str = ""


def evaluate(
    session: Session,
    *,
    split: Part = "test",
    samples: int | None = None,
    notify: Notify = lambda text: None,
    as_held: Callable[[Network], AbstractContextManager[object]] | None = None,
) -> Evaluation:
    """Evaluate the best checkpoint in ``session.out``, whose weights the network keeps; ``step`` is its number.

    ``samples`` limits the number of samples (all of the split by default), which are spread evenly over the split.
    A threshold that is the best on the validation part is found there first. ``as_held`` changes the params for the
    evaluation, as a device would hold them; by default they are rounded to ``train.bits``.
    Raises UserError if the run has no usable checkpoint, and E0515 if something is not finite.
    """
    checkpoint = load_best(RunFolder(Path(session.out)).checkpoints, notify)
    restore(session.net, checkpoint)
    feed = Feed(session.feeds, split, session.device, session.dtype)
    try:
        thresholds: Numbers = {}
        deployed = as_deployed(session.net, session.options) if as_held is None else as_held(session.net)
        with deployed, arithmetic("the evaluation", session.extremes):
            if session.options.needs_validation:
                validation = Feed(session.feeds, "validation", session.device, session.dtype)
                thresholds = evaluate_split(session.net, validation, session.options, samples=len(validation)).numbers
            found = evaluate_split(
                session.net,
                feed,
                session.options,
                samples=samples or len(feed),
                thresholds=thresholds,
                bounds=session.bounds,
            )
    except NotFinite as bad:
        message = f"the {split} split cannot be evaluated: {bad.what} is not finite"
        help_text = f"energyc verify {session.out} says whether the network settles; look at the data too"
        raise UserError(message, code="E0515", help=help_text) from None
    chosen = best_by(checkpoint.state.get("best") or {})
    return found._replace(numbers={"step": checkpoint.step, **found.numbers}, best_by=chosen)


@torch.no_grad()
def evaluate_split(
    net: Network,
    feed: Feed,
    options: TrainOptions,
    *,
    samples: int,
    stop: Callable[[], bool] = lambda: False,
    thresholds: Mapping[str, float] = MappingProxyType({}),
    group: Group = ALONE,
    bounds: Mapping[str, Bounds] = MappingProxyType({}),
) -> Evaluation:
    """Return means over the samples: ``cost``, each metric, ``residual``, ``settled`` (the share within the tolerance),
    ``relax_steps``; and ``residual_max``, ``samples``, and the metrics over all of the samples at once.

    ``thresholds`` are those of the validation part, whose numbers these may be. ``bounds`` are those of the states
    whose saturation is measured. The ranks take the batches in turn, and each returns the same. Raises NotFinite, and
    Stopped once ``stop()`` is true at one of them.
    """
    indices = evenly_spread(len(feed), samples)
    key_noise(options.seed, 0)
    net.train(False)
    measuring = _Measuring(net, feed, options, convergence_threshold(net.relax_tolerance), bounds)
    starts = range(0, len(indices), options.batch)
    with _exiting(net, options.eval_exit):
        for first in range(0, len(starts), group.size):
            if group.any(stop()):
                raise Stopped
            if first + group.rank < len(starts):
                start = starts[first + group.rank]
                measuring.add(indices[start : start + options.batch])
    numbers = _merged(group.collected(measuring.parts), options, thresholds)
    if not bounds:
        return Evaluation(numbers)
    counts = group.collected(measuring.saturating.counts)
    return Evaluation(numbers, saturation(counts, bounds, net.state_shapes, len(indices)))


@contextmanager
def _exiting(net: Network, how: str) -> Iterator[None]:
    """Let samples stop ``early`` within this context: in the network or its layers, each that has a tolerance.

    Not where a force reads the number of the step, nor where the spec has an exit of its own.
    """
    parts: list[Any] = list(getattr(net, "layers", {}).values()) or [net]
    settling = [p for p in parts if p.relax_exit == "settled" and p.relax_tolerance is not None and not p.numbered]
    changed = settling if how == "early" else []
    for part in changed:
        part.relax_exit = "early"
    try:
        yield
    finally:
        for part in changed:
            part.relax_exit = "settled"


class _Part(NamedTuple):
    """The measurements of a batch: numbers of each sample, scores and labels; or what was not finite."""

    numbers: dict[str, Tensor]
    gathered: Gathered
    bad: str | None = None


class _Measuring:
    """The batches of a split that this rank measures, until one is not finite."""

    def __init__(
        self, net: Network, feed: Feed, options: TrainOptions, limit: float, bounds: Mapping[str, Bounds]
    ) -> None:
        self.parts: list[_Part] = []
        self.saturating = Saturating(net, bounds)
        self._net, self._feed, self._options, self._limit = net, feed, options, limit

    def add(self, indices: np.ndarray) -> None:
        """Measure a batch."""
        if self.parts and self.parts[-1].bad is not None:
            return
        batch = self._feed.batch(indices, seed=self._options.seed)
        try:
            measured, states, readouts = _measure(self._net, batch, self._limit)
        except NotFinite as bad:
            self.parts.append(_Part({}, Gathered([]), bad.what))
            return
        self.saturating.add(states, batch)
        gathered = Gathered(self._options.whole_split(measured))
        if gathered.wanted:
            gathered.add(readouts, batch.targets)
        numbers = {name: value.detach().double().reshape(-1).cpu() for name, value in measured.items()}
        self.parts.append(_Part(numbers, gathered))


def _merged(by_rank: Sequence[Sequence[_Part]], options: TrainOptions, thresholds: Mapping[str, float]) -> Numbers:
    """Return the numbers of a split from the parts of all ranks, which took the batches in turn. Raises NotFinite."""
    parts = [part for turn in zip_longest(*by_rank) for part in turn if part is not None]
    bad = next((part.bad for part in parts if part.bad is not None), None)
    if bad is not None:
        raise NotFinite(bad)
    means = _means({name: [part.numbers[name] for part in parts] for name in parts[0].numbers})
    gathered = Gathered.joined([part.gathered for part in parts])
    over_all = gathered.numbers(means, thresholds)
    return {**_recorded(means, options.metrics), **over_all}


def _measure(net: Network, batch: Batch, limit: float) -> tuple[dict[str, Tensor], Tensors, Tensors]:
    """Return cost, metrics, residual, steps and whether samples settled, each [batch]; the states and the readouts.

    Raises NotFinite.
    """
    relaxed = net.relax(batch.clamps)
    answers = net.answers(relaxed.states, batch.clamps, batch.targets)
    bad = not_finite_state(net, batch, relaxed.states, answers.cost)
    if bad is not None:
        raise NotFinite(bad)
    settled = relaxed.residual <= limit
    residual = {"residual": relaxed.residual, "relax_steps": relaxed.steps, "settled": settled}
    return {"cost": answers.cost, **answers.metrics, **residual}, relaxed.states, answers.readouts


def check_names(net: Network, feed: Feed, options: TrainOptions) -> None:
    """Check ``metrics`` and ``best`` on one sample. Raises UserError (names, shapes, no scikit-learn), NotFinite."""
    numbers = evaluate_split(net, feed, TrainOptions(batch=1, seed=options.seed), samples=1).numbers
    for fault in options.misnamed(numbers):
        raise fault.error()
    if options.whole_split(numbers):
        evaluate_split(net, feed, replace(options, batch=1), samples=1)


def is_better(options: TrainOptions, value: float, best: float | None) -> bool:
    """Whether ``value`` of the deciding quantity is better than the best so far; a tie is not better."""
    if best is None or math.isnan(best):
        return True
    lower = options.best_mode == "min" or (options.best_mode == "auto" and _lower_is_better(options.best))
    return value < best if lower else value > best


def _lower_is_better(name: str) -> bool:
    return any(part in _LOWER_IS_BETTER for part in name.lower().split("_"))


def _means(collected: dict[str, list[Tensor]]) -> Numbers:
    joined = {name: torch.cat(parts) for name, parts in collected.items()}
    numbers = {name: float(values.mean()) for name, values in joined.items()}
    return {**numbers, "residual_max": float(joined["residual"].max()), "samples": len(joined["cost"])}


def _recorded(numbers: Numbers, metrics: Sequence[str] | None) -> Numbers:
    """Return what is always measured, and the metrics that are asked for."""
    if metrics is None:
        return numbers
    return {name: number for name, number in numbers.items() if name in ("cost", *ALWAYS_MEASURED, *metrics)}


# ------------------------------------------------------------------ relaxations.jsonl

#: How many samples are followed, and at how many steps they are looked at.
SAMPLES, PLACES = 4, 32
_PLURAL = MappingProxyType({"energy": "energies", "residual": "residuals"})


@torch.no_grad()
def relaxation_row(net: Network, feed: Feed, step: int, *, energies: bool, seed: int) -> dict[str, Any]:
    """Return the row of an update: some samples of a part, spread evenly over it, relaxed outside of training."""
    net.train(False)
    batch = feed.batch(evenly_spread(len(feed), SAMPLES), seed=seed)
    record = ("energy", "residual") if energies else ("residual",)
    trace = net.relax(batch.clamps, record=record).trace
    at = _places(len(trace["residual"]) - 1)
    return {"step": step, "at": at, **{_PLURAL[name]: _rounded(trace[name][at]) for name in record}}


def _places(last: int) -> list[int]:
    """Return steps from 0 to ``last``, all of them if they are few, else denser at the beginning."""
    if last < PLACES:
        return list(range(last + 1))
    return [0, *(int(k) for k in np.unique(np.geomspace(1, last, PLACES - 1).round()))]


def _rounded(values: Tensor) -> list[list[float | None]]:
    """Return [places, samples] as a list for each sample."""
    return [[_six_digits(float(value)) for value in sample] for sample in values.double().cpu().T]


def _six_digits(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
