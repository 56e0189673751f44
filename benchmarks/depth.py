"""Blocks of ``thick`` in a row: nudged one by one, by bptt, as one joint state, and a transformer of the same depth.

    python -m benchmarks.depth OUT --data text.txt --blocks 1 2 4 --steps 1000 --batch 8

``thick_stack.energy`` by tracking-aep, whose layers are nudged one by one, and by bptt; ``thick_joint.energy``, the
same network as one state that relaxes together, by tracking-aep; and the transformer of ``transformer.py``. All see the
same batches, with the same settings of training, and are evaluated on the same windows. The runs go into OUT, where an
interrupted comparison is continued.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import transformer
from benchmarks.runs import kept
from benchmarks.trained import spread, trained

HERE = Path(__file__).parent
#: The spec of each way and its rule.
WAYS = {
    "one by one, tracking-aep": ("thick_stack", "tracking-aep"),
    "one by one, bptt": ("thick_stack", "bptt"),
    "jointly, tracking-aep": ("thick_joint", "tracking-aep"),
}
TRANSFORMER = "transformer"


def settings(given: argparse.Namespace) -> dict[str, object]:
    """Those of training, the same for all."""
    numbers = {f"train.{name}": getattr(given, name) for name in ("steps", "batch", "lr", "ema")}
    return {**numbers, "train.schedule": "cosine(warmup = 100)", "train.eval_samples": given.eval_samples}


def run_name(given: argparse.Namespace, blocks: int, seed: int) -> str:
    """What tells runs apart that are kept beside each other."""
    return f"{blocks}-{given.steps}-{given.batch}-{given.lr:g}-{given.ema:g}-{seed}"


def outcome(given: argparse.Namespace, way: str, blocks: int, seed: int) -> dict[str, Any]:
    """The held-out cross-entropy at the end of a run, the seconds, and what it says of its health."""
    if way == TRANSFORMER:
        return of_transformer(given, blocks, seed)
    spec, rule = WAYS[way]
    name = f"{spec}-{rule}-{run_name(given, blocks, seed)}"
    own = {"L": blocks, "train.eval_every": max(1, given.steps // 4)}
    options = ["--rule", rule, "--seed", str(seed), "--quiet", *(["--data", given.data] if given.data else [])]
    run = trained(given.out / name, HERE / f"{spec}.energy", {**settings(given), **own}, *options)
    return {"cost": run["final"]["cost"], "settled": run["final"]["settled"], "seconds": run["seconds"]}


def of_transformer(given: argparse.Namespace, blocks: int, seed: int) -> dict[str, Any]:
    """The same of a transformer, kept as a run is."""
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = [f"{name}={value}" for name, value in settings(given).items()]
    path = given.out / f"{TRANSFORMER}-{run_name(given, blocks, seed)}.json"
    run = kept(path, lambda: transformer.run(given.data, chosen, seed, blocks=blocks))
    return {"cost": run["final"], "settled": None, "seconds": run["seconds"]}


def rows(given: argparse.Namespace) -> Iterator[str]:
    """The table, a row as soon as it is there."""
    yield "| blocks | way | cross-entropy | by seed | settled at the end | seconds a run |"
    yield "|---|---|---|---|---|---|"
    for blocks in given.blocks:
        for way in given.only or (TRANSFORMER, *WAYS):
            runs = [outcome(given, way, blocks, given.first_seed + k) for k in range(given.seeds)]
            costs = [run["cost"] for run in runs]
            settled = ", ".join("" if run["settled"] is None else f"{100 * run['settled']:.0f} %" for run in runs)
            seconds = ", ".join(f"{run['seconds']:.0f}" for run in runs)
            by_seed = ", ".join(f"{x:.3f}" for x in costs)
            yield f"| {blocks} | {way} | {spread(costs, 1, 3)} | {by_seed} | {settled} | {seconds} |"


def main() -> None:
    """Train what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path, help="the folder of the runs")
    parser.add_argument("--data", help="a text file; Python's own documentation where it is left out")
    parser.add_argument("--blocks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", action="append", choices=[*WAYS, TRANSFORMER], help="may be repeated")
    for name, default in {"steps": 1000, "batch": 8, "eval_samples": 1000, "seeds": 1, "first_seed": 0}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--ema", type=float, default=0.99)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
