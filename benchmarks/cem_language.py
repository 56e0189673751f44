"""A character language model of CEM blocks with one and two steps, beside untied layers of the same shape.

``python -m benchmarks.cem_language OUT --data text.txt [--seeds 3] [--only CEM-T2]`` trains what is not in OUT yet by
``specs/cem.energy --preset small``, and prints the table. ``untied`` is a Llama-like block of the same width, heads and
memories: pre-norm, attention with its own values and output, a gated MLP with its own down projection, the same
position biases. All see the same batches for the same number of updates, by AdamW with the same schedule, and are
evaluated on the same windows of the last tenth of the text.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import energyc
from benchmarks import baseline
from benchmarks.runs import evaluations, kept, trained
from energyc.language.network import Network
from energyc.pipeline import Choices, read, resolve
from energyc.resources import folder
from energyc.running.data import find_adapter

SPEC, PRESET = folder("specs") / "cem.energy", "small"
MODELS = ("untied", "CEM-T1", "CEM-T2")
EVAL_SAMPLES = 1000


def rms_norm(x: Tensor) -> Tensor:
    """As in the spec: eps of 1e-6."""
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


class Block(nn.Module):
    """x + attention(norm(x)), then x + gated MLP(norm(x)): [batch, J, D] to [batch, J, D]."""

    def __init__(self, size: Mapping[str, int]) -> None:
        super().__init__()
        width, heads, head, memories = (size[name] for name in ("D", "K", "R", "M"))
        self.heads = heads
        self.g1, self.g2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.qkv, self.out = nn.Linear(width, 3 * heads * head, bias=False), nn.Linear(heads * head, width, bias=False)
        self.gate, self.up = nn.Linear(width, memories, bias=False), nn.Linear(width, memories, bias=False)
        self.down = nn.Linear(memories, width, bias=False)
        self.b_self, self.b_other = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def biases(self, length: int) -> Tensor:
        """ALiBi, an own bias for each token itself, and the causal mask: [K, J, J]."""
        place = torch.arange(length)
        far = (place[:, None] - place).abs()
        slopes = -(2.0 ** -torch.arange(1, self.heads + 1))[:, None, None]
        return (slopes * far + torch.where(far == 0, self.b_self, self.b_other)).masked_fill(
            place > place[:, None], -torch.inf
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(self.g1 * rms_norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=self.biases(length))
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        n = self.g2 * rms_norm(x)
        return x + self.down(self.gate(n) * F.silu(self.up(n)))


class Untied(nn.Module):
    """Characters [batch, J] to logits [batch, J, Z]."""

    def __init__(self, size: Mapping[str, int]) -> None:
        super().__init__()
        self.tok, self.head = nn.Embedding(size["Z"], size["D"]), nn.Linear(size["D"], size["Z"], bias=False)
        self.g_out = nn.Parameter(torch.ones(size["D"]))
        self.blocks = nn.Sequential(*(Block(size) for _ in range(size["L"])))
        for param in self.parameters():
            if param.dim() > 1:
                nn.init.normal_(param, std=0.02)

    def forward(self, idx: Tensor) -> Tensor:
        return self.head(self.g_out * rms_norm(self.blocks(self.tok(idx))))


def untied(network: Network, data: str, seed: int) -> dict[str, float]:
    """Train the baseline by the dims and settings of the spec."""
    opened = find_adapter("characters").open({"context": network.extents["J"]}, data, seed=seed)
    torch.manual_seed(seed)
    return baseline.trained(Untied(network.extents), network.train, opened, seed)


def cem(run: Path, steps: int, settings: Mapping[str, str], data: str, seed: int) -> dict[str, float]:
    """Train the spec with so many steps in both layers."""
    steps_of = {f"{layer}.relax.steps": str(steps) for layer in ("attention", "mlp")}
    begin = time.monotonic()
    trained(SPEC, run, seed, {**settings, **steps_of}, ["--preset", PRESET, "--data", data])
    seconds, net = time.monotonic() - begin, energyc.load(run)
    return {"final": evaluations(run)[-1]["cost"], "params": count(net.params.values()), "seconds": seconds}


def measured(given: argparse.Namespace, model: str, seed: int, settings: Mapping[str, str]) -> dict[str, float]:
    """The result of a model with a seed, from the file where it is kept, or trained."""

    def measure() -> dict[str, float]:
        if model == "untied":
            return untied(resolve(read(SPEC), Choices(preset=PRESET, overrides=settings)), given.data, seed)
        run = given.out / f"{model}-{seed}"
        return cem(run, int(model.removeprefix("CEM-T")), settings, given.data, seed)

    found: dict[str, float] = kept(given.out / f"{model}-{seed}.json", measure)
    return found


def count(params: Iterable[Tensor]) -> int:
    """The number of elements."""
    return sum(param.numel() for param in params)


def main() -> None:
    """Train what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", required=True, help="a text file")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--only", action="append", choices=MODELS)
    parser.add_argument("--set", action="append", default=[], metavar="DIM=SIZE", help="a dim of all models")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    dims = dict(text.split("=", 1) for text in given.set)
    training = {"steps": given.steps, "lr": given.lr, "final_lr": given.lr / 10, "eval_samples": EVAL_SAMPLES}
    training["eval_every"] = 500
    settings = {**dims, **{f"train.{name}": str(value) for name, value in training.items()}}
    print("| model | params | cross-entropy | seeds | seconds a run |\n|---|---|---|---|---|")
    for model in given.only or MODELS:
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        rows = [measured(given, model, seed, settings) for seed in seeds]
        costs = [row["final"] for row in rows]
        spread = f" ± {statistics.stdev(costs):.3f}" if len(costs) > 1 else ""
        seconds = sorted(round(row["seconds"]) for row in rows)
        each = ", ".join(f"{value:.3f}" for value in costs)
        print(
            f"| {model} | {rows[0]['params']:,} | {statistics.mean(costs):.3f}{spread} | {each} "
            f"| {seconds[0]} to {seconds[-1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
