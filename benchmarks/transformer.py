"""The baseline for the equilibrium blocks: a standard pre-norm transformer block of the shape of ``thick``.

    python -m benchmarks.transformer --data text.txt --set train.steps=2000 --seed 0

One block in plain torch, or several (``--blocks``): learned positions, multi-head causal attention, a GELU feed-forward
of four times the width, a final layer norm and an untied head. Sizes and settings of training are those of
``specs/thick.energy --preset small`` and of ``--set``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import baseline
from energyc.pipeline import Choices, read, resolve
from energyc.resources import folder
from energyc.running.data import find_adapter
from energyc.surfaces.cli.values import read_settings

SPEC, PRESET = folder("specs") / "thick.energy", "small"


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x)): [batch, T, D] to [batch, T, D]."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Characters [batch, T] to logits [batch, T, V], of a context T and a width D with H heads."""

    def __init__(self, size: Mapping[str, int], blocks: int = 1) -> None:
        super().__init__()
        width = size["D"]
        self.tok = nn.Embedding(size["V"], width)
        self.pos = nn.Parameter(torch.empty(size["T"], width))
        self.blocks = nn.Sequential(*(Block(width, size["H"]) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, size["V"], bias=False)
        for param in self.parameters():
            if param.dim() > 1:
                nn.init.normal_(param, std=0.02)

    def forward(self, idx: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.tok(idx) + self.pos)))


def run(data: str | None, settings: Sequence[str], seed: int, device: str = "cpu", blocks: int = 1) -> dict[str, float]:
    """Train some blocks by ``K=V`` settings; return what ``baseline.trained`` does, with ten evaluations."""
    network = resolve(read(SPEC), Choices(PRESET, read_settings(tuple(settings))))
    dataset = find_adapter("characters").open({"context": network.extents["T"]}, data, seed=seed)
    size = {**network.extents, "V": dataset.schema.sizes["vocabulary"]}
    torch.manual_seed(seed)
    return baseline.trained(Transformer(size, blocks).to(device), network.train, dataset, seed, evaluations=10)


def main() -> None:
    """Train one transformer and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="a text file; Python's own documentation where it is left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a dim or a setting of training")
    options = parser.parse_args()
    result = run(options.data, options.set, options.seed, options.device, options.blocks)
    print(json.dumps({"set": options.set, "seed": options.seed, **result}))


if __name__ == "__main__":
    main()
