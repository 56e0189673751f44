"""Reports of ``check`` and ``explain`` on several terms that are not proved alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import energyc
from energyc import pipeline
from energyc.surfaces.report.explain import explain
from tests.analysis.test_classify import HEAD, TAIL, UNKNOWN, UNTIED, halves
from tests.cli.run import energyc as run
from tests.cli.run import written

Capture = pytest.CaptureFixture[str]
POTENTIAL = "-sum[t](logsumexp[j | j <= t](p_s[t,j]))"


def spec(body: str) -> str:
    return HEAD + body + TAIL


def explained(body: str) -> str:
    text = explain(pipeline.resolve(pipeline.read(spec(body))))
    return text.replace("\\", "").replace("&lt;", "<")


def test_two_halves_that_are_a_gradient_together(tmp_path: Path, capfd: Capture) -> None:
    told = run(capfd, "check", written(tmp_path, spec(halves())), "--verbose").out
    assert f"  query, key together: conservative (proved)\n    potential {POTENTIAL}\n" in told
    found = energyc.check(spec(halves())).to_json()
    assert found["class"] == "conservative"
    together = found["together"]
    assert together.pop("tried")
    proved = {"class": "conservative", "evidence": "proof", "potential": POTENTIAL}
    assert together == {"terms": ["query", "key"], **proved}
    text = explained(halves())
    assert "query, key together: conservative (proved)." in text
    assert f"Potential of query, key: {POTENTIAL}." in text
    assert "Witness against query: dF z[" in text and "T = 3, D = 3: z = [[" in text


@pytest.mark.slow
def test_a_sum_that_is_refuted_has_a_witness_of_its_own(tmp_path: Path, capfd: Capture) -> None:
    body = UNTIED + halves()
    told = run(capfd, "check", written(tmp_path, spec(body)), "--verbose").out
    assert "  ffn, query, key together: not-conservative (refuted by a witness)\n    dF z[" in told
    assert "  query, key together: conservative (proved)\n    potential " in told
    together = energyc.check(spec(body)).to_json()["together"]
    assert together["class"] == "not-conservative" and together["evidence"] == "witness"
    assert together["witness"]["certified"] and set(together["witness"]["point"]) == {"z", "A", "W1", "W2"}
    assert together["deciding"] == ["ffn"]
    assert [(part["terms"], part["class"]) for part in together["parts"]] == [(["query", "key"], "conservative")]
    assert "ffn, query, key together: not-conservative (refuted by a witness)." in explained(body)


@pytest.mark.slow
def test_a_sum_that_is_undecided_says_what_was_tried(tmp_path: Path, capfd: Capture) -> None:
    told = run(capfd, "check", written(tmp_path, spec(halves() + UNKNOWN)), "--verbose").out
    assert "  query, key, odd together: undecided\n    tried: " in told
    together = energyc.check(spec(halves() + UNKNOWN)).to_json()["together"]
    assert together["class"] == "undecided" and together["evidence"] == "none" and together["deciding"] == ["odd"]


@pytest.mark.parametrize("body", ["", UNTIED])
def test_one_term_is_no_sum(body: str) -> None:
    report = energyc.check(spec(body))
    assert report.to_json()["together"] is None
