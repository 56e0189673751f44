"""What all tests share: ``--update-golden`` rewrites the expected output instead of comparing with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The tensors of the tests are small: threads would wait for each other more than they work. Subprocesses inherit it.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# Building kernels takes seconds for each network: only the tests of kernels build them.
os.environ.setdefault("ENERGYC_TARGET", "torch")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files and the output in the pages")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected output is to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """Every figure that is written, by the stem of its file."""
    from energyc.report import canvas

    seen: dict[str, Figure] = {}
    write = canvas._write

    def keep(figure: Figure, path: Path) -> None:
        seen[path.stem] = figure
        write(figure, path)

    monkeypatch.setattr(canvas, "_write", keep)
    return seen
