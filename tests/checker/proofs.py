"""Certificates to try the checker with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from energyc.checker.judge import FORMAT, VERSION, Answer, judge
from energyc.pipeline import classify, read, resolve

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path.stem for path in (ROOT / "specs").glob("*.energy"))
MODELS = sorted(path.stem for path in (ROOT / "specs" / "zoo").glob("*.energy"))
Json = dict[str, Any]

#: Two layers of forces that are minus the gradient of one energy, which the spec does not write.
FORCES = """network pair
dim D = 4, E = 3
const c = 1/2
clamp a[D]
param W[D, D] ~ normal(1) in symmetric, V[D, E] ~ normal(1)
tie T[e,d] = V[d,e]
state x[D], y[E]
let h[d] = tanh(x[d])
force first on x[d] = (1 - h[d]^2) * (sum[k](W[d,k] * tanh(x[k])) + sum[e](V[d,e] * tanh(y[e]))) + a[d] - c * x[d]
force second on y[e] = (1 - tanh(y[e])^2) * sum[d](T[e,d] * tanh(x[d])) - y[e]^3
relax { step = 0.1 }
"""
#: An energy with attention, kinks, and windows.
ENERGIES = """network windows
dim N = 6, D = 3, K = 2, M = N - K + 1
const beta = 2
clamp x[N, D]
param U[K, D] ~ normal(1), Q[D, D] ~ normal(1), b[D] = 0
state z[N, D], y[M]
let q[n,d] = sum[e](Q[d,e] * z[n,e])
energy own = 1/2 * sum[n,d]((z[n,d] - x[n,d])^2) + 1/4 * sum[m](y[m]^4)
energy att = -1/beta * sum[n](logsumexp[m | m < n](beta * sum[d](q[n,d] * z[m,d])))
energy mem = -sum[n](relu(sum[d](b[d] * z[n,d]))^2)
energy window = -sum[m,k,d](y[m] * U[k,d] * tanh(z[m + k, d]))
relax { step = 0.1 }
"""
#: Two forces that are no gradients, but their sum is.
HALVES = """network halves
dim T = 4, D = 3
param A[D, D] ~ normal(1)
state z[T, D]
let s[i in T, j in T] = sum[d,e](z[i,d] * A[d,e] * z[j,e])
let p[i,j] = softmax[j | j <= i](s[i,j])
force query on z[i,d] = sum[j,e](p[i,j] * A[d,e] * z[j,e])
force key on z[j,e] = sum[i,d](p[i,j] * A[d,e] * z[i,d])
relax { step = 0.1 }
"""

#: Elements at places that are numbers, through a let and a tie; conditions and their opposites.
PLACES = """network places
dim D = 3, M = 4, H = 2
fn rise'(u) = tanh(u)
clamp at : M
param w[D, H] ~ normal(1), c = 1
tie T[h,d] = w[d,h]
state z[M]
let q[d in D, m in M] = softmax[m](z[m] + tanh(sum[k in D, h in H](w[k,h])))
energy ties = (rise(T[0,0]) - rise(0)) * sum[m](sin(z[m]))
energy lets = tanh(q[0,1]) * sum[m](z[m]^2)
energy either = gelu(where(at >= 1, c, w[0,0])) * sum[m](sin(z[m])) + where(at < 1, c, 0) * sum[m](cos(z[m]))
force pushed on z[m] = tanh(where(at <= 2, T[1,2], c))
force least on z[m] = tanh(min[k in D](max(z[m], c) + cos(1.3*k))) + tanh(where(2*m == 1, c, z[m]))
relax { step = 0.1 }
"""


@cache
def certified(text: str) -> Json:
    """The file of certificates of a spec."""
    return dict(classify(resolve(read(text))).certificates)


def path_of(name: str) -> Path:
    """A spec of specs/ or of its zoo."""
    folder = "specs" if name in SHIPPED else "specs/zoo"
    return ROOT / folder / f"{name}.energy"


def text_of(name: str) -> str:
    return path_of(name).read_text()


def answer(entry: Json, text: str) -> Answer:
    """The answer to one certificate."""
    file = {"format": FORMAT, "version": VERSION, "consts": {}, "certificates": [], "claims": []}
    (only,) = judge({**file, "claims" if "rule" in entry else "certificates": [entry]}, text)
    return only
