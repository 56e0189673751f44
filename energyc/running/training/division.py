"""How the samples of a spec's data are divided into training, validation and test.

The data come as a training and a test split, and some have a validation part of their own. A share of the training
samples can be held out as a validation part, and for cross-validation all samples are divided into folds, each of which
is the test of one run. Both keep the shares of the labels, where a target is a label, and keep samples together
that share content (``groups`` of a split). They do not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from energyc.language.diagnostics import UserError
from energyc.running.data.arrays import folds, held_out
from energyc.running.data.schema import Split

Part: TypeAlias = Literal["train", "validation", "test"]
_CHUNK = 1000
_FOLDS, _VALIDATION = 0, 1  # one random stream for each purpose


@dataclass(frozen=True)
class Division:
    """``validation`` is the share of the training samples, None for none; ``fold`` is the test of ``folds``."""

    validation: float | None = None
    folds: int | None = None
    fold: int | None = None

    @property
    def is_that_of_the_data(self) -> bool:
        """Whether training and test are the splits of the data."""
        return self.validation is None and self.fold is None

    @property
    def pooled(self) -> tuple[Literal["train", "test"], ...]:
        """The splits that are divided."""
        return ("train",) if self.fold is None else ("train", "test")

    def indices(self, units: np.ndarray, labels: np.ndarray) -> dict[Part, np.ndarray]:
        """The samples of each part, among those of the pooled splits; of the validation part only if there is one.

        ``units`` ``[samples]`` are the groups that stay together, numbered from 0, and ``labels`` ``[groups]`` theirs.
        Raises UserError E0520 if there are too few.
        """
        part = np.full(len(labels), "train", dtype="<U10")
        if self.fold is not None and self.folds is not None:
            _check_enough(len(labels), self.folds, f"train.folds = {self.folds}")
            part[folds(labels, self.folds, _FOLDS) == self.fold] = "test"
        if self.validation is not None:
            rest = np.flatnonzero(part == "train")
            _check_enough(len(rest), 2, "train.validation")
            share = Fraction(self.validation).limit_denominator(10**6)  # that of a JSON is the same
            part[rest[held_out(labels[rest], share, _VALIDATION)]] = "validation"
        names: tuple[Part, ...] = ("train", "validation", "test")
        divided = {name: np.flatnonzero(part[units] == name) for name in names}
        return {name: indices for name, indices in divided.items() if len(indices)}


#: Training and test as the data have them.
WHOLE = Division()


def _check_enough(count: int, least: int, setting: str) -> None:
    if count < least:
        message = f"{setting} divides the training data, which have {count} sample{'s' * (count != 1)} to divide"
        raise UserError(message, code="E0520", help="give more data, or take the setting out: train.validation = none")


def units_and_labels(
    splits: Sequence[Mapping[str, Split]], label: tuple[str, str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The group of each sample of several splits, one after another, and the label of each group.

    A split is given by the splits of its bindings, and ``label`` is the binding and the field of the labels. Samples
    without groups are a group each; groups of several samples count as of one label.
    """
    groups, start = [], 0
    for bindings in splits:
        own = [
            np.asarray(found) for split in bindings.values() if (found := getattr(split, "groups", None)) is not None
        ]
        count = len(next(iter(bindings.values())))
        group = own[0] if own else np.arange(count)
        groups.append(start + np.unique(group, return_inverse=True)[1])
        start += len(np.unique(group))
    units = np.concatenate(groups)
    if label is None or len(units) != start:
        return units, np.zeros(start, np.int64)
    binding, field = label
    return units, np.concatenate([_labels(bindings[binding], field) for bindings in splits])


def _labels(split: Split, field: str) -> np.ndarray:
    """A field of all samples of a split."""
    starts = range(0, len(split), _CHUNK)
    chunks = [split.batch(np.arange(start, min(start + _CHUNK, len(split))))[field] for start in starts]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)
