"""Limit how often a measurement may evaluate the force of a network, or its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: The most evaluations for the limit of a rule: about half a minute for a small network on one core.
EVALUATIONS = 250_000
#: The counted methods, also of ``_extended``, the equations on complex states.
COUNTED = ("_force", "_force_adjoint")

#: A function called with the name of each measurement before it starts.
Progress = Callable[[str], None]


def silent(text: str) -> None:
    """Report no progress."""


class OutOfWork(Exception):
    """The budget is used up."""


@contextmanager
def budget(net: Any, evaluations: int) -> Iterator[None]:
    """Let the network raise OutOfWork after this many evaluations."""
    remaining = evaluations

    def counted(evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal remaining
            remaining -= 1
            if remaining < 0:
                raise OutOfWork
            return evaluate(*arguments, **options)

        return call

    def extended() -> Any:
        extension = extend()
        extension._force = counted(extension._force)
        return extension

    extend = net._extended
    net._extended = extended
    for name in COUNTED:
        setattr(net, name, counted(getattr(net, name)))
    try:
        yield
    finally:
        for name in (*COUNTED, "_extended"):
            delattr(net, name)
