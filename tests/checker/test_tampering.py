"""Certificates that were changed at random are refused.

A change is one of a number, a sign, an index, a name, a function, a pair, a step, a formula or a part of the statement,
made so that it means something else.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from energyc.checker.judge import QUANTIFIERS
from tests.checker.proofs import ENERGIES, FORCES, Json, answer, certified, text_of
from tests.checker.test_hidden_forces import with_jacobian
from tests.checker.test_on_sets import ALONG, SIZED, proof_of
from tests.drawing import draws

Change = Callable[[Json, random.Random], None]
FUNCTIONS = ("tanh", "relu", "exp", "sigmoid", "softplus", "sin", "cos", "abs")


@cache
def originals() -> tuple[tuple[str, str], ...]:
    """Certificates as JSON, each with its spec."""
    specs = [FORCES, ENERGIES, text_of("hopfield"), text_of("kuramoto"), text_of("predictive_coding")]
    found = [(json.dumps(entry), text) for text in specs for entry in certified(text)["certificates"]]
    placed = [proof_of(force, on) for on, forces in ALONG.items() for force in forces]
    placed += [proof_of(force, n=size) for force, size in SIZED.items() if size > 1]  # indices of one place are one
    found += [(json.dumps(proof), text) for proof, text in placed if proof]
    return (*found, (json.dumps(with_jacobian()), FORCES))


# ---------------------------------------------------------------- changes


def texts(entry: Json) -> list[tuple[list[str] | Json, int | str]]:
    """The places of the texts of a certificate's steps."""
    found: list[tuple[list[str] | Json, int | str]] = []
    for step in entry["steps"]:
        found += [(step, key) for key in ("energy", "is") if key in step]
    return found


def rewrite(entry: Json, rng: random.Random, pattern: str, change: Callable[[re.Match[str]], str]) -> None:
    """Change one place of one text that fits a pattern."""
    places = [(at, key, m) for at, key in texts(entry) for m in re.finditer(pattern, at[key])]  # type: ignore[index]
    if places:
        at, key, match = rng.choice(places)
        text = at[key]  # type: ignore[index]
        at[key] = text[: match.start()] + change(match) + text[match.end() :]  # type: ignore[index]


def a_number(entry: Json, rng: random.Random) -> None:
    by = rng.choice(["1.000000000001", "2", "0", "(1 - 1e-30)", "-1"])
    rewrite(entry, rng, r"(?<![\w.\[^])[1-9]\d*(?:\.\d+)?(?![\w.\]])", lambda m: f"({m[0]} * {by})")


def an_exponent(entry: Json, rng: random.Random) -> None:
    rewrite(entry, rng, r"\^\d+", lambda m: f"^{int(m[0][1:]) + rng.choice([1, 2, -1])}")


def a_sign(entry: Json, rng: random.Random) -> None:
    rewrite(entry, rng, r" [+-] ", lambda m: " - " if "+" in m[0] else " + ")


def an_operator(entry: Json, rng: random.Random) -> None:
    rewrite(entry, rng, r" \* ", lambda m: rng.choice([" + ", " / ", " - "]))


def an_index(entry: Json, rng: random.Random) -> None:
    rewrite(entry, rng, r"(?<=[\[,])[a-z]\d?(?=[\],])", lambda m: rng.choice([c for c in "dejkmn0" if c != m[0]]))


def a_name(entry: Json, rng: random.Random) -> None:
    names = [name for name in re.findall(r"[A-Za-z]\w*(?=\[)", str(entry)) if name not in ("sum", "logsumexp")]
    rewrite(entry, rng, r"(?<![\w.])[A-Za-z]\w*(?=\[)", lambda m: rng.choice([n for n in names if n != m[0]] or ["?"]))


def a_function(entry: Json, rng: random.Random) -> None:
    pattern = rf"\b(?:{'|'.join(FUNCTIONS)})(?=\()"
    rewrite(entry, rng, pattern, lambda m: rng.choice([f for f in FUNCTIONS if f != m[0]]))


