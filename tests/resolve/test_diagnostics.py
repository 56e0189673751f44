"""All mistakes of a file in one run, each once, none that follows from another."""

from __future__ import annotations

import pytest

from tests.resolve.helpers import codes, findings, network

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


RECURRENT = "dim N = 3, T = 4\nclamp x[N], y[T, N]\ntarget aim[N]\nparam g = 1\n"
STATE = RECURRENT + "state s[N]\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (STATE + "next s[n] = tanhh(x[n])", "E0206"),
        (STATE + "flow s[n] = q[n] - s[n]", "E0201"),
        (STATE + "flow s[n] = g * x[m] - s[n]", "E0303"),
        (STATE + "flow s[n, m] = x[n]", "E0304"),
        (STATE + "next s[n] = aim[n]", "E0432"),
        (STATE + "next q[n] = x[n]", "E0435"),
        (STATE + "force f on s[n] = q[n] - s[n]", "E0201"),
        (STATE + "energy e = sum[n](s[n]^2 * foo)", "E0201"),
        (STATE + "energy e = sum[n](s[n]^2)\nstart s[n] = tanhh(x[n])", "E0206"),
        (RECURRENT + "repeat t in T {\nstate s[N]\nnext s[n] = tanh(g * s[n] + y[t, n])\n}\ncost c = s[0]", "E0190"),
        (RECURRENT + "repeat t in T {\nstate s[N]\nnext s[n] = s[n] / (1 + t)\n}\ncost c = s[0]", "E0190"),
        (
            RECURRENT + "repeat t in T {\nlayer m {\nstate z[N]\nenergy e = sum[n](z[n]^2 + y[t, n] * z[n])\n}\n"
            "state s[N]\nstart s[n] = 0\nnext s[n] = tanh(y[t, n]) + m.z[n]\n}\ncost c = s[0]",
            "E0190",
        ),
    ],
)
def test_nothing_that_follows_from_a_mistake_is_reported(text: str, wrong: str) -> None:
    assert codes(text) == [wrong]


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (STATE + "next s[n] = aim[n]", "a `next` may not read a target, and `next s` reads `aim`", "only clamps"),
        (STATE + "flow s[n] = aim[n]", "a `flow` may not read a target, and `flow s` reads `aim`", "only clamps"),
        (
            STATE + "energy e = sum[n](s[n]^2)\nnext s[n] = x[n]",
            "energy `e` moves nothing: no flow names it, and a state with a `next` moves by that alone",
            "add it to the next of `s`",
        ),
        (
            RECURRENT + "repeat t in T {\nstate s[N]\nnext s[n] = tanh(g * s[n] + y[t, n])\n}",
            "the number of a copy is not yet supported",
            "outside of blocks, and `relax t in T { }`",
        ),
        (
            STATE + "let r[n] = where(n == N - 1, s[0], s[n + 1])\nenergy e = sum[n](r[n] * s[n])",
            "the dim of index `n` cannot be inferred",
            "write its dim where the index is bound, `n in N`",
        ),
        (
            STATE + "let r[n, t] = where(n < N - 1 and 0 < t < T, 1, 0)\nenergy e = sum[n](s[n]^2)",
            "the dims of indices `n` and `t` cannot be inferred",
            "write them where the indices are bound, `n in N, t in T`",
        ),
        (
            STATE + "let l[t, n] = where(t == 0, x[n], y[t - 1, n])\nenergy e = sum[n](s[n]^2)",
            "the dim of index `t` cannot be inferred",
            "write its dim where the index is bound, `t in T`",
        ),
        (
            STATE + "let r[i, j] = where(i == j, 1, 0)\nenergy e = sum[n](s[n]^2)",
            "the dims of indices `i` and `j` cannot be inferred",
            "write them where the indices are bound, `i in DIM, j in DIM`",
        ),
        (STATE + "noise a[N] ~ normal(1), b[N]\nflow s[n] = a[n] + b[n]", "`b` has no law", "`b ~ normal(0.02)`"),
        (STATE + "noise a[N] ~ glorot\nflow s[n] = a[n]", "noise follows normal or uniform", "`~ normal(0.02)`"),
    ],
)
def test_messages_say_what_was_written_and_what_to_write(text: str, message: str, help: str) -> None:
    (found,) = (each for each in findings(text) if message in each.message)
    assert found.help is not None and (found.help.endswith(help) if "bound" in help else help in found.help)


def test_a_law_covers_the_noises_before_it_that_have_none() -> None:
    text = STATE + "noise a[N] ~ normal(1), b[N], c[T] ~ uniform(1/2), d ~ uniform(-1, 2)\nflow s[n] = a[n] + b[n] + d"
    laws = {name: (noise.law.name, noise.law.arguments) for name, noise in network(text).noises.items()}
    uniform = ("uniform", (0.5,))
    assert laws == {"a": ("normal", (1.0,)), "b": uniform, "c": uniform, "d": ("uniform", (-1.0, 2.0))}


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
    text = "dim N = 2, L = 2\nrepeat l in L {\n  layer f {\n    state z[N]\n    energy e = sum[n](z[n]^2)\n  }\n}\n"
    assert "E0190" in [d.code for d in findings(text) if d.severity == "error"]


def test_a_dim_may_be_called_relation() -> None:
    text = "dim N = 2, relation = 3\nclamp k[N] : relation\nparam b[relation] = 1\nstate z[N]\n"
    text += "energy e = sum[n](z[n]^2 * b[k[n]])\n"
    assert [d.code for d in findings(text) if d.severity == "error"] == []
