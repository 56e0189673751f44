"""Results of ``energyc train``, kept beside the run folders, so that a table can be continued where it was left."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def trained(run: Path, spec: Path, settings: Mapping[str, object], *options: str) -> dict[str, Any]:
    """The JSON of ``energyc train`` on ``run``; it is trained, or resumed, if that is not known yet."""
    kept = run.with_name(f"{run.name}.json")
    if not kept.exists():
        run.parent.mkdir(parents=True, exist_ok=True)
        given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        begin = [str(spec), "--out", str(run), *given, *options]
        command = [sys.executable, "-m", "energyc", "train", *(["--resume", str(run)] if run.exists() else begin)]
        said = subprocess.run([*command, "--format", "json"], check=True, stdout=subprocess.PIPE, text=True)
        kept.write_text(said.stdout, encoding="utf-8")
    result: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return result


def spread(values: Sequence[float], scale: float = 100, digits: int = 1) -> str:
    """Mean and sample deviation, in percent unless another scale is given."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{scale * statistics.fmean(values):.{digits}f} ± {scale * deviation:.{digits}f}"
