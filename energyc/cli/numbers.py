"""Held-out numbers in a line."""

from __future__ import annotations

from collections.abc import Mapping


def written(numbers: Mapping[str, float]) -> str:
    """``cost 0.0123, accuracy 96.10%, residual 1.0e-04``."""
    return ", ".join(f"{name} {_number(name, value)}" for name, value in numbers.items())


def _number(name: str, value: float) -> str:
    if "accuracy" in name:
        return f"{value:.2%}"
    if "residual" in name:
        return f"{value:.1e}"
    return f"{value:.4g}"
