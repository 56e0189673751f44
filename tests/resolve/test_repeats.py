"""Things that are written twice, and those that one name may stand for."""

from __future__ import annotations

import pytest

from tests.resolve.helpers import codes, findings, network

BASE = "dim N = 3\nstate z[N]\nenergy e = sum[n](z[n]^2)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relax { step = 1, step = 2 }", "setting `relax.step` is given twice"),
        ("relax { step = 1 }\nrelax { step = 2 }", "setting `relax.step` is given twice"),
        ("relax { step.z = 1, step.z = 2 }", "setting `relax.step.z` is given twice"),
        ("preset a { N = 1, N = 2 }", "setting `N` is given twice"),
        ("preset a { N = 1 }\npreset a { N = 2 }", "preset `a` is given twice"),
        ("train { schedule = cosine(warmup = 1, warmup = 2) }", "option `warmup` is given twice"),
        ("data d = digits(side = 8, side = 4)\nclamp x[N]", "option `side` is given twice"),
        ("readout r[n] = layernorm[n](z[n], eps = 1, eps = 2)", "option `eps` is given twice"),
    ],
)
def test_a_repeat_is_reported_with_both_places(text: str, message: str) -> None:
    (found,) = (d for d in findings(BASE + text) if d.code == "E0544")
    assert found.message == message
    assert [label.text for label in found.labels] == ["first given here"]


def test_a_second_block_is_a_warning_and_both_count() -> None:
    net = network(BASE + "relax { step = 1/4 }\nrelax { steps = 7 }")
    assert (net.relax.step, net.relax.steps) == (0.25, 7)
    (found,) = net.warnings
    assert (found.code, [label.text for label in found.labels]) == ("W0501", ["first block here"])


def test_one_setting_in_a_block_and_a_preset_is_no_repeat() -> None:
    text = "relax { step = 1 }\nnudge { steps = 2 }\npreset a { relax.step = 2 }\npreset b { relax.step = 3 }"
    assert not findings(BASE + text)


@pytest.mark.parametrize(
    "expression",
    [
        "sum[n](z[n] * sum[n](z[n]))",
        "logsumexp[n](z[n] + mean[n](z[n]))",
        "sum[n,m](W[n,m] * sum[m](z[m]))",
    ],
)
def test_an_inner_index_that_shadows_an_outer_one_is_a_warning(expression: str) -> None:
    (found,) = findings(f"dim N = 3\nparam W[N, N] ~ normal(1)\nstate z[N]\nenergy e = {expression} + W[0,0]*z[0]")
    assert (found.code, found.severity) == ("W0301", "warning")
    assert [label.text for label in found.labels] == ["bound here"]


@pytest.mark.parametrize("expression", ["sum[n](z[n]) + sum[n](z[n]^2)", "sum[n](f(z[n]))", "sum[n](g[n](z[n]))"])
def test_an_index_may_be_bound_again_elsewhere(expression: str) -> None:
    functions = "fn f(u) = u * sum[n](z[n])\nfn g[d](u) = u * mean[d](u^2)\n"
    text = f"dim N = 3\nstate z[N]\n{functions}energy e = {expression} + sum[k](f(z[k]) + g[k](z[k]))"
    assert not [d for d in findings(text) if d.code == "W0301"]


@pytest.mark.parametrize(
    "text",
    [
        "dim M = 3\nstate m[M]\nenergy e = sum[m](m[m]^2)",
        "dim M = 3\nstate z[M]\nlet m[k] = z[k]^2\nenergy e = sum[m](m[m] * (m + 1))",
        "dim M = 3\nstate z[M]\nenergy m = sum[m](z[m]^2)",
        "dim M = 3\nstate z[M]\nfn m(u) = u^2\nenergy e = sum[m](m(z[m]))",
        "dim M = 3\nstate z[M]\ndata m = digits()\nenergy e = sum[m](z[m]^2)",
        "dim M = 3\nstate z[M]\nenergy e = sum[k](z[k]^2)\nforce k on z[k] = -z[k]",
    ],
)
def test_an_index_may_be_called_like_what_the_place_tells_apart(text: str) -> None:
    network(text)


@pytest.mark.parametrize(
    "text",
    [
        "dim M = 3\nconst m = 1\nstate z[M]\nenergy e = sum[m](z[m]^2)",
        "dim M = 3\nstate z[M], m\nenergy e = sum[m](z[m]^2)",
        "dim M = 3\nstate z[M]\nlet m = z[0]\nenergy e = sum[m](z[m]^2)",
    ],
)
def test_an_index_and_a_number_share_no_name(text: str) -> None:
    assert "E0204" in codes(text)


def test_a_size_set_from_outside_is_not_blamed_on_the_file() -> None:
    (found,) = findings(BASE, N=0)
    assert (found.code, found.span) == ("E0211", None)
    assert found.message == "dim `N` is set to 0, and a dim is a positive integer"


def test_a_size_set_by_a_preset_is_shown_where_it_is_set() -> None:
    text = BASE + "preset a { N = 0 }"
    (found,) = findings(text, preset="a")
    assert found.span is not None
    assert ("network test\n" + text)[found.span.start : found.span.end] == "N = 0"
