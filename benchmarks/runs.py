"""Runs for a table: kept once they are done, resumed where they were interrupted, and read from their logs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def kept(path: Path, measure: Callable[[], Any]) -> Any:
    """The measurements: plain data, from the file where they are kept, or measured now and kept there."""
    if not path.exists():
        path.write_text(json.dumps(measure()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def trained(spec: Path, run: Path, seed: int, settings: Mapping[str, object], options: Sequence[str] = ()) -> Path:
    """Train a spec into the folder of a run, or go on with it; ``options`` are further ones of the command line."""
    chosen = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    begin = ["--resume", str(run)] if run.exists() else [str(spec), "--out", str(run), "--seed", str(seed)]
    further = [] if run.exists() else [*chosen, *options]
    subprocess.run([sys.executable, "-m", "energyc", "train", *begin, *further, "--quiet"], check=True)
    return run


def evaluations(run: Path) -> list[dict[str, Any]]:
    """The evaluations on the test part, in order."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] == "eval" and row["split"] == "test"]
