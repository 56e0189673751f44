"""Limit how often a measurement may evaluate the force of a network, or its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from energyc.language.diagnostics import is_out_of_memory

#: The most evaluations for a measurement: about half a minute for a small network on one core.
EVALUATIONS = 250_000
#: The counted methods, also of ``_extended``, the equations on complex states.
COUNTED = ("_force", "_force_adjoint")

#: A function called with the name of each measurement before it starts.
Progress = Callable[[str], None]
T = TypeVar("T")


def silent(text: str) -> None:
    """Report no progress."""


def solvable(measurement: Callable[[], T]) -> T | None:
    """Return a measurement, or None where the adjoint equation has no solution, as far from rest."""
    try:
        return measurement()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        return None


class OutOfWork(Exception):
    """The budget is used up."""


class Work:
    """Measurements on some networks, each with a budget of evaluations; ``left_out`` are those that it ended."""

    def __init__(self, nets: tuple[Any, ...], evaluations: int = EVALUATIONS, progress: Progress = silent) -> None:
        self.nets, self.evaluations, self.progress = nets, evaluations, progress
        self.left_out: list[str] = []

    def measure(self, name: str, measurement: Callable[[], T]) -> T | None:
        """Return a measurement, or None if the budget ended it."""
        self.progress(name)
        try:
            with budget(self.evaluations, *self.nets):
                return measurement()
        except OutOfWork:
            self.left_out.append(name)
            return None


@contextmanager
def budget(evaluations: int, *nets: Any) -> Iterator[None]:
    """Let networks raise OutOfWork after this many evaluations of them all."""
    remaining = evaluations

    def counted(evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal remaining
            remaining -= 1
            if remaining < 0:
                raise OutOfWork
            return evaluate(*arguments, **options)

        return call

    with ExitStack() as stack:
        for net in {id(net): net for net in nets}.values():
            stack.enter_context(_counting(net, counted))
        yield


@contextmanager
def _counting(net: Any, counted: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Count the evaluations of a network."""

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
