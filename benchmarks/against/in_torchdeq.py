"""The deep equilibrium layer by torchdeq, with its solvers; its faster one counts."""

from __future__ import annotations

import warnings

import torch

from benchmarks.against.cases import Problem, Tensors, Way
from benchmarks.against.networks import Deq

SOLVERS = {"fixed point": "fixed_point_iter", "Anderson": "anderson"}


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """The implicit gradient of the layer, and its equilibrium; nothing where torchdeq is not installed."""
    if problem.case.spec != "deq":
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torchdeq  # noqa: F401
    except ImportError:
        return {}
    return {f"torchdeq ({title})": tasks(problem, solver) for title, solver in SOLVERS.items()}


def tasks(problem: Problem, solver: str) -> dict[str, Way]:
    """Solved to the tolerance that the implicit gradient is compared at."""
    from torchdeq import get_deq

    net = Deq()
    exact = {"max_iter": problem.case.steps, "tol": problem.tolerance, "stop_mode": "rel"}
    settings = {f"{side}_{name}": value for side in "fb" for name, value in exact.items()}
    layer = get_deq(f_solver=solver, b_solver=solver, ift=True, **settings)

    def solved(p: Tensors, training: bool) -> torch.Tensor:
        c = net.fixed(p, problem.clamps)
        layer.train(training)
        z: torch.Tensor = layer(lambda z: net.next(z, p, c), torch.zeros_like(c["drive"]))[0][-1]
        return z

    @torch.no_grad()
    def phase() -> Tensors:
        return {"z": solved(problem.params, False)}

    def implicit() -> Tensors:
        p = {name: x.detach().requires_grad_() for name, x in problem.params.items()}
        cost = net.cost({"z": solved(p, True)}, p, {}, problem.targets).mean()
        return dict(zip(p, torch.autograd.grad(cost, list(p.values())), strict=True))

    return {"phase": phase, "implicit": implicit}
