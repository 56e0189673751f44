"""Which test enters which function: a pytest plugin that writes a line of JSON for each test.

What a fixture of a module made once counts for every test that asks for it, and what a subprocess enters for the
test that began it (``site``).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.marking import Entered, install

#: The folder into which subprocesses write what they entered.
FOLDER = "ENERGYC_ENTERED"


class Recorder:
    """The plugin: after each test a line with its name, outcome, seconds and the numbers of the functions entered.

    A line ``{"names": [...]}`` numbers new names; ``{"file": ..., "seconds": ...}`` is for the collection of a file.
    """

    def __init__(self, entered: Entered, path: Path, folder: Path) -> None:
        self.entered, self.path, self.folder = entered, path, folder
        self.numbers: dict[str, int] = {}
        self.files: dict[str, set[str]] = defaultdict(set)
        self.fixtures: dict[Any, set[str]] = defaultdict(set)
        self.passed = True

    def write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        file, start = collector.nodeid.partition("::")[0], time.perf_counter()
        with self.entered.apart(self.files[file]):
            report = yield
        if file.endswith(".py"):
            self.write({"file": file, "seconds": round(time.perf_counter() - start, 3)})
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        with self.entered.apart(set()) as names:
            result = yield
        self.fixtures[fixturedef] = names
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed = self.passed and not report.failed and not report.skipped

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.passed, start = True, time.perf_counter()
        with self.entered.apart(set()) as names:
            result = yield
        seconds = time.perf_counter() - start
        names |= self.files[item.nodeid.partition("::")[0]] | self._of_fixtures(item) | self._of_subprocesses()
        self._number(names)
        numbers = sorted(self.numbers[name] for name in names)
        self.write({"test": item.nodeid, "passed": self.passed, "seconds": round(seconds, 4), "entered": numbers})
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


def record(path: Path, args: list[str]) -> int:
    """Run the tests of the folder that this file is in, and write what each of them enters."""
    root, folder = Path(__file__).resolve().parents[2], path.parent / "entered"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[FOLDER] = str(folder)
    site = str(Path(__file__).resolve().parent / "site")
    os.environ["PYTHONPATH"] = os.pathsep.join([site, os.environ.get("PYTHONPATH", "")])
    path.write_text("", encoding="utf-8")
    return int(pytest.main(args, plugins=[Recorder(install(root), path, folder)]))


if __name__ == "__main__":
    sys.exit(record(Path(sys.argv[1]).resolve(), sys.argv[2:]))
