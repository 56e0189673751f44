"""Conditions on what may rest at 0, as ``relu(a)`` does for all negative a: there > and >= differ on an open set."""

from __future__ import annotations

import pytest

from energyc.pipeline import classify, read, resolve

PAIRS = {
    ("where(relu(a) > 0, 0, b)", "where(relu(a) >= 0, 0, a)"): "not-conservative",
    ("where(relu(a) > 0, 0, b)", "where(relu(a) > 0, 0, a)"): "conservative",
    ("where(relu(b) >= relu(a), 0, b)", "where(relu(b) > relu(a), 0, a)"): "not-conservative",
    ("where(abs(a) > a, b, 0)", "where(a < 0, a, 0)"): "conservative",
    ("where(abs(a) >= a, b, 0)", "where(a < 0, a, 0)"): "not-conservative",
}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_class_of_two_forces(pair: tuple[str, str]) -> None:
    text = "network n\nstate a, b\nforce f on a = {}\nforce g on b = {}\n".format(*pair)
    classes = classify(resolve(read(text)))
    assert classes.verdict in (PAIRS[pair], "undecided")
    assert not any("a bug in energyc" in reason for term in classes.terms for reason in term.tried)
