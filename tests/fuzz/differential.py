"""Random specs by torch, C++, Triton, JAX, the interpreter, and autograd of an own evaluation."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.mathematics.ir import Input
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.claims.classes import Classes, RuleReport
from energyc.runtime.rules import RULES
from tests.fuzz.drawing_specs import random_spec
from tests.fuzz.expressions import edges_moved
from tests.fuzz.networks import Declared, Spec, Tensors

SAMPLES = 3
#: A difference relative to the largest entry, or to 1. Few steps of bounded functions in float64 lose no more.
TOLERANCE = 1e-8
#: What arguments of jumps and kinks are moved by to see whether one of them lies on its edge.
EDGE = 1e-12
#: One spec in so many is classified; proofs are half of the time, and ``bptt`` asks for none.
CLASSIFIED = 8


@dataclass(frozen=True)
class Inputs:
    """Values for what a spec is given: [samples, ...], of params [1, ...]."""

    clamps: Tensors
    targets: Tensors
    params: Tensors

    @staticmethod
    def drawn(spec: Spec, seed: int) -> Inputs:
        """Random values."""
        random = torch.Generator().manual_seed(seed)

        def draw(made: Declared, first: Sequence[int], name: str = "") -> Tensor:
            shape = (*first, *(spec.sizes[dim] for dim in made.dims))
            if made.over is not None:
                return torch.randint(spec.sizes[made.over], shape, generator=random)
            return 0.7 * torch.randn(shape, generator=random, dtype=torch.float64)

        inner = spec.relaxing.params if spec.layer else []
        copies = [spec.sizes[spec.copies]] if spec.copies else []
        params = {param.name: draw(param, [1]) for param in spec.params}
        params |= {f"{spec.layer}.{param.name}": draw(param, [1, *copies]) for param in inner}
        clamps = {clamp.name: draw(clamp, [SAMPLES]) for clamp in [*spec.clamps, *spec.noises]}
        return Inputs(clamps, {target.name: draw(target, [SAMPLES]) for target in spec.targets}, params)


def disagreements(seed: int, targets: Sequence[str] = ("torch",), layered: bool | None = None) -> dict[str, float]:
    """The values that differ from the own evaluation of the spec of a seed, with their relative errors."""
    spec = random_spec(seed, layered)
    given, text = Inputs.drawn(spec, seed), spec.text()
    expected = by_autograd(spec, given)
    if not all(bool(value.isfinite().all()) for value in expected.values()):
        return {}
    found: dict[str, float] = {}
    with quiet(), classified(seed):
        for target in targets:
            way = {"interpreter": by_interpreter, "jax": by_jax}.get(target, partial(by_module, target=target))
            computed = way(spec, given, text)
            for name, value in computed.items():
                error = difference(value, expected[name])
                if not error <= TOLERANCE:
                    found[f"{target} {name}"] = error
    on_edge = _on_an_edge(spec, given, expected) if found else set[str]()
    return {what: error for what, error in found.items() if what.partition(" ")[2] not in on_edge}


def _on_an_edge(spec: Spec, given: Inputs, expected: Tensors) -> set[str]:
    """The values that rounding decides: an argument lies on the edge of a jump or kink, as the sign of a sum of 0."""
    changed: set[str] = set()
    for by in (EDGE, -EDGE):
        with edges_moved(by):
            moved = by_autograd(spec, given)
        changed |= {name for name, value in moved.items() if not difference(value, expected[name]) <= TOLERANCE}
    return changed


def difference(found: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest entry expected or to 1; infinite where shapes differ."""
    if found.shape != expected.shape:
        return float("inf")
    scale = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    return float((found - expected).abs().max()) / scale if expected.numel() else 0.0


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: of what does not settle, of unused names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def classified(seed: int) -> Iterator[None]:
    """Classify a spec once for all targets, and specs of most seeds not at all: nothing is known of their terms."""
    classify = pipeline.classify if seed % CLASSIFIED == 0 else undecided
    found: list[Classes] = []

    def once(network: Network) -> Classes:
        found.extend([] if found else [classify(network)])
        return found[0]

    with patch.object(pipeline, "classify", once):
        yield


def undecided(network: Network) -> Classes:
    """The classes of a network of which nothing is proved, and where every rule may be used."""
    rules = {rule: RuleReport("exact") for rule in RULES}
    layers = {name: undecided(layer.network) for name, layer in network.layers.items()}
    return Classes("undecided", (), rules, tuple(network.terms), layers=layers)


# -------------------------------------------------------------------- the ways


def by_autograd(spec: Spec, given: Inputs) -> Tensors:
    """States at the end, the energy and forces at the start, answers, the cost and its gradient, by autograd."""
    params = {name: value.clone().requires_grad_() for name, value in given.params.items()}
    inputs = {**given.clamps, **params}
    states, read = spec.at_rest(dict(inputs), SAMPLES)
    costs = spec.costs(read, given.targets)
    found = {f"state {name}": value for name, value in states.items()}
    found |= {f"readout {name}": _full(value) for name, value in spec.answers(read).items()}
    found["cost"] = _full(costs)
    if not spec.layer:
        tied = spec.tied(inputs)
        starts = spec.relaxing.starts(tied, spec.lets, SAMPLES, True)
        energies = spec.relaxing.energy(starts, tied, spec.lets)
        found["energy"] = _full(sum(energies.values(), torch.zeros(1)))
        forces = spec.relaxing.force(starts, tied, spec.lets)
        found |= {f"force {name}": _full(value) for name, value in forces.items()}
    found |= {f"gradient {name}": value[0] for name, value in slopes(costs.expand(SAMPLES).mean(), params).items()}
    return {name: value.detach() for name, value in found.items()}


