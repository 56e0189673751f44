"""Graph classification by ten folds: the majority, an MLP on bags of nodes, and the Energy Transformer.

``python -m benchmarks.graphs FOLDER NAME... [--energy OUT] [--readout cls] [--change NAME]... [--epochs 40]`` with the
zips of TUDataset in FOLDER; with ``--energy`` the network of ``et_graph_bags.energy`` (``cls``), or one whose head
reads the sum of the tokens too (``pooled``), is trained into OUT, or continued there, changed as ``CHANGES`` says. All
three have the same folds, those of ``train.folds = 10`` with ``train.validation = 1/9`` on ``graph_bags``: of the
training samples of a fold a ninth chooses the checkpoint, and the fold itself is measured once. A sample is a few whole
graphs. The MLP reads the sum and the mean of the features of a graph's nodes, standardised over the training graphs; it
knows no edge. With ``--energy`` the MLP is trained a second time as the network is, by its rate, decay and schedule, on
as many graphs an update for as many epochs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.trained import spread, trained
from benchmarks.variants import rewritten
from energyc.language.settings import TrainOptions
from energyc.running.data import find_adapter
from energyc.running.training.division import Division
from energyc.running.training.schedule import rate_factor

SPEC = Path(__file__).parent / "et_graph_bags.energy"
FOLDS, VALIDATION = 10, "1/9"
HIDDEN, WARMUP = 64, 100

SIZES = {
    "MUTAG": {"G": 5, "N": 80, "E": 300, "F": 7, "Z": 2},
    "ENZYMES": {"G": 9, "N": 288, "E": 1600, "F": 21, "Z": 6},
    "PROTEINS": {"G": 33, "N": 640, "E": 3600, "F": 4, "Z": 2},
}
EVALUATE = {"MUTAG": 11, "ENZYMES": 32, "PROTEINS": 62}  # updates: one epoch of MUTAG, two of the others
BATCH = {"MUTAG": 4, "ENZYMES": 4, "PROTEINS": 2}
SETTINGS = {
    "D": 64,
    "H": 4,
    "Y": 16,
    "K": 128,
    "block.relax.step": 0.1,
    "train.schedule": f"cosine(warmup = {WARMUP})",
}

#: CLS and the sum of all tokens of a graph, in units of 32, through a hidden layer of 64; and first weights that keep
#: standardised features as large as they are.
POOLED = {
    "dim L = 2,": "dim U = 64\ndim L = 2,",
    "param W_in[F, D], CLS[D], W_pos[V, D], W_out[D, Z] ~ normal(0.02)\n": (
        "param W_in[F, D] ~ normal(1/sqrt(F))\nparam CLS[D], W_pos[V, D] ~ normal(0.1)\nparam b_hid[U] = 0\n"
        "param W_out[U, Z] ~ normal(1/sqrt(U))\nparam W_cls[D, U], W_sum[D, U] ~ normal(1/sqrt(D))\n"
    ),
    "param conv[H, R, R] ~ normal(0.02)": "param conv[H, R, R] ~ normal(0.1)",
    "let score[g,z] = sum[d](stream[cls[g], d] * W_out[d,z]) + b_out[z]\n": (
        "let pooled[g,d] = sum[n | graph[n] == g](stream[n,d]) / 32\n"
        "let hidden[g,u] = relu(sum[d](pooled[g,d] * W_sum[d,u] + stream[cls[g], d] * W_cls[d,u]) + b_hid[u])\n"
        "let score[g,z] = sum[u](hidden[g,u] * W_out[u,z]) + b_out[z]\n"
    ),
}
#: What the head of the network reads: how its spec differs, its rate and decay.
READOUTS: dict[str, tuple[dict[str, str], dict[str, float]]] = {
    "cls": ({}, {"train.lr": 3e-3, "train.weight_decay": 1.0}),
    "pooled": (POOLED, {"train.lr": 1e-2, "train.weight_decay": 0.1}),
}

#: What may be wrong with the network, each cause by itself: how its spec differs.
CHANGES: dict[str, dict[str, str]] = {
    "fixed-temperature": {
        "param gamma = 1, delta[D] = 0, beta = 1/sqrt(Y)": "const beta = 1/sqrt(Y)\n    param gamma = 1, delta[D] = 0"
    },
    "no-noise": {
        "noise eps[T, N, D] ~ normal(0.02)                # drawn once a relaxation while training, else 0\n": "",
        " - eps[t,n,d]": "",
    },
    "no-vectors": {"sum[v](eig[n,v] * W_pos[v,d]) + b_pos[d]": "b_pos[d]", "CLS[D], W_pos[V, D]": "CLS[D]"},
    "signs": {"eigenvectors = V)": "eigenvectors = V, flipped = 1/2)"},
    "dropout": {
        "    state x[N, D]\n    start x[n,d] = stream[n,d]\n": (
            "    noise drop[N, D] ~ uniform(1)\n    state x[N, D]\n"
            "    start x[n,d] = stream[n,d] * where(training, where(drop[n,d] < -4/5, 0, 10/9), 1)\n"
        )
    },
}

Bags = tuple[Tensor, Tensor]
"""Features ``[graphs, 2 inputs]`` and labels ``[graphs]``."""


@dataclass(frozen=True)
class Training:
    """How the MLP is trained: AdamW on ``graphs`` (None: all) an update; with a warm-up the rate falls by a cosine."""

    rate: float = 1e-2
    decay: float = 0.0
    steps: int = 200
    graphs: int | None = None
    every: int = 5
    warmup: int | None = None

    def rate_at(self, step: int) -> float:
        """The rate of an update, as ``train.schedule`` has it."""
        if self.warmup is None:
            return self.rate
        options = TrainOptions(lr=self.rate, schedule="cosine", warmup=self.warmup)
        return self.rate * rate_factor(options, step, self.steps)


@dataclass(frozen=True)
class Graphs:
    """The bags of a data set, and the sample ``[graphs]`` that each graph is in."""

    x: Tensor
    y: Tensor
    sample: np.ndarray

    def part(self, samples: np.ndarray) -> Bags:
        """Those in some samples."""
        inside = np.isin(self.sample, samples)
        return self.x[inside], self.y[inside]

    def folds(self) -> list[tuple[Bags, Bags, Bags]]:
        """Training, validation and test of each fold."""
        numbers = np.arange(self.sample.max() + 1)
        found = []
        for fold in range(FOLDS):
            indices = Division(validation=1 / 9, folds=FOLDS, fold=fold).indices(numbers, np.zeros_like(numbers))
            found.append((self.part(indices["train"]), self.part(indices["validation"]), self.part(indices["test"])))
        return found


def read(path: str, sizes: dict[str, int]) -> Graphs:
    """All graphs, those of the training samples first."""
    names = {"G": "graphs", "N": "nodes", "E": "edges", "F": "inputs", "Z": "classes"}
    options = {names[dim]: size for dim, size in sizes.items()}
    dataset = find_adapter("graph_bags").open({**options, "eigenvectors": 1}, path)
    x, y, sample, count = [], [], [], 0
    for part in ("train", "test"):
        split = dataset.split(part)
        for index in range(len(split)):
            batch = {name: values[0] for name, values in split.batch(np.array([index])).items()}
            for number in np.flatnonzero(batch["present"]):
                nodes = batch["features"][np.flatnonzero(batch["graph"] == number)[1:]]  # the first token is CLS
                x.append(np.concatenate([nodes.sum(0), nodes.mean(0)]))
                y.append(int(batch["label"][number]))
                sample.append(count)
            count += 1
    return Graphs(torch.from_numpy(np.stack(x)), torch.tensor(y), np.array(sample))


def accuracy(net: nn.Module, part: Bags) -> float:
    """The share of right answers."""
    with torch.no_grad():
        return float((net(part[0]).argmax(1) == part[1]).float().mean())


def majority(train: Bags, test: Bags) -> float:
    """Test accuracy of the most frequent label."""
    return float((test[1] == torch.bincount(train[1]).argmax()).float().mean())


def mlp(parts: Sequence[Bags], classes: int, seed: int, training: Training) -> float:
    """Test accuracy of an MLP of two hidden layers at its best checkpoint on the validation part."""
    torch.manual_seed(seed)
    mean, deviation = parts[0][0].mean(0), parts[0][0].std(0).clamp(min=1e-6)
    train, validation, test = (((x - mean) / deviation, y) for x, y in parts)
    net = nn.Sequential(
        nn.Linear(train[0].shape[1], HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, classes),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=training.rate, weight_decay=training.decay)
    best, kept = -1.0, 0.0
    for step in range(training.steps):
        chosen = torch.randperm(len(train[1]))[: training.graphs]
        for group in optimizer.param_groups:
            group["lr"] = training.rate_at(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(train[0][chosen]), train[1][chosen]).backward()
        optimizer.step()
        if (step + 1) % training.every == 0 and (value := accuracy(net, validation)) > best:
            best, kept = value, accuracy(net, test)
    return kept


def alike(graphs: Graphs, name: str, epochs: int, readout: str) -> Training:
    """The training of the Energy Transformer, on as many graphs as its unions have on average."""
    size = round(BATCH[name] * len(graphs.y) / (graphs.sample.max() + 1))
    learned = len(graphs.y) * (1 - 1 / FOLDS) * (1 - 1 / 9)
    steps = epochs * math.ceil(learned / size)
    rate, decay = READOUTS[readout][1].values()
    return Training(rate, decay, steps, size, EVALUATE[name], WARMUP)


def energy_transformer(given: argparse.Namespace, path: str, name: str, seed: int) -> tuple[list[float], list[float]]:
    """The accuracies of the folds, of the test and of the validation part, at the best checkpoint on the latter."""
    pieces, training = READOUTS[given.readout]
    given.energy.mkdir(parents=True, exist_ok=True)
    kind = "-".join([given.readout, *given.change])
    spec = given.energy / f"{kind}.energy"
    for change in given.change:
        pieces = pieces | CHANGES[change]
    spec.write_text(rewritten(SPEC, pieces), encoding="utf-8")
    settings = SIZES[name] | SETTINGS | training | {"train.batch": BATCH[name], "train.epochs": given.epochs}
    settings["train.eval_every"] = EVALUATE[name]
    settings |= {"train.folds": FOLDS, "train.validation": VALIDATION}
    run = given.energy / f"{name}-{kind}-{given.epochs}-{seed}"
    result = trained(run, spec, settings, "--data", path, "--seed", str(seed), "--quiet")
    return rates(result["best"]), rates(result["validation"])


def rates(numbers: dict[str, dict[str, list[float]]]) -> list[float]:
    """The share of right answers in each fold."""
    right, graphs = numbers["right"]["values"], numbers["graphs"]["values"]
    return [r / g for r, g in zip(right, graphs, strict=True)]


def row(given: argparse.Namespace, name: str) -> Sequence[str]:
    """The cells of a data set."""
    path = str(given.folder / f"{name}.zip")
    graphs = read(path, SIZES[name])
    folds, seeds = graphs.folds(), range(given.seeds)
    most = [majority(train, test) for train, _, test in folds]
    classes = SIZES[name]["Z"]

    def learned(training: Training) -> str:
        return spread([mlp(parts, classes, FOLDS * s + k, training) for s in seeds for k, parts in enumerate(folds)])

    cells = [name, f"{len(graphs.y):,}", spread(most), learned(Training())]
    if given.energy is not None:
        cells.append(learned(alike(graphs, name, given.epochs, given.readout)))
        runs = [energy_transformer(given, path, name, seed) for seed in seeds]
        means = ", ".join(f"{100 * float(np.mean(test)):.1f}" for test, _ in runs)
        held_out = [rate for _, validation in runs for rate in validation]
        cells += [spread([rate for test, _ in runs for rate in test]), means, spread(held_out)]
    return cells


def main() -> None:
    """Print a row for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", choices=SIZES)
    parser.add_argument("--energy", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--readout", choices=READOUTS, default="cls", help="what the Energy Transformer's head reads")
    parser.add_argument("--change", action="append", default=[], choices=CHANGES, help="of the network, once or more")
    given = parser.parse_args()
    heads = ["data", "graphs", "majority", "MLP on bags of nodes"]
    if given.energy is not None:
        heads += ["MLP, trained alike", "Energy Transformer", "by seed", "its validation parts"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    for name in given.names:
        print(f"| {' | '.join(row(given, name))} |", flush=True)


if __name__ == "__main__":
    main()
