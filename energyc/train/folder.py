"""The folder of a run: its name, its files, its ``run.json``.

``spec.energy`` and the generated module come from the session; ``run.json`` holds options, versions and seed;
``metrics.jsonl``, ``timings.jsonl``, ``checkpoints/`` and ``pictures/`` are filled while it trains. A file of the
run's time is apart from what the same run would write again byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from energyc.diagnostics import UserError
from energyc.train.disk import replace_bytes
from energyc.train.formats import Malformed, RunInfo, parse
from energyc.train.lock import LOCK, locked


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


@contextmanager
def new_run(name: str, root: Path = Path("runs")) -> Iterator[Path]:
    """``runs/NAME-N`` with N one more than the largest that is there, made here so that no other process takes it.

    A folder that nothing was written into is removed again. Raises UserError E0513 where it cannot be made.
    """
    path = _next_free(name, root)
    try:
        yield path
    finally:
        with suppress(OSError):  # it is not empty
            path.rmdir()


def _next_free(name: str, root: Path) -> Path:
    taken = [path.name.removeprefix(f"{name}-") for path in root.glob(f"{name}-*")]
    first = 1 + max((int(number) for number in taken if number.isdecimal()), default=0)
    for number in count(first):
        with suppress(FileExistsError):
            return _make(root / f"{name}-{number}", exist_ok=False)
    raise AssertionError  # the numbers do not end


def refuse_taken(path: Path) -> None:
    """Raise UserError E0510 where ``path`` is not empty, unless a run was killed in it before it could be resumed."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    begun = RunFolder(path).info.exists() or any(RunFolder(run).info.exists() for run in RunFolder(path).runs)
    if (path / LOCK).exists() and not begun:
        return
    help_text = "choose another --out" + (f", or continue with: energyc train --resume {path}" if begun else "")
    raise UserError(f"{path} exists and is not empty", code="E0510", help=help_text)


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """The folder of a new run, made and locked.

    Raises UserError: E0510 where it is not empty, E0513 where it cannot be made, E0517 where it is locked.
    """
    refuse_taken(path)
    _make(path)
    with locked(path):
        refuse_taken(path)  # once more: another process may have filled it since
        yield


def _make(path: Path, exist_ok: bool = True) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except FileExistsError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot make {path}: {reason}", code="E0513", help="choose another --out") from None
    return path
