"""The baseline for the equilibrium blocks: a standard pre-norm transformer block of the shape of ``thick``.

    python benchmarks/transformer.py --data text.txt --steps 2000 --seed 0

One block in plain torch: learned positions, multi-head causal attention, a GELU feed-forward of four times the width,
a final layer norm and an untied head. It uses the same data adapter, batches, order (a function of seed and cursor),
AdamW and held-out windows as ``energyc train``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from energyc.running.data import find_adapter
from energyc.running.training.order import Order, evenly_spread


@dataclass(frozen=True)
class Size:
    """Context T, width D, H heads, and the settings of training."""

    context: int = 32
    width: int = 64
    heads: int = 4
    steps: int = 2000
    batch: int = 32
    lr: float = 3e-3
    eval_samples: int = 2000


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x)): [batch, T, D] to [batch, T, D]."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        width = size.width
        self.heads = size.heads
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
    """Characters [batch, T] to logits [batch, T, V]."""

    def __init__(self, size: Size, vocabulary: int) -> None:
        super().__init__()
        self.tok = nn.Embedding(vocabulary, size.width)
        self.pos = nn.Parameter(torch.empty(size.context, size.width))
        self.block = Block(size)
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, vocabulary, bias=False)
        for param in self.parameters():
            if param.dim() > 1:
                nn.init.normal_(param, std=0.02)

    def forward(self, idx: Tensor) -> Tensor:
        return self.head(self.norm(self.block(self.tok(idx) + self.pos)))


def cost(net: Transformer, batch: dict[str, Tensor]) -> Tensor:
    """Cross-entropy, the mean over batch and positions."""
    return F.cross_entropy(net(batch["input"]).transpose(1, 2), batch["target"])


def run(data: str | None, size: Size, seed: int, device: str = "cpu") -> dict[str, float]:
    """Train; return the final validation cross-entropy, the best of ten evaluations, and the seconds taken."""
    opened = find_adapter("characters").open({"context": size.context}, data, seed=seed)
    train, test = opened.split("train"), opened.split("test")
    torch.manual_seed(seed)
    net = Transformer(size, opened.schema.sizes["vocabulary"]).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=size.lr)
    order = Order(seed, len(train), size.batch)
    begin, held_out = time.monotonic(), []
    for step in range(size.steps):
        optimizer.zero_grad(set_to_none=True)
        cost(net, _tensors(train.batch(order.indices(step)), device)).backward()
        optimizer.step()
        if (step + 1) % max(1, size.steps // 10) == 0 or step + 1 == size.steps:
            held_out.append(_evaluated(net, test, size, device))
    params = sum(param.numel() for param in net.parameters())
    return {"final": held_out[-1], "best": min(held_out), "seconds": time.monotonic() - begin, "params": params}


@torch.no_grad()
def _evaluated(net: Transformer, test: object, size: Size, device: str) -> float:
    indices = evenly_spread(len(test), size.eval_samples)  # type: ignore[arg-type]
    total = 0.0
    for first in range(0, len(indices), size.batch):
        part = indices[first : first + size.batch]
        total += len(part) * float(cost(net, _tensors(test.batch(part), device)))  # type: ignore[attr-defined]
    return total / len(indices)


def _tensors(arrays: dict[str, object], device: str) -> dict[str, Tensor]:
    return {name: torch.as_tensor(value).to(device) for name, value in arrays.items()}


def main() -> None:
    """Train one transformer and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="a text file; Python's own documentation where it is left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    for name, value in asdict(Size()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args())
    size = Size(**{name: options[name] for name in asdict(Size())})
    print(
        json.dumps(
            {**asdict(size), "seed": options["seed"], **run(options["data"], size, options["seed"], options["device"])}
        )
    )


if __name__ == "__main__":
    main()
