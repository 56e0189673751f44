"""A small network written by hand after the Python interface, with everything about it in closed form.

E(y) = 1/2 |y - W x - b|^2, so y* = W x + b; the cost is the mean of (y - t)^2, and its gradient is known exactly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from energyc.language.settings import TrainOptions
from energyc.running.data.schema import FieldSchema, Schema
from energyc.running.training.feeds import Feeds
from energyc.running.training.session import Session
from energyc.runtime.equations.records import Answers, Gradients, Relaxed

Tensors = dict[str, Tensor]


class TinyNet(nn.Module):
    """y relaxes to W x + b; ``shape`` is that of y and of x (a square map), so that it can be shown as an image."""

    name = "tiny"
    rules = ("centered-ep", "bptt")
    state_names = ("y",)
    relax_steps, relax_max_steps = 10, None
    numbered, relax_exit, relax_auto = False, "settled", False
    noise_shapes: ClassVar[dict[str, tuple[int, ...]]] = {}
    relax_tolerance: float | None = None

    def __init__(self, size: int = 6, shape: tuple[int, ...] | None = None, seed: int = 0, pause: float = 0.0) -> None:
        super().__init__()
        self.shape = shape or (size,)
        count = int(np.prod(self.shape))
        generator = torch.Generator().manual_seed(seed)
        self.W = nn.Parameter(torch.randn(count, count, generator=generator) / count)
        self.b = nn.Parameter(torch.zeros(count))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.beta: float | str | None = 0.5
        self.last_beta: float | None = None
        self.pause = pause
        self.noise = 0.0

    @property
    def params(self) -> Tensors:
        return {"W": self.W, "b": self.b, "W_tied": self.W.T}

    def _rest(self, clamps: Tensors) -> Tensor:
        flat = clamps["x"].flatten(1) @ self.W.T + self.b
        return flat.reshape(-1, *self.shape)

    def energy(self, states: Tensors, clamps: Tensors) -> Tensor:
        return ((states["y"] - self._rest(clamps)) ** 2).flatten(1).sum(1) / 2

    @torch.no_grad()
    def relax(
        self,
        clamps: Tensors,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Tensors | None = None,
        record: Sequence[str] = (),
    ) -> Relaxed:
        rest = self._rest(clamps)
        y = torch.zeros_like(rest) if states is None else states["y"]
        count = 10 if steps is None else steps
        rows: dict[str, list[Tensor]] = {name: [] for name in record}
        for k in range(count + 1):
            values = {"energy": self.energy({"y": y}, clamps), "residual": (rest - y).flatten(1).norm(dim=1)}
            for name in record:
                rows[name].append(values[name])
            if k < count:
                y = y + 0.7 * (rest - y)
        residual = (rest - y).flatten(1).norm(dim=1)
        trace = {name: torch.stack(row) for name, row in rows.items()}
        return Relaxed({"y": y}, residual, torch.full((len(y),), count), trace)

    def non_convergence(self, clamps: Tensors) -> None:
        return None

    def readout(self, states: Tensors, clamps: Tensors) -> Tensors:
        return {"image": states["y"]}

    def cost(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        return ((states["y"] - targets["t"]) ** 2).flatten(1).mean(1)

    def metrics(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensors:
        close = ((states["y"] - targets["t"]).abs() < 0.5).double()
        return {"accuracy": close.flatten(1).mean(1)}

    def answers(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Answers:
        metrics, readouts = self.metrics(states, clamps, targets), self.readout(states, clamps)
        return Answers(self.cost(states, clamps, targets), metrics, readouts)

    @torch.no_grad()
    def gradients(self, clamps: Tensors, targets: Tensors, rule: str = "centered-ep", **settings: Any) -> Gradients:
        time.sleep(self.pause)
        self.calls += 1
        self.last_beta = 0.5
        rest, target, x = self._rest(clamps), targets["t"], clamps["x"].flatten(1)
        rest = rest + self.noise * torch.randn_like(rest)
        cost = self.cost({"y": rest}, clamps, targets)
        pull = 2 * (rest - target).flatten(1) / rest[0].numel() / len(rest)
        params = {"W": pull.T @ x, "b": pull.sum(0)}
        residual, steps = torch.zeros(len(rest)), torch.full((len(rest),), 10)
        frozen = torch.zeros(len(rest), dtype=torch.bool)
        owners = {"W": self.W, "b": self.b}
        return Gradients(params, cost, {"y": rest}, residual, steps, 0.5, ~frozen, owners, {"frozen": frozen})

    def project_params(self) -> None:
        with torch.no_grad():
            self.b.clamp_(-1, 1)

    def project_gradients(self, gradients: Tensors) -> Tensors:
        return gradients

    def first_bad_term(self, states: Tensors, clamps: Tensors) -> str | None:
        return None if bool(torch.isfinite(self.energy(states, clamps)).all()) else "spring"


@dataclass(frozen=True)
class TinySplit:
    """Pairs (x, A x) with noise on x, keyed by (seed, epoch, index), while augmenting."""

    x: np.ndarray
    t: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        x = self.x[indices]
        if augment:
            x = x + np.stack(
                [0.01 * np.random.default_rng([seed, epoch, int(i)]).normal(size=x.shape[1:]) for i in indices]
            )
        return {"x": x.astype(np.float32), "t": self.t[indices]}


@dataclass(frozen=True)
class TinyData:
    """A linear map to be learnt."""

    shape: tuple[int, ...] = (6,)
    samples: int = 50
    held_out: int = 20
    bad: bool = False
    factor: float = 0.5

    @property
    def schema(self) -> Schema:
        return Schema(dict.fromkeys(("x", "t"), FieldSchema(self.shape)))

    def split(self, name: str) -> TinySplit:
        generator = np.random.default_rng(7 if name == "train" else 8)
        x = generator.normal(size=(self.samples if name == "train" else self.held_out, *self.shape))
        if self.bad:
            x[3] = np.nan
        return TinySplit(x.astype(np.float32), np.roll(self.factor * x, 1, axis=-1).astype(np.float32))


def make_session(
    out: Path,
    settings: dict[str, Any],
    *,
    pause: float = 0.0,
    noise: float = 0.0,
    shape: tuple[int, ...] = (6,),
    bad: bool = False,
) -> Session:
    """A session on the tiny network."""
    options = TrainOptions.from_settings(settings)
    net = TinyNet(shape=shape, seed=options.seed, pause=pause)
    net.noise = noise
    feeds = Feeds({"pairs": TinyData(shape, bad=bad)}, {"x": ("pairs", "x")}, {"t": ("pairs", "t")})
    files = {"spec.energy": "network tiny\n", "tiny_torch.py": "# the module\n"}
    return Session(net, feeds, options, out, files, {"energyc": "0.0"})
