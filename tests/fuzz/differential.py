"""Random specs by torch, C++, Triton, JAX, the interpreter, and autograd of an own evaluation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.claims.classes import Classes, RuleReport
from energyc.runtime.rules import RULES
from tests.fuzz.cases import Find, quiet
from tests.fuzz.drawing_specs import random_spec
from tests.fuzz.expressions import STEP, edges_moved
from tests.fuzz.networks import Declared, Spec, Tensors

#: A difference relative to the largest entry, or to 1. Few steps of bounded functions in float64 lose no more.
TOLERANCE = 1e-9
#: What arguments of jumps and kinks are moved by to see whether one of them lies on its edge.
EDGE = 1e-12
#: One spec in so many is classified; proofs are half of the time, and ``bptt`` asks for none.
CLASSIFIED = 8
#: More samples than any dim of a spec is long.
MANY = 5


@dataclass(frozen=True)
class Inputs:
    """Values for what a spec is given: [samples, ...], of params [1, ...]."""

    samples: int
    clamps: Tensors
    targets: Tensors
    params: Tensors

    @staticmethod
    def drawn(spec: Spec, seed: int, samples: int) -> Inputs:
        """Random values, for so many samples of one network."""

        def draw(made: Declared, first: Sequence[int], random: torch.Generator) -> Tensor:
            shape = (*first, *(spec.sizes[dim] for dim in made.dims))
            if made.over is not None:
                return torch.randint(spec.sizes[made.over], shape, generator=random)
            return 0.7 * torch.randn(shape, generator=random, dtype=torch.float64)

        inner = spec.relaxing.params if spec.layer else []
        copies = [spec.sizes[spec.copies]] if spec.copies else []
        of_params, of_samples = (torch.Generator().manual_seed(seed + k) for k in range(2))
        params = {param.name: draw(param, [1], of_params) for param in spec.params}
        params |= {f"{spec.layer}.{param.name}": draw(param, [1, *copies], of_params) for param in inner}
        clamps = {clamp.name: draw(clamp, [samples], of_samples) for clamp in [*spec.clamps, *spec.noises]}
        targets = {target.name: draw(target, [samples], of_samples) for target in spec.targets}
        return Inputs(samples, clamps, targets, params)

    @property
    def every(self) -> Tensors:
        """All but the targets."""
        return {**self.clamps, **self.params}


def batches(spec: Spec, seed: int) -> tuple[int, int, int]:
    """As many samples as a dim is long, one sample, and more than any dim is long."""
    lengths = [size for size in spec.sizes.values() if size > 1]
    return Random(seed).choice(lengths or [2]), 1, MANY


def disagreements(seed: int, targets: Sequence[str] = ("torch",), layered: bool | None = None) -> dict[str, float]:
    """The values that differ from the own evaluation of the spec of a seed, with their relative errors."""
    spec = random_spec(seed, layered)
    given = [Inputs.drawn(spec, seed, samples) for samples in batches(spec, seed)]
    expected = [by_autograd(spec, inputs) for inputs in given]
    if not all(bool(value.isfinite().all()) for values in expected for value in values.values()):
        return {}
    found: dict[str, float] = {}
    with quiet(), classified(seed):
        for target in targets:
            way = {"interpreter": by_interpreter, "jax": by_jax}.get(target, partial(by_module, target=target))
            for inputs, values, computed in zip(given, expected, way(spec, given, spec.text()), strict=False):
                found |= {
                    f"{target} {name} of {inputs.samples}": error
                    for name, value in computed.items()
                    if not (error := difference(value, values[name])) <= TOLERANCE
                }
    on_edge = _on_an_edge(spec, given, expected) if found else set[str]()
    return {what: error for what, error in found.items() if what.partition(" ")[2] not in on_edge}


def case(seed: int, targets: Sequence[str] = ("torch", "interpreter")) -> Find | None:
    """A spec that is right, by every way to compute it."""
    wrong = disagreements(seed, targets)
    return Find(f"{', '.join(wrong)} differ", str(wrong)) if wrong else None


def _on_an_edge(spec: Spec, given: Sequence[Inputs], expected: Sequence[Tensors]) -> set[str]:
    """The values that rounding decides: an argument lies on the edge of a jump or kink, as the sign of a sum of 0."""
    changed: set[str] = set()
    for by in (EDGE, -EDGE):
        for inputs, values in zip(given, expected, strict=True):
            with edges_moved(by):
                moved = by_autograd(spec, inputs)
            names = (name for name, value in moved.items() if not difference(value, values[name]) <= TOLERANCE)
            changed |= {f"{name} of {inputs.samples}" for name in names}
    return changed


def difference(found: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest entry expected or to 1; infinite where shapes differ."""
    if found.shape != expected.shape:
        return float("inf")
    scale = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    return float((found - expected).abs().max()) / scale if expected.numel() else 0.0


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
    """States at the end, the energy and forces at the start, answers, the cost and its gradients, by autograd."""
    inputs = leaves(spec, given.every)
    states, read = spec.at_rest(dict(inputs), given.samples)
    answers = {name: _full(value, given) for name, value in spec.answers(read).items()}
    found = {f"state {name}": value for name, value in states.items()}
    found |= {f"readout {name}": value for name, value in answers.items()}
    found["cost"] = _full(spec.costs(read, given.targets), given)
    found |= _gradients("gradient", spec, given, read, inputs)
    found |= {f"host {name}": value for name, value in _host_slopes(answers, inputs).items()}
    if not spec.layer:
        tied = spec.tied(inputs)
        starts = spec.relaxing.starts(tied, spec.lets, given.samples, True)
        energies = spec.relaxing.energy(starts, tied, spec.lets)
        found["energy"] = _full(sum(energies.values(), torch.zeros(1)), given)
        forces = spec.relaxing.force(starts, tied, spec.lets)
        found |= {f"force {name}": _full(value, given) for name, value in forces.items()}
        found |= _gradients("tbptt", spec, given, spec.at_rest(dict(inputs), given.samples, back=spec.back)[1], inputs)
    return {name: value.detach() for name, value in found.items()}


