"""TEL beside Linear + ReLU and Linear + SiLU on tables, by the protocol of its paper (appendix G.1).

    python -m benchmarks.regression FOLDER OUT [--tables concrete energy wine california] [--widths 16 64 256]

FOLDER has ``concrete.txt`` (blanks between numbers, no heading), ``ENB2012_data.csv`` (semicolons and decimal commas;
the first of its two targets), ``winequality-red.csv`` (commas, no heading) and ``california_housing.csv`` (rows with an
empty field are left out, the place by the sea is not read). One hidden layer
and a linear head; a fifth of the samples for testing, a fifth of the rest for validation, standardised by the training
part; AdamW with a decay of 1e-2, batches of 512, a cosine over 1,000 epochs after 5 of warm-up, clipped at 1; a fit
ends once the validation error has not fallen for 15 epochs, and is tested where it was lowest. At each width the rate
is the one of 1e-4, 3e-4, 1e-3 and 3e-3 with the lowest mean validation error, and the width chosen likewise is bold.
Root mean squared errors in the units of the target (California: 100,000 dollars). Each fit is kept in OUT.
"""

from __future__ import annotations

import argparse
import math
import statistics
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.drop_in import Split, evaluated, hidden, standardised, update
from benchmarks.runs import kept
from benchmarks.trained import spread

KINDS = ("relu", "silu", "tel")
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
EPOCHS, WARMUP, PATIENCE, BATCH = 1000, 5, 15, 512


@dataclass(frozen=True)
class Table:
    """A file of numbers: how its fields are parted, rows of headings, columns of inputs and target, the unit."""

    file: str
    delimiter: str | None
    headings: int
    inputs: int
    target: int
    unit: float = 1.0

    def read(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """Inputs [samples, inputs] and targets [samples, 1]."""
        lines = (folder / self.file).read_text(encoding="utf-8-sig").splitlines()[self.headings :]
        fields = [line.replace(",", ".") if self.delimiter == ";" else line for line in lines if line.strip()]
        cells = [line.split(self.delimiter)[: self.target + 1] for line in fields]
        whole = np.array([[float(cell) for cell in row] for row in cells if all(row)])
        return whole[:, : self.inputs], whole[:, self.target :] / self.unit


TABLES = {
    "concrete": Table("concrete.txt", None, 0, 8, 8),
    "energy": Table("ENB2012_data.csv", ";", 1, 8, 8),
    "wine": Table("winequality-red.csv", ",", 0, 11, 11),
    "california": Table("california_housing.csv", ",", 1, 8, 8, 1e5),
}
read = cache(Table.read)


@dataclass(frozen=True)
class Parts:
    """The parts for training, validation and testing; what an error of 1 is worth in the units of the target."""

    train: Split
    validation: Split
    test: Split
    scale: float


def parts(folder: Path, name: str, seed: int) -> Parts:
    """The division of a table by a seed."""
    x, y = read(TABLES[name], folder)
    order = np.random.default_rng(seed).permutation(len(x))
    cuts = np.split(order, [int(0.64 * len(x)), int(0.8 * len(x))])
    scale = float(y[cuts[0]].std())
    x, y = standardised(x, cuts[0]), standardised(y, cuts[0])
    train, validation, test = (Split(torch.from_numpy(x[rows]), torch.from_numpy(y[rows])) for rows in cuts)
    return Parts(train, validation, test, scale)


def factor(epoch: float) -> float:
    """The factor on the rate."""
    if epoch < WARMUP:
        return epoch / WARMUP
    return (1 + math.cos(math.pi * (epoch - WARMUP) / (EPOCHS - WARMUP))) / 2


def fitted(folder: Path, name: str, kind: str, width: int, rate: float, seed: int) -> dict[str, float]:
    """The lowest validation error, the test error at that epoch, and the number of epochs."""
    data = parts(folder, name, seed)
    torch.manual_seed(seed)
    net = nn.Sequential(hidden(kind, data.train.x.shape[1], width), nn.Linear(width, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-2)
    random, best, test, since, epoch = torch.Generator().manual_seed(seed), math.inf, math.inf, 0, 0
    batches = math.ceil(len(data.train.x) / BATCH)
    while epoch < EPOCHS and since < PATIENCE:
        net.train()
        for number, (x, y) in enumerate(data.train.batches(BATCH, random)):
            optimizer.param_groups[0]["lr"] = rate * factor(epoch + (number + 1) / batches)
            update(net, optimizer, x, y)
        error, since, epoch = evaluated(net, data.validation)[1], since + 1, epoch + 1
        if error < best:
            best, test, since = error, evaluated(net, data.test)[1], 0
    return {"validation": best * data.scale, "test": test * data.scale, "epochs": epoch}


def row(given: argparse.Namespace, name: str, kind: str) -> str:
    """The test errors of a kind at each width; the width that validation chooses is bold."""
    cells, validated = [], []
    for width in given.widths:
        runs = {
            rate: [
                kept(
                    given.out / f"{name}-{kind}-{width}-{rate:g}-{seed}.json",
                    partial(fitted, given.folder, name, kind, width, rate, seed),
                )
                for seed in range(given.seeds)
            ]
            for rate in RATES
        }
        lowest = {rate: statistics.fmean(run["validation"] for run in runs[rate]) for rate in RATES}
        rate = min(RATES, key=lowest.__getitem__)
        validated.append(lowest[rate])
        cells.append(f"{spread([run['test'] for run in runs[rate]], 1, 3)} ({rate:g})")
    chosen = validated.index(min(validated))
    cells[chosen] = f"**{cells[chosen]}**"
    return f"| {name} | {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Fit what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="of the tables")
    parser.add_argument("out", type=Path, help="keeps each fit")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--widths", nargs="+", type=int, default=[16, 64, 256])
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    print("| table | layer | " + " | ".join(f"{width} channels (rate)" for width in given.widths) + " |")
    print("|---|---|" + "---|" * len(given.widths))
    for name in given.tables:
        for kind in given.kinds:
            print(row(given, name, kind), flush=True)


if __name__ == "__main__":
    main()
