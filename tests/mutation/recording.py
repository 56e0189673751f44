"""Which test enters which function: a pytest plugin that writes a line of JSON for each test.

What a fixture of a module made once counts for every test that asks for it, and what a subprocess enters for the
test that began it (``site``). Seconds are of processors, of the test and of its subprocesses. Where time is short,
a test with many params is recorded with the first of them, and a file with the first of its tests.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.marking import Entered, install

#: The folder into which subprocesses write what they entered.
FOLDER = "ENERGYC_ENTERED"


def spent() -> float:
    """The seconds of processors that went into this process and its subprocesses so far."""
    return sum(os.times()[:4])


class Recorder:
    """The plugin: after each test a line with its name, outcome, seconds and the numbers of the functions entered.

    ``enough`` are seconds after which no more params of a test, and no more tests of a file are run.

    A line ``{"names": [...]}`` numbers new names; ``{"file": ..., "seconds": ...}`` is for the collection of a file.
    """

    def __init__(self, entered: Entered, path: Path, enough: tuple[float, float]) -> None:
        self.entered, self.path, self.folder = entered, path, Path(os.environ[FOLDER])
        self.enough = enough
        self.numbers: dict[str, int] = {}
        self.files: dict[str, set[str]] = defaultdict(set)
        self.fixtures: dict[Any, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self.done: set[str] = set()
        self.outcome = "passed"
        if path.exists():
            self._read()

    def _read(self) -> None:
        """Go on where an earlier recording ended."""
        for line in map(json.loads, self.path.read_text(encoding="utf-8").splitlines()):
            self.numbers.update({name: k for k, name in enumerate(line.get("names", []), start=len(self.numbers))})
            if line.get("outcome") == "passed":
                self._count(line["test"], line["seconds"])

    def _count(self, test: str, seconds: float) -> None:
        self.seconds[test.partition("[")[0]] += seconds
        self.seconds[test.partition("::")[0]] += seconds
        self.done.add(test)

    def write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        file, start = collector.nodeid.partition("::")[0], spent()
        with self.entered.apart(self.files[file]):
            report = yield
        if file.endswith(".py"):
            self.write({"file": file, "seconds": round(spent() - start, 3)})
        return report

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.done]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        parts = (item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])
        if any(self.seconds[part] > enough for part, enough in zip(parts, self.enough, strict=True)):
            self.outcome = "left out"
            pytest.skip("enough of its like is recorded")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        with self.entered.apart(set()) as names:
            result = yield
        self.fixtures[fixturedef] = names
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if self.outcome == "passed" and not report.passed:
            self.outcome = report.outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.outcome, start = "passed", spent()
        with self.entered.apart(set()) as names:
            result = yield
        seconds = spent() - start
        self._count(item.nodeid, seconds)
        names |= self.files[item.nodeid.partition("::")[0]] | self._of_fixtures(item) | self._of_subprocesses()
        self._number(names)
        numbers = sorted(self.numbers[name] for name in names)
        line = {"test": item.nodeid, "outcome": self.outcome, "seconds": round(seconds, 4), "entered": numbers}
        self.write(line)
        return result

    def _of_fixtures(self, item: Any) -> set[str]:
        made = getattr(item, "_fixtureinfo", None)
        definitions = [d for ds in made.name2fixturedefs.values() for d in ds] if made else []
        return set().union(*(self.fixtures[definition] for definition in definitions if definition in self.fixtures))

    def _of_subprocesses(self) -> set[str]:
        names: set[str] = set()
        for path in self.folder.glob("*.json"):
            names.update(json.loads(path.read_text(encoding="utf-8")))
            path.unlink()
        return names

    def _number(self, names: set[str]) -> None:
        if new := sorted(names - self.numbers.keys()):
            self.numbers.update({name: k for k, name in enumerate(new, start=len(self.numbers))})
            self.write({"names": new})


def record(path: Path, enough: tuple[float, float], args: list[str]) -> int:
    """Run the tests of the copy that this file is in, and write what each of them enters."""
    root, folder = Path(__file__).resolve().parents[2], path.parent / "entered"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[FOLDER] = str(folder)
    site = str(Path(__file__).resolve().parent / "site")
    os.environ["PYTHONPATH"] = os.pathsep.join([site, os.environ.get("PYTHONPATH", "")])
    return int(pytest.main(args, plugins=[Recorder(install(root), path, enough)]))


if __name__ == "__main__":
    sys.exit(record(Path(sys.argv[1]), (float(sys.argv[2]), float(sys.argv[3])), sys.argv[4:]))
