"""A step of the relaxation at a state of rest, transposed, on what the projection passes on."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors, flatten, unflatten

#: The most steps of the iteration; where they would not do, a Krylov method takes fewer products.
MOST = 32


class Transposed:
    """P^T (I + step J)^T at ``states``, P the derivative of the proximal point at z + step F(z), and its ``seeds``.

    The adjoint equation is that of P^T lambda, in which the entries that P holds are 0: J may be infinite there. Its
    iteration starts at ``start``, and has at most so many steps.
    """

    def __init__(self, net: Equations, states: Tensors, fixed: Fixed, seeds: Tensors, step: Sequence[float]) -> None:
        self.net, self.states, self.fixed, self.step = net, states, fixed, step
        self.most = MOST
        #: z + step F(z), where the proximal point is not that itself.
        self.moved: list[Tensor] | None = None
        if net.constrained:
            self.moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
        self.seeds = self.project(seeds)
        self.start: Tensors = self.seeds

    def project(self, cotangents: Tensors) -> Tensors:
        """P^T of cotangents."""
        if self.moved is not None and self.net.kinked:
            return self.net._proximal_adjoint(self.moved, cotangents, self.fixed, self.step)
        return cotangents if self.moved is None else self.net._project_adjoint(self.moved, cotangents)

    def stepped(self, flat: Tensor) -> list[Tensor]:
        """Vectors [batch, entries] as states, times their steps."""
        return [h * u for u, h in zip(unflatten(flat, self.states), self.step)]

    def push(self, flat: Tensor) -> Tensor:
        """P^T (I + step J)^T of vectors [batch, entries]."""
        given = unflatten(flat, self.states)
        back = self.net._force_adjoint(self.states, self.fixed, self.stepped(flat))
        return flatten(self.project([u if b is None else u + b for u, b in zip(given, back)]))
