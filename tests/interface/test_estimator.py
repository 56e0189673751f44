"""``energyc.Estimator`` after scikit-learn's own checks, and beside what it is made of."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import energyc

CLASSIFIER = """
network clusters
dim I = 2, J = 8, K = 2
clamp x[I]
target label : K
param W[I, J] ~ normal(0.3), b[J] = 0, V[J, K] ~ normal(0.3), c[K] = 0
state s[J] in [-1, 1]
energy leak = 1/2 * sum[j](s[j]^2) - sum[j](s[j] * (b[j] + sum[i](x[i] * W[i,j])))
readout logits[k] = sum[j](s[j] * V[j,k]) + c[k] + sum[j](0 * s[j]^2)
cost ce = cross_entropy[k](logits[k], label)
relax { step = 1, steps = 2 }
train { rule = bptt, optimizer = adam, lr = 0.05, steps = 60, batch = 64, dtype = float64 }
"""
REGRESSOR = """
network line
dim I = 2, K = 1
clamp x[I]
target t[K]
param W[I, K] = 0, b[K] = 0
state y[K]
energy error = 1/2 * sum[k]((y[k] - b[k] - sum[i](x[i] * W[i,k]))^2)
readout answer[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax { step = 1, steps = 2 }
train { rule = bptt, optimizer = adam, lr = 0.5, steps = 100, batch = 256, dtype = float64 }
"""
FAST = {"target": "torch", "settings": {"train.eval_every": 1000}}


def estimators() -> list[Any]:
    return [energyc.Estimator(CLASSIFIER, **FAST), energyc.Estimator(REGRESSOR, **FAST)]


@pytest.mark.slow
@parametrize_with_checks(estimators())
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
