"""Settings whose values are so large or so small that arithmetic with them may fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from energyc.language.settings.table import Block

#: The square of a larger number overflows float32, and that of a number below its inverse vanishes.
LARGE = 1e19


def extremes(*blocks: Block) -> tuple[str, ...]:
    """Return the settings of some blocks with extreme values, as ``train.lr = 1e+300``."""
    values = (pair for block in blocks for pair in _numbers(block.word, block))
    return tuple(f"{name} = {value:g}" for name, value in values if value and not 1 / LARGE <= abs(value) <= LARGE)


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return every number in a value, with the name of its setting."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(name, item)
    elif is_dataclass(value):
        singles = {row.metadata["setting"].single: row.name for row in fields(value) if "setting" in row.metadata}
        for row in fields(value):
            yield from _each(name, singles.get(row.name, row.name), getattr(value, row.name))


def _each(block: str, name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers of a field, those of single states or params by their names."""
    if isinstance(value, dict):
        for owner, item in value.items():
            yield from _numbers(f"{block}.{name}.{owner}", item)
    else:
        yield from _numbers(f"{block}.{name}", value)
