"""The verdict on a rule in a sentence, with each kind of reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from energyc.pipeline import classify, read, resolve
from energyc.proofs.claims.classes import reason
from energyc.surfaces.report.notes import chosen_rule, rule_warnings

HEAD = "network n\ndim N = 3\nclamp x[N]\ntarget y[N]\nparam W[N, N] ~ normal(0.1)\nstate s[N], t[N]\n"
LEAK = "energy e = 1/2 * sum[n](s[n]^2 + t[n]^2)\n"
COST = "cost c = sum[n]((s[n] - y[n])^2)\n"
JUMPS = "energy j = sum[n](where(s[n] > t[n], 1, 0) * s[n])\n"
NEXT = "next s[n] = tanh(sum[m](W[n,m] * t[m]) + x[n])\nnext t[n] = s[n]\n"


@pytest.mark.parametrize(
    ("terms", "rule", "said"),
    [
        (LEAK + JUMPS, "ep", "ep is unproved on n: it is exact only if j is conservative"),
        (
            LEAK + JUMPS + "energy k = sum[n](where(s[n] * t[n] > 1, 1, 0) * s[n])\n",
            "ep",
            "ep is unproved on n: it is exact only if j and k are together conservative",
        ),
        (NEXT, "ep", "ep is biased on n, because of s, t"),
        (
            LEAK + "energy k = sum[n](detach(s[n]) * s[n])\n",
            "ep",
            "ep is biased on n, because of detach(...) of a state in k",
        ),
        (
            LEAK + "clamped s[n] = y[n]\n",
            "chl",
            "chl follows the gradient of E(clamped) - E(free), not of c, and W stay as they are",
        ),
    ],
)
def test_a_warning_is_a_sentence(terms: str, rule: str, said: str) -> None:
    network = resolve(read(HEAD + terms + COST))
    classes = classify(network)
    (warning,) = rule_warnings(network, classes, rule)
    assert warning == said
    (note,) = chosen_rule(replace(network, train=replace(network.train, rule=rule)), classes)
    assert note.startswith(f"train.rule = {said.split(': ')[0]}")


def test_a_next_value_is_called_that() -> None:
    assert {term.kind for term in classify(resolve(read(HEAD + NEXT + COST))).terms} == {"next"}


def test_a_reason_follows_its_verdict() -> None:
    assert reason("biased", "f") == reason("unproved", "f") == ", because of f"
    assert reason("inadmissible", "no state is clamped") == ": no state is clamped"
    assert reason("exact", "where the states rest") == " where the states rest" and reason("exact", None) == ""
