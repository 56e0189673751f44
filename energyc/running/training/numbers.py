"""Format held-out numbers, the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")
#: What says how near states are to rest.
RESTING = ("residual", "residual_max", "settled")


def shown(numbers: Mapping[str, T], rests: bool) -> dict[str, T]:
    """The numbers that mean something to a reader: without those of states at rest where none is to rest."""
    return {name: value for name, value in numbers.items() if rests or name not in RESTING}


def format_numbers(numbers: Mapping[str, float], split: str = "", size: int | None = None) -> str:
    """Return ``cost 0.0123, accuracy 96.10%, residual 1.0e-04``.

    Of a ``split`` of ``size`` samples that were not all evaluated also ``samples 600 of 10,000 in the test split``.
    """
    texts = {name: f"{name} {format_number(name, value)}" for name, value in numbers.items()}
    if size is not None and numbers.get("samples", size) < size:
        texts["samples"] = f"samples {numbers['samples']:,.0f} of {size:,} in the {split} split"
    return ", ".join(texts.values())


def format_number(name: str, value: float) -> str:
    """Format a number by its name: accuracies and shares in percent, residuals as powers of ten."""
    if "accuracy" in name:
        return f"{value:.2%}"
    if name == "settled":
        return f"{value:.0%}"
    if "residual" in name:
        return f"{value:.1e}"
    return f"{value:.4g}"


def format_spread(name: str, mean: float, deviation: float | None) -> str:
    """Format a mean over seeds with its deviation, as in ``96.10% ± 0.31%``."""
    if deviation is None:
        return format_number(name, mean)
    spread = format_number(name, deviation) if "accuracy" in name or "residual" in name else f"{deviation:.2g}"
    return f"{format_number(name, mean)} ± {spread}"
