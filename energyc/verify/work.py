"""A budget of work: how often a measurement may evaluate the force of a network, or its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Evaluations in which the limit of a rule is to be measured: about half a minute of a small network's on one core.
EVALUATIONS = 250_000
#: What is counted; ``_extended`` gives the equations on complex states, whose evaluations count too.
COUNTED = ("_force", "_force_adjoint")

#: Called with a word on what is measured next.
Progress = Callable[[str], None]


def silent(text: str) -> None:
    """The progress that nobody watches."""


class OutOfWork(Exception):
    """The budget is used up."""


@contextmanager
def budget(net: Any, evaluations: int) -> Iterator[None]:
    """Within it the network raises OutOfWork after so many evaluations."""
    left = evaluations

    def counted(evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
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
