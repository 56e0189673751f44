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
where anything was. ``KINDS`` is what else can be fuzzed: a kind is a function from a seed to what it found.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

KEPT = Path("build") / "fuzz"
TARGETS = ("torch", "interpreter")
#: What has no solvers and rules of its own.
WITHOUT_REST = "interpreter"


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
    mutations,
    places,
    rank_faults,
    requests,
    resting,
    untrained,
)

Kind = Callable[[int], "cases.Find | None"]


def mutant_case(seed: int, deep: float = cases.DEEP) -> cases.Find | None:
    """A mutant, and what a person may ask of it."""
    text, settings = mutations.mutant(seed), mutations.settings(seed)
    found = cases.tried(partial(cases.of_text, text, seed, settings, deep))
    return None if found is None else cases.Find(found.cause, f"{' '.join(settings)}\n{text}\n{found.about}")


def differential_case(seed: int, targets: tuple[str, ...] = TARGETS) -> cases.Find | None:
    """A spec that is right, by every way to compute it."""

    def compared() -> cases.Find | None:
        wrong = differential.disagreements(seed, targets)
        return cases.Find(f"{', '.join(wrong)} differ", str(wrong)) if wrong else None

    found = cases.tried(compared)
    text = differential.random_spec(seed).text()
    return None if found is None else cases.Find(found.cause, f"{text}\n{found.about}")


def resting_case(seed: int, targets: tuple[str, ...] = TARGETS) -> cases.Find | None:
    """A spec that comes to rest, by exact rules and by solvers."""

    def compared() -> cases.Find | None:
        for target in (name for name in targets if name != WITHOUT_REST):
            if wrong := resting.disagreements(seed, target):
                return cases.Find(f"{', '.join(wrong)} differ", str(wrong))
        return None

    found = cases.tried(compared)
    text = resting.random_resting(seed).text()
    return None if found is None else cases.Find(found.cause, f"{text}\n{found.about}")


def places_case(seed: int) -> cases.Find | None:
    """A function in a place where it may stand, classified and proved."""
    found = cases.tried(partial(places.refusal, seed))
    return None if found is None else cases.Find(found.cause, f"{places.Placing(seed).text()}\n{found.about}")


def requests_case(seed: int) -> cases.Find | None:
    """A session with the language server."""
    return cases.tried(partial(requests.session, seed))


def folder_case(seed: int) -> cases.Find | None:
    """A command on a run folder that something is wrong with."""
    return cases.tried(partial(folders.case, seed))


def certificates_case(seed: int) -> cases.Find | None:
    """A file of certificates that was tampered with, and what the checker says to it."""
    return cases.tried(partial(certificates.case, seed))


def untrained_case(seed: int) -> cases.Find | None:
    """A spec whose params may have no gradient, and what autograd says."""
    return cases.tried(partial(untrained.case, seed))


def faults_case(seed: int) -> cases.Find | None:
    """A run with a fault at a file operation, and the same run resumed."""
    return cases.tried(partial(faults.case, seed))


def ranks_case(seed: int) -> cases.Find | None:
    """A run by several ranks of which one goes, and the same run resumed."""
    return cases.tried(partial(rank_faults.case, seed), 2 * cases.SECONDS)


KINDS: Mapping[str, Kind] = {
    "folders": folder_case,
    "certificates": certificates_case,
    "untrained": untrained_case,
    "faults": faults_case,
    "ranks": ranks_case,
    "mutants": mutant_case,
    "differential": differential_case,
    "resting": resting_case,
    "places": places_case,
    "requests": requests_case,
}


def run(kind: str, case: Kind, seed: int, count: int, seconds: float) -> Counter[str]:
    """Run cases until they or the time are over, and print what they find; returns how often each cause was met."""
    causes, until, done = Counter[str](), time.monotonic() + seconds, 0
    for number in range(seed, seed + count):
        if time.monotonic() > until:
            break
        done += 1
        found = case(number)
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
    case = KINDS[given.kind]
    if given.kind in ("differential", "resting"):
        case = partial(case, targets=tuple(given.targets.split(",")))
    if given.kind == "mutants":
        case = partial(mutant_case, deep=given.deep)
    return 1 if run(given.kind, case, seed, given.count, given.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
