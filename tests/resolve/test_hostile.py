"""A hostile spec is refused, quickly, with a diagnostic."""

from __future__ import annotations

import pytest

from tests.resolve.helpers import codes, network

STATE = "state z\n"
LETS = "\n".join(f"let a{k} = a{k - 1} * z" for k in range(2999, 0, -1))
DIMS = ", ".join(f"d{k} = d{k - 1} + 1" for k in range(2999, 0, -1))

REPEAT = """dim D = 2, L = {count}
repeat L {{
  param g[D] = 1
  state h[D]
  layer a {{
    state z[D]
    energy e = 1/2 * sum[d](g[d] * (z[d] - h[d])^2)
  }}
  next h[d] = a.z[d]
}}
readout out[d] = h[d]
cost c = sum[d](out[d]^2)
"""


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (STATE + "energy e = (((2^1024)^1024)^1024)^1024 * z", "E0704"),
        (STATE + "fn f(u) = u*u\nenergy e = " + "f(" * 40 + "3" + ")" * 40 + " * z", "E0704"),
        (STATE + "const h = 1e300\nenergy e = 1e300 * h * z^2", "E0704"),
        (STATE + "const h = 1e200\nenergy e = h^2 * z^2", "E0704"),
        (STATE + "let a = 1e200 * z\nlet b = 1e200 * a\nenergy e = b^2", "E0704"),
        (STATE + "let a = 1e-200 * z\nlet b = 1e-200 * a\nenergy e = b", "E0704"),
        (STATE + f"energy e = a2999\n{LETS}\nlet a0 = z", "E0802"),
        (f"dim {DIMS}, d0 = 1\nstate z[d2999]\nenergy e = sum[i](z[i])", "E0802"),
        (STATE + "\n".join(f"let a{k} = a{(k + 1) % 2000}" for k in range(2000)) + "\nenergy e = a0 * z", "E0802"),
        ("dim S = 4611686018427387904\nstate z[S]\nenergy e = sum[i](z[i])", "E0801"),
        ("dim S = 1e300\nstate z[S]\nenergy e = sum[i](z[i])", "E0211"),
        ("dim S = 100000, P = 700\nstate z[S]\nenergy e = sum[i in S, p in P](z[i*p])", "E0311"),
        ("const a = 10^300, b = a*a\n" + STATE + "energy e = b*z", "E0213"),
        ("dim N = 3\nstate z[N]\nenergy e = z[9223372036854775808]", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = (z[1e308] + 1)^2 * 2", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = sum[n](z[n - 9223372036854775808])", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = sum[n](where(n == 10000000000000000000000, z[n], 0))", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = sum[n | n < 1e30](z[n])", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = sum[n](z[n] * (n + 1e30))", "E0704"),
        ("dim N = 3\nstate z[N]\nenergy e = sum[n](z[n] * (n * 9999999999 * 9999999999))", "E0704"),
        ("dim N = 3\nstate z[N]\nfn f(u) = u + u\nenergy e = sum[n](z[n] * " + "f(" * 40 + "n" + ")" * 41, "E0704"),
        ("dim K = 3\nconst c = 1\nparam c[K] = 0\nstate z[K]\nenergy e = sum[k](c * z[k]^2)", "E0202"),
        ("dim K = 3\nparam K[K] = 0\nstate z[K]\nenergy e = sum[k](z[k]^2)", "E0202"),
        ("dim K = 3\nparam a[K] = 0, a[K] = 1\nstate z[K]\nenergy e = sum[k](a[k]*z[k]^2)", "E0202"),
        ("const a = -4\n" + STATE + "energy e = z * sqrt(a)", "E0702"),
        (REPEAT.format(count=0), "E0211"),
        (REPEAT.format(count=-2), "E0211"),
        (REPEAT.format(count=2) + "state z[D]\nenergy outside = sum[d](z[d]^2)", "E0202"),
        ("dim D = 2\nparam W[D] = 1\nlayer a {\ntie V[a] = W[a]\nstate z[D]\nenergy e = sum[d](V[d]*z[d])\n}", "E0427"),
        ("layer a {\nrepeat L {\nstate h[D]\n}\nstate z[D]\nstart z[d] = h[d]\n}\ndim D = 2, L = 2", "E0190"),
        ("layer a {\ndim D = 2\nparam W[D] = 1\nstate z[D]\nenergy e = sum[d](W[d] * z[d]^2)\n}", "E0450"),
        (
            "dim D = 2\nparam L = 1\nlayer m {\ndim L = 0\nstate z[D]\nlet q = sum[d in D](softmax[d | d < 1](z[d]))\n"
            "energy e = sum[d in D](z[d]^2 * L) + q\n}",
            "E0450",
        ),
        ("dim K = 2, H = 3\nclamp x[K]\nlayer m {\nstate z[H]\nenergy K = sum[h in H](z[h]^2 * x[1])\n}", "E0202"),
    ],
)
def test_it_is_refused(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        STATE + "fn f(u) = u*u\nenergy e = " + "f(" * 40 + "z" + ")" * 40,
        STATE + "fn f(u) = u + u\nenergy e = " + "f(" * 40 + "z" + ")" * 40,
        "dim D = 3\nstate z[D]\nenergy e = sum[d](" + "layernorm[d](" * 40 + "z[d]" + ")" * 41,
        "dim lambda = 3, class = 2\nparam import[lambda, class] ~ normal(1)\nstate None[lambda], def[class]\n"
        "energy global = sum[if,while](None[if] * import[if,while] * def[while])",
    ],
)
def test_it_stays_small(text: str) -> None:
    assert len(network(text).graph) < 500
