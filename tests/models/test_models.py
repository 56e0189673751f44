"""Kinds of model of the literature, each a spec of specs/zoo: class, gradients, fidelity, training.

benchmarks/log/results.md ("Tried") holds what ``check``, ``verify`` and ``train`` answered on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.network import Network
from energyc.proofs.verdicts.admission import available
from energyc.running.training.feeds import Batch
from energyc.studies.verify import measure_fidelity, random_probe
from tests.drawing import share

MODELS = Path(__file__).parents[2] / "specs" / "zoo"

#: What each network is. `hard_sigmoid` has the potential rho(s) W rho(y), though its force jumps; `dyadic` descends in
#: one half of its pairs and ascends in the other; the matrices of `deep_equilibrium` and `llama` are not tied.
CLASSES = {
    "akorn": "not-conservative",
    "attention_retrieval": "conservative",
    "autoencoder": "conservative",
    "boltzmann": "conservative",
    "conv_digits": "conservative",
    "conv_hopfield": "conservative",
    "convolution": "conservative",
    "coupled_learning": "conservative",
    "crf": "not-conservative",
    "deep_energy": "conservative",
    "deep_equilibrium": "not-conservative",
    "deep_hopfield3": "conservative",
    "dense_memory": "conservative",
    "diodes": "conservative",
    "dyadic": "not-conservative",
    "edges": "conservative",
    "elastic_net": "conservative",
    "energy_based_steps": "conservative",
    "fitzhugh_nagumo": "metric-descent",
    "graph": "conservative",
    "graph_hopfield": "conservative",
    "group_lasso": "conservative",
    "hard_sigmoid": "conservative",
    "hierarchical_memory": "not-conservative",
    "hopfield_pooling": "conservative",
    "hopfield_resnet": "conservative",
    "input_convex": "conservative",
    "ising": "conservative",
    "kuramoto": "conservative",
    "lca": "not-conservative",
    "linear_attention": "conservative",
    "llama": "not-conservative",
    "nonnegative_code": "conservative",
    "optnet": "conservative",
    "oscillator_ising": "conservative",
    "precision_coding": "conservative",
    "rao_ballard": "conservative",
    "resistive_digits": "conservative",
    "sparsemax": "conservative",
    "sphere": "conservative",
    "time_scales": "conservative",
    "total_variation": "conservative",
    "two_costs": "conservative",
}
EACH = pytest.mark.parametrize("name", sorted(CLASSES))
#: Those of `akorn` turn for ever, by frequencies of their own: it is trained through its steps.
RESTING = pytest.mark.parametrize("name", share(sorted(CLASSES.keys() - {"akorn"})))
SOME = pytest.mark.parametrize("name", share(sorted(CLASSES)))
#: One rule of each kind; the shipped specs test the others. All phases of a large circle diverge on `kuramoto`.
RULES = ("centered-ep", "tracking-aep", "holomorphic-ep", "implicit")
COSINE = 0.999
#: Steps with which the limit is reached in an eighth of the time: where a network rests does not depend on them.
STEPS = {"edges": 0.8}
#: Sizes at which the larger ones are soon at rest.
SIZES: Mapping[str, Mapping[str, int]] = {
    "conv_digits": {"S": 14, "P": 3, "C1": 3, "C2": 4},
    "conv_hopfield": {"C1": 2, "C2": 2, "C3": 3, "C4": 3},
    "deep_hopfield3": {"I": 64, "J1": 9, "J2": 7, "J3": 6},
    "graph_hopfield": {"N": 20, "E": 60, "F": 3, "D": 5, "M": 4},
    "hopfield_resnet": {"C1": 2, "C2": 2, "C3": 3, "C4": 3},
    "resistive_digits": {"I": 12, "J": 7},
}
UPDATES = 20


def network(name: str) -> Network:
    """The network of a spec. Raises SpecError."""
    return pipeline.resolve(pipeline.read(MODELS / f"{name}.energy"))


def module(name: str, dtype: torch.dtype, rules: tuple[str, ...] = ("implicit",), step: float | None = None) -> Any:
    """The living network, drawn with seed 0."""
    settings = {**SIZES.get(name, {}), **({} if step is None else {"relax.step": step})}
    return energyc.load(MODELS / f"{name}.energy", rules=rules, dtype=dtype, seed=0, settings=settings)


def test_every_spec_has_a_class() -> None:
    assert {path.stem for path in MODELS.glob("*.energy")} == set(CLASSES)


@pytest.mark.abridged(every=11)
@EACH
def test_class(name: str) -> None:
    assert pipeline.classify(network(name)).verdict == CLASSES[name]


def cost_at_rest(net: Any, probe: Batch, start: dict[str, Tensor]) -> float:
    """The mean cost at the equilibrium next to ``start``, in float64."""
    states = start
    for _ in range(40):
        found = net.relax(probe.clamps, steps=200, states=states)
        states = dict(found.states)
        if float(found.residual.max()) < 1e-13:
            break
    assert float(found.residual.max()) < 1e-11
    return float(net.cost(states, probe.clamps, probe.targets).mean())


@pytest.mark.slow
@RESTING
def test_implicit_is_the_slope_of_the_cost(name: str) -> None:
    """Along one drawn direction of each param, against central differences of the cost at rest."""
    net = module(name, torch.float64)
    probe = random_probe(net, batch=2, seed=1)
    rest = dict(net.relax(probe.clamps, steps=4000).states)
    exact = net.gradients(probe.clamps, probe.targets, "implicit", steps=0, states=rest).params
    scale = max(float(gradient.norm()) for gradient in exact.values())
    random = torch.Generator().manual_seed(2)
    print(f"{name}, seeds 0, 1, 2")
    for param, gradient in exact.items():
        way = torch.randn(gradient.shape, generator=random, dtype=torch.float64)
        way /= way.norm()
        slope = difference(net, param, way, lambda: cost_at_rest(net, probe, rest))
        assert slope == pytest.approx(float((way * gradient).sum()), rel=1e-4, abs=1e-6 * scale), param


def difference(net: Any, param: str, way: Tensor, cost: Any, size: float = 1e-5) -> float:
    """The central difference of ``cost()`` as a param moves along ``way``."""
    costs = []
    for moved in (size, -2 * size):
        with torch.no_grad():
            net.params[param].add_(moved * way)
        costs.append(cost())
    with torch.no_grad():
        net.params[param].add_(size * way)
    return (costs[0] - costs[1]) / (2 * size)


@pytest.mark.slow
@SOME
def test_exact_rules_are_faithful_in_the_limit(name: str) -> None:
    classes = pipeline.classify(network(name))
    rules = tuple(rule for rule in RULES if rule in available(classes) and classes.rules[rule].verdict == "exact")
    exact, configured = (module(name, dtype, rules, STEPS.get(name)) for dtype in (torch.float64, torch.float32))
    configured.load_state_dict(exact.state_dict())
    found = measure_fidelity(exact, configured, random_probe(exact), rules)
    assert found.settled > 0
    for rule in rules:
        limit = found.rules[rule].limit
        assert limit is not None and limit.cosine > COSINE, rule


@pytest.mark.slow
@SOME
def test_training_leaves_a_finite_cost(name: str) -> None:
    """On drawn inputs, so that no data are opened; by the rule of the spec."""
    rule = network(name).train.trained_by
    net = module(name, torch.float32, (rule,))
    optimiser = torch.optim.Adam(net.parameters(), lr=min(1e-2, network(name).train.lr or 1e-2))
    for seed in range(UPDATES):
        probe = random_probe(net, batch=8, seed=seed)
        clamps, targets = single(probe.clamps), single(probe.targets)
        found = net.gradients(clamps, targets, rule, allow_biased=True)
        for param, gradient in found.params.items():
            net.params[param].grad = gradient
        optimiser.step()
        net.project_params()
    cost = net.cost(net.relax(clamps).states, clamps, targets)
    assert bool(cost.isfinite().all())


def single(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The real ones in float32."""
    return {name: value.float() if value.is_floating_point() else value for name, value in tensors.items()}
