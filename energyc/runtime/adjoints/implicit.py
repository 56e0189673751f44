"""The adjoint of a projected step, and of the equilibrium that it leaves in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from energyc.runtime.adjoints.autograd import settled_alone
from energyc.runtime.adjoints.iterated import approach, iterate
from energyc.runtime.adjoints.transposed import Transposed
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.gmres import gmres
from energyc.runtime.tensors.states import Tensors, flatten
from energyc.runtime.tensors.warning import warn_caller


def solve_adjoint(
    net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors, step: Sequence[float]
) -> list[Tensor]:
    """step P^T lambda, where lambda = cotangents + (I + step J)^T P^T lambda, by its iteration or by GMRES.

    Both solve for P^T lambda, which is 0 in the entries that P holds.

    With products in bfloat16 the iteration begins with them, and ends without where rounding leaves as much.

    Raises RuntimeError where the system is singular, the solve stalls or the dtype is too coarse for one.
    """
    if torch.finfo(net.dtype).bits < 32:
        raise RuntimeError(f"the implicit solve needs float32 or float64, and {net.name} is in {net.dtype}; use bptt")
    if net.kinked and (edges := net._at_edges(states, fixed, step)):
        why = f"{edges} entries of states rest at the edge of a kink, where the gradient has two sides"
        warn_caller(f"{net.name}: {why}; this is that of leaving it")
    goal = 1e-12 if net.dtype == torch.float64 else 1e-5
    worst_goal = 1e3 * goal
    with net._precise():
        system = Transposed(net, states, fixed, cotangents, step)
    if net.relax_products is not None and net.products == "bfloat16" and net.dtype == torch.float32:
        approach(system, 2 * net._rounding())
        goal = net._rounding() / 4
    with net._precise():
        flat, residual = solved(system, goal)
        worst = float(residual.max())
        if not worst <= worst_goal:
            finite = worst < float("inf")
            why = "there may be no isolated equilibrium here" if finite else "a derivative here is not finite"
            raise RuntimeError(f"the implicit solve stopped at a relative residual of {worst:.1e}; {why}")
        return system.stepped(flat)


def solved(system: Transposed, goal: float) -> tuple[Tensor, Tensor]:
    """P^T lambda [batch, entries] and its relative residual [batch]; by GMRES where steps do not reach the goal."""
    flat, residual = iterate(system, goal)
    if bool((residual <= goal).all()):
        return flat, residual
    start = torch.where((residual < 1)[:, None], flat, 0.0)
    rhs = flatten(system.seeds)
    return gmres(lambda flat: flat - system.push(flat), rhs, goal, restart=60, cycles=40, start=start)


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
