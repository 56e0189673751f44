"""How good a trained network is with params of few bits, or with mismatch: its metrics for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import UserError
from energyc.running.folder.layout import RunFolder
from energyc.running.training.division import Part
from energyc.running.training.evaluation import evaluate
from energyc.running.training.outcome import Numbers
from energyc.running.training.precision import Over, Precision, held
from energyc.running.training.seeds import read_summary, run_folders, spread
from energyc.running.training.session import Session

#: Devices drawn where there is mismatch.
DRAWS = 10


@dataclass(frozen=True)
class Devices:
    """The devices that are drawn where there is mismatch, each from a seed of its own, and what levels span."""

    draws: int = DRAWS
    seed: int = 0
    over: Over = "tensor"

    def seeds(self, level: Precision) -> range:
        """The seed of each device; one where nothing is drawn."""
        return range(self.seed, self.seed + (self.draws if level.is_random else 1))


@dataclass(frozen=True)
class Row:
    """The measurements at one precision: the numbers of each device, and of each run of a folder of several."""

    precision: Precision
    results: tuple[Numbers, ...]

    @property
    def numbers(self) -> dict[str, dict[str, Any]]:
        """Mean, sample deviation and values of every number."""
        return spread(self.results)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        named = {"bits": self.precision.bits, "mismatch": self.precision.mismatch}
        return {**named, "devices": len(self.results), "numbers": self.numbers}


def precisions(bits: Sequence[int], mismatch: Sequence[float]) -> list[Precision]:
    """Return every pair of bits and mismatch, after the params as they were trained. Raises UserError E0970."""
    pairs = [Precision(b, m) for b in bits or (None,) for m in mismatch or (0.0,)]
    return list(dict.fromkeys([Precision(), *pairs]))


def study(
    run: str | Path,
    levels: Sequence[Precision],
    opened: Callable[[Path], Session],
    devices: Devices = Devices(),
    *,
    split: Part = "test",
    samples: int | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Evaluate the best checkpoint of a run at each precision.

    ``opened`` gives the session of a run. Of a folder of seeds or folds every run is evaluated, with the same devices.
    Raises UserError, SpecError.
    """
    folder = Path(run)
    several = RunFolder(folder).of_several
    results: dict[Precision, list[Numbers]] = {level: [] for level in levels}
    for place in run_folders(folder, read_summary(folder)).values() if several else [folder]:
        session = opened(place)
        for level in levels:
            for seed in devices.seeds(level):
                made = partial(held, precision=level, seed=seed, over=devices.over)
                try:
                    found = evaluate(session, split=split, samples=samples, notify=notify, as_held=made).numbers
                except UserError as error:
                    raise UserError(f"params {level}: {error.message}", code=error.code, help=error.help) from None
                results[level].append({name: value for name, value in found.items() if name != "step"})
    return [Row(level, tuple(found)) for level, found in results.items()]
