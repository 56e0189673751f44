"""Each function of docs/language.md is drawn in each place where it may stand, and check answers for what is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from energyc import pipeline
from energyc.language.diagnostics import SpecError
from tests.drawing import SEED, draws
from tests.fuzz import places
from tests.fuzz.__main__ import KINDS
from tests.fuzz.places import FUNCTIONS, PAIRS, PLACES, Placing

LANGUAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
#: How a function is called where its name does not say so.
CALLED = {"own": r"\b(?:rise|bend)'?\(", "power": r"\^"}
#: An integral without a closed form is refused, which is an answer.
REFUSED = {"E0703"}


def documented() -> set[str]:
    """The functions of docs/language.md: of its tables, along an index (with brackets), and of the batch."""
    tables = LANGUAGE[LANGUAGE.index("<!-- functions of one number -->") : LANGUAGE.index("`pi` is the number.")]
    called = {name + ("[]" if along else "") for name, along in re.findall(r"`(\w+)(\[\w\])?\(", tables)}
    reduced = LANGUAGE[LANGUAGE.index("Every sum is explicit") : LANGUAGE.index("The normalisers use")]
    batch = re.findall(r"`(mean|median)\[batch\]\(\.\.\.\)`", LANGUAGE)
    return called | {f"{name}[]" for name in re.findall(r"`(\w+)`", reduced)} | {f"{name}[batch]" for name in batch}


def test_all_functions_of_the_language_are_drawn() -> None:
    more = {f"{name}'" for name in places.SCALARS} | {"where", "own", "power"}
    assert documented() | more == {*FUNCTIONS}
    assert len(documented()) > 30


def test_each_is_drawn_in_each_place_where_it_may_stand() -> None:
    everywhere = {place for place, where in PLACES.items() if where.only is FUNCTIONS}
    assert {pair for pair in PAIRS if pair[1] in everywhere} == {(f, p) for f in FUNCTIONS for p in everywhere}
    seen = set()
    for seed in range(len(PAIRS)):
        placing = Placing(seed)
        name, _, along = placing.function.partition("[")
        plain = r"(?<![\w'])" + re.escape(name + {"batch]": "[batch](", "]": "["}.get(along, "("))
        assert re.search(CALLED.get(name, plain), placing.line), (placing.function, placing.line)
        assert placing.line.split("\n")[0] in placing.text()
        seen.add((placing.function, placing.name))
    assert seen == {*PAIRS}


def test_equations_of_all_kinds_are_places() -> None:
    words = {line.split()[0] for where in PLACES.values() for line in where.line.split("\n")}
    table = next(line for line in LANGUAGE.splitlines() if line.startswith("| equations |"))
    assert {*re.findall(r"`(\w+)`", table)} - {"tie"} <= words


@pytest.mark.slow
def test_what_stands_where_it_may_is_read() -> None:
    for seed in Random(SEED).sample(range(len(PAIRS)), draws(100)):
        placing = Placing(seed, tame=True)
        try:
            pipeline.resolve(pipeline.read(placing.text()))
        except SpecError as error:
            wrong = [each for each in error.diagnostics if each.severity == "error" and each.code not in REFUSED]
            assert not wrong, f"ENERGYC_SEED={SEED} {wrong}\n{placing.text()}"


@pytest.mark.slow
def test_check_answers_for_each_function_in_each_place() -> None:
    for seed in Random(SEED).sample(range(2**31), draws(60)):
        found = KINDS["places"].find(seed)
        assert found is None, f"python -m tests.fuzz places --count 1 --seed {seed}\n{found.cause}\n{found.about}"


def test_a_wrong_answer_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.proofs.verdicts.in_notation.claims_of", lambda *_: {}["missing"])
    energies = (PAIRS.index(("tanh", "energy")) + k * len(PAIRS) for k in range(8))
    assert any((found := KINDS["places"].find(seed)) is not None and "KeyError" in found.cause for seed in energies)
