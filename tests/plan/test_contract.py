"""Arrangements of indices that are easy to get wrong, small: one of them once was."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emit.judge import disagreements, judged, resolved

HEAD = """network small
dim N = 5, W = 3, R = 2, D = 3
clamp x[D], c[R, W], k[D] : N, i[N] : D
param b[N], W1[D, D] ~ normal(1)
state z[W], y[D]
energy rest = 1/2 * sum[w](z[w]^2) + 1/2 * sum[d](y[d]^2)
readout answer[w] = z[w]
cost c0 = 1/2 * sum[w](z[w]^2) + sum[d](y[d])
"""
ENERGIES = {
    "a place that a scatter reads too": "energy odd = sum[w,r in R | r == 0](b[w + r] * tanh(z[w] * c[r,w]))",
    "a sum over a broadcast": "let s[d in D, e in D] = x[d] + 0 * W1[d,e]\nenergy odd = sum[d,e](s[d,e] * y[d])",
    "two deltas in a row": "energy odd = sum[d,e in D,f in D | d == e and e == f](y[d] * W1[e,f] * x[f])",
    "a diagonal of a gather": "energy odd = sum[d](W1[d,d] * b[k[d]] * y[d])",
    "a read of a read": "energy odd = sum[d](y[i[k[d]]] * x[d] * b[k[i[k[d]]]])",
    "a fixed place and its adjoint": "energy odd = tanh(z[0] * b[N - 1]) * sum[d](y[d] * x[D - 1])",
    "windows that run backwards": "energy odd = sum[w](tanh(z[w]) * b[-w + 3]) + sum[d](y[d] * W1[d,0] * x[2 - d])",
}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("energies", ENERGIES.values(), ids=list(ENERGIES))
def test_against_the_interpreter(energies: str) -> None:
    text = HEAD + energies + "\n"
    used = [f"energy use_{n} = sum[w](z[w]) * {e}" for n, e in USES.items() if f"{n}[" not in energies]
    network = resolved(text + "\n".join(used) + "\n")
    assert disagreements(judged(network, np.random.default_rng(0))) == {}


USES = {"b": "sum[n](b[n])", "W1": "sum[d,e in D](W1[d,e])"}
