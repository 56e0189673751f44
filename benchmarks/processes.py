"""Processor time of whole commands, each in a process of its own: what you wait for at the prompt.

    python -m benchmarks.processes                 # all specs, into benchmarks/results
    python -m benchmarks.processes thick --rounds 3

The least user and system time over some rounds, children included. Kernels and the tables of the grammar are in their
cache after the first round. Beside them: Python alone, and Python with torch imported.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPECS = sorted(path.stem for path in (ROOT / "specs").glob("*.energy"))
RESULTS = Path(__file__).parent / "results" / "processes.md"
#: Commands of a spec, and what follows its path.
COMMANDS = {
    "check": (),
    "show": ("--stage", "plan"),
    "explain": (),
    "compile": ("--target", "torch"),
    "compile cpp": ("--target", "cpp"),
}
#: Processes without a spec.
PLAIN = {
    "python": ("-c", "pass"),
    "python, import torch": ("-c", "import torch"),
    "energyc --help": ("-m", "energyc", "--help"),
    "energyc train --help": ("-m", "energyc", "train", "--help"),
}


def taken(arguments: Sequence[str]) -> float:
    """Seconds of processor time of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def arguments(spec: str, command: str, folder: str) -> tuple[str, ...]:
    """The arguments of a command on a spec."""
    name, *_ = command.split()
    out = {"compile": ("-o", folder), "explain": ("-o", f"{folder}/{spec}.md")}.get(name, ())
    return ("-m", "energyc", name, f"specs/{spec}.energy", *COMMANDS[command], *out)


def least(rounds: int, arguments: Sequence[str]) -> float:
    """The least of some rounds."""
    return min(taken(arguments) for _ in range(rounds))


def table(specs: Sequence[str], rounds: int) -> list[str]:
    """The lines of the table."""
    rows = [
        "Seconds of processor time of a process, the least of some rounds. Made by `python -m benchmarks.processes`.",
        "",
        *(f"- `{name}`: {least(rounds, command):.2f}" for name, command in PLAIN.items()),
        "",
        f"| | {' | '.join(COMMANDS)} |",
        "|" + "---|" * (1 + len(COMMANDS)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            times = [least(rounds, arguments(spec, command, folder)) for command in COMMANDS]
            rows.append(f"| {spec} | {' | '.join(f'{seconds:.2f}' for seconds in times)} |")
    return rows


def main() -> None:
    """Write the table, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", help="all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = table(options.specs or SPECS, options.rounds)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
