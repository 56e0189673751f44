"""Small specs whose truth is known by hand: no claim about one is false, and no proof is called a bug."""

from __future__ import annotations

import pytest

from energyc.pipeline import classify, read, resolve

FLOOR, RESTS, ONE = "bounded below", "an equilibrium exists", "there is only one equilibrium"
#: Energies of one state z, its set, and what is true of them: a floor, an equilibrium, only one.
ENERGIES: tuple[tuple[str, str, bool, bool, bool], ...] = (
    ("log(z)", "in [0, 1]", False, False, False),
    ("-log(z)", "in [0, 1]", True, True, True),
    ("-log(1 - z)", "in [0, 1]", True, True, False),
    ("z * log(z)", "in [0, 1]", True, True, True),
    ("1 / z", "in [0, 1]", True, True, True),
    ("-1 / z", "in [0, 1]", False, False, False),
    ("-1 / (1 + z)", "in [0, 1]", True, True, True),
    ("-1 / (z - 1/2)^2", "in [0, 1]", False, False, False),
    ("-sqrt(z)", "in [0, 1]", True, True, True),
    ("exp(2*z) + exp(-z)", "in nonnegative", True, True, True),
    ("exp(2*z) - exp(3*z)", "in nonnegative", False, False, False),
    ("exp(z) - z^4", "in nonnegative", True, True, False),
    ("z^2 - exp(-z)", "in nonnegative", True, True, True),
    ("z^2 - exp(-z)", "", False, False, False),
    ("-z", "in nonnegative", False, False, False),
    ("-tanh(z)", "in nonnegative", True, False, False),
    ("exp(-z)", "", True, False, False),
    ("softplus(z)", "", True, False, False),
    ("softplus(z) - z", "", True, False, False),
    ("softplus(z) - 2*z", "", False, False, False),
    ("z^4 - 3*z^2", "", True, True, False),
    ("z^2/2 - cos(z)/2", "", True, True, True),
    ("z^2/2 - 2*cos(z)", "", True, True, False),
    ("z^2 * (1 + sin(z))", "", True, True, False),
    ("z^2 * sin(z)", "", False, False, False),
    ("log(1 + z^2)", "", True, True, True),
    ("-log(1 + z^2)", "", False, False, False),
    ("z / (1 + z^2)", "", True, True, False),
    ("log(sigmoid(z))", "", False, False, False),
    ("-1 / sigmoid(z)", "", False, False, False),
    ("z^2 - 1 / sigmoid(z)", "", False, False, False),
    ("z^2 - 1 / (1 - tanh(z))", "", False, False, False),
    ("z^2 - 1 / (1 - erf(z))^2", "", False, False, False),
    ("where(2*z < 1, -z^2, z^2)", "", False, False, False),
    ("where(z + 1 < 2, -z^2, z^2)", "", False, False, False),
    ("where(1 - 3*z > 0 and 2*z <= 1, -z^4, z^2)", "", False, False, False),
    ("where(2*z < 1, z^2, 3*z)", "", True, False, False),
    ("z^2 - sigmoid(-z)^(-1/2)", "", False, False, False),
    ("z^2 + 1 / sigmoid(z)", "", True, True, True),
    ("where(z > 0, z^2, -z)", "", True, False, False),
    ("where(z > 0, z, z^2)", "", True, True, False),
    ("where(z > 1, -z, z^2)", "", False, True, False),
    ("where(relu(z) > 0, z^2, z)", "", False, False, False),
    ("where(relu(z) >= 0, z^2, z)", "", True, True, True),
    ("where(abs(z) > z, -z, z)", "", True, False, False),
    ("where(abs(z) >= z, z^2, -z)", "", True, True, True),
    ("where(z + 1 <= 1, exp(z), exp(z))", "", True, False, False),
    ("where(z * z >= 0, z^4, -z^4)", "", True, True, True),
    ("where(z * z > 4, z^2, -z^2)", "", True, True, False),
    ("where(relu(-z) > 0, -z^3, z^3)", "", True, True, True),
    ("where(relu(-z) >= 0, -z^3, z^3)", "", False, True, False),
    ("where(max(z, 0) <= 0, z^2, z^2)", "", True, True, True),
    ("where(relu(z) - relu(z - 1) >= 1, -z, z^2)", "", False, True, False),
    ("where(relu(z) - relu(z - 1) > 1, -z, z^2)", "", True, True, True),
    ("relu(z) - z/2", "", True, True, True),
    ("leaky_relu(z)", "", False, False, False),
    ("z^2 + abs(z)", "", True, True, True),
    ("z^2 - abs(z)", "", True, True, False),
    ("z^2 + 2*relu(z) - z", "", True, True, True),
    ("z^3", "in [-1, 2]", True, True, False),
    ("z^2 * w", "", False, False, False),
    ("z^2 * w^2", "", True, True, False),
    ("z^2 * exp(w) - z*w", "", True, True, True),
    ("(z - w)^2 - (z + w)^2", "", False, False, False),
    ("(z - w)^4 - z^2", "", True, True, False),
    ("p*z^2 + z^4", "", True, True, False),
    ("p*z^2 + z", "", False, False, False),
    ("(1 + p)*z^2 + z", "", True, True, True),
    ("(1 - p)*z^2 + z", "", False, False, False),
    ("-z^2 * z^(-2) + z^2", "", True, True, True),
    ("(z^2)^(1/2) + z", "", True, True, False),
)


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("body, on, floor, rests, one", ENERGIES, ids=lambda value: str(value))
def test_no_claim_is_false(body: str, on: str, floor: bool, rests: bool, one: bool) -> None:
    text = f"network n\nparam w = 1, p = 1/2 in [0, 1]\nstate z {on}\nenergy e = {body}\n"
    classes = classify(resolve(read(text)))
    truth = {FLOOR: floor, RESTS: rests, ONE: one}
    for claim in classes.claims:
        assert "a bug in energyc" not in claim.evidence, claim
        if claim.claim in truth:
            assert claim.verdict != ("refuted" if truth[claim.claim] else "proved"), claim
    assert not any("a bug in energyc" in reason for term in classes.terms for reason in term.tried)
