"""The declaration of a learning rule, for the compiler and for a network that learns by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from ..tensors.states import Tensors
from .equations import Equations
from .records import Estimate, Fixed, RuleSettings

#: A network, the states a free phase starts from, what is fixed, the targets and the settings of both phases.
Estimator = Callable[[Equations, list[Tensor], Fixed, Tensors, RuleSettings], Estimate]


class Declared(NamedTuple):
    """The worth of a learning rule, and its needs; the compiler reads it, and no network does.

    ``place`` orders the rules in reports; those of the library are ten apart, so that one fits between two of them.
    ``exact`` is the force it is exact for: ``gradient`` (conservative) or ``any``; on others it is biased, and
    ``instead`` is not. ``needs`` lists what the module must hold beside the force and its adjoint: ``contrast`` (slopes
    of the energy), ``clamped`` (what states are clamped to, and slopes of the energy), ``correction`` (J - J^T at
    moving states), ``held-correction`` (at states that stay), ``dyads`` (whether a correction acts on them),
    ``predictions`` (an energy of squared prediction errors), ``lifted`` (the predictions and what they send back),
    ``slopes`` (slopes of all energies), ``holomorphic`` (the equations on complex states), ``trajectory`` (steps that
    can be reversed). ``settings`` names those of the phases after the free one that it reads; ``order`` is the power of
    the nudge that its bias falls with, None without a nudge, 0 for as many as there are points on the circle. A rule
    with an ``objective`` gives the gradient of that function of the params, which is not the cost.
    """

    name: str
    place: int
    exact: str
    needs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    order: int | None = None
    instead: str | None = None
    objective: str | None = None


def declared(estimator: Estimator) -> Declared:
    """Return what a learning rule declares."""
    found: Declared = vars(estimator)["declared"]
    return found


def rule(name: str, **facts: Any) -> Callable[[Estimator], Estimator]:
    """Declare a function to be a learning rule; the arguments are literals, which the compiler reads without torch."""

    def declare(estimator: Estimator) -> Estimator:
        vars(estimator)["declared"] = Declared(name, **facts)
        return estimator

    return declare
