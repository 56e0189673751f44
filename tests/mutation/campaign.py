"""The mutants one after the other: each is written into the copy, judged by a worker, and taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant
from tests.mutation.selection import Record
from tests.mutation.tables import results

#: Seconds of tests before it is seen whether one failed: most mutants are killed by the first few.
FIRST, SECOND = 2.0, 8.0


class Campaign:
    """The copy that is changed, how its tests are run, and how much time a mutant may take."""

    def __init__(
        self, tree: Path, environment: dict[str, str], record: Record, budget: float, limit: float, imports: str
    ) -> None:
        self.tree, self.record, self.limit, self.imports = tree, record, limit, imports
        self.environment = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}
        self.sizes = (FIRST, SECOND, max(budget - FIRST - SECOND, 0.0))
        self.results = tree.parent / "results.jsonl"

    def run(self, mutants: list[Mutant], minutes: float, again: bool) -> None:
        """All mutants that have no result yet, as far as time goes; ``again``: or that some tests have not seen."""
        end = time.monotonic() + 60 * minutes
        judged = self._judged(again)
        with self._worker() as worker:
            for number, mutant in enumerate(mutants):
                if mutant.name in judged or time.monotonic() > end:
                    continue
                start = time.monotonic()
                result = self._judge(mutant, worker)
                self._write(number, mutant, {**result, "seconds": round(time.monotonic() - start, 1)})

    def _judged(self, again: bool) -> set[str]:
        found = results(self.results)
        return {r["name"] for r in found if not (again and r["outcome"] == "survived" and r["tests"] < r["of"])}

    def _write(self, number: int, mutant: Mutant, result: dict[str, Any]) -> None:
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"number": number, "name": mutant.name, **asdict(mutant), **result}) + "\n")
        print(number, result["outcome"], mutant.name, repr(mutant.old)[:60], "->", repr(mutant.new)[:60], flush=True)

    @contextmanager
    def _worker(self) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "tests.mutation.worker", self.imports]
        cwd, env, pipe = self.tree, self.environment, subprocess.PIPE
        with subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, text=True) as worker:
            yield worker
            assert worker.stdin
            worker.stdin.close()

    def _judge(self, mutant: Mutant, worker: subprocess.Popen[str]) -> dict[str, Any]:
        """The worker's verdict on a mutant, and how many tests enter its function (``of``)."""
        tests = self.record.entering(mutant)
        if not tests:
            return {"outcome": "unreached", "by": "", "tests": 0, "of": 0}
        batches = self.record.batches(tests, self.sizes)
        seconds = {test: self.record.seconds[test] for batch in batches for test in batch}
        assert worker.stdin and worker.stdout
        with written(self.tree / mutant.path, mutant):
            worker.stdin.write(json.dumps({"batches": batches, "seconds": seconds, "limit": self.limit}) + "\n")
            worker.stdin.flush()
            return {**json.loads(worker.stdout.readline()), "of": len(tests)}


def restore(tree: Path) -> None:
    """Take back a mutant that an earlier run left when it was killed itself."""
    for kept in (tree / "energyc").rglob("*.kept"):
        kept.replace(kept.with_suffix(".py"))


@contextmanager
def written(path: Path, mutant: Mutant) -> Iterator[None]:
    """A mutant in its file; afterwards the file as it was, with its time, by which Python trusts its byte code."""
    kept, text, status = path.with_suffix(".kept"), path.read_text(encoding="utf-8"), path.stat()
    kept.write_text(text, encoding="utf-8")
    path.write_text(mutant.applied(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        kept.unlink()
