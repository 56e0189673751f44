"""A step of the relaxation at a state of rest, transposed."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors, flatten, unflatten

#: The most steps of the iteration; where they would not do, a Krylov method takes fewer products.
MOST = 32


class Transposed:
    """(I + step J)^T P^T at ``states``, P the derivative of the proximal point at z + step F(z), and its ``seeds``.

    Its iteration starts at ``start``, and has at most so many steps.
    """

    def __init__(self, net: Equations, states: Tensors, fixed: Fixed, seeds: Tensors, step: Sequence[float]) -> None:
        self.net, self.states, self.fixed, self.seeds, self.step = net, states, fixed, seeds, step
        self.start: Tensors = seeds
        self.most = MOST
        #: z + step F(z), where the proximal point is not that itself.
        self.moved: list[Tensor] | None = None
        if net.constrained:
            self.moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]

    def project(self, flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """P^T and step P^T of vectors [batch, entries]."""
        back = unflatten(flat, self.states)
        if self.moved is not None and self.net.kinked:
            back = self.net._proximal_adjoint(self.moved, back, self.fixed, self.step)
        elif self.moved is not None:
            back = self.net._project_adjoint(self.moved, back)
        return list(back), [h * u for u, h in zip(back, self.step)]

    def push(self, flat: Tensor) -> Tensor:
        """(I + step J)^T P^T of vectors [batch, entries]."""
        projected, pushed = self.project(flat)
        back = self.net._force_adjoint(self.states, self.fixed, pushed)
        return flatten([u if b is None else u + b for u, b in zip(projected, back)])
