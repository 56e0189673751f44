"""Which tests are run for a mutant: those that enter its function, narrow and quick ones first, within a budget.

A test is narrow that enters few functions: it is about them, where a broad one runs the compiler to see a message.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.packages import MODULE

#: A file takes no longer to collect: what took longer imported energyc and libraries first.
COLLECTING = 0.5
#: Seconds that any test takes beside its own.
LEAST = 0.1
#: After the first tests comes what compares whole texts, and notices most.
GOLDEN, GOLDENS = "tests/golden/", 3


@dataclass
class Record:
    """The record of ``recording``: seconds by test and by file, and the tests that enter a function or a file.

    ``breadth`` is the number of functions that a test enters.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    breadth: dict[str, int] = field(default_factory=dict)
    collecting: dict[str, float] = field(default_factory=dict)
    by_function: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, *paths: Path) -> Record:
        """What is recorded in these files, each of tests of its own."""
        record = cls()
        for path in paths:
            record._add(path)
        return record

    def _add(self, path: Path) -> None:
        names, entered, left_out = list[str](), dict[str, list[int]](), dict[str, None]()
        for line in path.read_text(encoding="utf-8").splitlines():
            match json.loads(line):
                case {"names": new}:
                    names.extend(new)
                case {"file": file, "seconds": seconds}:
                    self.collecting[file] = min(seconds, COLLECTING)
                case {"test": test, "outcome": "passed", "seconds": seconds, "entered": numbers}:
                    self.seconds[test], entered[test] = seconds, numbers
                case {"test": test, "outcome": "left out"}:
                    left_out[test] = None
        self._infer(left_out, entered)
        for test, numbers in entered.items():
            self.breadth[test] = len(numbers)
            for number in numbers:
                self.by_function[names[number]].append(test)

    def _infer(self, left_out: Iterable[str], entered: dict[str, list[int]]) -> None:
        """A test that was left out is taken to do what it does with other params, and to take as long."""
        params: dict[str, list[str]] = defaultdict(list)
        for test in entered:
            params[test.partition("[")[0]].append(test)
        for test in left_out:
            if test not in entered and (like := params.get(test.partition("[")[0])):
                self.seconds[test] = sum(self.seconds[one] for one in like) / len(like)
                entered[test] = sorted({number for one in like for number in entered[one]})

    def entering(self, mutant: Mutant) -> list[str]:
        """The tests that enter a function; for what runs at import, those that enter any function of the file."""
        if mutant.function != MODULE:
            return self.by_function.get(f"{mutant.path}:{mutant.function}", [])
        entering = (tests for name, tests in self.by_function.items() if name.startswith(f"{mutant.path}:"))
        return list(dict.fromkeys(test for tests in entering for test in tests))

    def ordered(self, tests: list[str]) -> list[str]:
        """Test functions by their price, each with one of its params; after all functions their other params."""
        ranks: dict[str, int] = defaultdict(int)
        placed = []
        for test in sorted(tests, key=self._price):
            function = test.partition("[")[0]
            ranks[function] += 1
            placed.append((ranks[function], *self._price(test)))
        return [test for *_, test in sorted(placed)]

    def _price(self, test: str) -> tuple[float, str]:
        """What a test costs, for what it may notice: all functions that it enters share its assertions."""
        return (1 + self.breadth.get(test, 0)) * (LEAST + self.seconds[test]), test

    def batches(self, tests: list[str], sizes: tuple[float, ...]) -> list[list[str]]:
        """Tests in their order, some goldens after the first batch, in batches of so many seconds each."""
        left, made = self.ordered(tests), []
        for size in sizes:
            batch = self._within(left, size, anything=not made)
            left = [test for test in left if test not in set(batch)]
            goldens = [test for test in left if test.startswith(GOLDEN)][:GOLDENS]
            left = [*goldens, *(test for test in left if test not in goldens)]
            made.append(batch)
        return [batch for batch in made if batch]

    def _within(self, tests: list[str], size: float, anything: bool) -> list[str]:
        """The first tests that take so many seconds in all; the very first one also if it takes longer."""
        files, batch, total = set[str](), list[str](), 0.0
        for test in tests:
            file = test.partition("::")[0]
            total += self.seconds[test] + (0 if file in files else self.collecting.get(file, 0))
            if total > size and (batch or not anything):
                break
            batch.append(test)
            files.add(file)
        return batch
