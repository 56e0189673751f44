"""Parts that settings choose: registered by kind and name where they are defined, looked up where they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

#: The parts, by kind and name.
PARTS = dict[tuple[str, str], Any]()
#: A function or a class.
Part = TypeVar("Part")


def part(kind: str, name: str) -> Callable[[Part], Part]:
    """Register a function or a class as a part; both arguments are literals, which the compiler reads without torch."""

    def register(made: Part) -> Part:
        PARTS[kind, name] = made
        return made

    return register


def chosen(kind: str, name: str) -> Any:
    """The part of a kind. Raises ValueError where the module was compiled without it."""
    if (kind, name) not in PARTS:
        raise ValueError(f"this module was compiled without the {kind} {name!r}")
    return PARTS[kind, name]