def slopes(value: Tensor, by: Tensors) -> Tensors:
    """The gradient of a number by each tensor, 0 by those that it does not read."""
    if not value.requires_grad:
        return {name: torch.zeros_like(leaf) for name, leaf in by.items()}
    found = torch.autograd.grad(value, list(by.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(by, found, strict=True))


def _full(value: Tensor) -> Tensor:
    """The value of every sample."""
    return value.expand(SAMPLES, *value.shape[1:])


def by_module(spec: Spec, given: Inputs, text: str, target: str) -> Tensors:
    """The same of a generated module."""
    net = energyc.load(text, dtype=torch.float64, target=target, rules=["bptt"])
    fill(net, given.params)
    relaxed = net.relax(given.clamps, steps=None)
    states = dict(relaxed.states)
    found = {f"state {name}": value for name, value in states.items()}
    found |= {f"readout {name}": value for name, value in net.readout(states, given.clamps).items()}
    found["cost"] = net.cost(states, given.clamps, given.targets)
    if not spec.layer:
        starts = spec.relaxing.starts(spec.tied({**given.clamps, **given.params}), spec.lets, SAMPLES, True)
        starts = {name: value.contiguous() for name, value in starts.items()}
        found["energy"] = net.energy(starts, given.clamps)
        found |= {f"force {name}": value for name, value in net.force(starts, given.clamps).items()}
    gradients = net.gradients(given.clamps, given.targets, rule="bptt").params
    return found | {f"gradient {name}": value for name, value in gradients.items()}


def fill(net: Any, params: Mapping[str, Tensor]) -> None:
    """Give a network its params, [1, ...] each."""
    with torch.no_grad():
        for name, value in params.items():
            net.params[name].copy_(value[0])


def by_jax(spec: Spec, given: Inputs, text: str) -> Tensors:
    """What the functions of a module in JAX give; nothing where it has no form for the spec."""
    with in_float64() as jax:
        try:
            net: Any = energyc.load(text, dtype=torch.float64, target="jax", rules=["bptt"])
        except UserError:
            return {}
        for name, value in given.params.items():
            net.params[name][...] = value[0].numpy()
        module: Any = sys.modules[type(net).__module__]
        params, clamps = net.given(given.clamps)
        targets = module.Targets(**net.ordered("targets", given.targets))
        learned = jax.jit(module.bptt)(params, clamps, targets)
        found = {f"state {name}": x for name, x in zip(net.names["states"], learned.free.states, strict=True)}
        found |= {f"gradient {name}": x for name, x in zip(net.names["params"], learned.params, strict=True)}
        found["cost"] = learned.cost
        if not spec.layer:
            trains = len(signature(module.prepare).parameters) == 3  # with training
            fixed = module.prepare(params, clamps, *[True] * trains)
            starts = spec.relaxing.starts(spec.tied({**given.clamps, **given.params}), spec.lets, SAMPLES, True)
            states = module.States(*(starts[name].numpy() for name in net.names["states"]))
            found["energy"] = module.energy(params, states, fixed)
            forces = module.force(params, states, fixed)
            found |= {f"force {name}": x for name, x in zip(net.names["states"], forces, strict=True)}
        return {name: torch.from_numpy(np.array(x)) for name, x in found.items()}


@contextmanager
def in_float64() -> Iterator[Any]:
    """JAX in float64, which forgets what it compiled."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield jax
    finally:
        jax.config.update("jax_enable_x64", before)
        jax.clear_caches()


def by_interpreter(spec: Spec, given: Inputs, text: str) -> Tensors:
    """The energy and the cost at the start, by the interpreter of the graph; of a network without layers."""
    if spec.layer:
        return {}
    network = pipeline.resolve(pipeline.read(text))
    starts = spec.relaxing.starts(spec.tied({**given.clamps, **given.params}), spec.lets, SAMPLES, True)
    values = {"state": starts, "param": {name: value[0] for name, value in given.params.items()}}
    noises = {noise.name for noise in spec.noises}
    values["noise"] = {name: value for name, value in given.clamps.items() if name in noises}
    values["clamp"] = {name: value for name, value in given.clamps.items() if name not in noises}
    inputs: dict[tuple[str, str], Any] = {
        (kind, name): value.numpy() for kind, group in values.items() for name, value in group.items()
    }
    if isinstance(network.training, Input):
        inputs[network.training.kind, network.training.name] = np.asarray(True)
    nodes = [term.node for term in network.energies.values()]
    found = evaluate(nodes, inputs, sizes=network.extents, values=network.values)
    total = sum((np.broadcast_to(value, (SAMPLES,)) for value in found), np.zeros(SAMPLES))
    return {"energy": torch.from_numpy(np.asarray(total))}
