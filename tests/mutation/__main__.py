"""How many seeded mistakes do the tests notice?  ``python -m tests.mutation --help``

    python -m tests.mutation record      which test enters which function: all tests once
    python -m tests.mutation run         the mutants, one after the other; begins where it stopped
    python -m tests.mutation table       mutants, killed, survived by package
    python -m tests.mutation survivors   what survived, line by line

``record`` copies the repository to ``build/mutation/tree``, and only the copy is changed. Results are lines of JSON in
``build/mutation/results.jsonl``. One process does it all; give it ``nice``. For several cores start several: each
records its share of the test files and tries its share of the mutants (``--part 1/2``, ``--part 2/2``) in a folder of
its own below, and reads what all of them recorded. ``record`` and ``run`` go on where they stopped; delete the folder
to begin anew. A survivor has survived the tests that ran: with ``--again`` and a larger ``--budget`` it meets more of
those that enter its function.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.mutation.campaign import Campaign, restore
from tests.mutation.mutants import drawn
from tests.mutation.selection import Record
from tests.mutation.tables import results, survivors, table

T = TypeVar("T")

TOOL = Path(__file__).resolve().parent
#: Tests that enter no function of the compiler: of style and types, and of this tool.
LEFT_OUT = ("tests/test_quality.py", "tests/mutation")
#: What most tests need beside energyc, and what takes long to import.
HEAVY = "torch,numpy,scipy.optimize,scipy.linalg,lark,click,jinja2,rich.console,pygments,safetensors"


@dataclass(frozen=True)
class Part:
    """The k-th of n shares."""

    k: int = 1
    n: int = 1

    @classmethod
    def read(cls, text: str) -> Part:
        """``2/3``; a ValueError for anything else."""
        k, n = map(int, text.split("/"))
        if not 1 <= k <= n:
            raise ValueError(text)
        return cls(k, n)

    @property
    def several(self) -> bool:
        return self.n > 1

    def share(self, things: list[T]) -> list[T]:
        return things[self.k - 1 :: self.n]

    def folder(self, of_all: Path) -> Path:
        return of_all / str(self.k) if self.several else of_all


def copied(repository: Path, folder: Path) -> Path:
    """A copy of the files of a repository that git does not ignore, with this tool in it."""
    tree, command = folder / "tree", ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if tree.exists():
        return tree
    listed = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (repository / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, tree / name)
    shutil.copytree(TOOL, tree / "tests" / "mutation", dirs_exist_ok=True)
    return tree


def surroundings(tree: Path) -> dict[str, str]:
    """The environment of the tests: the copy's package, caches of its own, one thread, one seed."""
    temporary = tree.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "",
        "XDG_CACHE_HOME": str(tree.parent / "cache"),
        "PYTEST_DEBUG_TEMPROOT": str(temporary),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "ENERGYC_TARGET": "torch",
        "ENERGYC_SEED": "18",
        "TRITON_INTERPRET": "1",
    }


def share_of_files(tree: Path, part: Part) -> list[str]:
    """The part's share of the files with tests, as pytest is given them; all of them by no names."""
    names = sorted(path.relative_to(tree).as_posix() for path in (tree / "tests").rglob("test_*.py"))
    return part.share([name for name in names if not name.startswith(LEFT_OUT)]) if part.several else []


def recorded(tree: Path, enough: tuple[float, float], tests: list[str]) -> int:
    command = [sys.executable, "-m", "tests.mutation.recording", str(tree.parent / "entered.jsonl")]
    options = [*map(str, enough), "-p", "no:cacheprovider", *(f"--ignore={name}" for name in LEFT_OUT)]
    return subprocess.run([*command, *options, *tests], cwd=tree, env=surroundings(tree)).returncode


def arguments() -> argparse.Namespace:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.mutation", description=__doc__, formatter_class=formatter)
    add = parser.add_argument
    add("step", choices=["record", "run", "table", "survivors"])
    add("--repository", type=Path, default=TOOL.parents[1], help="the checkout whose tests are measured (this one)")
    add("--folder", type=Path, help="where the copy and the results are (build/mutation of the repository)")
    add("--tests", default="", help="files and folders of tests to record, with spaces (all)")
    add(
        "--enough",
        type=float,
        nargs=2,
        default=(4, 60),
        help="seconds to record of a test with params, of a file (4 60)",
    )
    add("--seed", type=int, default=18, help="draws the mutants (18)")
    add("--count", type=int, default=300, help="how many of them (300)")
    add("--budget", type=float, default=25, help="seconds of tests for each mutant, as recorded (25)")
    add("--limit", type=float, default=60, help="seconds after which no further test of a mutant begins (60)")
    add("--part", type=Part.read, default=Part(), metavar="K/N", help="the K-th of N shares, for N processes (all)")
    add("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    add("--again", action="store_true", help="try those again that survived, but not all tests that enter them")
    add("--imports", default=HEAVY, help="what is imported once for all mutants, names with commas")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    folder = (given.folder or given.repository / "build" / "mutation").resolve()
    tree = given.part.folder(folder) / "tree"
    if given.step == "record":
        copied(given.repository.resolve(), tree.parent)
        return recorded(tree, given.enough, given.tests.split() or share_of_files(tree, given.part))
    if given.step == "run":
        restore(tree)
        record = Record.read(*sorted(folder.rglob("entered.jsonl")))
        campaign = Campaign(tree, surroundings(tree), record, given.budget, given.limit, given.imports)
        campaign.run(given.part.share(drawn(tree, given.seed, given.count)), given.minutes, given.again)
    print((survivors if given.step == "survivors" else table)(results(*sorted(folder.rglob("results.jsonl")))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
