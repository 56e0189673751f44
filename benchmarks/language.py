"""Character language models compared: tracking-AEP, backpropagation with and without stabilisers, a transformer.

    python -m benchmarks.language --data text.txt --context 32 --width 64 --steps 3000 --seeds 3 --out language.jsonl

``specs/thick.energy`` is trained by tracking-AEP with its stabilisers (penalty on slow modes, gate), by
backpropagation through the relaxation with the same stabilisers, and by bare backpropagation through a fixed number of
steps (iterating until the residual is small is a stabiliser too). The baseline is a standard pre-norm transformer
block of the same shape (transformer.py), with the same settings of training. All see the same batches for the same
number of updates. Each run appends a line to the JSON lines file ``--out``. Runs already in the file are skipped, so an
interrupted comparison resumes. At the end, or at once with ``--show``, it prints mean and deviation over the seeds of
the final validation cross-entropy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import transformer

SPEC = Path(__file__).parents[1] / "specs" / "thick.energy"
#: No stabilisers, and as many steps as give the published relaxation time of 15.
BARE = ("train.penalty=none", "train.gate=none", "relax.steps=38", "relax.tolerance=none", "relax.exit=settled")
#: Rule and settings of each way to train the spec.
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tracking-aep, stabilised": ("tracking-aep", ()),
    "bptt, stabilised": ("bptt", ()),
    "bptt, bare": ("bptt", BARE),
}
TRANSFORMER = "transformer"
PROMPT = "\nROMEO:\n"


def jobs(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Every variant with every seed, seeds outermost, so that an interrupted comparison is still balanced."""
    ways = options.only or [*WAYS, TRANSFORMER]
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        yield from ((way, seed) for way in ways)


def common(options: argparse.Namespace) -> list[str]:
    """Sizes and settings of all variants."""
    sizes = [f"T={options.context}", f"D={options.width}", f"H={options.heads}", f"train.lr={options.lr}"]
    numbers = [f"train.{name}={getattr(options, name)}" for name in ("steps", "batch", "eval_samples")]
    return [*sizes, *numbers, *options.set]


def trained(way: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train with the command line, and sample text from the result."""
    rule, settings = WAYS[way]
    folder = options.runs / f"{way.replace(', ', '-')}-{seed}"
    flags = [flag for setting in (*common(options), *settings) for flag in ("--set", setting)]
    data = ["--data", str(options.data)] if options.data else []
    steps = ["--seed", str(seed), "--device", options.device]
    goal = ["--rule", rule, "--out", str(folder), "--preset", "small", "--format", "json"]
    begin = (
        ["--resume", str(folder), "--format", "json"]
        if (folder / "run.json").exists()
        else [str(SPEC), *goal, *flags, *steps, *data]
    )
    run = energyc("train", *begin)
    held_out = {f"{name}_{key}": value for name in ("final", "best") for key, value in run[name].items()}
    text = energyc(
        "sample", str(folder), "--prompt", PROMPT, "--length", "300", "--temperature", "0.8", "--format", "json"
    )
    cost = {"final": run["final"].get("cost"), "best": run["best"].get("cost")}
    return {
        **cost,
        "seconds": run["seconds"],
        "done": run["steps"],
        "held_out": held_out,
        "sample": text["text"],
    }


def energyc(*arguments: str) -> dict[str, Any]:
    """Run a command of energyc. A diverged run (status 3) gives its last good numbers, which may be none."""
    done = subprocess.run([sys.executable, "-m", "energyc", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode == 3:
        return {"final": {}, "best": {}, "seconds": None, "steps": None, "text": None}
    if done.returncode:
        raise SystemExit(f"energyc {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}")
    return json.loads(done.stdout)


def result(way: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """One line of the comparison."""
    shape = {
        name: getattr(options, name) for name in ("context", "width", "heads", "steps", "batch", "lr", "eval_samples")
    }
    if way == TRANSFORMER:
        outcome = transformer.run(str(options.data) if options.data else None, common(options), seed, options.device)
    else:
        outcome = trained(way, seed, options)
    return {"way": way, "seed": seed, **shape, "set": options.set, **outcome}


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of the comparison so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(rows: list[dict[str, Any]]) -> None:
    """The table; diverged runs are counted separately."""
    print(f"{'':<28} {'at the end':>18} {'best':>18}   seeds  seconds")
    for way in dict.fromkeys(row["way"] for row in rows):
        mine = [row for row in rows if row["way"] == way]
        spent = [row["seconds"] for row in mine if row["seconds"]]
        ends = (spread_of([row[key] for row in mine if row[key] is not None]) for key in ("final", "best"))
        seconds = statistics.mean(spent) if spent else float("nan")
        print(f"{way:<28} {next(ends):>18} {next(ends):>18} {len(mine):>7} {seconds:8.0f}")


def spread_of(values: list[float]) -> str:
    """Mean and sample deviation."""
    if not values:
        return "diverged"
    deviation = f" +- {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def arguments() -> argparse.Namespace:
    """A comparison at a size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="a text file; Python's own documentation where it is left out")
    parser.add_argument("--out", type=Path, default=Path("language.jsonl"), help="where the results are appended")
    parser.add_argument("--runs", type=Path, default=Path("runs/language"), help="where the runs go")
    parser.add_argument("--only", action="append", choices=[*WAYS, TRANSFORMER], help="may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a setting of all runs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--show", action="store_true", help="print the table of what is there, run nothing")
    numbers = {"context": 32, "width": 64, "heads": 4, "steps": 2000, "batch": 32, "eval_samples": 2000, "seeds": 3}
    for name, default in {**numbers, "first_seed": 0}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def main() -> None:
    """Run what is missing, then print the table."""
    options = arguments()
    rows = read(options.out)
    there = {(row["way"], row["seed"]) for row in rows}
    for way, seed in [] if options.show else jobs(options):
        if (way, seed) not in there:
            row = result(way, seed, options)
            rows.append(row)
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{way}, seed {seed}: {row['final']}", flush=True)
    show(rows)


if __name__ == "__main__":
    main()
