"""The majority and an MLP on bags of nodes, on graph classification by the folds of ``energyc train``.

``python -m benchmarks.graphs FOLDER NAME...`` with the zips of TUDataset in FOLDER. The folds are those of
``train.folds = 10`` with ``train.validation = 1/9``: of the training samples of a fold a ninth chooses the checkpoint,
and the fold itself is measured once. A bag is the sum and the mean of the features of a graph's nodes, standardised
over the training graphs; it knows no edge.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from energyc.data import Dataset, find_adapter
from energyc.data.tu import read_tu
from energyc.train.division import Division

FOLDS, HIDDEN, RATE, EPOCHS, EVERY = 10, 64, 1e-2, 200, 5

Bags = tuple[Tensor, Tensor]
"""Features ``[graphs, 2 inputs]`` and labels ``[graphs]``."""


def options(path: str) -> dict[str, int]:
    """The sizes of a file, as a spec would give them."""
    tables = read_tu(path)
    columns = 0 if tables.node_labels is None else sum(len(np.unique(column)) for column in tables.node_labels.T)
    inputs = columns + (0 if tables.attributes is None else tables.attributes.shape[1])
    classes = len(np.unique(tables.labels))
    return {"nodes": int(tables.sizes.max()), "inputs": inputs or 1, "classes": classes, "eigenvectors": 1}


def bags(dataset: Dataset) -> Bags:
    """The bags of all graphs, the training ones first."""
    found = []
    for part in ("train", "test"):
        split = dataset.split(part)
        for start in range(0, len(split), 100):
            batch = split.batch(np.arange(start, min(start + 100, len(split))))
            total, nodes = batch["features"].sum(1), batch["mask"].sum(1, keepdims=True)
            found.append((np.concatenate([total, total / nodes], 1), batch["label"]))
    x, y = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return torch.from_numpy(x), torch.from_numpy(y)


def accuracy(net: nn.Module, part: Bags) -> float:
    """The share of right answers."""
    with torch.no_grad():
        return float((net(part[0]).argmax(1) == part[1]).float().mean())


def mlp(train: Bags, validation: Bags, test: Bags, seed: int) -> float:
    """Test accuracy of an MLP of two hidden layers at its best checkpoint on the validation part."""
    torch.manual_seed(seed)
    mean, deviation = train[0].mean(0), train[0].std(0).clamp(min=1e-6)
    train, validation, test = (((x - mean) / deviation, y) for x, y in (train, validation, test))
    classes = int(train[1].max()) + 1
    net = nn.Sequential(
        nn.Linear(train[0].shape[1], HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, classes),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    best, kept = -1.0, 0.0
    for epoch in range(1, EPOCHS + 1):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(train[0]), train[1]).backward()
        optimizer.step()
        if epoch % EVERY == 0 and (value := accuracy(net, validation)) > best:
            best, kept = value, accuracy(net, test)
    return kept


def main() -> None:
    """Print a row for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    print("| data | graphs | majority | MLP on bags of nodes |\n|---|---|---|---|")
    for name in given.names:
        path = str(given.folder / f"{name}.zip")
        dataset = find_adapter("graph_classes").open(options(path), path)
        x, y = bags(dataset)
        majority, learned = [], []
        for fold in range(FOLDS):
            division = Division(validation=1 / 9, folds=FOLDS, fold=fold)
            indices = division.indices(np.arange(len(y)), y.numpy())
            train, validation, test = ((x[indices[p]], y[indices[p]]) for p in ("train", "validation", "test"))
            most = int(torch.bincount(train[1]).argmax())
            majority.append(float((test[1] == most).float().mean()))
            learned.append(mlp(train, validation, test, seed=fold))
        shown = [f"{100 * statistics.fmean(v):.1f} ± {100 * statistics.stdev(v):.1f}" for v in (majority, learned)]
        print(f"| {name} | {len(y):,} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
