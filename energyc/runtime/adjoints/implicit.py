"""Implicit differentiation: the adjoint equation of an equilibrium, solved by iteration or by GMRES."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.gmres import gmres
from ..tensors.states import Tensors, flatten, plain_norm, unflatten
from ..tensors.warning import warn_caller

#: The most steps of the iteration; where they would not do, a Krylov method takes fewer products.
MOST = 32
#: The steps after which the iteration decides whether ``MOST`` will do.
DECIDES_AFTER = 8


def solve_adjoint(
    net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors, step: Sequence[float]
) -> list[Tensor]:
    """Return step P^T lambda, where lambda = cotangents + (I + step J)^T P^T lambda, by its iteration or by GMRES.

    Both solve for P^T lambda, which is 0 in the entries that P holds. With products in bfloat16 the iteration begins
    with them, and goes on in full precision where their rounding error dominates.

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
        system = TransposedStep(net, states, fixed, cotangents, step)
    if net.relax_products is not None and net.products == "bfloat16" and net.dtype == torch.float32:
        approach(system, 2 * net._rounding())
        goal = net._rounding() / 4
    with net._precise():
        flat, residual = solve(system, goal)
        worst = float(residual.max())
        if not worst <= worst_goal:
            finite = worst < float("inf")
            why = "there may be no isolated equilibrium here" if finite else "a derivative here is not finite"
            raise RuntimeError(f"the implicit solve stopped at a relative residual of {worst:.1e}; {why}")
        return system.stepped(flat)


def solve(system: TransposedStep, goal: float) -> tuple[Tensor, Tensor]:
    """Return P^T lambda [batch, entries] and its relative residual [batch]; by GMRES where the iteration is slow."""
    flat, residual = iterate(system, goal)
    if bool((residual <= goal).all()):
        return flat, residual
    start = torch.where((residual < 1)[:, None], flat, 0.0)
    rhs = flatten(system.seeds)
    return gmres(lambda flat: flat - system.push(flat), rhs, goal, restart=60, cycles=40, start=start)


class TransposedStep:
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
        """Return P^T of cotangents."""
        if self.moved is not None and self.net.kinked:
            return self.net._proximal_adjoint(self.moved, cotangents, self.fixed, self.step)
        return cotangents if self.moved is None else self.net._project_adjoint(self.moved, cotangents)

    def stepped(self, flat: Tensor) -> list[Tensor]:
        """Return vectors [batch, entries] as states, times their step sizes."""
        return [h * u for u, h in zip(unflatten(flat, self.states), self.step)]

    def push(self, flat: Tensor) -> Tensor:
        """Return P^T (I + step J)^T of vectors [batch, entries]."""
        given = unflatten(flat, self.states)
        back = self.net._force_adjoint(self.states, self.fixed, self.stepped(flat))
        return flatten(self.project([u if b is None else u + b for u, b in zip(given, back)]))


def iterate(system: TransposedStep, goal: float) -> tuple[Tensor, Tensor]:
    """Repeat a <- seeds + P^T (I + step J)^T a, until the last change of each sample is ``goal`` of its seeds.

    Returns a [batch, entries] and that change as a share of the seeds: [batch]. It ends before where that would take
    more than ``MOST`` steps.
    """
    a, size = [x.clone() for x in system.start], plain_norm(flatten(system.seeds))
    flat, change = iterated_from(system, a, goal * size, size, system.most)
    return flat, change / size.clamp_min(torch.finfo(size.dtype).tiny)


def approach(system: TransposedStep, goal: float) -> None:
    """Iterate with products as the network has them, to a start for full precision.

    Where this does not reach its goal the iteration is slow. Then only one step in full precision follows, which
    measures how far it came.
    """
    a, size = [x.clone() for x in system.start], plain_norm(flatten(system.seeds))
    flat, change = iterated_from(system, a, goal * size, size, MOST)
    system.start = unflatten(flat, a)
    system.most = MOST if bool((change <= goal * size).all()) else 1


def iterated_from(
    system: TransposedStep, a: list[Tensor], goals: Tensor, size: Tensor, most: int
) -> tuple[Tensor, Tensor]:
    """Iterate from a on, by a kernel or as torch operations; also return the last change of each sample: [batch]."""
    net, change = system.net, goals.clone()
    if net._adjoint_steps_(a, system.states, system.fixed, system.seeds, system.moved, system.step, change, most):
        return flatten(a), change
    return repeated(system, flatten(a), goals, size, most)


def repeated(system: TransposedStep, a: Tensor, goals: Tensor, size: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Iterate as torch operations."""
    seeds = flatten(system.seeds)
    for k in range(1, most + 1):
        after = seeds + system.push(a)
        change, a = plain_norm(after - a), after
        if bool((change <= goals).all()) or (k == DECIDES_AFTER and not ends_soon(change, goals, size)):
            break
    return a, change


def ends_soon(change: Tensor, goals: Tensor, size: Tensor) -> bool:
    """Return whether ``MOST`` steps will do, if they go on as the first ``DECIDES_AFTER``.

    These led from ``size`` to ``change``. In logarithms: the whole distance is at most MOST / DECIDES_AFTER times
    that.
    """
    done, whole = (size / change).log(), (size / goals).log()
    return bool(((change <= goals) | (whole * DECIDES_AFTER <= done * MOST)).all())
