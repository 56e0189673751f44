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
    return PARTS[kind, name] if carries(kind, name) else absent(kind, name)


def carries(kind: str, name: str) -> bool:
    """Whether there is a part of a kind."""
    return (kind, name) in PARTS


def absent(kind: str, name: str) -> Any:
    """Raise ValueError for a part that the module was compiled without."""
    raise ValueError(f"this module was compiled without the {kind} {name!r}")
