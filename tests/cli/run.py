"""Commands in this process, with what they wrote and their exit status; programs in processes of their own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from energyc.surfaces.cli import main

ROOT = Path(__file__).resolve().parents[2]
SMALL = """\
# A small network.
network small
dim I = 64, J = 6, K = 10
data digits = digits(side = 8)
clamp x[I] = digits.image
target label : K = digits.label
param W[I, J] ~ glorot, V[J, K] ~ glorot, b[K] = 0.1
state s[J] in [0, 1], y[K] in [0, 1]
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy synapses = -sum[i,j](x[i] * W[i,j] * s[j]) - sum[j,k](s[j] * V[j,k] * y[k]) - sum[k](b[k] * y[k])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
metric accuracy = correct[k](y[k], label)
relax { step = 1/2, steps = 20 }
nudge { beta = 1/2, steps = 4 }
train { rule = centered-ep, optimizer = adam, lr = 0.01, batch = 20, steps = 6, eval_samples = 40 }
preset tiny { J = 3, relax.steps = 10 }
"""

UNTIED = """\
network untied
dim D = 4, F = 3
clamp x[D]
param W1[D, F], W2[F, D] ~ normal(0.5)
state z[D]
energy pull = 1/2 * sum[d]((z[d] - x[d])^2)
force ffn on z[d] = sum[f](W2[f,d] * tanh(sum[e](z[e] * W1[e,f])))
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.1, steps = 50 }
train { rule = bptt }
"""

LANGUAGE = """\
network chars
dim T = 5, D = 4
data text = characters(context = T)
dim V = text.vocabulary
clamp idx[T] : V = text.input
target label[T] : V = text.target
param tok[V, D], W[D, V] ~ normal(0.5)
state z[T, D]
energy pull = 1/2 * sum[t,d]((z[t,d] - tok[idx[t], d])^2)
readout logits[t,w] = sum[d](z[t,d] * W[d,w])
cost ce = mean[t](cross_entropy[w](logits[t,w], label[t]))
relax { step = 1/2, steps = 10 }
train { rule = implicit, steps = 1, batch = 4, eval_samples = 4 }
"""


@dataclass(frozen=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON that it wrote."""
        return json.loads(self.out)


def energyc(capfd: pytest.CaptureFixture[str], *arguments: object, stdin: str | None = None) -> Done:
    """Run a command."""
    before = sys.stdin
    if stdin is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        status = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    out, err = capfd.readouterr()
    return Done(status, out, err)


def written(folder: Path, text: str = SMALL, name: str = "small") -> Path:
    """A spec in a file."""
    path = folder / f"{name}.energy"
    path.write_text(text)
    return path


def in_python(
    program: str, *arguments: object, folder: Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python program, or ``-m MODULE``, in a process of its own, where ``energyc`` is this package."""
    command = [*program.split()] if program.startswith("-m ") else ["-c", program]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
    )
