"""Anomaly graphs: an MLP and graph convolutions in plain torch, and the Energy Transformer by ``energyc train``.

``python -m benchmarks.anomalies [FILE] --inputs F --nodes N --edges E [--labelled 0.4] [--seeds 3] [--energy OUT]``;
without FILE the drawn graph. With ``--energy`` ``specs/et_anomaly.energy`` is trained into OUT, or continued there, for
``--epochs`` updates, with the settings of ``--set KEY=VALUE``. The parts are those of the adapter ``anomaly_graph``. A
model learns by Adam from the training part's cross entropy, anomalies weighted by the ratio of usual nodes to
anomalies; the checkpoint and the threshold are those with the best macro-F1 on the validation part, and the test part
is then measured once by scikit-learn.

- ``mlp``: two hidden layers on a node's own features.
- ``gcn``: two graph convolutions with the normalised adjacency and loops (Kipf and Welling 2017).
- ``mean``: the MLP on a node's features beside the mean of its neighbours' (GraphSAGE's mean, one hop).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import f1_score, roc_auc_score
from torch import Tensor, nn

from benchmarks.trained import spread, trained
from energyc.resources import resource
from energyc.running.data import find_adapter
from energyc.running.training.scores import best_threshold

HIDDEN, RATE, EPOCHS, EVERY = 64, 1e-2, 200, 10
MODELS = ("mlp", "gcn", "mean")


@dataclass(frozen=True)
class Problem:
    """One graph: features ``[N, F]``, labels ``[N]``, the three parts ``[N]``, and the adjacency ``[N, N]`` sparse."""

    x: Tensor
    labels: Tensor
    parts: tuple[Tensor, Tensor, Tensor]
    mean: Tensor
    normalised: Tensor


def read(path: str | None, options: dict[str, object], seed: int) -> Problem:
    """The graph as the adapter gives it to energyc."""
    dataset = find_adapter("anomaly_graph").open(options, path, seed=seed)
    splits = [dataset.split("train"), dataset.validation, dataset.split("test")]  # type: ignore[attr-defined]
    batches = [split.batch(np.arange(1)) for split in splits]
    fields = {name: torch.from_numpy(values[0]) for name, values in batches[0].items()}
    parts = [torch.from_numpy(batch["part"][0]) > 0 for batch in batches]
    ends, nodes = torch.stack([fields["targets"], fields["sources"]]), len(fields["features"])
    degree = torch.bincount(ends[0], minlength=nodes).clamp(min=1).float()
    mean = torch.sparse_coo_tensor(ends, 1 / degree[ends[0]], (nodes, nodes)).coalesce().to_sparse_csr()
    loops = torch.arange(nodes).expand(2, -1)
    looped = torch.cat([ends, loops], 1)
    scale = (degree + 1).rsqrt()
    normalised = (
        torch.sparse_coo_tensor(looped, scale[looped[0]] * scale[looped[1]], (nodes, nodes)).coalesce().to_sparse_csr()
    )
    return Problem(fields["features"], fields["labels"], (parts[0], parts[1], parts[2]), mean, normalised)


class Spread(torch.autograd.Function):
    """The product with a symmetric sparse matrix, which is its own adjoint (torch's takes eight times as long)."""

    @staticmethod
    def forward(context: Any, matrix: Tensor, x: Tensor) -> Tensor:
        """``matrix x``."""
        context.matrix = matrix
        return matrix @ x

    @staticmethod
    def backward(context: Any, slope: Tensor) -> tuple[None, Tensor]:
        """``matrix^T slope``."""
        return None, context.matrix @ slope


class Gcn(nn.Module):
    """``A relu(A x W1) W2``, and a linear head on it."""

    def __init__(self, inputs: int, adjacency: Tensor) -> None:
        super().__init__()
        self.adjacency = adjacency
        self.first, self.second, self.head = nn.Linear(inputs, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``[N, 1]``."""
        hidden = torch.relu(Spread.apply(self.adjacency, self.first(x)))
        hidden = torch.relu(Spread.apply(self.adjacency, self.second(hidden)))
        return self.head(hidden)


def mlp(inputs: int) -> nn.Module:
    """Two hidden layers."""
    layers = (nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    return nn.Sequential(*layers)


def models(problem: Problem) -> dict[str, tuple[Callable[[], nn.Module], Tensor]]:
    """Each model, and what it reads."""
    x = problem.x
    both = torch.cat([x, problem.mean @ x], 1)
    return {
        "mlp": (lambda: mlp(x.shape[1]), x),
        "gcn": (lambda: Gcn(x.shape[1], problem.normalised), x),
        "mean": (lambda: mlp(both.shape[1]), both),
    }


def measure(make: Callable[[], nn.Module], x: Tensor, problem: Problem, seed: int) -> tuple[float, float]:
    """Macro-F1 and AUC of the test part, at the checkpoint and threshold that are best on the validation part."""
    torch.manual_seed(seed)
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    train, validation, test = problem.parts
    usual = (1 - problem.labels[train]).sum() / problem.labels[train].sum()
    best, kept = -1.0, (0.0, 0.0)
    for epoch in range(1, EPOCHS + 1):
        optimizer.zero_grad()
        logits = net(x)[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits[train], problem.labels[train], pos_weight=usual)
        loss.backward()
        optimizer.step()
        if epoch % EVERY == 0:
            with torch.no_grad():
                scores = net(x)[:, 0].double().numpy()
            labels = problem.labels.numpy() > 0
            threshold = best_threshold(scores[validation], labels[validation])
            value = f1_score(labels[validation], scores[validation] > threshold, average="macro")
            if value > best:
                macro = f1_score(labels[test], scores[test] > threshold, average="macro")
                best, kept = value, (macro, roc_auc_score(labels[test], scores[test]))
    return kept


def energy_transformer(given: argparse.Namespace, seed: int) -> tuple[float, float]:
    """Macro-F1 and AUC of the test part, chosen as ``measure`` does."""
    scores = "score = logit, label = anomalous, of = scored"
    sizes = {"N": given.nodes, "E": given.edges, "F": given.inputs, "labelled": given.labelled, "split": seed}
    training = {"train.epochs": given.epochs, "train.eval_every": EVERY}
    metrics = {"train.metrics": f"[macro_f1({scores}, threshold = best), auc({scores})]"}
    chosen = dict(setting.split("=", 1) for setting in given.set)
    options = ["--seed", str(seed), "--quiet", *(["--data", given.file] if given.file else [])]
    name = f"{Path(given.file).stem if given.file else 'drawn'}-{given.labelled}-{seed}".replace("/", ":")
    spec = resource("specs", "et_anomaly.energy")
    best = trained(given.energy / name, spec, sizes | training | metrics | chosen, *options)["best"]
    return best["macro_f1"], best["auc"]


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    for name, default in (("nodes", 2000), ("edges", 24000), ("inputs", 8), ("seeds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--labelled", type=Fraction, default=Fraction(2, 5))
    parser.add_argument("--models", nargs="*", choices=MODELS, default=MODELS, help="without a word: none of them")
    parser.add_argument("--energy", type=Path, metavar="OUT")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    sizes = {"nodes": given.nodes, "edges": given.edges, "inputs": given.inputs, "labelled": given.labelled}
    results: dict[str, list[tuple[float, float]]] = {}
    for seed in range(given.seeds):
        problem = read(given.file, sizes | {"split": seed}, seed)
        chosen = {name: model for name, model in models(problem).items() if name in given.models}
        for name, (make, x) in chosen.items():
            results.setdefault(name, []).append(measure(make, x, problem, seed))
        if given.energy is not None:
            results.setdefault("Energy Transformer", []).append(energy_transformer(given, seed))
    print("| model | macro-F1 | AUC |\n|---|---|---|")
    for name, pairs in results.items():
        print(f"| {name} | {spread([f1 for f1, _ in pairs])} | {spread([auc for _, auc in pairs])} |")


if __name__ == "__main__":
    main()
