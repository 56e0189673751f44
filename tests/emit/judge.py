"""A generated module beside the interpreter: every routine's results against the derivation's nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from energyc import pipeline
from energyc.code.module.context import Options
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.plan import Passes
from energyc.code.targets.torch.module import torch_module
from energyc.derivation.derive import Derivation, derive
from energyc.language.network import Network
from energyc.mathematics.calculus import adjoint, substitute
from energyc.mathematics.ir import Input, Node
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.runtime.equations import by_autograd as pullbacks
from energyc.runtime.equations.inputs import ordered_targets, prepared
from energyc.runtime.nudging.contrast import energy_contrast

Arrays = dict[str, np.ndarray]
BATCH = 3
RULES = ("centered-ep", "aep", "bptt", "implicit")
TOLERANCE = 1e-9


class Summed(dict[str, Node]):
    """Nodes of one sample whose values are added up over the batch."""


@dataclass(frozen=True)
class Judged:
    """A network, its module in float64, and inputs of every kind at random values."""

    network: Network
    derivation: Derivation
    module: Any
    inputs: Mapping[tuple[str, str], np.ndarray]

    def tensors(self, kind: str, names: Sequence[str]) -> list[torch.Tensor]:
        return [torch.from_numpy(self.inputs[kind, name]) for name in names]

    def values(self, nodes: Mapping[str, Node]) -> Arrays:
        """The interpreter's values, each sample's own or without a batch."""
        arrays = evaluate(list(nodes.values()), self.inputs, sizes=self.network.extents, values=self.network.values)
        spread = {
            name: array if node.batched else np.broadcast_to(array, (BATCH, *array.shape))
            for (name, node), array in zip(nodes.items(), arrays, strict=True)
        }
        return {name: a.sum(0) for name, a in spread.items()} if isinstance(nodes, Summed) else spread

    @property
    def states(self) -> list[torch.Tensor]:
        return self.tensors("state", list(self.network.states))

    @property
    def clamps(self) -> dict[str, torch.Tensor]:
        names = {"clamp": list(self.network.clamps), "noise": list(self.network.noises)}
        return {name: t for kind, n in names.items() for name, t in zip(n, self.tensors(kind, n), strict=True)}

    @property
    def targets(self) -> dict[str, torch.Tensor]:
        return dict(zip(self.network.targets, self.tensors("target", list(self.network.targets)), strict=True))


def resolved(text: str | Path, **overrides: object) -> Network:
    """The network of a spec."""
    return pipeline.resolve(pipeline.read(text), pipeline.Choices(None, overrides))


def module_of(network: Network, passes: Passes = Passes(), rules: Sequence[str] = RULES) -> Any:
    """The network's module with every rule."""
    options = Options(rules=tuple(rules), label="spec", version="test", passes=passes)
    text = torch_module(options.plan(network), options).text
    return instantiate(text, class_name(network.name), dtype=torch.float64)


def judged(network: Network, random: np.random.Generator, passes: Passes = Passes()) -> Judged:
    """A network with its module and inputs; the params are drawn anew, so that none of them is 0."""
    derivation = derive(network)
    module = module_of(network, passes)
    inputs: dict[tuple[str, str], np.ndarray] = {}
    for node in _inputs(derivation):
        inputs[key(node)] = _drawn(node, network, random)
    with torch.no_grad():
        for name in network.params:
            module.params[name].copy_(torch.from_numpy(np.asarray(inputs["param", name])))
    return Judged(network, derivation, module, inputs)


def _inputs(d: Derivation) -> list[Input]:
    network = d.network
    made = [*d.states.values(), *d.params.values(), *d.cotangents.values(), *d.directions.values()]
    made += [*d.plus.values(), *d.minus.values()]
    made += [*readout_cotangents(d).values(), *(c.node for c in network.clamps.values())]
    made += [*(n.node for n in network.noises.values()), *filter(None, (network.step, network.training))]
    return list(dict.fromkeys([*made, *(t.node for t in network.targets.values())]))


def readout_cotangents(d: Derivation) -> dict[str, Input]:
    """For each readout a vector that its transposed derivative multiplies."""
    return {name: d.graph.input(name, "cotangent", q.node.dims) for name, q in d.network.readouts.items()}