def _gradients(word: str, spec: Spec, given: Inputs, read: Tensors, inputs: Tensors) -> Tensors:
    """The gradient of the mean cost by the params."""
    params = {name: inputs[name] for name in given.params}
    cost = _full(spec.costs(read, given.targets), given).mean()
    return {f"{word} {name}": value[0] for name, value in slopes(cost, params).items()}


def slopes(value: Tensor, by: Tensors) -> Tensors:
    """The gradient of a number by each tensor, 0 by those that it does not read."""
    if not value.requires_grad:
        return {name: torch.zeros_like(leaf) for name, leaf in by.items()}
    found = torch.autograd.grad(value, list(by.values()), retain_graph=True, allow_unused=True, materialize_grads=True)
    return dict(zip(by, found, strict=True))


def _full(value: Tensor, given: Inputs) -> Tensor:
    """The value of every sample."""
    return value.expand(given.samples, *value.shape[1:])


# -------------------------------------------------------------------- inside of a host


def slopes_of_host(spec: Spec, given: Inputs) -> Tensors:
    """The slopes of the loss of a host by all real clamps and params, by autograd through all steps."""
    inputs = leaves(spec, given.every)
    _, read = spec.at_rest(dict(inputs), given.samples)
    return _host_slopes({name: _full(value, given) for name, value in spec.answers(read).items()}, inputs)


def _host_slopes(answers: Tensors, inputs: Tensors) -> Tensors:
    return slopes(_loss(answers), {name: value for name, value in inputs.items() if value.requires_grad})


def in_host(net: Any, spec: Spec, given: Inputs, rule: str) -> Tensors:
    """The same of a module inside of a host."""
    clamps = leaves(spec, given.clamps)
    by = {name: value for name, value in clamps.items() if value.requires_grad}
    by |= {name: net.params[name] for name in given.params}
    found = slopes(_loss(net(clamps, rule=rule)), by)
    return {name: value[None] if name in given.params else value for name, value in found.items()}


def _loss(answers: Tensors) -> Tensor:
    """What a host makes of readouts."""
    return sum((value.sin().sum() for value in answers.values()), torch.zeros(()))


def leaves(spec: Spec, values: Tensors) -> Tensors:
    """The tensors, of which real ones but noise are to be differentiated."""
    constant = {noise.name for noise in spec.noises}
    return {
        name: value if name in constant or not value.is_floating_point() else value.clone().requires_grad_()
        for name, value in values.items()
    }


# -------------------------------------------------------------------- generated modules


def by_module(spec: Spec, given: Sequence[Inputs], text: str, target: str) -> Iterator[Tensors]:
    """The same of a generated module, for one batch after another."""
    net = energyc.load(text, dtype=torch.float64, target=target, rules=rules_of(spec))
    fill(net, given[0].params)
    for inputs in given:
        yield _of_module(net, spec, inputs)


def rules_of(spec: Spec) -> list[str]:
    """The rules that go through steps."""
    return ["bptt"] if spec.layer else ["bptt", "tbptt"]


def _of_module(net: Any, spec: Spec, given: Inputs) -> Tensors:
    relaxed = net.relax(given.clamps, steps=None)
    states = dict(relaxed.states)
    found = {f"state {name}": value for name, value in states.items()}
    found |= {f"readout {name}": value for name, value in net.readout(states, given.clamps).items()}
    found["cost"] = net.cost(states, given.clamps, given.targets)
    if not spec.layer:
        starts = own_starts(spec, given)
        found["energy"] = net.energy(starts, given.clamps)
        found |= {f"force {name}": value for name, value in net.force(starts, given.clamps).items()}
        last = net.gradients(given.clamps, given.targets, rule="tbptt", allow_biased=True).params
        found |= {f"tbptt {name}": value for name, value in last.items()}
    gradients = net.gradients(given.clamps, given.targets, rule="bptt").params
    found |= {f"gradient {name}": value for name, value in gradients.items()}
    return found | {f"host {name}": value for name, value in in_host(net, spec, given, "bptt").items()}


