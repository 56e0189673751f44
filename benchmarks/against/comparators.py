"""The comparators by name, and what each of them gives for a problem."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.against import by_hand, generated, in_torchdeq, published
from benchmarks.against.cases import Problem, Way

#: The tasks of each way, by the way's name.
Ways = dict[str, dict[str, Way]]


def in_jax(problem: Problem) -> Ways:
    """JAX, where it is installed."""
    try:
        from benchmarks.against import in_jax
    except ImportError:
        return {}
    return in_jax.ways(problem)


def generated_in_jax(problem: Problem) -> Ways:
    """The generated module in JAX, where that is installed."""
    try:
        from benchmarks.against import generated_in_jax
    except ImportError:
        return {}
    return generated_in_jax.ways(problem)


COMPARATORS: dict[str, Callable[[Problem], Ways]] = {
    "generated": generated.ways,
    "by_hand": by_hand.ways,
    "compile": by_hand.compiled,
    "generated_jax": generated_in_jax,
    "jax": in_jax,
    "torchdeq": in_torchdeq.ways,
    "published": published.ways,
}
#: The first comparator and way are what all others are compared with.
REFERENCE = "energyc, torch"


def ways(problem: Problem, names: tuple[str, ...]) -> Ways:
    """The ways of some comparators."""
    return {way: tasks for name in names for way, tasks in COMPARATORS[name](problem).items()}
