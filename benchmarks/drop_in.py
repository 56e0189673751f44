"""A compiled layer inside ordinary torch networks: TEL in the place of Linear + ReLU, at equal width.

``python -m benchmarks.drop_in lenet [--mnist FOLDER]`` trains LeNet-5 whose two hidden linear layers are Linear + ReLU
or TEL, on MNIST's idx files or, without a folder, on scikit-learn's digits at 28 x 28. ``python -m benchmarks.drop_in
tables`` trains one hidden layer and a linear head on scikit-learn's data. The protocol is in docs/results.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import energyc
from energyc.data.digits import Digits
from energyc.data.idx import read_idx_folder

SPEC = Path(__file__).parents[1] / "specs" / "tel.energy"
SEEDS = (0, 1, 2)
RATES = (1e-3, 3e-3)
WIDTH = 64


class TEL(nn.Module):
    """The compiled layer as a module of one input and one output; its weights start as those of ``nn.Linear``."""

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.layer = energyc.load(SPEC, dims={"I": inputs, "C": channels}, dtype=torch.float32)
        linear = nn.Linear(inputs, channels)
        with torch.no_grad():
            self.layer.params["W"].copy_(linear.weight)
            self.layer.params["b"].copy_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, inputs] to [batch, channels]."""
        out: Tensor = self.layer({"x": x}, rule="bptt")["out"]
        return out


def hidden(kind: str, inputs: int, channels: int) -> nn.Module:
    """A hidden layer, ``relu``, ``silu`` or ``tel``, which start with the same weights."""
    if kind == "tel":
        return TEL(inputs, channels)
    return nn.Sequential(nn.Linear(inputs, channels), nn.ReLU() if kind == "relu" else nn.SiLU())


def lenet(kind: str, seed: int) -> nn.Module:
    """LeNet-5 with hidden layers of 120 and 84 channels."""
    torch.manual_seed(seed)
    convolutions = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU()]
    layers = [hidden(kind, 400, 120), hidden(kind, 120, 84), nn.Linear(84, 10)]
    return nn.Sequential(*convolutions, nn.MaxPool2d(2), nn.Flatten(), *layers)


