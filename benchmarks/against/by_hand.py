"""In torch by hand: the force written out or by autograd of the energy, its step eager or through torch.compile.

Phases are loops. ``bptt`` and ``tbptt`` are autograd through the steps, ``implicit`` iterates the adjoint of one, and
the rules of equilibrium propagation differentiate energies at two nudged states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torch._functorch.config as functorch
from torch import Tensor
from torch.func import jvp, vjp

from benchmarks.against.cases import STEPS, Problem, Tensors, Way
from benchmarks.against.networks import Network, Thick, network

#: A phase that may end early is looked at after so many steps.
LOOK = 5
#: (states, params, what is fixed, targets, strength of the nudge) to the states after a step.
Step = Callable[[Tensors, Tensors, Tensors, Tensors, float], Tensors]


def written(net: Network, size: Mapping[str, float]) -> Step:
    """A step by the force and the nudge that were derived on paper."""

    def step(z: Tensors, p: Tensors, c: Tensors, t: Tensors, beta: float) -> Tensors:
        force = net.force(z, p, c)
        if beta:
            force = added(force, net.slope(z, p, c, t), -beta)
        return net.project({name: x + size[name] * force[name] for name, x in z.items()})

    return step


def by_autograd(net: Network, size: Mapping[str, float]) -> Step:
    """A step by autograd of the energy with the nudge in it: what one writes without deriving a force."""

    def step(z: Tensors, p: Tensors, c: Tensors, t: Tensors, beta: float) -> Tensors:
        leaves = {name: x.detach().requires_grad_() for name, x in z.items()}
        with torch.enable_grad():
            energy = net.energy(leaves, p, c)
            total = energy + beta * net.cost(leaves, p, c, t) if beta else energy
            slopes = torch.autograd.grad(total.sum(), list(leaves.values()))
        moved = zip(z.items(), slopes, strict=True)
        return net.project({name: x.detach() - size[name] * slope for (name, x), slope in moved})

    return step


def added(z: Tensors, other: Tensors, scale: float) -> Tensors:
    """z + scale other, of the states that ``other`` has."""
    return {name: x + scale * other[name] if name in other else x for name, x in z.items()}


def walk(step: Step, z: Tensors, p: Tensors, c: Tensors, t: Tensors, beta: float, count: int) -> Tensors:
    """So many steps."""
    for _ in range(count):
        z = step(z, p, c, t, beta)
    return z


def change(after: Tensors, before: Tensors) -> float:
    """The largest relative change of a sample's state."""
    flat = [((x - before[name]).flatten(1), x.flatten(1)) for name, x in after.items()]
    return max(float((moved.norm(dim=1) / x.norm(dim=1)).max()) for moved, x in flat)


