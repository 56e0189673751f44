"""The generated module in JAX: each task under one jit. JAX is imported here alone, and by ``in_jax``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.against.cases import STEPS, Problem, Way
from energyc import pipeline
from energyc.runtime.rules import RULES

jax.config.update("jax_enable_x64", True)


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """The one way."""
    made = pipeline.emit(problem.network, problem.case.rules, target="jax")
    loaded: Any = pipeline.instantiate(made, "cpu", problem.dtype, 0)
    return {"energyc, JAX": tasks(problem, loaded, sys.modules[type(loaded).__module__])}


def tasks(problem: Problem, loaded: Any, net: Any) -> dict[str, Way]:
    """The tasks of a module, by name; a nudge is as strong as the case has it."""

    def arrays(record: Any, tensors: Mapping[str, Any]) -> Any:
        return record(*(jnp.asarray(np.asarray(x)) for x in tensors.values()))

    ordered = {name: problem.params[name] for name in loaded.names["params"]}
    p, x, z = arrays(net.Params, ordered), arrays(net.Clamps, problem.clamps), arrays(net.States, problem.states)
    t = arrays(net.Targets, problem.targets)
    fixed = jax.jit(net.prepare)(p, x)
    steps = jax.jit(lambda p, z, fixed: lax.fori_loop(0, STEPS, lambda _, z: net.step(p, z, fixed), z))
    phase = jax.jit(lambda p, x: net.relax(p, x).states)

    def named(names: Any, call: Callable[[], Any]) -> Way:
        return lambda: dict(zip(names, jax.block_until_ready(call()), strict=True))

    def update(rule: str) -> Way:
        of = jax.jit(lambda p, x, t: getattr(net, RULES[rule].module)(p, x, t).params)
        return named(ordered, lambda: of(p, x, t))

    return {
        "step": named(problem.states, lambda: steps(p, z, fixed)),
        "phase": named(problem.states, lambda: phase(p, x)),
        **{rule: update(rule) for rule in problem.case.rules},
    }
