"""How sets of params are written, which axes are meant, and what cannot be meant."""

from __future__ import annotations

import pytest
import torch

import energyc
from energyc.language.network import Structure
from tests.resolve.helpers import codes, findings, network

SPEC = (
    "network n\ndim N = 3, M = 2, H = 4\nparam {}\nstate z[N], y[M], x[H]\nenergy e = sum[n](z[n]^2) + sum[m](y[m]^2)\n"
)
SPEC += "energy g = sum[h](x[h]^2)\n"

MEANT = {
    "W[N, N] ~ normal in symmetric": [("symmetric", (0,), (1,))],
    "W[H, N, N] ~ normal in symmetric": [("symmetric", (1,), (2,))],
    "W[N, H, N] ~ normal in symmetric[N]": [("symmetric", (0,), (2,))],
    "W[N, M, N, M] ~ normal in symmetric[N, M]": [("symmetric", (0, 1), (2, 3))],
    "W[N, M, M, N] ~ normal in symmetric[M]": [("symmetric", (1,), (2,))],
    "W[N, M, M, N] ~ normal in symmetric[N] and symmetric[M]": [("symmetric", (0,), (3,)), ("symmetric", (1,), (2,))],
    "W[N, N] ~ normal in zero_diagonal and symmetric and [-1, 1]": [
        ("zero_diagonal", (0,), (1,)),
        ("symmetric", (0,), (1,)),
    ],
    "W[N, N] in orthogonal": [("orthogonal", (0,), (1,))],
    "W[N, H] in orthogonal": [("orthogonal", (0,), (1,))],
    "W[H, N] in orthogonal[N, H]": [("orthogonal", (1,), (0,))],
    "W[H, N, N] in orthogonal": [("orthogonal", (1,), (2,))],
    "W[H, N, N] in orthogonal[N]": [("orthogonal", (1,), (2,))],
    "W[H, N, N] in orthogonal[N, N]": [("orthogonal", (1,), (2,))],
    "W[N, M, H] in orthogonal[M, H]": [("orthogonal", (1,), (2,))],
    "W[N, H] in sphere[H]": [("sphere", (), (1,))],
    "W[N, H] in sphere[N, H]": [("sphere", (), (0, 1))],
    "W[N, N] in sphere[N]": [("sphere", (), (1,))],
}
WRONG = {
    "W[N, M] ~ normal in symmetric": "E0218",
    "W[N] ~ normal in zero_diagonal": "E0218",
    "W ~ normal in symmetric": "E0218",
    "W[N, N, N] ~ normal in symmetric": "E0218",
    "W[N, M] ~ normal in symmetric[N]": "E0218",
    "W[N, M, N, M] ~ normal in symmetric": "E0218",
    "W[N, M, H] in orthogonal": "E0218",
    "W[N] in orthogonal": "E0218",
    "W in orthogonal": "E0218",
    "W[N, M, H] in orthogonal[N, M, H]": "E0218",
    "W[N, N] ~ normal in symmetric[H]": "E0426",
    "W[N, H] in orthogonal[N, M]": "E0426",
    "W[N] in sphere": "E0426",
    "W[N] in sphere[H]": "E0426",
    "W[N] ~ normal in nonnegative[N]": "E0426",
    "W[H, N] in orthogonal": "E0219",
    "W[N, H] in orthogonal[H, N]": "E0219",
    "W[N, N] in orthogonal and symmetric": "E0445",
    "W[N, N] in symmetric and sphere[N]": "E0445",
    "W[N] in sphere[N] and [0, 1]": "E0445",
    "W[N] in sphere[N] and sphere[N]": "E0445",
    "W[N, N] ~ normal in symmetric and symmetric": "E0445",
    "W[N, M, N, M] ~ normal in symmetric[N] and symmetric[N, M]": "E0445",
    "W[N] ~ normal in [0, 1] and [0, 2]": "E0445",
    "W[N, N] ~ normal in zero_diagonal and [1, 2]": "E0445",
    "W[N, N] = 1 in orthogonal": "E0446",
    "W[N, N] ~ zeros in orthogonal": "E0446",
    "W[N] = 0 in sphere[N]": "E0446",
    "W[N, N] in symmetric": "E0423",
    "W[N, N] ~ normal in skew": "E0425",
    "W[N] ~ normal in simplex[N]": "E0425",
}


@pytest.mark.parametrize(("param", "meant"), MEANT.items(), ids=MEANT)
def test_the_axes_that_are_meant(param: str, meant: list[tuple[str, tuple[int, ...], tuple[int, ...]]]) -> None:
    text = SPEC.format(param) + f"readout w = {summed(param)}\n"
    found = network(text).params["W"]
    assert found.structure == tuple(Structure(*part) for part in meant)  # type: ignore[arg-type]
    again = network(text.replace(param.partition(" in ")[2], found.sets or "")).params["W"]
    assert again.structure == found.structure, "what `check` prints can be written"


def summed(param: str) -> str:
    """A sum over all elements of W."""
    dims = param.partition("[")[2].partition("]")[0].split(", ")
    indices = [f"i{k} in {dim}" for k, dim in enumerate(dims)]
    return f"sum[{', '.join(indices)}](W[{','.join(f'i{k}' for k in range(len(dims)))}])"


@pytest.mark.parametrize(("param", "code"), WRONG.items(), ids=WRONG)
def test_what_cannot_be_meant(param: str, code: str) -> None:
    found = [d for d in findings(SPEC.format(param)) if d.code not in ("E0441", "W0201")]
    assert [d.code for d in found] == [code], found
    assert found[0].help or found[0].labels


def test_a_state_stays_in_one_set_of_its_own() -> None:
    text = "network n\ndim N = 3\nstate z[N] in {}\nenergy e = sum[n](z[n]^2)\n"
    assert codes(text.format("[0, 1] and nonnegative")) == ["E0445"]
    assert codes(text.format("symmetric")) == ["E0425"]


def test_other_sizes_may_leave_no_room_for_orthogonal_vectors() -> None:
    text = "network n\ndim N = 3, H = 4\nparam W[N, H] in orthogonal\nstate z[N]\n"
    text += "energy e = sum[n](z[n]^2) + sum[n,h](W[n,h] * z[n])\n"
    assert codes(text) == []
    assert codes(text, N=5) == ["E0219"]


def test_a_start_on_two_symmetries_has_both() -> None:
    text = SPEC.format("W[N, M, M, N] ~ normal in symmetric[N] and symmetric[M] and zero_diagonal[M]")
    net = energyc.load(text + "readout w = sum[n,m,a,l](W[n,m,a,l])\n", dtype=torch.float64)
    for change in (0.0, 1.0):
        with torch.no_grad():
            net.params["W"].add_(change * torch.randn((3, 2, 2, 3), dtype=torch.float64))
        net.project_params()
        w = net.params["W"].detach()
        assert torch.equal(w, w.permute(3, 1, 2, 0)) and torch.equal(w, w.permute(0, 2, 1, 3))
        assert not w[:, 0, 0].any() and not w[:, 1, 1].any() and bool(w[:, 0, 1].all())
