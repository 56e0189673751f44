"""Runs chosen tests for one mutant after the other, each in a process forked from one that has imported torch.

Its argument says what is imported before energyc is, once for all mutants. Each line that it reads is a job,
``{"batches": [[test, ...], ...], "seconds": {test: ...}, "limit": ...}``; the answer is a line
``{"outcome": "killed" | "timeout" | "survived", "by": test, "tests": how many ran}``.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

#: A test hangs when it takes so many seconds and so many times as long as it took when it was recorded.
PATIENCE, TIMES = 30, 20
#: Seconds for the import and the collection.
COLLECTING = 120
MEMORY = 8 << 30


class Chosen:
    """The plugin: only these tests, in this order, until time is up; each under an alarm, which ends the process."""

    def __init__(self, job: dict[str, Any], tell: Any) -> None:
        self.seconds, self.tell = job["seconds"], tell
        self.deadline = time.monotonic() + job["limit"]
        self.tests: list[str] = []
        self.ran = 0
        self.by = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.tests if test in found]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE + TIMES * self.seconds[item.nodeid])
        self.tell(outcome="timeout", by=item.nodeid, tests=self.ran)
        result = yield
        self.ran += 1
        if time.monotonic() > self.deadline:
            item.session.shouldstop = "time is up"
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.by:
            self.by = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.by:
            self.by = report.nodeid


def judge(job: dict[str, Any], tell: Any) -> None:
    """Run the batches one after the other until a test fails or time is up; ``tell`` says how it stands."""
    chosen = Chosen(job, tell)
    tell(outcome="timeout", by="collection", tests=0)
    for tests in job["batches"]:
        chosen.tests = tests
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        signal.setitimer(signal.ITIMER_REAL, COLLECTING)
        with suppress(SystemExit):
            pytest.main(["-x", "--rootdir=.", "-p", "no:cacheprovider", "--tb=no", *files], plugins=[chosen])
        if chosen.by:
            return tell(outcome="killed", by=chosen.by, tests=chosen.ran)
        if time.monotonic() > chosen.deadline:
            break
    return tell(outcome="survived", by="", tests=chosen.ran)


def _child(job: dict[str, Any], says: Path) -> None:
    """In the forked process: its own group, bounded memory, nothing printed."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    judge(job, lambda **said: says.write_text(json.dumps(said), encoding="utf-8"))


def outcome(job: dict[str, Any], says: Path) -> dict[str, Any]:
    """The last line of a forked process; one that ends in the middle of a test, but not by the alarm, is killed too."""
    says.write_text(json.dumps({"outcome": "timeout", "by": "", "tests": 0}), encoding="utf-8")
    if (child := os.fork()) == 0:
        try:
            _child(job, says)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    said: dict[str, Any] = json.loads(says.read_text(encoding="utf-8"))
    alarmed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    return said if alarmed or said["outcome"] != "timeout" else {**said, "outcome": "killed"}


def main() -> None:
    for name in filter(None, sys.argv[1].split(",")):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            print(json.dumps(outcome(json.loads(line), Path(folder, "says.json"))), flush=True)


if __name__ == "__main__":
    main()
