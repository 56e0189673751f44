"""The generated modules: as torch operations, and with kernels in C++ where there are any and a compiler."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from benchmarks.against.cases import STEPS, Problem, Tensors, Way
from energyc import pipeline
from energyc.runtime.equations.inputs import prepared


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """Both modules; the one with kernels where its free phase runs in them."""
    found = {"energyc, torch": tasks(problem, problem.net)}
    compiled = pipeline.emit(problem.network, problem.case.rules, target="cpp")
    net = pipeline.instantiate(compiled, "cpu", problem.dtype, 0)
    net.load_state_dict(problem.net.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if hasattr(net, "kernels") and net.kernels.serve("free", list(problem.states.values())):
            found["energyc, kernels"] = tasks(problem, net)
    return found


def tasks(problem: Problem, net: Any) -> dict[str, Way]:
    """The tasks of a module, by name."""
    clamps, targets = problem.clamps, problem.targets
    with torch.no_grad():
        fixed = prepared(net, clamps)

    @torch.no_grad()
    def steps() -> Tensors:
        moved = [x.clone() for x in problem.states.values()]
        net._steps_(moved, fixed, 0, STEPS, net.relax_step)
        return dict(zip(problem.states, moved, strict=True))

    def phase() -> Tensors:
        states: Tensors = net.relax(clamps).states
        return states

    def update(rule: str) -> Way:
        whole = problem.case.steps if rule == "bptt" else None
        return lambda: net.gradients(clamps, targets, rule, steps=whole).params

    return {"step": steps, "phase": phase, **{rule: update(rule) for rule in problem.case.rules}}
