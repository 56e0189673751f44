"""The projected step of a relaxation, and the residual that measures it.

In a step every state moves by its step size times its force, then to its proximal point: the nearest point of its set,
where no kink of an energy moves by a proximal step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.states import Tensors, norm, relative_change, unshared

#: The measure of a step: of a network, the states before and after it, what is fixed and the step sizes; [batch].
Measure = Callable[[Equations, Tensors, Tensors, Fixed, Sequence[float]], Tensor]
#: What a setting chooses.
Choice = TypeVar("Choice")


def choose(kind: str, choices: Mapping[str, Choice], name: str) -> Choice:
    """Return what a setting chooses by its value. Raises ValueError for a value that is none of the choices."""
    if name not in choices:
        raise ValueError(f"there is no {kind} {name!r}")
    return choices[name]


# -------------------------------------------------------------------- the step


def advance_(net: Equations, states: list[Tensor], fixed: Fixed, force: Tensors, step: Sequence[float]) -> None:
    """Make one step in place: every state moves by its step size times its force, then to its proximal point."""
    for x, f, h in zip(states, unshared(force, states), step):
        x.add_(f, alpha=h)
    if net.kinked:
        net._proximal_(states, fixed, step)
    else:
        net._project_(states)


def projected(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> list[Tensor]:
    """Return where a plain step leads from some states."""
    moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
    net._proximal_(moved, fixed, step)
    return moved


def change(net: Equations, states: Tensors, fixed: Fixed, force: Tensors, step: Sequence[float]) -> Tensor:
    """Return the largest relative change of a state in one step: [batch]."""
    moved = [x.clone() for x in states]
    advance_(net, moved, fixed, force, step)
    return relative_change(moved, states)


# -------------------------------------------------------------------- the residual


def energy(net: Equations, states: Tensors, fixed: Fixed) -> Tensor:
    """Return the sum of the energy terms: [batch]."""
    return sum(net._terms(states, fixed), states[0].new_zeros(len(states[0])))


def residual(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return the measure of the next step: [batch]."""
    if net.graphs is not None and not net.graphs.within:
        left = states[0].new_empty(len(states[0]))

        def again(found: list[Tensor], at: Fixed, own: list[Tensor]) -> None:
            found[0].copy_(residual(net, own, at, step))

        net.graphs.repeat(net, ("residual", *step), again, [left], fixed, states)
        return left
    moved = [x.clone() for x in states]
    advance_(net, moved, fixed, net._force(states, fixed), step)
    return measured(net, states, moved, fixed, step)


def measured(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return the measure of a step that ``relax.measure`` chooses: [batch], infinite where it is not finite."""
    return choose("measure", MEASURES, net.relax_measure)(net, before, after, fixed, step)


def relative_move(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return the largest relative change of a state: [batch]."""
    return relative_change(after, before)


def energy_change(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return the change of the energy in either direction: [batch]."""
    value = (energy(net, after, fixed) - energy(net, before, fixed)).abs()
    return value.nan_to_num(float("inf"), float("inf"))


def gradient_norm(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return the norm of the gradients that flows name, of other states that of the move by the step size: [batch]."""
    plain = [n not in net.sloped and h > 0 for n, h in zip(net.state_names, step)]  # a step of 0 holds a state
    moves = [(a - b) / h for own, a, b, h in zip(plain, after, before, step) if own]
    value = torch.stack([norm(x) for x in (*net._slopes(before, fixed), *moves)]).norm(dim=0)
    return value.nan_to_num(float("inf"), float("inf"))


#: The measures by the values of ``relax.measure``.
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {"residual": relative_move, "energy": energy_change, "gradient": gradient_norm}
)