@dataclass(frozen=True)
class Split:
    """Inputs and targets (labels, or numbers to be predicted)."""

    x: Tensor
    y: Tensor

    def batches(self, size: int, random: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """The samples in a new order."""
        for rows in torch.randperm(len(self.x), generator=random).split(size):
            yield self.x[rows], self.y[rows]


def loss_of(answers: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy for labels, mean squared error for numbers."""
    return F.mse_loss(answers[:, 0], y) if y.is_floating_point() else F.cross_entropy(answers, y)


@torch.no_grad()
def evaluated(net: nn.Module, split: Split) -> tuple[float, float]:
    """The loss, and the accuracy in percent or the root mean squared error."""
    net.eval()
    answers = torch.cat([net(x) for x in split.x.split(500)])
    loss = float(loss_of(answers, split.y))
    right = (answers.argmax(1) == split.y).double().mean()
    return loss, loss**0.5 if split.y.is_floating_point() else 100 * float(right)


def update(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> None:
    """One step of the optimiser; bounded params are put back between their bounds."""
    optimizer.zero_grad()
    loss_of(net(x), y).backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    for module in net.modules():
        if isinstance(module, TEL):
            module.layer.project_params()


# ---------------------------------------------------------------- LeNet


def digits_of(folder: str | None) -> tuple[Split, Split]:
    """MNIST, or the digits that ship with scikit-learn; pixels in [0, 1]."""
    if folder is not None:
        parts = [(part.images / 255.0, part.labels) for part in read_idx_folder(folder)]
    else:
        dataset = Digits().open({"side": 28}, None)
        batches = [dataset.split(name).batch(np.arange(len(dataset.split(name)))) for name in ("train", "test")]
        parts = [(np.asarray(b["image"]).reshape(-1, 28, 28), np.asarray(b["label"])) for b in batches]
    train, test = (Split(torch.tensor(x, dtype=torch.float32)[:, None], torch.tensor(y)) for x, y in parts)
    return train, test


def run_lenet(folder: str | None, kinds: Sequence[str], epochs: int) -> None:
    """Train each kind with each seed; print test loss and accuracy after each epoch."""
    train, test = digits_of(folder)
    for kind in kinds:
        ends = []
        for seed in SEEDS:
            net, start = lenet(kind, seed), time.process_time()
            optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
            random = torch.Generator().manual_seed(seed)
            for epoch in range(epochs):
                net.train()
                for x, y in train.batches(128, random):
                    update(net, optimizer, x, y)
                loss, accuracy = evaluated(net, test)
                print(
                    f"lenet {kind} seed {seed} epoch {epoch + 1}: loss {loss:.4f}, accuracy {accuracy:.2f}%", flush=True
                )
            params = sum(p.numel() for p in net.parameters())
            print(f"lenet {kind} seed {seed}: {params} params, {time.process_time() - start:.0f} s of processor time")
            ends.append(accuracy)
        print(f"lenet {kind}: {statistics.mean(ends):.2f} +- {statistics.stdev(ends):.2f}", flush=True)


# ---------------------------------------------------------------- tables


def table(name: str, seed: int) -> tuple[Split, Split, Split]:
    """60 % for training, 20 % for validation, 20 % for testing; inputs standardised by the training part."""
    from sklearn import datasets

    if name == "moons":
        x, y = datasets.make_moons(1000, noise=0.2, random_state=seed)
    else:
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    cuts = np.split(order, [int(0.6 * len(x)), int(0.8 * len(x))])
    mean, deviation = x[cuts[0]].mean(0), x[cuts[0]].std(0)
    x = (x - mean) / np.where(deviation > 0, deviation, 1)
    if name == "diabetes":
        y = ((y - y[cuts[0]].mean()) / y[cuts[0]].std()).astype(np.float32)
    first, second, third = (Split(torch.tensor(x[rows], dtype=torch.float32), torch.tensor(y[rows])) for rows in cuts)
    return first, second, third


TABLES = ("digits", "breast_cancer", "wine", "diabetes", "moons")


def fitted(kind: str, name: str, seed: int, rate: float, epochs: int) -> tuple[float, float, float]:
    """The lowest validation loss, and at that epoch the test loss and score."""
    train, validation, test = table(name, seed)
    outputs = 1 if train.y.is_floating_point() else int(train.y.max()) + 1
    torch.manual_seed(seed)
    net = nn.Sequential(hidden(kind, train.x.shape[1], WIDTH), nn.Linear(WIDTH, outputs))
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    random, best = torch.Generator().manual_seed(seed), (float("inf"), 0.0, 0.0)
    for _ in range(epochs):
        net.train()
        for x, y in train.batches(64, random):
            update(net, optimizer, x, y)
        loss, _ = evaluated(net, validation)
        if loss < best[0]:
            best = (loss, *evaluated(net, test))
    return best


def run_tables(names: Sequence[str], kinds: Sequence[str], epochs: int) -> None:
    """For each kind the rate with the lowest validation loss, over the seeds; its test losses and scores."""
    for name in names:
        for kind in kinds:
            runs = {rate: [fitted(kind, name, seed, rate, epochs) for seed in SEEDS] for rate in RATES}
            rate = min(RATES, key=lambda r: statistics.mean(loss for loss, _, _ in runs[r]))
            columns = [[run[k] for run in runs[rate]] for k in (1, 2)]
            shown = [f"{statistics.mean(c):.4g} +- {statistics.stdev(c):.2g}" for c in columns]
            print(f"{name} {kind}: lr {rate:g}, test loss {shown[0]}, score {shown[1]} {columns[1]}", flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["lenet", "tables"])
    parser.add_argument("--mnist", help="a folder of MNIST's idx files")
    parser.add_argument("--kinds", nargs="+", default=["relu", "tel"], choices=["relu", "silu", "tel"])
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--epochs", type=int)
    given = parser.parse_args()
    torch.set_num_threads(1)
    runs: dict[str, Callable[[], None]] = {
        "lenet": lambda: run_lenet(given.mnist, given.kinds, given.epochs or 3),
        "tables": lambda: run_tables(given.tables, given.kinds, given.epochs or 200),
    }
    runs[given.what]()


if __name__ == "__main__":
    main()
