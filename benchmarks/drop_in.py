"""A compiled layer inside ordinary torch networks: TEL in the place of Linear + ReLU, at equal width.

``python -m benchmarks.drop_in lenet [--mnist FOLDER]`` trains LeNet-5 whose two hidden linear layers are Linear + ReLU
or TEL, on MNIST's idx files or, without a folder, on scikit-learn's digits at 28 x 28. ``python -m benchmarks.drop_in
tables`` trains one hidden layer and a linear head on scikit-learn's data, and autoencoders with two numbers in the
middle on its manifolds. ``tel-KIND`` estimates the entropy otherwise. The protocol is in benchmarks/log/results.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.runs import kept
from energyc.pipeline import Choices, Compiled, compile_spec, instantiate
from energyc.running.data.digits import Digits, read_idx_folder

SPEC = Path(__file__).parents[1] / "specs" / "tel.energy"
SEEDS = (0, 1, 2)
RATES = (1e-3, 3e-3)
WIDTH = 64


CENTRE = "let centre[c] = mean[batch](S'(y[c]))"
SPREAD = "let spread[c] = mean[batch](S'(y[c])^2) - centre[c]^2"
#: Estimates of the entropy of the entropy force S'(y), other than a Gaussian's with the variance of the batch.
ESTIMATES = {
    "laplace": (
        CENTRE,
        "let width[c] = mean[batch](abs(S'(y[c]) - centre[c]))",
        "let entropy = mean[c](log(2 * width[c] + 1e-5))",
    ),
    "student": (
        CENTRE,
        SPREAD,
        "let tails[c] = mean[batch](log(1 + (S'(y[c]) - centre[c])^2 / (5 * spread[c] + 1e-5)))",
        "let entropy = mean[c](3 * tails[c] + 1/2 * log(spread[c] + 1e-5))",
    ),
    "robust": (  # a Gaussian's whose deviation is 1.4826 times the median distance from the median
        "let middle[c] = median[batch](S'(y[c]))",
        "let width[c] = 1.4826 * median[batch](abs(S'(y[c]) - middle[c]))",
        "let entropy = mean[c](1/2 * log(width[c]^2 + 1e-5))",
    ),
    "mlp": (  # of the moments, pooled over channels
        "dim H = 16",
        "param E_in[H], E_log[H], E_tail[H] ~ normal(0.5), e[H] = 0, E_out[H] ~ normal(0.25)",
        CENTRE,
        SPREAD,
        "let tails[c] = mean[batch]((S'(y[c]) - centre[c])^4) / (spread[c]^2 + 1e-5)",
        "let hidden[h] = tanh(E_in[h] * mean[c](centre[c]) + E_log[h] * mean[c](1/2 * log(spread[c] + 1e-5))"
        " + E_tail[h] * mean[c](tails[c]) + e[h])",
        "let entropy = sum[h](E_out[h] * hidden[h])",
    ),
}
KINDS = ("relu", "silu", "tel", *(f"tel-{name}" for name in ESTIMATES))


def spec_of(kind: str) -> str:
    """The text of the layer, with its estimate of the entropy."""
    text = SPEC.read_text(encoding="utf-8")
    _, _, estimate = kind.partition("-")
    start, end = text.index("let spread"), text.index("flow y")
    return "\n".join([text[:start], *ESTIMATES[estimate], text[end:]]) if estimate else text


@cache
def compiled(kind: str, inputs: int, channels: int) -> Compiled:
    """The module of a layer."""
    return compile_spec(spec_of(kind), Choices.of(dims={"I": inputs, "C": channels}))[0]


class TEL(nn.Module):
    """The compiled layer as a module of one input and one output; its weights start as those of ``nn.Linear``."""

    def __init__(self, kind: str, inputs: int, channels: int) -> None:
        super().__init__()
        self.layer = instantiate(compiled(kind, inputs, channels), "cpu", torch.float32, torch.initial_seed())
        linear = nn.Linear(inputs, channels)
        with torch.no_grad():
            self.layer.params["W"].copy_(linear.weight)
            self.layer.params["b"].copy_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, inputs] to [batch, channels]."""
        out: Tensor = self.layer({"x": x}, rule="bptt")["out"]
        return out


def hidden(kind: str, inputs: int, channels: int) -> nn.Module:
    """A hidden layer of one of the ``KINDS``, which start with the same weights."""
    if kind.startswith("tel"):
        return TEL(kind, inputs, channels)
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
    """Cross-entropy for labels [batch], mean squared error for numbers [batch, outputs]."""
    return F.mse_loss(answers, y) if y.is_floating_point() else F.cross_entropy(answers, y)


