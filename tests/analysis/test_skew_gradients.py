"""Flows ``S grad E`` with an invertible S: which rules are exact, and whether they give the exact gradient."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import energyc
from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Classes
from energyc.proofs.verdicts.in_notation import classes_of

#: A saddle: the energy bends up along v and, with ``minus``, down along w.
SPEC = """network skew
dim N = 4, I = 3
clamp x[I]
target lab[N]
param W[N, N], V[N, N] ~ normal(0.2) in symmetric
param U[N, I] ~ normal(0.3), b[N] ~ normal(0.3)
param A[N, N] ~ normal(0.5), a[N] ~ uniform(1/2, 2) in [1/2, 2], s ~ uniform(1/2, 2) in [1/2, 2]
param r[N] ~ normal(0.3), z[N] ~ uniform(1/2, 1) in [-1, 1]
let P[n, m in N] = where(n == m, 1, 0) + sum[k in N](A[n,k] * A[m,k])
state v[N]{on}, w[N]
energy own = sum[n](v[n]^4/4 + v[n]^2/2 - v[n]*w[n] - b[n]*w[n]) - sum[n,i](v[n]*U[n,i]*x[i]) {bend} sum[n](w[n]^2)/2
energy pairs = -1/2*sum[n,m in N](v[n]*W[n,m]*v[m]) - 1/10*sum[n,m in N](w[n]*V[n,m]*w[m])
flow v[n] = {v}
flow w[n] = {w}
cost c = 1/2*sum[n]((v[n] - lab[n])^2) + 1/4*sum[n](w[n]^2)
readout q = sum[n](a[n]*r[n]*z[n]) + s + sum[n,m in N](A[n,m])
relax {{ step = 0.1, steps = 1500 }}
nudge {{ beta = 3e-4, steps = 1500, radius = 5e-3 }}
"""
G = "grad(own + pairs, {}[n])"
DOWN, UP = f"-{G.format('v')}", G.format("w")
#: What stands before the gradients by v and by w, and the bend of the energy along w.
INVERTIBLE = {
    "numbers": (DOWN, UP, "-", ""),
    "a number that is not 1": (DOWN, f"2*{UP}", "-", ""),
    "one param": (f"-s*{G.format('v')}", UP, "-", ""),
    "a param for each": (f"-a[n]*{G.format('v')}", f"exp(r[n])*{UP}", "-", ""),
    "of the state": (f"-(1 + v[n]^2)*{G.format('v')}", f"-1/2*{UP}", "+ 2 *", ""),
    "of a clamp": (f"-softplus(x[0])*{G.format('v')}", UP, "-", ""),
    "by the index": (f"-where(n < 2, 1, 1/2)*{G.format('v')}", f"-(n + 1)/4*{UP}", "+ 2 *", ""),
    "a matrix": ("-1/4*sum[m in N](P[n,m]*grad(own + pairs, v[m]))", UP, "-", ""),
    "minus a matrix": (DOWN, "1/4*sum[m in N](P[n,m]*grad(own + pairs, w[m]))", "-", ""),
    "in a box": (f"-a[n]*{G.format('v')}", UP, "-", " in [-1/10, 1/10]"),
}
SINGULAR = {
    "a range about 0": (f"-z[n]*{G.format('v')}", UP, "-", ""),
    "a square": (f"-r[n]^2*{G.format('v')}", UP, "-", ""),
    "a condition that may fail": (f"-where(n < 2, 1, 0)*{G.format('v')}", UP, "-", ""),
    "the sign of a clamp": (f"-where(x[0] > 0, 1, 0)*{G.format('v')}", UP, "-", ""),
    "a matrix without the identity": ("-sum[m,k in N](A[n,k]*A[m,k]*grad(own + pairs, v[m]))", UP, "-", ""),
}
#: What may stand before the gradient by w, and whether it is invertible at all params, inputs and states.
BEFORE = {
    "{a}*grad(e, w[n])": True,
    "-{a}*grad(e, w[n])": True,
    "s*grad(e, w[n])": True,
    "-s^2*grad(e, w[n])": True,
    "exp(r[n])*grad(e, w[n])": True,
    "-softplus(x[n])*grad(e, w[n])": True,
    "(1 + w[n]^2)*grad(e, w[n])": True,
    "(n + 1)*grad(e, w[n])": True,
    "where(n < 1, {a}, -1)*grad(e, w[n])": True,
    "where(n == N - 1, s, -{a})*grad(e, w[n])": True,
    "where(x[n] > 0, {a}, -1/3)*grad(e, w[n])": True,
    "-(grad(e, w[n]) + sum[m,k in N](A[n,k]*A[m,k]*grad(e, w[m])))": True,
    "{a}*grad(e, w[n]) + r[n]*sum[m in N](r[m]*grad(e, w[m]))": True,
    "r[n]*grad(e, w[n])": False,
    "r[n]^2*grad(e, w[n])": False,
    "w[n]^2*grad(e, w[n])": False,
    "(n - 1)*grad(e, w[n])": False,
    "where(n < 1, {a}, 0)*grad(e, w[n])": False,
    "where(x[n] > 0, s, 0)*grad(e, w[n])": False,
    "tanh(x[n])*grad(e, w[n])": False,
    "sum[m,k in N](A[n,k]*A[m,k]*grad(e, w[m]))": False,
    "{a}*grad(e, w[n]) - r[n]*sum[m in N](r[m]*grad(e, w[m]))": False,
}
RULES = ("ep", "centered-ep", "vf", "holomorphic-ep")


def skew_of(rng: np.random.Generator) -> tuple[str, bool]:
    """A spec of two states, one of which moves by a matrix times the gradient, and whether that is invertible."""
    before, invertible = list(BEFORE.items())[rng.integers(len(BEFORE))]
    text = "network n\ndim N = 3\nclamp x[N]\nparam s = 1 in [1/2, 2], r[N], A[N, N] ~ normal(1)\nstate v[N], w[N]\n"
    text += "energy e = sum[n](v[n]^2 - v[n]*w[n] - w[n]^2/2 - x[n]*v[n] + sin(w[n])/4)\nflow v[n] = -grad(e, v[n])\n"
    text += f"flow w[n] = {before.replace('{a}', ('1/3', '1', '5/2')[rng.integers(3)])}\ncost c = sum[n](v[n]^2)\n"
    return text + "readout q = s + sum[n](r[n]) + sum[n,m in N](A[n,m])\n", invertible


def spec(v: str, w: str, bend: str, on: str) -> str:
    return SPEC.format(v=v, w=w, bend=bend, on=on)


def classes(text: str) -> Classes:
    return classes_of(resolve(Source("skew.energy", text), Choices()))


def inverses(found: Classes) -> list[str]:
    return [claim.verdict for claim in found.claims if claim.claim == "invertible"]


@pytest.mark.parametrize("name", INVERTIBLE)
def test_rules_for_gradients_are_exact(name: str) -> None:
    found = classes(spec(*INVERTIBLE[name]))
    boxed = " in " in INVERTIBLE[name][-1]
    assert {*inverses(found)} == {"proved"}
    assert not any("a bug in energyc" in claim.evidence for claim in found.claims)
    assert [found.rules[rule].verdict for rule in RULES] == ["exact"] * 3 + ["inadmissible" if boxed else "exact"]


@pytest.mark.parametrize("name", SINGULAR)
def test_a_matrix_that_may_be_singular_is_not_called_invertible(name: str) -> None:
    found = classes(spec(*SINGULAR[name]))
    assert "undecided" in inverses(found)
    assert all(found.rules[rule].verdict == "unproved" for rule in RULES)


@pytest.mark.slow
@pytest.mark.parametrize("name", INVERTIBLE)
def test_exact_rules_give_the_exact_gradient(name: str) -> None:
    text = spec(*INVERTIBLE[name])
    rules = [rule for rule in RULES[1:] if classes(text).rules[rule].verdict == "exact"]
    net = energyc.load(text, rules=[*rules, "implicit"], dtype=torch.float64, seed=3)
    generator = torch.Generator().manual_seed(1)
    x, lab = (torch.randn(3, n, generator=generator, dtype=torch.float64) for n in (3, 4))
    exact = net.gradients({"x": x}, {"lab": lab}, rule="implicit").params
    size = max(float(slope.norm()) for slope in exact.values())
    for rule in rules:
        found = net.gradients({"x": x}, {"lab": lab}, rule=rule).params
        assert {name: slope for name, slope in found.items() if slope.norm() > 1e-9}.keys() <= exact.keys()
        for param, slope in exact.items():
            gap = float((found[param] - slope).norm()) if param in found else float(slope.norm())
            assert gap < 1e-6 * size, (rule, param, gap / size)


def test_a_layer_is_nudged_along_the_slope_of_the_cost() -> None:
    """A layer does not put P before the slope that comes back to it, so that a contrast is biased there."""
    body = (
        "network outer\ndim N = 3\nclamp x[N]\nlayer one {\n  param b[N] ~ normal(0.3)\n  state v[N], w[N]\n"
        "  energy e = sum[n](v[n]^2 - v[n]*w[n] - w[n]^2/2 - b[n]*w[n] - x[n]*v[n])\n"
        "  flow v[n] = -grad(e, v[n])\n  flow w[n] = grad(e, w[n])\n}\ncost c = sum[n](one.v[n]^2)\n"
    )
    found = classes(body)
    assert found.rules["centered-ep"].verdict == "biased"
    assert found.rules["tracking-aep"].verdict == "exact"


def test_a_state_may_have_the_name_of_the_vector() -> None:
    """In ``v . M v`` the v is no state: P before the gradient by a state v may read it."""
    text = spec(*INVERTIBLE["of the state"])
    named, other = ([c.verdict for c in classes(re.sub(r"\bv\b", name, text)).claims] for name in ("v", "g"))
    assert named == other and named[:3] == ["proved"] * 3