def readout_vjp(d: Derivation, wanted: Mapping[str, Input]) -> dict[str, Node]:
    """``<cotangent, d readouts / d input>`` for each wanted input that a readout reads."""
    cotangents: dict[Node, Node] = {}
    for name, cotangent in readout_cotangents(d).items():
        node = d.network.readouts[name].node
        cotangents[node] = d.graph.plus(cotangents[node], cotangent) if node in cotangents else cotangent
    found = adjoint(d.graph, cotangents, list(wanted.values()), frozen=True, strict=False)
    return {name: found[node] for name, node in wanted.items() if node in found}


def _drawn(node: Input, network: Network, random: np.random.Generator) -> np.ndarray:
    shape = tuple(network.extents[d] for d in node.dims)
    shape = (BATCH, *shape) if node.batched else shape
    if node.kind == "flag":
        return np.asarray(True)  # a module is in training unless it is told otherwise
    if node.kind == "step":
        return np.asarray(network.extents[str(node.over)] - 1)  # outside of a relaxation
    if node.over is not None:
        return random.integers(0, network.extents[node.over], shape)
    values = random.normal(size=shape) * 0.7
    param = network.params.get(node.name) if node.kind == "param" else None
    if param is not None and (param.low is not None or param.high is not None):
        values = np.clip(values, param.low, param.high)
    return np.asarray(values)


# ---------------------------------------------------------------- routines


def disagreements(j: Judged, tolerance: float = TOLERANCE) -> dict[str, float]:
    """Every result of a routine that differs from the interpreter, with its relative error."""
    errors: dict[str, float] = {}
    with torch.no_grad():
        for routine, (found, nodes) in routines(j).items():
            for name, error in _compared(found, j.values(nodes)).items():
                if not error <= tolerance:
                    errors[f"{routine}.{name}"] = error
    return errors


def routines(j: Judged) -> dict[str, tuple[dict[str, Any], dict[str, Node]]]:
    """For each routine what the module gives, by name, and the nodes that say what is right."""
    d, n, m = j.derivation, j.network, j.module
    fixed = prepared(m, j.clamps)
    aims = ordered_targets(m, j.targets, fixed)
    seeds, by_readout = j.tensors("cotangent", list(n.states)), j.tensors("cotangent", list(n.readouts))
    along = j.tensors("direction", list(n.states))
    plus, minus = j.tensors("plus", list(n.states)), j.tensors("minus", list(n.states))
    clamps = d.real_clamps

    def by_state(values: Sequence[torch.Tensor | None]) -> dict[str, Any]:
        return {name: v for name, v in zip(n.states, values, strict=True) if v is not None}

    def by_autograd(found: Mapping[str, Any], nodes: dict[str, Node]) -> tuple[dict[str, Any], dict[str, Node]]:
        """Slopes beside their nodes: of what has a slope of 0 by its form, one side may know that alone."""
        like = {**m.params, **j.clamps, **dict(zip(n.states, states, strict=True))}
        slopes = {name: found[name] if name in found else torch.zeros_like(like[name]) for name in nodes}
        return {**slopes, **{name: x for name, x in found.items() if name not in nodes and bool(x.any())}}, nodes

    def only(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[name] for name in names if name in values}

    states = j.states
    start_slopes = pullbacks.start_vjp(m, fixed, seeds)
    readout_back, readout_slopes = pullbacks.readout_vjp(m, states, fixed, by_readout)
    terms = m.terms(dict(zip(n.states, states, strict=True)), j.clamps)
    found: dict[str, tuple[dict[str, Any], dict[str, Node]]] = {
        "terms": (
            {k: terms[k] for k in n.energies},
            {k: t.node for k, t in n.energies.items()},
        ),
        "force": (m.force(dict(zip(n.states, states, strict=True)), j.clamps), d.force),
        "start": (by_state(m._start(fixed)), d.start),
        "readout": (
            m.readout(dict(zip(n.states, states, strict=True)), j.clamps),
            {k: q.node for k, q in n.readouts.items()},
        ),
        "force_adjoint": (by_state(m._force_adjoint(states, fixed, seeds)), d.vjp(d.smooth, d.states)),
        "force_pullback": (by_state(m._force_vjp(states, fixed, seeds)[0]), d.vjp(d.smooth, d.states)),
        "force_gradient": (m._force_vjp(states, fixed, seeds)[1], Summed(d.vjp(d.smooth, d.params))),
        "steps_clamp_gradient": (
            m._sums_clamp_gradient(fixed, summed(j, fixed)),
            only(set(m.summed) & d.vjp(d.smooth, clamps).keys(), at_two_steps(d, clamps)),
        ),
        "clamp_gradient": by_autograd(pullbacks.clamp_gradient(m, states, fixed, seeds), d.vjp(d.smooth, clamps)),
        "start_gradient": by_autograd(only(d.params, start_slopes), Summed(d.vjp(d.start, d.params))),
        "start_clamp_gradient": by_autograd(only(clamps, start_slopes), d.vjp(d.start, clamps)),
        "readout_adjoint": by_autograd(by_state(readout_back), readout_vjp(d, d.states)),
        "readout_gradient": by_autograd(only(d.params, readout_slopes), Summed(readout_vjp(d, d.params))),
        "readout_clamp_gradient": by_autograd(only(clamps, readout_slopes), readout_vjp(d, clamps)),
        "step_adjoint": (
            by_state(m._step_vjp(states, fixed, seeds)[0][: len(states)]),
            d.vjp(d.smooth, d.states),
        ),
        "steps_gradient": (two_steps(j, fixed, m._sums_gradient), Summed(at_two_steps(d, d.params))),
        "energy_contrast": (energy_contrast(m, plus, minus, fixed), Summed(contrasted(d))),
        "user_force_gradient": (
            m._user_force_gradient(states, fixed, seeds),
            Summed(d.vjp(d.user_forces, d.params)),
        ),
        "correction": (by_state(m._correction(states, fixed, along)), d.correction),
    }
    if n.cost is not None:
        found["cost"] = (
            {"cost": m.cost(dict(zip(n.states, states, strict=True)), j.clamps, j.targets)},
            {"cost": n.cost.node},
        )
        found["cost_force"] = (by_state(m._cost_force(states, fixed, aims)), d.cost_force)
        found["cost_gradient"] = (m._cost_gradient(states, fixed, aims), Summed(d.cost_gradient))
        found["metrics"] = (
            dict(zip(n.metrics, m._metrics(states, fixed, aims), strict=True)),
            {k: q.node for k, q in n.metrics.items()},
        )
    return found