@torch.no_grad()
def evaluated(net: nn.Module, split: Split) -> tuple[float, float]:
    """The loss, and the accuracy in percent or the root mean squared error."""
    net.eval()
    answers = torch.cat([net(x) for x in split.x.split(500)])
    loss = float(loss_of(answers, split.y))
    if split.y.is_floating_point():
        return loss, loss**0.5
    return loss, 100 * float((answers.argmax(1) == split.y).double().mean())


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
        parts = [(part.fields["image"] / 255.0, part.fields["label"]) for part in read_idx_folder(folder)]
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


def drawn(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [samples, inputs], and labels [samples] or targets [samples, outputs], of one of the ``TABLES``."""
    from sklearn import datasets

    shape, _, rebuilt = name.partition(" ")
    if shape == "moons":
        x, y = datasets.make_moons(1000, noise=0.2, random_state=seed)
    elif shape in ("swiss_roll", "s_curve"):
        x, place = getattr(datasets, f"make_{shape}")(1000, noise=0.1, random_state=seed)
        y = place[:, None]
    else:
        x, y = getattr(datasets, f"load_{shape}")(return_X_y=True)
        y = y[:, None] if shape == "diabetes" else y
    return x, x if rebuilt else y


def standardised(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """By the mean and the deviation of some rows."""
    deviation = x[rows].std(0)
    return ((x - x[rows].mean(0)) / np.where(deviation > 0, deviation, 1)).astype(np.float32)


def table(name: str, seed: int) -> tuple[Split, Split, Split]:
    """60 % for training, 20 % for validation, 20 % for testing; numbers are standardised by the training part."""
    x, y = drawn(name, seed)
    order = np.random.default_rng(seed).permutation(len(x))
    cuts = np.split(order, [int(0.6 * len(x)), int(0.8 * len(x))])
    x, y = standardised(x, cuts[0]), standardised(y, cuts[0]) if y.ndim > 1 else y
    first, second, third = (Split(torch.from_numpy(x[rows]), torch.from_numpy(y[rows])) for rows in cuts)
    return first, second, third


#: What is regressed on the manifolds is the place along them; ``rebuilt`` are autoencoders of a bottleneck of 2.
TABLES = (
    *("digits", "breast_cancer", "wine", "diabetes", "moons", "swiss_roll", "s_curve"),
    *("moons rebuilt", "swiss_roll rebuilt", "s_curve rebuilt"),
)


def shallow(kind: str, name: str, inputs: int, outputs: int) -> nn.Module:
    """One hidden layer and a linear head; to rebuild the inputs, one on either side of two numbers."""
    head = [hidden(kind, inputs, WIDTH), nn.Linear(WIDTH, outputs)]
    if name.endswith("rebuilt"):
        head = [hidden(kind, inputs, WIDTH), nn.Linear(WIDTH, 2), hidden(kind, 2, WIDTH), nn.Linear(WIDTH, outputs)]
    return nn.Sequential(*head)


def fitted(kind: str, name: str, seed: int, rate: float, epochs: int) -> tuple[float, float, float]:
    """The lowest validation loss, and at that epoch the test loss and score."""
    train, validation, test = table(name, seed)
    outputs = train.y.shape[1] if train.y.is_floating_point() else int(train.y.max()) + 1
    torch.manual_seed(seed)
    net = shallow(kind, name, train.x.shape[1], outputs)
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


def run_tables(
    names: Sequence[str], kinds: Sequence[str], epochs: int, rates: Sequence[float], out: Path | None
) -> None:
    """For each kind the rate with the lowest validation loss, over the seeds; its test losses and scores."""

    def run(kind: str, name: str, seed: int, rate: float) -> Sequence[float]:
        fit = partial(fitted, kind, name, seed, rate, epochs)
        return fit() if out is None else kept(out / f"{name.replace(' ', '-')}-{kind}-{rate:g}-{seed}.json", fit)

    for name in names:
        for kind in kinds:
            runs = {rate: [run(kind, name, seed, rate) for seed in SEEDS] for rate in rates}
            rate = min(rates, key=lambda r: statistics.mean(loss for loss, _, _ in runs[r]))
            columns = [[run[k] for run in runs[rate]] for k in (1, 2)]
            shown = [f"{statistics.mean(c):.4g} +- {statistics.stdev(c):.2g}" for c in columns]
            print(f"{name} {kind}: lr {rate:g}, test loss {shown[0]}, score {shown[1]} {columns[1]}", flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["lenet", "tables"])
    parser.add_argument("--mnist", help="a folder of MNIST's idx files")
    parser.add_argument("--kinds", nargs="+", default=["relu", "tel"], choices=KINDS)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--out", type=Path, help="a folder that keeps each fit of the tables")
    given = parser.parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    runs: dict[str, Callable[[], None]] = {
        "lenet": lambda: run_lenet(given.mnist, given.kinds, given.epochs or 3),
        "tables": lambda: run_tables(given.tables, given.kinds, given.epochs or 200, given.rates, given.out),
    }
    runs[given.what]()


if __name__ == "__main__":
    main()
