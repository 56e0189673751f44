"""The folder of a run: its name, its files, its ``run.json``.

``spec.energy`` and the generated module come from the session; ``run.json`` holds options, versions and seed;
``metrics.jsonl``, ``timings.jsonl``, ``checkpoints/`` and ``pictures/`` are filled while it trains. A file of the
run's time is apart from what the same run would write again byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from energyc.diagnostics import UserError
from energyc.train.disk import replace_bytes
from energyc.train.formats import Malformed, RunInfo, parse


@dataclass(frozen=True)
class RunFolder:
    """The places of a run."""

    path: Path

    @property
    def info(self) -> Path:
        """``run.json``."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """``metrics.jsonl``: must be reproducible."""
        return self.path / "metrics.jsonl"

    @property
    def timings(self) -> Path:
        """``timings.jsonl``: is not."""
        return self.path / "timings.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints lie."""
        return self.path / "checkpoints"

    @property
    def pictures(self) -> Path:
        """Where pictures lie."""
        return self.path / "pictures"

    @property
    def summary(self) -> Path:
        """``summary.json``, where this is the folder of several seeds."""
        return self.path / "summary.json"

    @property
    def of_seeds(self) -> bool:
        """Whether this holds the runs of several seeds, and is none itself."""
        return self.summary.exists() and not self.info.exists()

    @property
    def runs(self) -> list[Path]:
        """The folders of the seeds."""
        return sorted(self.path.glob("seed-*"))

    def run(self, seed: int) -> Path:
        """The folder of one seed."""
        return self.path / f"seed-{seed}"

    def read_info(self) -> RunInfo:
        """What ``run.json`` says. Raises UserError E0511 where this is no run."""
        try:
            return parse(RunInfo, self.info.read_bytes())
        except OSError as error:
            reason = error.strerror or str(error)
        except Malformed as error:
            reason = f"run.json: {error}"
        raise UserError(f"{self.path} is no run folder: {reason}", code="E0511", help=_EXPECTED)

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``. Raises OSError."""
        replace_bytes(self.info, (json.dumps(info, indent=2, default=str) + "\n").encode())


_EXPECTED = "give the folder that energyc train made, with run.json and checkpoints/ in it"


def default_out(name: str, root: Path = Path("runs")) -> Path:
    """``runs/NAME-N``: one more than the largest N that is there, or NAME-1."""
    taken = [path.name.removeprefix(f"{name}-") for path in root.glob(f"{name}-*")]
    return root / f"{name}-{1 + max((int(number) for number in taken if number.isdecimal()), default=0)}"


def refuse_taken(path: Path) -> None:
    """Raise UserError E0510 where ``path`` exists and is not empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        help_text = f"choose another --out, or continue with: energyc train --resume {path}"
        raise UserError(f"{path} exists and is not empty", code="E0510", help=help_text)


def claim(path: Path) -> RunFolder:
    """Make the folder of a new run. Raises UserError: E0510 where it is not empty, E0513 where it cannot be made."""
    refuse_taken(path)
    folder = RunFolder(path)
    try:
        for place in (path, folder.checkpoints, folder.pictures):
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot make {path}: {reason}", code="E0513", help="choose another --out") from None
    return folder