def both_steps(j: Judged, fixed: Any) -> list[tuple[Sequence[torch.Tensor | None], dict[str, torch.Tensor]]]:
    """A step at the states with their seeds, and one elsewhere with other seeds."""
    names = list(j.network.states)
    other = j.module._step_vjp(j.tensors("plus", names), fixed, j.tensors("direction", names))
    return [j.module._step_vjp(j.states, fixed, j.tensors("cotangent", names)), other]


def summed(j: Judged, fixed: Any) -> list[torch.Tensor]:
    """The sum over both steps."""
    (first, _), (second, _) = both_steps(j, fixed)
    return [a + b for a, b in zip(first[len(j.states) :], second[len(j.states) :], strict=True)]  # type: ignore[operator]


def two_steps(j: Judged, fixed: Any, of_sums: Callable[..., dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The slopes by the params of both steps together."""
    (_, first), (_, second) = both_steps(j, fixed)
    return {**{name: first[name] + second[name] for name in first}, **of_sums(fixed, summed(j, fixed))}


def at_two_steps(d: Derivation, inputs: Mapping[str, Input]) -> dict[str, Node]:
    """<seeds, dF/dinput> at the states, and with other seeds elsewhere, added up."""
    slopes = d.vjp(d.smooth, inputs)
    elsewhere = {d.states[n]: node for n, node in d.plus.items()}
    elsewhere |= {d.cotangents[n]: x for n, x in d.directions.items()}
    return {n: d.graph.plus(x, substitute(d.graph, x, elsewhere)) for n, x in slopes.items()}


def contrasted(d: Derivation) -> dict[str, Node]:
    """dE/dtheta at one phase's states minus the same at another's."""
    plus, minus = ({d.states[n]: node for n, node in ends.items()} for ends in (d.plus, d.minus))
    slopes = d.energy_gradient.items()
    return {n: d.graph.minus(substitute(d.graph, x, plus), substitute(d.graph, x, minus)) for n, x in slopes}


def _compared(found: Mapping[str, torch.Tensor], expected: Arrays) -> dict[str, float]:
    if found.keys() != expected.keys():
        return {f"keys {sorted(found)} for {sorted(expected)}": np.inf}
    return {name: distance(found[name].numpy(), expected[name]) for name in found}


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference by the size of what is expected; infinite for another shape or where one is not finite."""
    if found.shape != expected.shape:
        return np.inf
    if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
        return np.inf
    good = np.isfinite(expected)
    scale = max(1.0, float(np.abs(expected[good]).max(initial=0.0)))
    return float(np.abs(found[good] - expected[good]).max(initial=0.0)) / scale
