"""The throughput of two processes on two cores beside that of one, and the share of the time that is communication.

``python -m benchmarks.ranks [--updates 120] [--rounds 3]`` trains ``cet`` and ``thick`` at ``small`` by ``energyc
train`` and under ``torchrun``, each process with one thread, in turn. Timed is what lies between the evaluations at a
third of the updates and at the end; the fastest round counts. Other work on the machine slows two processes first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from energyc.resources import folder

SPECS = ("cet", "thick")
MEETING = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]


def timed(spec: str, count: int, updates: int, out: Path) -> tuple[float, float]:
    """Seconds of an update by ``count`` processes, and those of them that the first waited for the other."""
    launcher = [] if count == 1 else ["-m", "torch.distributed.run", "--nproc-per-node", str(count), *MEETING]
    train = ["-m", "energyc", "train", str(folder("specs") / f"{spec}.energy"), "--preset", "small", "--quiet"]
    settings = [f"train.eval_every={updates // 3}", "train.eval_samples=16", f"train.steps={updates}"]
    options = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, *launcher, *train, *options, "--out", str(out)]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in (out / "timings.jsonl").read_text(encoding="utf-8").splitlines()]
    first, last = next(row for row in rows if row["step"]), rows[-1]
    steps = last["step"] - first["step"]
    return (last["seconds"] - first["seconds"]) / steps, (last.get("waited", 0) - first.get("waited", 0)) / steps


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("| small | an update by one, ms | by two, ms | throughput | of which waiting |\n|---|---|---|---|---|")
    for spec in SPECS:
        with tempfile.TemporaryDirectory() as place:
            rounds = [
                [timed(spec, count, given.updates, Path(place) / f"{turn}-{count}") for count in (1, 2)]
                for turn in range(given.rounds)
            ]
        (one, _), (two, waited) = (min(turn[k] for turn in rounds) for k in (0, 1))
        print(f"| {spec} | {1e3 * one:.1f} | {1e3 * two:.1f} | {one / two:.2f} | {waited / two:.0%} |", flush=True)


if __name__ == "__main__":
    main()
