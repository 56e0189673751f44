"""Runs that must not depend on the number of ranks: 20 updates in float64 by plain SGD, phases of fixed length."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, read
from energyc.running.ranks.group import Group
from energyc.running.runs.prepare import Request, prepare
from energyc.running.training.session import Session

PLAIN = {
    "train.dtype": "float64",
    "train.optimizer": "sgd",
    "train.lr": "0.05",
    "train.eval_every": "20",
    "train.eval_samples": "50",
}
FIXED = {"relax.tolerance": "none", "relax.steps": "20"}
THICK = "specs/thick.energy"
TINY = {"T": "6", "D": "8", "H": "2", **FIXED, "nudge.steps": "5", "train.batch": "12"}
BARE = {"train.penalty": "none", "train.residual_defence": "none"}

NOISY = """\
network noisy
dim I = 64, J = 5, K = 10, T = 4
data digits = digits(side = 8)
clamp x[I] = digits.image
target label : K = digits.label
param W[I, J] ~ glorot, V[J, K] ~ glorot
param rate[T] = 0.3
noise eps[T, J] ~ normal(0.5)
state s[J]
energy e = 1/2 * sum[j](s[j]^2) - sum[i,j](x[i] * W[i,j] * tanh(s[j]))
flow s[j] = -rate[t] * grad(e, s[j]) + eps[t,j]
relax t in T { step = 1 }
readout scores[k] = sum[j](s[j] * V[j,k])
cost ce = cross_entropy[k](sum[j](s[j] * V[j,k]), label)
train { rule = bptt, batch = 24, metrics = [macro_f1(score = scores, label = label)], best = macro_f1 }
"""


@dataclass(frozen=True)
class Case:
    """A spec by its path or its text, its overrides and its rule."""

    spec: str
    rule: str | None
    overrides: dict[str, str]

    def session(self, out: Path, group: Group) -> Session:
        """Return the session of the run in ``out`` for the ranks of a group."""
        source = read(self.spec) if self.spec.endswith(".energy") else Source("noisy.energy", self.spec)
        choices = Choices(overrides={**PLAIN, **self.overrides})
        request = Request(rule=self.rule, steps=20, target="torch")
        return prepare(source, choices, request).shared_by(group).session(out)


CASES = {
    "centered-ep": Case("specs/hopfield.energy", "centered-ep", {**FIXED, "train.batch": "30"}),
    "a short last batch": Case("specs/hopfield.energy", "centered-ep", {**FIXED, "train.batch": "156"}),
    "bptt": Case("specs/hopfield.energy", "bptt", {**FIXED, "train.batch": "30"}),
    "beta auto": Case("specs/hopfield.energy", "centered-ep", {**FIXED, "train.batch": "42", "nudge.beta": "auto"}),
    "noise, a metric over the split": Case(NOISY, None, {}),
    "tracking-aep": Case(THICK, "tracking-aep", {**TINY, **BARE, "train.gate": "none"}),
    "penalty and defence": Case(THICK, "tracking-aep", {**TINY, "train.gate": "none"}),
    "gate": Case(THICK, "tracking-aep", {**TINY, "train.gate": "0.00228"}),
}
