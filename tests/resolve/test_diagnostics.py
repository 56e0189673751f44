"""All mistakes of a file in one run, each once, none that follows from another."""

from __future__ import annotations

import pytest

from tests.resolve.helpers import codes, findings

BAD = """
dim N = 4, D = 3, Y = 3, M = D / 2
clamp x[N, D], m[Y], idx[N] : D
param W[D, D] ~ norml(1), U[D]
state z[N, D] in sphere[Y]
let a[n] = sum[d](z[n,d] * m[d])
let b[n] = a[n] + a[n]
let c[n,d] = zz[n,d]
energy e = sum[n](b[n]) + sum[n,d](c[n,d])
energy f = z[n,d] * x[n,d]
energy g = sum[n](z[n+1,0])
cost h = sum[n](idx[n] * z[n,0])
relax { stepp = 1 }
"""


def test_every_mistake_is_reported_once() -> None:
    wrong = sorted(d.code for d in findings(BAD) if d.severity == "error")
    assert wrong == sorted(["E0212", "E0421", "E0423", "E0426", "E0301", "E0201", "E0303", "E0302", "E0403", "E0541"])


def test_findings_are_in_the_order_of_the_file() -> None:
    places = [d.span.start for d in findings(BAD) if d.span is not None]
    assert places == sorted(places)


def test_a_dim_mismatch_names_both_places() -> None:
    (found,) = (d for d in findings(BAD) if d.code == "E0301")
    assert "D and Y" in found.message
    assert [label.text for label in found.labels] == ["`d` runs over D here", "declared with Y here"]


LEAK = """
dim T = 4
state z[T]
let p[t,s] = softmax[s{guard}](z[t] * z[s])
energy e = sum[t](z[t]^2)
force f on z[t] = sum[s | {condition}](p[t,s] * z[s])
"""


@pytest.mark.parametrize(
    ("guard", "condition", "leaks"),
    [
        ("", "s <= t", True),
        (" | s <= t", "s <= t", False),
        (" | s < t", "s <= t", False),
        (" | t >= s", "s <= t", False),
        (" | s <= t", "s < t", True),
        (" | s <= t and s != 0", "s <= t", False),
        ("", "t < 2", False),
    ],
)
def test_a_softmax_that_sees_more_than_its_sum_is_warned_of(guard: str, condition: str, leaks: bool) -> None:
    assert ("W0701" in codes(LEAK.format(guard=guard, condition=condition))) == leaks


def test_what_is_planned_is_answered_with_not_yet() -> None:
    text = "dim N = 2, D = 3\nstate z[N, D]\nenergy e = sum[n,d](z[n,d]^2)\nnudge { tolerance = 1e-3 }"
    assert [d.code for d in findings(text) if d.severity == "error"] == ["E0190"]


def test_a_dim_may_be_called_relation() -> None:
    text = "dim N = 2, relation = 3\nclamp k[N] : relation\nparam b[relation] = 1\nstate z[N]\n"
    text += "energy e = sum[n](z[n]^2 * b[k[n]])\n"
    assert [d.code for d in findings(text) if d.severity == "error"] == []
