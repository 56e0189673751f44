"""Indices that are swapped, indices without a dim, and settings that nearly fit: what to write instead."""

from __future__ import annotations

import pytest

from energyc.language.diagnostics import Diagnostic, SpecError
from energyc.pipeline import read, resolve

HEAD = "network n\ndim A = 3, B = 4, C = 5\nclamp x[A], q[C]\n"
TAIL = "\nstate s[B]\nenergy pull = sum[b](s[b]^2)\n"


def mistakes(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        resolve(read(f"{text}\n"))
    return tuple(each for each in caught.value.diagnostics if each.severity == "error")


@pytest.mark.parametrize(
    ("param", "energy", "help"),
    [
        ("W[A, B]", "x[a] * W[b,a] * s[b]", "write `W[a,b]`, or declare `W[B, A]`"),
        ("W[B, A]", "x[a] * W[a,b] * s[b]", "write `W[b,a]`, or declare `W[A, B]`"),
        ("W[B, A]", "s[b] * W[a,b] * x[a]", "write `W[b,a]`, or declare `W[A, B]`"),
        ("W[B, A]", "W[a,b] * x[a] * s[b]", "write `W[b,a]`, or declare `W[A, B]`"),
        ("W[B, A]", "W[a,b] * x[a] * s[b] * tanh(W[a,b])", "write `W[b,a]`, or declare `W[A, B]`"),
    ],
)
def test_two_swapped_indices_are_one_mistake(param: str, energy: str, help: str) -> None:
    (mistake,) = mistakes(f"{HEAD}param {param} ~ glorot{TAIL}energy e = sum[a,b]({energy})")
    assert mistake.code == "E0301" and "are swapped" in mistake.message and mistake.help == help


def test_swapped_indices_among_three() -> None:
    text = f"{HEAD}param T[A, B, C] ~ normal(1){TAIL}energy e = sum[a,b,c](x[a] * s[b] * q[c] * T[a,c,b])"
    (mistake,) = mistakes(text)
    assert mistake.help == "write `T[a,b,c]`, or declare `T[A, C, B]`"


def test_dims_that_are_written_count() -> None:
    (mistake,) = mistakes(f"{HEAD}param W[A, B] ~ glorot{TAIL}energy e = sum[i in A, j in B](W[j,i]) * sum[b](s[b])")
    assert mistake.help == "write `W[i,j]`, or declare `W[B, A]`"


@pytest.mark.parametrize("energy", ["x[b] * W[a,b] * s[b]", "x[a] * W[a,c] * s[b] * q[b]"])
def test_other_clashes_are_told_as_before(energy: str) -> None:
    found = mistakes(f"{HEAD}param W[A, B] ~ glorot{TAIL}energy e = sum[a,b,c]({energy} * q[c])")
    assert found and all(each.code == "E0301" and "runs over two dims" in each.message for each in found)


def test_indices_without_a_dim_are_one_mistake() -> None:
    text = (
        f"{HEAD}param w[A, A] ~ glorot\nclamp y[C, C]{TAIL}energy e = sum[u,v,p,q](y[u+p,v+q] * w[p,q]) * sum[b](s[b])"
    )
    (mistake,) = mistakes(text)
    assert mistake.code == "E0302" and mistake.message == "the dims of indices `u` and `v` cannot be inferred"
    assert "`u in DIM, v in DIM`" in str(mistake.help)


@pytest.mark.parametrize(
    ("setting", "help"),
    [
        ("train { optimizer = Adam }", "write `optimizer = adam`"),
        ("train { optimizer = SGD }", "write `optimizer = sgd`"),
        ("train { schedule = Cosine }", "write `schedule = cosine`"),
        ("train { best_mode = MAX }", "write `best_mode = max`"),
        ("relax { solver = Newton }", "write `solver = newton`"),
        ("relax { step = -1/2 }", "write `step = 0.5`"),
        ("relax { steps = 20.5 }", "write `steps = 20`"),
        ("relax { steps = -20 }", "write `steps = 20`"),
        ("nudge { beta = 0 }", "write `beta = auto`"),
        ("train { lr = -1e-3 }", "write `lr = 0.001`"),
        ("train { momentum = 9/5 }", "write `momentum = 1`"),
        ("train { optimizer = addam }", "did you mean `adam`?"),
    ],
)
def test_a_setting_that_nearly_fits_is_answered_with_what_to_write(setting: str, help: str) -> None:
    (mistake,) = mistakes(f"network n\nstate z\nenergy e = z^2\n{setting}")
    assert mistake.help == help
