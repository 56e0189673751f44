"""The fuzzer of energyc: only diagnostics may come out, and all ways to compute must agree.  ``make fuzz``

    python -m tests.fuzz mutants --count 1000          specs with tokens, lines and numbers changed
    python -m tests.fuzz differential --count 100      random specs by torch, C++, JAX, the interpreter and autograd
    python -m tests.fuzz resting --count 30            random specs at rest: each exact rule, each solver
    python -m tests.fuzz places --count 1300           each function in each place where it may stand, by check
    python -m tests.fuzz requests --count 10           sessions with the language server
    python -m tests.fuzz folders --count 100           run folders with a random thing wrong
    python -m tests.fuzz certificates --count 500      files of certificates that were tampered with
    python -m tests.fuzz untrained --count 500         warnings of params without a gradient, and autograd
    python -m tests.fuzz faults --count 100            runs that are killed, or meet a full disk, and are resumed
    python -m tests.fuzz ranks --count 30              runs by ranks, one of which is killed or stopped, and resumed
    python -m tests.fuzz mutants --seed 17 --count 1   one case again

A case is its kind and its seed: ``--seed S`` begins at S, else with ``ENERGYC_SEED``, else anywhere; the seed is
printed. What is found is printed once for each cause, with its first seed, and kept in ``build/fuzz``. The status is 1
where anything was.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

KEPT = Path("build") / "fuzz"
TARGETS = ("torch", "interpreter")


def prepare() -> None:
    """Set what torch and Triton read when they are imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("ENERGYC_TARGET", "torch")
    os.environ.setdefault("CXXFLAGS", "-O0")  # kernels are built once for each spec, and so are functions by XLA
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        os.environ.setdefault("TRITON_INTERPRET", "1")


prepare()

from tests.fuzz import (  # noqa: E402
    cases,
    certificates,
    differential,
    faults,
    folders,
    places,
    rank_faults,
    requests,
    resting,
    untrained,
)
from tests.fuzz.drawing_specs import random_spec  # noqa: E402


@dataclass(frozen=True)
class Kind:
    """What can be fuzzed: the case of a seed, with the text that it is about, and the seconds that it may take."""

    case: Callable[..., cases.Find | None]
    text: Callable[[int], str] = lambda seed: ""
    seconds: int = cases.SECONDS

    def find(self, seed: int, **options: Any) -> cases.Find | None:
        """What is found at a seed; an exception that escapes is a find."""
        found = cases.tried(partial(self.case, seed, **options), self.seconds)
        return found and cases.Find(found.cause, f"{self.text(seed)}\n{found.about}".lstrip())


KINDS: Mapping[str, Kind] = {
    "folders": Kind(folders.case),
    "certificates": Kind(certificates.case),
    "untrained": Kind(untrained.case),
    "faults": Kind(faults.case),
    "ranks": Kind(rank_faults.case, seconds=2 * cases.SECONDS),
    "mutants": Kind(cases.mutant, cases.text_of_mutant),
    "differential": Kind(differential.case, lambda seed: random_spec(seed).text()),
    "resting": Kind(resting.case, lambda seed: resting.random_resting(seed).text()),
    "places": Kind(places.refusal, lambda seed: places.Placing(seed).text()),
    "requests": Kind(requests.session),
}


def run(kind: str, seed: int, count: int, seconds: float, **options: Any) -> Counter[str]:
    """Run cases until they or the time are over, and print what they find; returns how often each cause was met."""
    causes, until, done = Counter[str](), time.monotonic() + seconds, 0
    for number in range(seed, seed + count):
        if time.monotonic() > until:
            break
        done += 1
        found = KINDS[kind].find(number, **options)
        if found is None:
            continue
        causes[found.cause] += 1
        if causes[found.cause] == 1:
            KEPT.mkdir(parents=True, exist_ok=True)
            (KEPT / f"{kind}-{number}.txt").write_text(found.about, encoding="utf-8", errors="surrogatepass")
            print(f"{kind} {number}: {found.cause}", flush=True)
    print(f"{kind}: {done} cases from seed {seed}, {sum(causes.values())} finds of {len(causes)} causes", flush=True)
    return causes


def main() -> int:
    """Run one kind of cases."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Look for what should not come out.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=1000, help="how many cases")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further case after this time")
    parser.add_argument("--targets", default=",".join(TARGETS), help="torch, cpp, triton, jax, interpreter")
    parser.add_argument("--deep", type=float, default=cases.DEEP, help="of mutants: how many right ones are used")
    given = parser.parse_args()
    os.environ.setdefault("ENERGYC_FRESH", "1")
    start = random.SystemRandom().randrange(2**31)
    seed = int(os.environ.get("ENERGYC_SEED", start)) if given.seed is None else given.seed
    print(f"ENERGYC_SEED={seed}", flush=True)
    options: dict[str, Any] = {"deep": given.deep} if given.kind == "mutants" else {}
    if given.kind in ("differential", "resting"):
        options = {"targets": tuple(given.targets.split(","))}
    return 1 if run(given.kind, seed, given.count, given.seconds, **options) else 0


if __name__ == "__main__":
    sys.exit(main())
