"""The adjoint of a projected step, and of the equilibrium that it leaves in place."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from energyc.runtime.adjoints.autograd import settled_alone
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.gmres import gmres
from energyc.runtime.tensors.states import Tensors, flatten, unflatten


def project_back(
    net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors, step: Sequence[float]
) -> tuple[list[Tensor], list[Tensor]]:
    """P^T cotangents and step P^T cotangents, P the derivative of the proximal point at z + step F(z)."""
    if net.constrained:
        moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
        if net.kinked:
            cotangents = net._proximal_adjoint(moved, cotangents, fixed, step)
        else:
            cotangents = net._project_adjoint(moved, cotangents)
    return list(cotangents), [h * u for u, h in zip(cotangents, step)]


def solve_adjoint(
    net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors, step: Sequence[float]
) -> list[Tensor]:
    """step P^T lambda, where lambda = cotangents + (I + step J)^T P^T lambda, by GMRES.

    Raises RuntimeError where the system is singular, the solve stalls or the dtype is too coarse for one.
    """
    if torch.finfo(net.dtype).bits < 32:
        raise RuntimeError(f"the implicit solve needs float32 or float64, and {net.name} is in {net.dtype}; use bptt")

    def operator(flat: Tensor) -> Tensor:
        projected, pushed = project_back(net, states, fixed, unflatten(flat, states), step)
        back = net._force_adjoint(states, fixed, pushed)
        return flat - flatten([u if b is None else u + b for u, b in zip(projected, back)])

    if net.kinked and (edges := net._at_edges(states, fixed, step)):
        why = f"{edges} entries of states rest at the edge of a kink, where the gradient has two sides"
        warnings.warn(f"{net.name}: {why}; this is that of leaving it", RuntimeWarning, stacklevel=2)
    goal = 1e-12 if net.dtype == torch.float64 else 1e-5
    with net._precise():
        flat, residual = gmres(operator, flatten(cotangents), tolerance=goal, restart=60, cycles=40)
    worst = float(residual.max())
    if not worst <= 1e3 * goal:
        finite = worst < float("inf")
        why = "there may be no isolated equilibrium here" if finite else "a derivative here is not finite"
        raise RuntimeError(f"the implicit solve stopped at a relative residual of {worst:.1e}; {why}")
    return project_back(net, states, fixed, unflatten(flat, states), step)[1]


@part("differentiation", "implicit")
class AtEquilibrium:
    """Autograd by the implicit function theorem: the adjoint equation at the end of the free phase."""

    at_rest = True

    settle = staticmethod(settled_alone)

    @staticmethod
    def slopes(ctx: Any, cotangents: Tensors) -> list[dict[str, Tensor]]:
        """Slopes by params and clamps of cotangents ``cotangents`` of the equilibrium."""
        net, states, fixed = ctx.net, ctx.states, ctx.fixed
        pushed = solve_adjoint(net, states, fixed, cotangents, ctx.phase.step)
        slopes = [net._force_vjp(states, fixed, pushed)[1], net._clamp_gradient(states, fixed, pushed)]
        if net.kinked:
            slopes.insert(1, net._kink_gradient(states, fixed, pushed))
        return slopes