def something_added(entry: Json, rng: random.Random) -> None:
    if not texts(entry):
        return
    at, key = rng.choice(texts(entry))
    more = re.findall(r"(?<![\w.])[A-Za-z]\w*\[[^\[\]|]*\](?!\()", at[key]) or ["1"]  # type: ignore[index]
    at[key] += f" + 1e-{rng.randrange(1, 40)} * {rng.choice(more)}"  # type: ignore[index]


def a_step(entry: Json, rng: random.Random) -> None:
    steps = entry["steps"]
    if not steps:
        steps.append({"rule": rng.choice(["slope", "potential"]), "energy": "0"})
        return
    k = rng.randrange(len(steps))
    match rng.choice(["drop", "twice", "swap", "rule"]):
        case "drop":
            del steps[k]
        case "twice":
            steps.insert(k, copy.deepcopy(steps[k]))
        case "swap" if len(steps) > 1:
            steps[k - 1], steps[k] = steps[k], steps[k - 1]
        case _:
            steps[k]["rule"] = rng.choice(["slope", "potential", "unfold", "gradient", ""])


def a_formula(entry: Json, rng: random.Random) -> None:
    formulas = entry["formulas"]
    left = rng.choice(sorted(formulas))
    match rng.randrange(3):
        case 0:
            del formulas[left]
        case 1:
            formulas[left] += " + 1e-20"
        case _:
            formulas[left + "'"] = formulas.pop(left)


def the_statement(entry: Json, rng: random.Random) -> None:
    statement = entry["statement"]
    match rng.choice(["kind", "of", "by", "layer", "for", "sizes", "more"]):
        case "kind":
            kinds = ["gradient", "symmetric", "matrix", "conservative"]
            statement["kind"] = rng.choice([kind for kind in kinds if kind != statement["kind"]])
        case "of":
            statement["of"] = rng.choice([[], statement["of"] * 2, [*statement["of"][1:], "other"]])
        case "by":
            statement["by"] = rng.choice([[], [*statement["by"], "other"], statement["by"][1:] or ["q"]])
        case "layer":
            statement["layer"] = "inner"
        case "for":
            statement["for"] = "all sizes" if rng.random() < 0.5 or statement["for"] == QUANTIFIERS else QUANTIFIERS
        case "sizes":
            dim, size = rng.choice([("N", 7), ("D", 0), ("N", -1), ("M", 1), ("other", "2")])
            statement["sizes"] = {} if statement["sizes"] else {dim: size} if type(size) is str or size < 1 else None
        case _:
            statement["everywhere"] = True


CHANGES: tuple[Change, ...] = (
    a_number, an_exponent, a_sign, an_operator, an_index, a_name, a_function, something_added, a_step,
    a_formula, the_statement,
)  # fmt: skip


# ---------------------------------------------------------------- all refused


#: A change of a number may leave a proof of the same statement, which no draw here does.
DRAWN = 77


def tampered(number: int) -> tuple[str, Json, Json, str]:
    """The kind of a change, what it makes of a certificate, the certificate and its spec."""
    rng = random.Random(f"{DRAWN} {number}")
    while True:
        written, text = rng.choice(originals())
        change = CHANGES[number % len(CHANGES)]
        original, entry = json.loads(written), json.loads(written)
        change(entry, rng)
        if entry != original:
            return change.__name__, entry, original, text


def refused(numbers: range) -> None:
    kinds: Counter[str] = Counter()
    for number in numbers:
        kind, entry, original, text = tampered(number)
        kinds[kind] += 1
        if answer(entry, text).verdict == "yes":
            raise AssertionError(f"{number}, {kind}: {json.dumps(entry)} is accepted, {json.dumps(original)}")
    print(kinds)


def test_a_tampered_certificate_is_refused() -> None:
    refused(range(40))


@pytest.mark.slow
def test_many_tampered_certificates_are_refused() -> None:
    """A thousand with ``ENERGYC_DRAWS=5``."""
    refused(range(draws(200)))
