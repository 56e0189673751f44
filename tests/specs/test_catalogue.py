"""specs/catalogue.json says of each spec what the compiler says."""

from __future__ import annotations

import pytest

from benchmarks.gallery import UNMEASURED, facts
from energyc.resources import shipped
from energyc.surfaces.report.catalogue import catalogue, read_facts
from tests.quick import few

QUICK = ("hopfield", "kuramoto", "edges")


def test_every_spec_is_in_it() -> None:
    assert list(read_facts()) == list(shipped()) == [entry.name for entry in catalogue()]


@pytest.mark.parametrize("name", few(list(shipped()), lambda name: name in QUICK))
def test_its_facts_are_those_of_the_spec(name: str) -> None:
    known = read_facts()[name]
    assert {**known, "measured": None} == facts(name, None)
    assert (known["measured"] is None) == (name in UNMEASURED)
