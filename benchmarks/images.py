"""The Energy Transformer on masked images: attention and memory, and each of them alone.

``python -m benchmarks.images OUT [--data FILE] [--side 32] [--steps 2400] [--seeds 3] [--first-seed 0]
[--set KEY=VALUE]...`` trains ``specs/et_image.energy --preset small`` and two variants of it into OUT, or continues
there, and prints the mean squared error of the hidden pixels at the end of training, over the whole test split, beside
that of the mean of an image's visible pixels. What counts in the test is hidden there. A variant is the spec with one
energy struck out, and the params and lets that this energy alone reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.completion import Errors, complete_by_mean
from benchmarks.trained import spread, trained
from benchmarks.variants import rewritten
from energyc.resources import folder
from energyc.running.data import find_adapter

SPEC = folder("specs") / "et_image.energy"
ATTENTION = (
    "const beta = 1/sqrt(Y), ",
    "W_q[Y, H, D], W_k[Y, H, D], ",
    "let q[h,i,j,y] = sum[d](W_q[y,h,d] * g[i,j,d])\n",
    "let k[h,i,j,y] = sum[d](W_k[y,h,d] * g[i,j,d])\n",
    "energy att = -1/beta * sum[h,i,j](logsumexp[m,n | m != i or n != j](beta * sum[y](k[h,m,n,y] * q[h,i,j,y])))\n",
    "att + ",
)
MEMORY = (", xi[K, D]", "energy mem = -1/2 * sum[i,j,s](relu(sum[d](xi[s,d] * g[i,j,d]))^2)\n", " + mem")
VARIANTS = {"full": (), "no-memory": MEMORY, "no-attention": ATTENTION}
CONST = {"const beta = 1/sqrt(Y), ": "const "}


def variant(name: str) -> str:
    """The spec's text without the pieces of a variant; raises ``ValueError`` if one is not there exactly once."""
    return rewritten(SPEC, {piece: CONST.get(piece, "") for piece in VARIANTS[name]})


def visible_mean(data: str | None, side: int, patch: int) -> float:
    """The error of the hidden pixels if each is the mean of the visible ones of its image."""
    images = find_adapter("masked_images").open({"side": side, "patch": patch, "channels": 1}, data).split("test")
    batch = images.batch(np.arange(len(images)))
    return Errors.of(complete_by_mean(batch["masked"], batch["mask"]), batch["clean"], batch["mask"]).hidden


def error(given: argparse.Namespace, name: str, seed: int) -> float:
    """The error of the hidden pixels at the end of a run."""
    spec = given.out / f"{name}.energy"
    spec.write_text(variant(name), encoding="utf-8")
    settings = {"S": given.side, "train.steps": given.steps, "train.eval_every": max(1, given.steps // 6)}
    settings |= dict(setting.split("=", 1) for setting in given.set)
    options = ["--preset", "small", "--seed", str(seed), "--quiet", *(["--data", given.data] if given.data else [])]
    return float(trained(given.out / f"{name}-{seed}", spec, settings, *options)["final"]["cost"])


def main() -> None:
    """Train what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[float]] = {name: [] for name in given.variants}
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        for name, errors in found.items():
            errors.append(error(given, name, seed))
    base = visible_mean(given.data, given.side, patch=4)
    print("| | hidden pixels | of the mean's | seeds |\n|---|---|---|---|")
    print(f"| visible mean | {base:.4f} | 1 | |")
    for name, errors in found.items():
        seeds = ", ".join(f"{value:.4f}" for value in errors)
        print(f"| {name} | {spread(errors, 1, 4)} | {np.mean(errors) / base:.3f} | {seeds} |")


if __name__ == "__main__":
    main()