def own_starts(spec: Spec, given: Inputs) -> Tensors:
    """The states at the start, for every sample."""
    starts = spec.relaxing.starts(spec.tied(given.every), spec.lets, given.samples, True)
    return {name: value.contiguous() for name, value in starts.items()}


def fill(net: Any, params: Mapping[str, Tensor]) -> None:
    """Give a network its params, [1, ...] each."""
    with torch.no_grad():
        for name, value in params.items():
            net.params[name].copy_(value[0])


def by_jax(spec: Spec, given: Sequence[Inputs], text: str) -> Iterator[Tensors]:
    """What the functions of a module in JAX give; nothing where it has no form for the spec."""
    with in_float64():
        try:
            net: Any = energyc.load(text, dtype=torch.float64, target="jax", rules=rules_of(spec))
        except UserError:
            return
        for name, value in given[0].params.items():
            net.params[name][...] = value[0].numpy()
        for inputs in given:
            found = _of_jax(net, spec, inputs)
            yield {name: torch.from_numpy(np.array(x)) for name, x in found.items()}


def _of_jax(net: Any, spec: Spec, given: Inputs) -> dict[str, Any]:
    import jax

    module: Any = sys.modules[type(net).__module__]
    params, clamps = net.given(given.clamps)
    targets = module.Targets(**net.ordered("targets", given.targets))

    def computed(starts: Any) -> dict[str, Any]:
        learned = module.bptt(params, clamps, targets)
        found = {f"state {name}": x for name, x in zip(net.names["states"], learned.free.states, strict=True)}
        found |= {f"gradient {name}": x for name, x in zip(net.names["params"], learned.params, strict=True)}
        found["cost"] = learned.cost
        if spec.layer:
            return found
        last = module.tbptt(params, clamps, targets)
        found |= {f"tbptt {name}": x for name, x in zip(net.names["params"], last.params, strict=True)}
        trains = len(signature(module.prepare).parameters) == 3  # with training
        fixed, states = module.prepare(params, clamps, *[True] * trains), module.States(*starts)
        found |= {"energy": module.energy(params, states, fixed)} if spec.relaxing.energies else {}
        forces = module.force(params, states, fixed)
        return found | {f"force {name}": x for name, x in zip(net.names["states"], forces, strict=True)}

    starts = {} if spec.layer else own_starts(spec, given)
    return jax.jit(computed)([starts[name].numpy() for name in net.names["states"] if starts])


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


def by_interpreter(spec: Spec, given: Sequence[Inputs], text: str) -> Iterator[Tensors]:
    """The energy and forces at the start, states at the end and the cost, by the graph of a network without layers."""
    if spec.layer:
        return
    network = pipeline.resolve(pipeline.read(text))
    forces = pipeline.derive(network).smooth
    for inputs in given:
        yield _of_graph(spec, inputs, Graphs(network, forces))


@dataclass(frozen=True)
class Graphs:
    """A network, and the graph of the force on each of its states."""

    network: Network
    forces: Mapping[str, Node]

    def values(self, nodes: Sequence[Node], given: Inputs, states: Tensors, number: int) -> list[Tensor]:
        """The values of nodes by the interpreter, for every sample."""
        network = self.network
        groups = {"state": states, "param": {name: value[0] for name, value in given.params.items()}}
        groups |= {"clamp": given.clamps, "noise": given.clamps, "target": given.targets}
        inputs: dict[tuple[str, str], Any] = {
            (kind, name): value.numpy() for kind, group in groups.items() for name, value in group.items()
        }
        if isinstance(network.training, Input):
            inputs[network.training.kind, network.training.name] = np.asarray(True)
        inputs["step", STEP] = np.asarray(number)
        found = evaluate(nodes, inputs, sizes=network.extents, values=network.values)
        return [_full(_of_samples(x, node), given) for x, node in zip(found, nodes, strict=True)]


def _of_samples(value: NDArray[Any], node: Node) -> Tensor:
    """A value of the interpreter, with an axis of samples of size 1 where it is the same for all."""
    return torch.from_numpy(np.array(value if node.batched else value[None]))


def _of_graph(spec: Spec, given: Inputs, graphs: Graphs) -> Tensors:
    network, relaxing = graphs.network, spec.relaxing
    states = own_starts(spec, given)
    energies = graphs.values([term.node for term in network.energies.values()], given, states, 0)
    found = {"energy": sum(energies, torch.zeros(given.samples, dtype=torch.float64))}
    for number in range(relaxing.steps):
        moved = graphs.values([graphs.forces[s.name] for s in relaxing.states], given, states, number)
        steps = zip(relaxing.states, moved, strict=True)
        states = {s.name: s.projected(states[s.name] + relaxing.pace(s.name) * force) for s, force in steps}
    found |= {f"state {name}": value for name, value in states.items()}
    costs = graphs.values([cost.node for cost in network.costs.values()], given, states, 0)
    return found | {"cost": sum(costs, torch.zeros(()))}
