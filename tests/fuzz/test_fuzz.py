"""Some seconds of the fuzzer, and in the slow tests some minutes: ``python -m tests.fuzz`` runs it for hours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.drawing import SEED, draws
from tests.emit.kernels import needs_compiler
from tests.fuzz import cases, certificates, differential, folders, mutations, requests, resting, untrained
from tests.fuzz.drawing_specs import random_spec

ROOT = Path(__file__).parents[2]
#: The tests have seeds of their own, so that a find of the fuzzer is looked for and not met by chance.
SEEDS = 1_000_000


def mutants_without_finds(seeds: range, deep: float) -> None:
    for seed in seeds:
        text, settings = mutations.mutant(seed), mutations.settings(seed)
        found = cases.tried(lambda text=text, seed=seed, s=settings: cases.of_text(text, seed, s, deep))  # type: ignore[misc]
        assert found is None, f"python -m tests.fuzz mutants --count 1 --seed {seed}\n{found.cause}\n{found.about}"


@pytest.mark.slow
def test_mutants_are_answered_by_diagnostics() -> None:
    mutants_without_finds(range(60), 0.0)


@pytest.mark.slow
def test_mutants_are_answered_by_diagnostics_at_length() -> None:
    mutants_without_finds(range(SEEDS, SEEDS + draws(600)), cases.DEEP)


@pytest.mark.slow
def test_run_folders_are_read_with_care() -> None:
    for seed in range(draws(100)):
        found = cases.tried(lambda seed=seed: folders.case(seed))  # type: ignore[misc]
        assert found is None, f"python -m tests.fuzz folders --count 1 --seed {seed}\n{found.cause}\n{found.about}"


def warnings_without_finds(seeds: range) -> None:
    for seed in seeds:
        found = cases.tried(lambda seed=seed: untrained.case(seed))  # type: ignore[misc]
        assert found is None, f"python -m tests.fuzz untrained --count 1 --seed {seed}\n{found.cause}\n{found.about}"


def test_params_without_a_gradient_are_named() -> None:
    warnings_without_finds(range(20))


@pytest.mark.slow
def test_params_without_a_gradient_are_named_at_length() -> None:
    warnings_without_finds(range(SEEDS, SEEDS + draws(200)))


@pytest.mark.slow
def test_a_warning_that_is_missing_or_false_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.language.resolve.gradient_paths._is_zero", lambda _: False)
    causes = {found.cause for seed in range(40) if (found := cases.tried(partial(untrained.case, seed)))}
    assert "W0401 is missing" in causes


@pytest.fixture
def own_originals() -> Iterator[None]:
    """What a broken checker answers is not kept for other tests."""
    for kept in (certificates.original, certificates.verdicts):
        kept.cache_clear()
    yield
    for kept in (certificates.original, certificates.verdicts):
        kept.cache_clear()


def certificates_without_finds(seeds: range) -> None:
    for seed in seeds:
        found = cases.tried(lambda seed=seed: certificates.case(seed))  # type: ignore[misc]
        assert found is None, f"python -m tests.fuzz certificates --count 1 --seed {seed}\n{found.cause}\n{found.about}"


def test_tampered_certificates_are_answered() -> None:
    certificates_without_finds(range(8))


@pytest.mark.slow
def test_tampered_certificates_are_answered_at_length() -> None:
    certificates_without_finds(range(SEEDS, SEEDS + draws(500)))


def agree(seeds: range, *targets: str) -> None:
    for seed in seeds:
        print(f"python -m tests.fuzz differential --count 1 --seed {seed} --targets {','.join(targets)}")
        assert differential.disagreements(seed, targets) == {}, random_spec(seed).text()


@pytest.mark.slow
def test_torch_and_the_interpreter_do_what_autograd_does() -> None:
    agree(range(3), "torch", "interpreter")


@pytest.mark.slow
def test_torch_and_the_interpreter_do_what_autograd_does_at_length() -> None:
    agree(range(1000, 1000 + draws(40)), "torch", "interpreter")


@pytest.mark.slow
def test_jax_does_what_autograd_does() -> None:
    pytest.importorskip("jax")
    agree(range(7000, 7000 + draws(12)), "jax")


@pytest.mark.slow
def test_exact_rules_and_solvers_rest_where_plain_steps_do() -> None:
    seeds = range(draws(12))
    for seed in seeds:
        print(f"python -m tests.fuzz resting --count 1 --seed {seed}")
        assert resting.disagreements(seed) == {}, resting.random_resting(seed).text()
    assert resting.settled_share(seeds) > 0.5


@needs_compiler
@pytest.mark.slow
def test_kernels_do_what_autograd_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    agree(range(100, 100 + draws(12)), "cpp")


@pytest.mark.slow
def test_kernels_of_triton_do_what_autograd_does() -> None:
    pytest.importorskip("triton")
    agree(range(100, 100 + draws(12)), "triton")


@pytest.mark.slow
def test_the_language_server_answers() -> None:
    for seed in range(draws(10)):
        found = cases.tried(lambda seed=seed: requests.session(seed))  # type: ignore[misc]
        assert found is None, f"python -m tests.fuzz requests --count 1 --seed {seed}\n{found.cause}\n{found.about}"


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


def test_an_exception_that_escapes_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.language.resolve.resolution.check_repeats", lambda *_: {}["missing"])
    found = cases.tried(lambda: cases.of_text(random_spec(1).text(), 1, []))
    assert found is not None and "KeyError" in found.cause
    found = cases.tried(lambda: cases.of_text(random_spec(1).text(), 1, ["relax.step=1"]))
    assert found is not None and "KeyError" in found.cause


@pytest.mark.slow
def test_a_label_that_is_printed_is_a_find(monkeypatch: pytest.MonkeyPatch, own_originals: None) -> None:
    monkeypatch.setattr("energyc.checker.judge.composed", lambda entry, _: entry["claim"])
    causes = {found.cause for seed in range(60) if (found := cases.tried(partial(certificates.case, seed)))}
    assert "a text of the file, or an exception, in an answer" in causes


@pytest.mark.slow
def test_a_checker_that_believes_all_is_a_find(monkeypatch: pytest.MonkeyPatch, own_originals: None) -> None:
    monkeypatch.setattr("energyc.checker.judge._judge_claim", lambda *_: None)
    causes = {found.cause for seed in range(60) if (found := cases.tried(partial(certificates.case, seed)))}
    assert any("another statement is accepted" in cause for cause in causes)


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