class Rules:
    """Phases and whole updates of a problem with some step; gradients are averaged over the batch."""

    def __init__(self, problem: Problem, net: Network, step: Step) -> None:
        self.problem, self.net, self.step = problem, net, step
        self.params, self.targets = problem.params, problem.targets
        self.case = problem.case

    def begin(self, p: Tensors) -> tuple[Tensors, Tensors]:
        """The fixed tensors, and the states before the first step."""
        c = self.net.fixed(p, self.problem.clamps)
        return c, self.net.project(self.net.start(p, c))

    @torch.no_grad()
    def steps(self, c: Tensors) -> Tensors:
        """Some steps with everything that is fixed given."""
        return walk(self.step, self.problem.states, self.params, c, self.targets, 0.0, STEPS)

    @torch.no_grad()
    def phase(self) -> Tensors:
        """A free phase from the clamps on."""
        c, z = self.begin(self.params)
        for done in range(0, self.case.steps, LOOK) if self.case.early else ():
            z = walk(self.step, z, self.params, c, self.targets, 0.0, min(LOOK, self.case.steps - done) - 1)
            before, z = z, self.step(z, self.params, c, self.targets, 0.0)
            if change(z, before) <= self.problem.tolerance:
                return z
        return z if self.case.early else walk(self.step, z, self.params, c, self.targets, 0.0, self.case.steps)

    def leaves(self) -> Tensors:
        """The params, to be differentiated by."""
        return {name: x.detach().requires_grad_() for name, x in self.params.items()}

    def slopes(self, loss: Tensor, p: Tensors) -> Tensors:
        """The gradient of a loss by each param."""
        found = torch.autograd.grad(loss, list(p.values()), allow_unused=True, materialize_grads=True)
        return dict(zip(p, found, strict=True))

    def bptt(self) -> Tensors:
        """Backpropagation through all steps."""
        p = self.leaves()
        c, z = self.begin(p)
        z = walk(self.step, z, p, c, self.targets, 0.0, self.case.steps)
        return self.slopes(self.net.cost(z, p, c, self.targets).mean(), p)

    def tbptt(self) -> Tensors:
        """Backpropagation through as many steps as a nudged phase has."""
        p = self.leaves()
        c, z = self.begin(p)
        with torch.no_grad():
            first = {name: x.detach() for name, x in c.items()}
            z = {name: x.detach() for name, x in z.items()}
            z = walk(self.step, z, self.params, first, self.targets, 0.0, self.case.steps - self.case.nudges)
        z = walk(self.step, z, p, c, self.targets, 0.0, self.case.nudges)
        return self.slopes(self.net.cost(z, p, c, self.targets).mean(), p)

    def implicit(self) -> Tensors:
        """The adjoint of a step at rest, iterated until it rests as well."""
        rest = {name: x.requires_grad_() for name, x in self.phase().items()}
        p = self.leaves()
        c = self.net.fixed(p, self.problem.clamps)
        after = list(self.step(rest, p, c, self.targets, 0.0).values())
        cost = self.net.cost(rest, p, c, self.targets).mean()
        where = [*rest.values(), *p.values()]
        direct = torch.autograd.grad(cost, where, allow_unused=True, materialize_grads=True)
        seeds = direct[: len(rest)]
        adjoint = seeds
        for _ in range(10_000):
            back = torch.autograd.grad(after, list(rest.values()), adjoint, retain_graph=True)
            moved = [s + b for s, b in zip(seeds, back, strict=True)]
            far = max(float((m - a).norm() / m.norm()) for m, a in zip(moved, adjoint, strict=True) if m.any())
            adjoint = moved
            if far < self.problem.tolerance:
                break
        through = torch.autograd.grad(after, list(p.values()), adjoint, allow_unused=True, materialize_grads=True)
        return {name: d + x for name, d, x in zip(p, direct[len(rest) :], through, strict=True)}

    def centered_ep(self) -> Tensors:
        """The energies' slopes at both nudged states, as one difference."""
        beta, free = self.case.beta, self.phase()
        p = self.leaves()
        c = self.net.fixed(p, self.problem.clamps)
        at = {name: x.detach() for name, x in c.items()}
        with torch.no_grad():
            plus, minus = (
                walk(self.step, free, self.params, at, self.targets, b, self.case.nudges) for b in (beta, -beta)
            )
        contrast = (self.net.energy(plus, p, c) - self.net.energy(minus, p, c)).mean() / (2 * beta)
        return self.slopes(contrast, p)

    def tracking_aep(self) -> Tensors:
        """Both nudged phases with the antisymmetric correction at their midpoint, by jvp and vjp of torch.func."""
        net, beta, size = self.net, self.case.beta, self.problem.step["z"]
        assert isinstance(net, Thick)
        free = self.phase()
        p = self.leaves()
        c = net.fixed(p, self.problem.clamps)
        at = {name: x.detach() for name, x in c.items()}
        plus = minus = free["z"]
        with torch.no_grad():
            for _ in range(self.case.nudges):
                turn = self.turned((plus + minus) / 2, (plus - minus) / 2)
                plus, minus = (
                    z + size * (self.nudged(z, at, sign * beta) - sign * turn) for z, sign in ((plus, 1), (minus, -1))
                )
        energies = net.energy({"z": plus}, p, c) - net.energy({"z": minus}, p, c)
        pushed = net.without_energy(free["z"], p) * (minus - plus)
        contrast = (energies.mean() + pushed.sum() / len(pushed)) / (2 * beta)
        return self.slopes(contrast + net.cost(free, p, c, self.targets).mean(), p)

    def nudged(self, z: Tensor, c: Tensors, beta: float) -> Tensor:
        """The force with a nudge."""
        force = self.net.force({"z": z}, self.params, c)["z"]
        return force - beta * self.net.slope({"z": z}, self.params, c, self.targets)["z"]

    def turned(self, middle: Tensor, half: Tensor) -> Tensor:
        """(J - J^T) half at the midpoint, J that of the forces without an energy."""
        assert isinstance(self.net, Thick)
        force = partial(self.net.without_energy, p=self.params)
        forward = jvp(force, (middle,), (half,))[1]
        return forward - vjp(force, middle)[1](half)[0]

    def ways(self, rules: tuple[str, ...]) -> dict[str, Way]:
        """The tasks, by name."""
        c = self.net.fixed(self.params, self.problem.clamps)
        updates = {name: getattr(self, name.replace("-", "_")) for name in rules}
        return {"step": lambda: self.steps(c), "phase": self.phase, **updates}


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """By hand: with the force written out, and by autograd where the network has an energy."""
    case = problem.case
    net = network(case.spec, problem.sizes)
    found = {"torch, by hand": Rules(problem, net, written(net, problem.step)).ways(case.rules)}
    if net.conservative:
        # Autograd of a step by autograd would need a second one.
        rules = tuple(name for name in case.rules if name == "centered-ep")
        found["torch, autograd"] = Rules(problem, net, by_autograd(net, problem.step)).ways(rules)
    return found


def compiled(problem: Problem) -> dict[str, dict[str, Way]]:
    """The step by hand through torch.compile."""
    case = problem.case
    net = network(case.spec, problem.sizes)
    torch.compiler.reset()
    # ``implicit`` goes back through one step many times.
    functorch.donated_buffer = False
    step = torch.compile(written(net, problem.step))
    rules = tuple(name for name in case.rules if name != "tracking-aep")
    return {"torch.compile": Rules(problem, net, step).ways(rules)}
