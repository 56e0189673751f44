"""``python -m energyc.checker FILE SPEC``: the answer to each certificate; the exit status is 0 where all are yes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from energyc.checker.judge import judge


def main(file: str, spec: str) -> int:
    """Print an answer to each certificate of a file, and what the file leaves out; 1 unless all answers are yes."""
    certificates = json.loads(Path(file).read_text())
    answers = judge(certificates, Path(spec).read_text())
    for answer in answers:
        print(f"{answer.verdict:<12} {answer.claim}" + (f": {answer.reason}" if answer.reason else ""))
    for claim in certificates.get("uncertified", ()):
        print(f"{'uncertified':<12} {claim['claim']}: {claim['reason']}")
    return int(any(answer.verdict != "yes" for answer in answers))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m energyc.checker FILE SPEC")
    sys.exit(main(*sys.argv[1:]))
