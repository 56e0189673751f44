"""What all tests share: ``--update-golden`` rewrites the expected output instead of comparing with it."""

from __future__ import annotations

import os

import pytest

# The tensors of the tests are small: threads would wait for each other more than they work. Subprocesses inherit it.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files and the output in the pages")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected output is to be rewritten."""
    return bool(request.config.getoption("--update-golden"))
