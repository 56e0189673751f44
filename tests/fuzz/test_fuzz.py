"""Some seconds of the fuzzer, and in the slow tests some minutes: ``python -m tests.fuzz`` runs it for hours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.drawing import SEED, draws
from tests.emit.kernels import needs_compiler
from tests.fuzz import cases, certificates, differential, mutations, resting
from tests.fuzz.__main__ import KINDS
from tests.fuzz.drawing_specs import random_spec

ROOT = Path(__file__).parents[2]
#: The tests have seeds of their own, so that a find of the fuzzer is looked for and not met by chance.
SEEDS = 1_000_000


def without_finds(kind: str, seeds: Iterable[int], **options: Any) -> None:
    for seed in seeds:
        found = KINDS[kind].find(seed, **options)
        again = f"python -m tests.fuzz {kind} --count 1 --seed {seed} {options or ''}"
        assert found is None, f"{again}\n{found.cause}\n{found.about}"


def causes(kind: str, count: int) -> set[str]:
    return {found.cause for seed in range(count) if (found := KINDS[kind].find(seed))}


@pytest.mark.parametrize(("kind", "count"), [("untrained", 20), ("certificates", 8)])
def test_some_cases(kind: str, count: int) -> None:
    without_finds(kind, range(count))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "first", "count"),
    [
        ("mutants", SEEDS, 600),
        ("folders", 0, 100),
        ("untrained", SEEDS, 200),
        ("certificates", SEEDS, 500),
        ("requests", 0, 10),
    ],
)
def test_cases_at_length(kind: str, first: int, count: int) -> None:
    without_finds(kind, range(first, first + draws(count)))


@pytest.mark.slow
def test_mutants_are_answered_by_diagnostics() -> None:
    without_finds("mutants", range(60), deep=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "count", "targets"),
    [
        (0, 3, ("torch", "interpreter")),
        (1000, 40, ("torch", "interpreter")),
        (7000, 12, ("jax",)),
        (100, 12, ("triton",)),
        pytest.param(100, 12, ("cpp",), marks=needs_compiler),
    ],
)
def test_all_ways_do_what_autograd_does(
    first: int, count: int, targets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in {"jax", "triton"} & {*targets}:
        pytest.importorskip(library)
    monkeypatch.setenv("CXXFLAGS", "-O0")
    without_finds("differential", range(first, first + (draws(count) if first else count)), targets=targets)


@pytest.mark.slow
def test_exact_rules_and_solvers_rest_where_plain_steps_do() -> None:
    seeds = range(draws(12))
    without_finds("resting", seeds)
    assert resting.settled_share(seeds) > 0.5


@pytest.mark.slow
def test_random_specs_are_right() -> None:
    for seed in range(20):
        text = random_spec(seed).text()
        try:
            pipeline.resolve(pipeline.read(text))
        except SpecError as error:
            pytest.fail(f"seed {seed}: {error}\n{text}")


#: What random specs have of steps that are numbered: next to each word a piece of text that shows it.
OF_STEPS = {
    "a recurrence": r"^next z\d.*\nrelax tick in T",
    "an integer compared at the step": r"(at\d\[tick\] [=!<>]|[=!<>]=? at\d\[tick\])",
    "a row that an integer names at the step": r"[\[ ][^ ]*at\d\[tick\][,\]]",
    "an integer at the step and an index": r"at\d\[(tick, [a-z]+\d+|[a-z]+\d+, tick)\]",
    "a clamp at the step": r"\bx\d\[(\S+ )?tick\b",
    "a param at the step": r"\bw\d\[(\S+ )?tick\b",
    "noise at the step": r"\beps\[(\S+ )?tick\b",
    "the number of the step in a condition": r"\btick [=!<>]",
    "a scalar integer compared": r"\bat\d [=!<>]",
    "steps of a layer": r"^  relax tick in T",
}


def test_random_specs_read_the_number_of_the_step() -> None:
    texts = [random_spec(seed).text() for seed in range(SEED, SEED + 500)]
    missing = [what for what, piece in OF_STEPS.items() if not any(re.search(piece, t, re.MULTILINE) for t in texts)]
    assert not missing, f"ENERGYC_SEED={SEED}: {missing}"


def test_a_batch_is_as_large_as_a_dim() -> None:
    for seed in range(SEED, SEED + 20):
        spec = random_spec(seed)
        first, *others = differential.batches(spec, seed)
        assert first in spec.sizes.values() or set(spec.sizes.values()) == {1}
        assert others[0] == 1 and others[1] not in spec.sizes.values()


# -------------------------------------------------------------------- the fuzzer notices


@pytest.fixture
def own_originals() -> Iterator[None]:
    """What a broken checker answers is not kept for other tests."""
    for kept in (certificates.original, certificates.verdicts):
        kept.cache_clear()
    yield
    for kept in (certificates.original, certificates.verdicts):
        kept.cache_clear()


@pytest.mark.slow
def test_a_warning_that_is_missing_or_false_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.language.resolve.untrained._is_zero", lambda _: False)
    assert "W0401 is missing" in causes("untrained", 40)


def test_an_exception_that_escapes_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.language.resolve.resolution.check_repeats", lambda *_: {}["missing"])
    found = cases.tried(lambda: cases.of_text(random_spec(1).text(), 1, []))
    assert found is not None and "KeyError" in found.cause
    found = cases.tried(lambda: cases.of_text(random_spec(1).text(), 1, ["relax.step=1"]))
    assert found is not None and "KeyError" in found.cause


@pytest.mark.slow
def test_a_label_that_is_printed_is_a_find(monkeypatch: pytest.MonkeyPatch, own_originals: None) -> None:
    monkeypatch.setattr("energyc.checker.judge.composed", lambda entry, _: entry["claim"])
    assert "a text of the file, or an exception, in an answer" in causes("certificates", 60)


@pytest.mark.slow
def test_a_checker_that_believes_all_is_a_find(monkeypatch: pytest.MonkeyPatch, own_originals: None) -> None:
    monkeypatch.setattr("energyc.checker.judge._judge_claim", lambda *_: None)
    assert any("another statement is accepted" in cause for cause in causes("certificates", 60))


@pytest.mark.slow
def test_a_hang_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr("energyc.language.resolve.resolution.check_repeats", endless)
    found = cases.tried(lambda: cases.of_text(random_spec(1).text(), 1, []), seconds=1)
    assert found is not None and "more than 1 s" in found.cause


def test_a_wrong_derivative_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(differential.random_spec.__globals__["UNARY"], "tanh({})", lambda u: u.sin())
    assert any(differential.disagreements(seed) for seed in range(3))


@pytest.mark.slow
def test_a_wrong_rest_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(differential.random_spec.__globals__["UNARY"], "tanh({})", lambda u: 0.9 * u.tanh())
    monkeypatch.setattr(resting, "RULES", ["implicit"])
    assert any(resting.disagreements(seed) for seed in range(6))


def test_settings_are_written_into_blocks() -> None:
    text = "relax { step = 0.1, steps = 5 }\nnudge {}\n"
    written = {mutations.setting_written(text, Random(seed)) for seed in range(300)}
    assert "relax { steps = 1, step = 0.1 }\nnudge {}\n" in written
    assert "relax { step = 0.1, steps = 5 }\nnudge { beta = auto }\n" in written
    assert all(w.count("steps =") <= 2 for w in written)


def test_an_error_of_torch_is_not_one_of_ours() -> None:
    import torch

    try:
        torch.ones(2) + torch.ones(3)
    except RuntimeError as error:
        assert not cases.raised_by_us(error)
    try:
        pipeline.check_seed("x")
    except Exception as error:
        assert cases.raised_by_us(error)


@pytest.mark.slow
def test_a_case_is_repeated_by_its_seed() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "mutants", "--count", "2", "--seed", "5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "2 cases from seed 5, 0 finds" in done.stdout, done.stdout + done.stderr
    assert mutations.mutant(5) == mutations.mutant(5)
