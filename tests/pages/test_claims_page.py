"""The examples of docs/claims.md: each spec is followed by the claims that `check` makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from energyc.language.diagnostics import Source
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.check_report import claim_lines

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
EXAMPLE = re.compile(r"```energy\n(?P<spec>.*?)```\n\n```claims\n(?P<claims>.*?)```", re.DOTALL)


def claims(spec: str) -> str:
    """The section of the report."""
    classes = check_source(Source("spec.energy", spec)).classes
    assert classes is not None
    return "".join(f"{line}\n" for claim in classes.own_claims for line in claim_lines(claim))


def verdicts(spec: str) -> dict[str, str]:
    found = check_source(Source("spec.energy", spec)).classes
    assert found is not None
    return {claim.claim: claim.verdict for claim in found.claims} | {"class": found.verdict}


def test_the_page_shows_what_check_claims(update_golden: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    if update_golden:
        page = EXAMPLE.sub(lambda m: f"```energy\n{m['spec']}```\n\n```claims\n{claims(m['spec'])}```", page)
        PAGE.write_text(page, encoding="utf-8")
    examples = list(EXAMPLE.finditer(page))
    assert len(examples) == 4
    for example in examples:
        assert claims(example["spec"]) == example["claims"]


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("example", "old", "new", "claim", "before", "after"),
    [
        (1, "p[i,j] * v[j,r]))", "p[i,j] * v[j,r])) + sum[j | j <= i](p[i,j] * diag[d] * h[j,d])", "class",
         "not-conservative", "metric-descent"),
        (2, "U[d,r] * V[k,r] + V[d,r] * U[k,r]", "U[d,r] * U[k,r] + V[d,r] * V[k,r]", "positive semidefinite",
         "refuted", "proved"),
        (3, "T_max = 3/2", "T_max = 9/10", "contraction", "refuted", "proved"),
    ],
)  # fmt: skip
def test_the_remedies_of_the_page(example: int, old: str, new: str, claim: str, before: str, after: str) -> None:
    spec = list(EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")))[example]["spec"]
    assert old in spec
    assert verdicts(spec)[claim] == before
    assert verdicts(spec.replace(old, new))[claim] == after
