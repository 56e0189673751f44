"""Parameters of a test: few that run on every change, and the others in the tests marked slow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], quick: Callable[[Any], bool] | Iterable[Any]) -> list[Any]:
    """The values, with those marked slow that are not among the quick ones."""
    kept = quick if callable(quick) else list(quick).__contains__
    return [value if kept(value) else slow(value) for value in values]


def slow(value: Any) -> Any:
    """The value, marked slow; a tuple has one for each argument."""
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
