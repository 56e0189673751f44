"""Forces made to mislead: by cancellation, by large numbers, by curvature; and what is printed, pasted back."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc

HEAD = "network n\ndim N = 3, D = 2\nparam W[N, D] ~ normal(1), b[N] ~ normal(1)\n"
USES = "energy all = 1/2 * sum[n](z[n]^2) - sum[n,d](z[n] * W[n,d] * b[n])\n"


def judged(text: str) -> dict[str, Any]:
    """The report of `check` with its terms by name."""
    report: dict[str, Any] = energyc.check(text).to_json()
    return report | {"terms": {term["name"]: term for term in report["terms"]}}


def test_floats_do_not_refute_what_fractions_find_equal() -> None:
    """(y + c)^2 - c^2 - 2cy is y^2, of which floats of this size see nothing."""
    text = (
        "network n\nconst c = 1e17\nstate x, y\nforce f on x = (y + c)^2 - c^2 - 2*c*y\nforce g on y = 2*x*y\n"
        "energy e = x^2 + y^2\n"
    )
    report = judged(text)
    assert report["class"] != "not-conservative"


def test_consts_are_exact_where_they_are_written_so() -> None:
    """3a - q is 0, not the 5e-17 that their floats leave."""
    text = "network n\nconst a = 0.1, q = 0.3\nstate x, y\nforce f on x = (3*a - q)*1e17*y\nenergy e = x^2 + y^2\n"
    assert judged(text)["terms"]["f"]["class"] != "not-conservative"


def test_an_irrational_const_certifies_nothing_as_a_fraction() -> None:
    text = "network n\nconst a = sqrt(2)\nstate x, y\nforce f on x = (a*a - 2)*1e9*y + y\nforce g on y = x\n"
    report = judged(text)
    assert report["class"] != "not-conservative"
    assert report["terms"]["f"]["class"] == "not-conservative"  # alone: 1 beside 0


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    "force", ["1e6 - z[n]", "1e8 + z[n]", "cos(1e5 * z[n])", "-1000 * layernorm[n](z[n], eps = 1e-12)"]
)
@pytest.mark.parametrize("size", [2, 3, 64])
def test_large_numbers_are_no_bug_of_ours(force: str, size: int) -> None:
    """Differences feel the rounding of F and its curvature: a step must fit both."""
    report = judged(f"network n\ndim N = {size}\nstate z[N]\nforce f on z[n] = {force}\n")
    assert report["class"] == "conservative"


def test_a_root_of_what_is_positive_is_positive() -> None:
    text = "network n\ndim N = 3\nstate z[N]\nforce f on z[n] = z[n] / sqrt(z[n]^2 + 1e-3)\n"
    assert judged(text)["class"] == "conservative"
    assert judged(text.replace(" + 1e-3", ""))["class"] == "conservative"  # the sign of z, element by element


def test_nothing_is_written_beside_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    judged("network n\nstate x, y\nforce f on x = ((y)^(1/2))^2 - y\nforce g on y = y^(1/3) + exp(1e4 * y)\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.abridged
@pytest.mark.parametrize(
    "force",
    [
        "-silu(z[n])",
        "-gelu(z[n])",
        "-softplus(z[n])",
        "b[n] / (4 + z[n])",
        "-tanh(z[n])",
        "softmax[n](z[n])",
        "sum[d](W[n,d] * tanh(sum[m](W[m,d] * z[m])))",
    ],
)
def test_a_potential_can_be_pasted_back(force: str) -> None:
    """As it is printed, with the definitions printed beside it: finite, and its force is the one that was written."""
    written = f"{HEAD}state z[N]\n{USES}force f on z[n] = {force}\n"
    term = judged(written)["terms"]["f"]
    assert term["class"] == "conservative"
    lines = [*term.get("functions", []), f"energy recovered = {term['potential']}"]
    pasted = f"{HEAD}state z[N]\n{USES}" + "\n".join(lines) + "\n"
    torch.manual_seed(0)
    z = {"z": torch.randn(4, 3, dtype=torch.float64)}
    one, other = (energyc.load(text, dtype=torch.float64, seed=0) for text in (written, pasted))
    with torch.no_grad():
        for name, value in other.params.items():
            value.copy_(one.params[name])
    assert bool(torch.isfinite(other.energy(z, {})).all())
    assert torch.allclose(one.force(z, {})["z"], other.force(z, {})["z"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("force", ["1 / z[n]", "1 / z[n] + 1 / (z[n] - 1)"])
def test_a_potential_that_is_nowhere_finite_is_not_printed(force: str) -> None:
    """log(z) + log(z - 1) has the slope, where it has a value."""
    term = judged(f"network n\ndim N = 3\nstate z[N]\nforce f on z[n] = {force}\n")["terms"]["f"]
    assert term["class"] == "conservative" and "potential" not in term


def test_a_tie_is_suggested_with_indices_that_are_free() -> None:
    """Params called a and b must not be taken for indices."""
    text = (
        "network n\ndim N = 3, D = 2\nparam a[N, D] ~ normal(1), b[D, N] ~ normal(1)\nstate z[N]\n"
        "force f on z[n] = sum[d](a[n,d] * tanh(sum[m](b[d,m] * z[m])))\n"
    )
    (tie,) = judged(text)["terms"]["f"]["ties"]
    tied = text.replace(", b[D, N] ~ normal(1)", "").replace("state z", f"tie {tie}\nstate z")
    assert judged(tied)["class"] == "conservative"


def test_a_symmetry_is_suggested_as_it_can_be_written() -> None:
    text = "network n\ndim N = 3\nparam S[N, N] ~ normal(1)\nstate z[N]\nforce f on z[n] = sum[m](S[n,m] * z[m])\n"
    (tie,) = judged(text)["terms"]["f"]["ties"]
    left, right = tie.split(" = ")
    assert judged(text.replace("S[n,m]", f"1/2 * ({left} + {right})"))["class"] == "conservative"
