"""Metrics over all entries of a split at once, by scikit-learn: macro-F1, the area under the ROC curve, RMSE.

F1 and AUC of a split are not means of those of its batches, so scores and labels are gathered first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from torch import Tensor

from energyc.extras import install_extra
from energyc.language.diagnostics import UserError
from energyc.language.settings.scores import BEST, Score
from energyc.running.training.network import Tensors

Numbers = dict[str, float]


@dataclass
class Gathered:
    """The scores and labels of a split, batch by batch, for each of some metrics."""

    wanted: Sequence[Score]
    _parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)

    def add(self, readouts: Tensors, targets: Tensors) -> None:
        """Keep the entries of a batch that count. Raises UserError E0502 where shapes do not fit."""
        for score in self.wanted:
            if score.compares:
                scores, labels = _only(readouts, score.score), _only(targets, score.label)
                mask = None if score.of is None else targets[score.of]
                self._parts.setdefault(score.name, []).append(_entries(score, scores, labels, mask))

    @staticmethod
    def joined(batches: Sequence[Gathered]) -> Gathered:
        """Return the scores and labels of several batches, in their order."""
        whole = Gathered(batches[0].wanted)
        for batch in batches:
            for name, parts in batch._parts.items():
                whole._parts.setdefault(name, []).extend(parts)
        return whole

    def numbers(self, means: Mapping[str, float], chosen: Mapping[str, float]) -> Numbers:
        """Return each metric by its name; and as ``NAME_threshold`` a threshold that was to be the best.

        ``means`` are the means over the samples; ``chosen`` has the thresholds from the validation part, or nothing
        where they are chosen here. What is not defined, as the AUC of a single label, is NaN. Raises UserError (no
        scikit-learn).
        """
        numbers: Numbers = {}
        for score in self.wanted:
            if not score.compares:
                numbers[score.name] = _exponential(means[score.loss])
                continue
            scores, labels = (np.concatenate(arrays) for arrays in zip(*self._parts[score.name], strict=True))
            if not len(labels):
                numbers[score.name] = math.nan
            elif score.name == "macro_f1":
                numbers |= _macro_f1(score, scores, labels, chosen)
            else:
                numbers[score.name] = {"auc": _auc, "rmse": _rmse}[score.name](scores, labels)
        return numbers


def check_installed(scores: Iterable[Score]) -> None:
    """Raise UserError E0913 for metrics over a split where the library that computes them is not installed."""
    for score in scores:
        if score.compares:
            _scikit_learn(score.name)


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the threshold with the highest macro-F1, between two scores; the lowest of several.

    ``scores`` and ``labels`` ``[entries]``, of which those of an anomaly are true.
    """
    order = np.argsort(scores, kind="stable")
    ordered, positive = scores[order], labels[order].astype(bool)
    # with a threshold after entry k: what lies above it, and what up to it, of either label
    below = np.cumsum(positive), np.cumsum(~positive)
    missed, rejected = below[0], below[1]
    found, false = below[0][-1] - missed, below[1][-1] - rejected
    f_positive = 2 * found / np.maximum(1, 2 * found + missed + false)
    f_negative = 2 * rejected / np.maximum(1, 2 * rejected + missed + false)
    between = np.append(ordered[:-1] < ordered[1:], False)
    if not between.any():
        return float(ordered[0])
    k = int(np.argmax(np.where(between, f_positive + f_negative, -1)))
    return float((ordered[k] + ordered[k + 1]) / 2)


def _only(tensors: Tensors, name: str | None) -> Tensor:
    return next(iter(tensors.values())) if name is None else tensors[name]


def _entries(score: Score, scores: Tensor, labels: Tensor, mask: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    """Scores ``[entries]`` or ``[entries, classes]`` and labels ``[entries]``, where the mask is not 0."""
    classes = not labels.is_floating_point() and scores.ndim == labels.ndim + 1 and score.name != "rmse"
    wanted = scores.shape[:-1] if classes else scores.shape
    if wanted != labels.shape or (mask is not None and mask.shape != labels.shape[: mask.ndim]):
        shapes = [list(tensor.shape[1:]) for tensor in (scores, labels, mask) if tensor is not None]
        message = f"train.metrics: {score.name} cannot compare shapes {', '.join(map(str, shapes))} of a sample"
        help_text = "score and label (and of) have one shape; or the score has one more dim, that of an integer label"
        raise UserError(message, code="E0502", help=help_text)
    scores, labels = (tensor.detach().double().cpu() for tensor in (scores, labels))
    if mask is not None:
        kept = mask.detach().cpu() != 0
        kept = kept.reshape(*kept.shape, *[1] * (labels.ndim - kept.ndim)).expand(labels.shape)
        scores, labels = scores[kept], labels[kept]
    flat = scores.reshape(-1, scores.shape[-1]) if classes else scores.reshape(-1)
    return flat.numpy(), labels.reshape(-1).numpy()


def _macro_f1(score: Score, scores: np.ndarray, labels: np.ndarray, chosen: Mapping[str, float]) -> Numbers:
    """The mean of the F1 of each label; of scores by class the highest is the answer."""
    metrics = _scikit_learn(score.name)
    if scores.ndim == 2:
        return {score.name: float(metrics.f1_score(labels, scores.argmax(1), average="macro", zero_division=0))}
    truth, name = _binary(score.name, labels), f"{score.name}_threshold"
    if not np.isfinite(scores).all():
        return {score.name: math.nan}
    best = score.threshold == BEST
    threshold = chosen.get(name, best_threshold(scores, truth) if best else 0.0) if best else float(score.threshold)
    f1 = metrics.f1_score(truth, scores > threshold, labels=[False, True], average="macro", zero_division=0)
    return {score.name: float(f1), **({name: threshold} if best else {})}


def _auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The area under the ROC curve; of several classes the mean of each against the others."""
    metrics = _scikit_learn("auc")
    classes = scores.shape[1] if scores.ndim == 2 else 2
    truth = labels.astype(np.int64) if scores.ndim == 2 else _binary("auc", labels)
    if not np.isfinite(scores).all() or len(np.unique(truth)) < classes:
        return math.nan
    if scores.ndim == 1 or classes == 2:
        margin = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
        return float(metrics.roc_auc_score(truth, margin))
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return float(metrics.roc_auc_score(truth, weights / weights.sum(1, keepdims=True), multi_class="ovr"))


def _rmse(scores: np.ndarray, labels: np.ndarray) -> float:
    if not np.isfinite(scores).all():
        return math.nan
    return float(_scikit_learn("rmse").root_mean_squared_error(labels, scores))


def _binary(name: str, labels: np.ndarray) -> np.ndarray:
    """Labels as true and false. Raises UserError E0502 for others than 0 and 1."""
    if not np.isin(labels, (0, 1)).all():
        message = f"train.metrics: {name} needs labels of 0 and 1, and there are others"
        raise UserError(message, code="E0502", help="of several classes give a score for each: logits[k]")
    return labels == 1


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _scikit_learn(name: str) -> ModuleType:
    try:
        import sklearn.metrics
    except ImportError:
        message = f"train.metrics: {name} is computed by scikit-learn, which is not installed"
        raise UserError(message, code="E0913", help=install_extra("data")) from None
    module: ModuleType = sklearn.metrics
    return module
