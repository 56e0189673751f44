"""The learning rules of the design once more, by autograd: nothing derived by hand but what each rule says itself.

Gradients are those of the cost averaged over the batch. ``Problem`` holds a network with params, inputs and targets;
a rule is a function of a problem and of the states it starts from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from torch.autograd.functional import jvp, vjp

from tests.independent.network import Network, Random, Tensors


@dataclass(frozen=True)
class Problem:
    """One network with all it needs for a gradient; ``step`` holds the step size of each state."""

    net: Network
    params: Tensors
    clamps: Tensors
    targets: Tensors
    step: Mapping[str, float]

    def energy(self, states: Tensors) -> Tensor:
        """All energy terms, ``[batch]``."""
        return torch.stack(list(self.net.terms(self.params, states, self.clamps).values())).sum(0)

    def cost(self, states: Tensors) -> Tensor:
        """The cost of each sample, ``[batch]``."""
        return self.net.cost(self.params, states, self.clamps, self.targets)

    def force(self, states: Tensors) -> Tensors:
        """-dE/dz and the forces written as such; can be differentiated once more."""
        states = attached(states)
        downhill = differentiate(-self.energy(states).sum(), states, graph=True)
        extra = self.net.forces(self.params, states, self.clamps)
        return {name: downhill[name] + extra[name] if name in extra else downhill[name] for name in states}

    def cost_slope(self, states: Tensors) -> Tensors:
        """g = dC/dz of each sample."""
        states = attached(states)
        return differentiate(self.cost(states).sum(), states, graph=True)

    def advance(self, states: Tensors, push: Tensors) -> Tensors:
        """Proj(z + step * push)."""
        return self.net.project({name: z + self.step[name] * push[name] for name, z in states.items()})

    def start(self) -> Tensors:
        """The start, on its sets."""
        return self.net.project(self.net.start(self.params, self.clamps))


def problem(net: Network, random: Random, batch: int = 3, step: float | None = None) -> Problem:
    """A network with drawn params, inputs and targets."""
    size = net.step if step is None else step
    steps = {name: net.step_of.get(name, size) for name in net.states()}
    return Problem(net, net.draw_params(random), net.draw_clamps(random, batch), net.draw_targets(random, batch), steps)


# ---------------------------------------------------------------- derivatives


def attached(tensors: Tensors) -> Tensors:
    """The same tensors, ready to be differentiated by; those in a graph stay in it."""
    return {name: t if t.requires_grad else t.detach().requires_grad_() for name, t in tensors.items()}


def detached(tensors: Tensors) -> Tensors:
    """The same numbers, cut out of every graph."""
    return {name: tensor.detach() for name, tensor in tensors.items()}


def differentiate(value: Tensor, by: Tensors, graph: bool = False) -> Tensors:
    """The gradient of a scalar, zero by what it does not depend on."""
    if not value.requires_grad:
        return {name: torch.zeros_like(tensor) for name, tensor in by.items()}
    found = torch.autograd.grad(value, list(by.values()), create_graph=graph, allow_unused=True)
    return {n: torch.zeros_like(by[n]) if slope is None else slope for n, slope in zip(by, found, strict=True)}


def flatten(states: Tensors) -> Tensor:
    """All states of each sample in a row, ``[batch, n]``."""
    return torch.cat([state.flatten(1) for state in states.values()], dim=1)


def unflatten(flat: Tensor, like: Tensors) -> Tensors:
    """The inverse of ``flatten``."""
    parts = torch.split(flat, [state[0].numel() for state in like.values()], dim=1)
    return {name: part.reshape(like[name].shape) for name, part in zip(like, parts, strict=True)}


def combine(left: float, a: Tensors, right: float, b: Tensors) -> Tensors:
    """left * a + right * b, name by name."""
    return {name: left * a[name] + right * b[name] for name in a}


# ---------------------------------------------------------------- relaxation


def residual(p: Problem, states: Tensors) -> Tensor:
    """The largest relative change that a step makes to a state, ``[batch]``."""
    after = detached(p.advance(states, p.force(states)))
    changes = [
        (after[name] - state).flatten(1).norm(dim=1) / (state.flatten(1).norm(dim=1) + 1e-12)
        for name, state in states.items()
    ]
    return torch.stack(changes).amax(0)


def relax(p: Problem, steps: int, states: Tensors | None = None) -> Tensors:
    """A number of free steps, without a graph."""
    states = detached(p.start() if states is None else states)
    for _ in range(steps):
        states = detached(p.advance(states, p.force(states)))
    return states


def converge(p: Problem, tolerance: float = 3e-15, most: int = 20_000) -> Tensors:
    """Free steps until the residual is at most the tolerance; raises ``AssertionError`` if it never is."""
    states = relax(p, 0)
    for _ in range(0, most, 100):
        if residual(p, states).max() <= tolerance:
            return states
        states = relax(p, 100, states)
    raise AssertionError(f"{p.net.name} does not settle: residual {residual(p, states).max():.1e}")


def unroll(p: Problem, states: Tensors, steps: int) -> Tensors:
    """A number of free steps within one graph."""
    for _ in range(steps):
        states = p.advance(states, p.force(states))
    return states


# ---------------------------------------------------------------- gradients by backpropagation


def bptt(p: Problem, steps: int) -> Tensors:
    """Through all steps, the start and its projection included."""
    tracked = replace(p, params=attached(p.params))
    end = unroll(tracked, tracked.start(), steps)
    return differentiate(tracked.cost(end).mean(), tracked.params)


def tbptt(p: Problem, states: Tensors, steps: int) -> Tensors:
    """Through the ``steps`` steps that follow the given states."""
    tracked = replace(p, params=attached(p.params))
    end = unroll(tracked, detached(states), steps)
    return differentiate(tracked.cost(end).mean(), tracked.params)


def implicit(p: Problem, states: Tensors) -> Tensors:
    """By the implicit function theorem: (I - dS/dz)^T lambda = g solved densely at z*, S a projected step."""
    lam = solve_adjoint(p, states)
    tracked = replace(p, params=attached(p.params))
    states = detached(states)
    step = flatten(tracked.advance(states, tracked.force(states)))
    through = (lam * step).sum(1).mean() + tracked.cost(states).mean()
    return differentiate(through, tracked.params)


def solve_adjoint(p: Problem, states: Tensors) -> Tensor:
    """lambda, ``[batch, n]``."""
    jacobian = step_jacobian(p, states)
    slope = flatten(detached(p.cost_slope(states)))
    system = torch.eye(jacobian.shape[1], dtype=jacobian.dtype) - jacobian.transpose(1, 2)
    solution: Tensor = torch.linalg.solve(system, slope)
    return solution


def step_jacobian(p: Problem, states: Tensors) -> Tensor:
    """dS/dz of each sample, ``[batch, n, n]``, row by row."""
    tracked = {name: state.detach().requires_grad_() for name, state in states.items()}
    after = flatten(p.advance(tracked, p.force(tracked)))
    inputs = list(tracked.values())
    rows = [torch.autograd.grad(after[:, i].sum(), inputs, retain_graph=True) for i in range(after.shape[1])]
    return torch.stack([torch.cat([part.flatten(1) for part in row], dim=1) for row in rows], dim=1)


def slope_by_differences(p: Problem, direction: Tensors, h: float = 1e-6) -> float:
    """d(mean cost at equilibrium) / d(params along a direction), by central differences."""
    costs = []
    for sign in (+1, -1):
        moved = replace(p, params=combine(1.0, p.params, sign * h, direction))
        costs.append(moved.cost(converge(moved)).mean().item())
    return (costs[0] - costs[1]) / (2 * h)


# ---------------------------------------------------------------- gradients by equilibrium propagation


def nudge(p: Problem, states: Tensors, beta: float, steps: int) -> Tensors:
    """``steps`` steps under F - beta dC/dz."""
    for _ in range(steps):
        states = detached(p.advance(states, combine(1.0, p.force(states), -beta, p.cost_slope(states))))
    return states


def ep(p: Problem, states: Tensors, beta: float, steps: int) -> Tensors:
    """One-sided equilibrium propagation (Scellier and Bengio 2017)."""
    return contrast(p, states, nudge(p, states, beta, steps), states, beta)


def centered_ep(p: Problem, states: Tensors, beta: float, steps: int) -> Tensors:
    """Centred equilibrium propagation (Laborieux et al. 2021); on forces without an energy, the rule "vf"."""
    return contrast(p, states, nudge(p, states, beta, steps), nudge(p, states, -beta, steps), 2 * beta)


def contrast(p: Problem, free: Tensors, plus: Tensors, minus: Tensors, width: float) -> Tensors:
    """Energies by (dE/dtheta(z+) - dE/dtheta(z-)) / width, forces by <a, dF/dtheta> at z*, the cost directly."""
    tracked = replace(p, params=attached(p.params))
    value = (tracked.energy(plus) - tracked.energy(minus)) / width + tracked.cost(free)
    for name, force in p.net.forces(tracked.params, free, p.clamps).items():
        value = value + ((minus[name] - plus[name]) / width * force).flatten(1).sum(1)
    return differentiate(value.mean(), tracked.params)


def aep(p: Problem, states: Tensors, beta: float, steps: int) -> Tensors:
    """Centred EP whose nudged forces lose (J_nc - J_nc^T)(z*) (z - z*) (EPT note, equation 6)."""
    ends = []
    for side in (beta, -beta):
        moved = states
        for _ in range(steps):
            push = combine(1.0, p.force(moved), -side, p.cost_slope(moved))
            turn = correction(p, states, combine(1.0, moved, -1.0, states))
            moved = detached(p.advance(moved, combine(1.0, push, -1.0, turn)))
        ends.append(moved)
    return contrast(p, states, ends[0], ends[1], 2 * beta)


def tracking_aep(p: Problem, states: Tensors, beta: float, steps: int) -> Tensors:
    """AEP in lockstep, its correction about the moving midpoint (EPT note, equation 8)."""
    plus = minus = states
    for _ in range(steps):
        middle = combine(0.5, plus, 0.5, minus)
        turn = correction(p, middle, combine(1.0, plus, -1.0, middle))
        pushes = [combine(1.0, p.force(z), -b, p.cost_slope(z)) for z, b in ((plus, beta), (minus, -beta))]
        plus = detached(p.advance(plus, combine(1.0, pushes[0], -1.0, turn)))
        minus = detached(p.advance(minus, combine(1.0, pushes[1], 1.0, turn)))
    return contrast(p, states, plus, minus, 2 * beta)


def correction(p: Problem, at: Tensors, direction: Tensors) -> Tensors:
    """(J_nc - J_nc^T) direction, J_nc the Jacobian at ``at`` of the forces that are written as forces."""
    function = partial(_extra, p, at)
    flat, v = flatten(at), flatten(direction)
    forward, backward = jvp(function, flat, v)[1], vjp(function, flat, v)[1]  # type: ignore[no-untyped-call]
    return unflatten(forward - backward, at)


def _extra(p: Problem, like: Tensors, flat: Tensor) -> Tensor:
    states = unflatten(flat, like)
    return flatten({n: torch.zeros_like(z) for n, z in states.items()} | p.net.forces(p.params, states, p.clamps))


# ---------------------------------------------------------------- limits and comparison


def extrapolate(coarse: Tensors, fine: Tensors, order: int) -> Tensors:
    """The limit beta -> 0 from values at beta and beta/2 whose error goes with beta^order (Richardson)."""
    gain = 2.0**order
    return combine(gain / (gain - 1), fine, -1 / (gain - 1), coarse)


def distance(found: Tensors, expected: Tensors) -> dict[str, float]:
    """The relative error of each tensor; those that nearly vanish are measured against the largest."""
    sizes = {name: value.norm().item() for name, value in expected.items()}
    floor = 1e-6 * max(sizes.values()) or 1.0
    return {n: (found[n] - expected[n]).norm().item() / max(sizes[n], floor) for n in expected}
