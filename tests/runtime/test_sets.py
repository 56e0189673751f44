"""Projections of numbers that no network should meet: without a nearest point the result is NaN, never an error."""

from __future__ import annotations

import math

import pytest
import torch

from energyc.runtime.tensors.sets import Along, Simplex, Sphere, Standardized
from tests.emit.kernels import needs_compiler

ON: dict[str, Along] = {
    "simplex": Simplex((3,), (0,)),
    "sphere": Sphere((3,), (0,)),
    "standardized": Standardized((3,), (0,)),
}
WRONG = (math.nan, math.inf)

SETS = """network sets
dim N = 2, D = 4
clamp x[N, D]
state a[N, D] in simplex[D]
state b[N, D] in sphere[D]
state c[N, D] in standardized[D]
state d[N, D] in [-1, 1]
state e[N, D] in nonnegative
energy near = 1/2 * sum[n,k]((a[n,k] - x[n,k])^2) + 1/2 * sum[n,k]((d[n,k] - x[n,k])^2)
energy along = -sum[n,k](b[n,k] * x[n,k]) - sum[n,k](c[n,k] * x[n,k]) + 1/2 * sum[n,k]((e[n,k] - x[n,k])^2)
relax { step = 1, steps = 3 }
"""


@pytest.mark.parametrize("kind", ON)
@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("everywhere", [False, True])
def test_what_is_not_finite_stays_so(kind: str, value: float, everywhere: bool) -> None:
    x = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    x[0, slice(None) if everywhere else 1] = value
    ON[kind].project_(x)
    assert x[0].isnan().any() and x[1].isfinite().all()


@pytest.mark.parametrize("kind", ON)
def test_the_adjoint_there_is_no_error_either(kind: str) -> None:
    x = torch.tensor([[0.1, math.nan, 0.7], [math.inf, 0.25, 0.25], [-math.inf] * 3])
    assert ON[kind].project_adjoint(x, torch.ones(3, 3)).shape == x.shape


@pytest.mark.parametrize("value", [1e-45, 1e-30, 1.0, 3e7, 1e20, 1e38])
def test_the_simplex_is_met_from_any_distance(value: float) -> None:
    x = torch.tensor([[value, -value, value / 2]])
    ON["simplex"].project_(x)
    torch.testing.assert_close(x.sum(1), torch.ones(1), rtol=0, atol=1e-6)
    assert (x >= 0).all()


@pytest.mark.parametrize("kind", ["sphere", "standardized"])
def test_a_length_that_overflows_is_not_divided_by(kind: str) -> None:
    x = torch.tensor([[1e30, 0.0, -1e30]])
    ON[kind].project_(x)
    assert x.isnan().all()


@pytest.mark.abridged(every=4)
@needs_compiler
@pytest.mark.parametrize("value", [0.0, 1e-42, 1e-30, 2.5, 3e7, 1e20, 1e38, -1e38])
def test_kernels_end_where_torch_does(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    import energyc

    monkeypatch.setenv("CXXFLAGS", "-O1")
    torch_net, cpp_net = (energyc.load(SETS, dtype=torch.float32, target=name) for name in ("torch", "cpp"))
    x = torch.tensor([[[1.0, 2, 3, 4], [4, 3, 1, 0]]])
    x[0, 0, 2] = value
    expected, found = torch_net.relax({"x": x}), cpp_net.relax({"x": x})
    for name, state in expected.states.items():
        torch.testing.assert_close(found.states[name], state, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert found.residual.isfinite().equal(expected.residual.isfinite())
