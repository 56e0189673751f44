"""Projections of one tensor as one product: which are put together, and which are not."""

from __future__ import annotations

import numpy as np

from energyc.code.plan import Passes
from tests.emit.judge import disagreements, judged, resolved

SPEC = """network stacked
dim T = 3, D = 4, H = 2, A = 3, B = 5
clamp x[T, D]
param W_q[H, A, D], W_k[H, A, D], W_wide[H, B, D], W_turned[D, H, A] ~ normal(0.5)
state z[T, D]
let q[h,t,a] = sum[d](W_q[h,a,d] * z[t,d])
let k[h,t,a] = sum[d](W_k[h,a,d] * z[t,d])
let w[h,t,b] = sum[d](W_wide[h,b,d] * z[t,d])
let o[h,t,a] = sum[d](W_turned[d,h,a] * x[t,d])
energy rest = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
energy match = -sum[h,t,s in T](tanh(sum[a](q[h,t,a] * k[h,s,a])))
energy wide = sum[h,t,b](softplus(w[h,t,b])) + sum[h,t,a](q[h,t,a] * o[h,t,a])
readout answer[t,d] = z[t,d]
cost c0 = 1/2 * sum[t,d](z[t,d]^2)
"""


def test_projections_of_one_form_are_one_product() -> None:
    j = judged(resolved(SPEC), np.random.default_rng(0), Passes(stack=True))
    prepare = j.module.source.split("def _prepare(")[1].split("def _terms(")[0]
    assert prepare.count("torch.stack([self.W_q, self.W_k])") == 1  # once a relaxation; the wide one has other dims
    assert "W_wide" not in prepare
    assert j.module.source.split("def _force(")[1].split("def _readouts(")[0].count("torch.stack") == 0
    assert disagreements(j) == {}


def test_stacking_is_off_unless_asked_for() -> None:
    assert "torch.stack([self.W_q" not in judged(resolved(SPEC), np.random.default_rng(0)).module.source
