"""Targets whose kernels are tried."""

from __future__ import annotations

from typing import Any

import pytest
import torch


@pytest.fixture
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """New memory is full of NaN, so that what no kernel has written shows."""

    def spoilt(x: torch.Tensor) -> torch.Tensor:
        return x.fill_(float("nan")) if x.is_floating_point() else x

    empty_like, new_empty = torch.empty_like, torch.Tensor.new_empty
    monkeypatch.setattr(torch, "empty_like", lambda *a, **k: spoilt(empty_like(*a, **k)))
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda *a, **k: spoilt(new_empty(*a, **k)))


@pytest.fixture
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The target that a test is for: kernels in C++ are built quickly, and Triton finds nothing in its memory."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    if request.param == "triton":
        request.getfixturevalue("nothing_left")
    return request.param
