"""The JAX target: what it writes without JAX, and, where JAX is installed, its numbers beside those of torch."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import energyc
from energyc import pipeline
from energyc.code.targets.jax.forms import RULES
from energyc.code.targets.jax.functions import form
from energyc.language.diagnostics import SpecError, UserError
from energyc.language.network import Network
from energyc.mathematics.functions import FUNCTIONS
from energyc.resources import shipped
from energyc.runtime import ops
from energyc.runtime.equations.inputs import prepared
from energyc.surfaces.doctor.trial import SPEC
from tests.drawing import seeds, share
from tests.emit.judge import resolved
from tests.emit.kernels import NUMBERED
from tests.emit.kernels import shipped as small
from tests.emit.random_specs import random_spec

SMALL = SPEC.replace("relax {", "target t[J]\ncost c = sum[j]((s[j] - t[j])^2)/2\nrelax {")
LAYERS = Path(__file__).parents[1] / "golden" / "nudged_layers.energy"
PAGE = Path(__file__).parents[2] / "docs" / "from-jax.md"
#: Rules whose contrast is taken at a set strength, so that rounding is not divided by a small one.
CONTRASTS = frozenset({"ep", "centered-ep", "vf", "aep", "tracking-aep"})

#: Specs that have a test of their own; `cem_literal` is large.
OTHERS = {"hopfield", "thick", "cem_literal", "cem", "et_graph", "elastic_net", "group_lasso"}

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


def in_jax(test: Any) -> Any:
    """A slow test where JAX is installed."""
    return needs_jax(pytest.mark.slow(test))


# ------------------------------------------------------------------ what is written


def test_it_is_written_without_jax() -> None:
    """JAX is imported by the module alone."""
    made = pipeline.emit(resolved("hopfield"), target="jax")
    assert "import jax.numpy as jnp" in made.text and made.fallback is None
    assert "jax" not in sys.modules or importlib.util.find_spec("jax") is not None
    assert made.text == pipeline.emit(resolved("hopfield"), target="jax").text


def test_rules_without_a_form_are_named_or_refused() -> None:
    network = resolved("hopfield")
    head = " ".join(pipeline.emit(network, ("all",), target="jax").text.split('"""')[1].split())
    assert "Unsupported in JAX: chl, dyadic-ep" in head
    with pytest.raises(UserError, match="chl of hopfield has no form in JAX yet") as raised:
        pipeline.emit(network, ("chl",), target="jax")
    assert raised.value.help == "use another target, as --target torch"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_a_form(name: str) -> None:
    assert form(FUNCTIONS[name]).text


#: Where gradients nearly vanish, rules that take a difference of phases keep fewer digits of them.
FEWER_DIGITS = {"hopfield_resnet": 1e-7}


def table() -> str:
    """The table of the page: specs by the rules of their modules, or by the reason why they have none."""
    rows: dict[str, list[str]] = {}
    for name in sorted(shipped()):
        source = pipeline.read(name)
        network = pipeline.resolve(source)
        try:
            made = pipeline.emit(network, ("all",), target="jax")
        except UserError as error:
            rows.setdefault(error.message.partition("yet: ")[2] or error.message, []).append(name)
            continue
        rules = " ".join(re.split(r"\n(?=\S)", made.text.partition("Rules: ")[2])[0].split())
        rows.setdefault(", ".join(f"`{rule}`" for rule in sorted(rules.split(", "))), []).append(name)
    ordered = sorted(rows.items(), key=lambda row: (not row[0].startswith("`"), -len(row[1]), row[0]))
    lines = [f"| {', '.join(names)} | {says} |" for says, names in ordered]
    return "\n".join(["| specs | rules, or why there is no module |", "|---|---|", *lines])


@pytest.mark.slow
def test_the_page_says_which_specs_have_a_module() -> None:
    assert table() in PAGE.read_text(), table()


# ------------------------------------------------------------------ its numbers


@pytest.fixture(autouse=True)
def compiled_functions_go() -> Iterator[None]:
    """JAX keeps what it compiled; the modules of all specs are gigabytes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@pytest.fixture
def float64() -> Iterator[None]:
    """JAX in float64, as long as the test takes."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def given(network: Network, seed: int = 0, batch: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    """Clamps and targets at random."""
    random = np.random.default_rng(seed)

    def one(node: Any) -> Any:
        shape = (batch, *(network.extents[dim] for dim in node.dims))
        return random.integers(0, network.extents[node.over], shape) if node.over else random.uniform(0.1, 0.9, shape)

    return tuple({n: one(item.node) for n, item in kind.items()} for kind in (network.clamps, network.targets))  # type: ignore[return-value]


class Pair:
    """The modules of a network in torch and in JAX, with the same params."""

    def __init__(self, spec: str | Network, dtype: str = "float64", rules: tuple[str, ...] = ("all",)) -> None:
        self.network = small(shipped()[spec]) if isinstance(spec, str) else spec
        made = [pipeline.emit(self.network, rules, target=target) for target in ("torch", "jax")]
        self.torch, self.jax = (pipeline.instantiate(each, "cpu", dtype, 0) for each in made)
        self.torch.eval()  # which draws noise in training
        for name, array in self.jax.params.items():
            array[...] = self.torch.params[name].detach().numpy()
        self.module: Any = sys.modules[type(self.jax).__module__]
        self.clamps, self.targets = given(self.network)

    def with_noise(self) -> None:
        """Give noise too: ten times what JAX draws."""
        import jax

        drawn = self.module.noise(jax.random.key(0), 3).values()
        self.clamps |= {name: 10 * np.array(x) for name, x in zip(self.torch.noise_shapes, drawn, strict=True)}

    def gradients(self, rule: str, beta: float = 0.01) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """By a rule, whose nudges are so strong: torch's, and that of the function of the module."""
        import jax

        strength = {"beta": beta} if rule in CONTRASTS else {}
        self.torch.train(self.network.training is not None)  # a rule learns what is run in training
        ours = self.torch.gradients(self.clamps, self.targets, rule, allow_biased=True, **strength)
        self.torch.eval()
        params, clamps = self.jax.given(self.clamps)
        targets = self.module.Targets(**self.jax.ordered("targets", self.targets))
        found = jax.jit(self.jax.rules[rule])(params, clamps, targets, **strength)
        return {n: x.numpy() for n, x in ours.params.items()}, dict(zip(self.network.params, found.params, strict=True))


def difference(found: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """The largest, as a part of the largest entry of what was expected."""
    apart = [np.abs(np.asarray(found[n]) - x).max() / (np.abs(x).max() or 1.0) for n, x in expected.items()]
    return float(np.max(apart))


def same_rest(pair: Pair, close: float = 1e-12) -> None:
    """Where the relaxation ends, after how many steps, and how far from rest."""
    rest, expected = pair.jax.relax(pair.clamps), pair.torch.relax(pair.clamps)
    assert difference(rest.states, {n: x.numpy() for n, x in expected.states.items()}) < 1e-10
    np.testing.assert_array_equal(rest.steps, expected.steps)
    np.testing.assert_allclose(rest.residual, expected.residual, rtol=0, atol=close)


def tensors(arrays: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Arrays as tensors."""
    return {name: torch.from_numpy(np.asarray(x)) for name, x in arrays.items()}


def same(pair: Pair, rules: tuple[str, ...], close: float) -> None:
    """The relaxation, the force, the energy and the gradients by rules."""
    rest, expected = pair.jax.relax(pair.clamps), pair.torch.relax(pair.clamps)
    assert difference(rest.states, {n: x.numpy() for n, x in expected.states.items()}) < close
    params, clamps = pair.jax.given(pair.clamps)
    fixed = pair.module.prepare(params, clamps)
    states = pair.module.States(*(x.numpy() for x in expected.states.values()))
    force = dict(zip(pair.network.states, pair.module.force(params, states, fixed), strict=True))
    held = prepared(pair.torch, tensors(pair.clamps))
    with torch.no_grad():  # without the kinks that move by proximal steps
        ours = dict(zip(pair.network.states, pair.torch._force(list(expected.states.values()), held), strict=True))
    assert max(float(np.abs(np.asarray(force[n]) - x.numpy()).max()) for n, x in ours.items()) < close
    if pair.network.energies:
        energy = pair.module.energy(params, states, fixed)
        assert difference({"E": energy}, {"E": pair.torch.energy(expected.states, pair.clamps).numpy()}) < close
    for rule in rules:
        theirs, found = pair.gradients(rule)
        assert difference(found, theirs) < close, rule


@pytest.mark.sampled
@in_jax
@pytest.mark.parametrize("spec", ["hopfield", "thick"])
def test_every_rule_of_two_networks(spec: str, float64: None) -> None:
    pair = Pair(spec)
    assert set(RULES) == set(pair.jax.rules)
    same(pair, tuple(pair.jax.rules), 1e-10)


@in_jax
def test_every_rule_through_layers(float64: None) -> None:
    """Two layers with settings of their own, one of them in a repeat, and a param that both read."""
    pair = Pair(resolved(LAYERS))
    assert set(RULES) - {"tbptt"} == set(pair.jax.rules)
    same_rest(pair)
    for rule in pair.jax.rules:
        theirs, found = pair.gradients(rule)
        assert difference(found, theirs) < 1e-10, rule
    same_answer(pair, 1e-10)


@pytest.mark.sampled
@in_jax
@pytest.mark.parametrize("spec", ["cem", "et_graph", "numbered"])
def test_back_through_layers_noise_and_numbered_steps(spec: str, float64: None) -> None:
    """`cem` computes between its layers; noise, where there is some, is given to both."""
    pair = Pair(resolved(NUMBERED) if spec == "numbered" else spec, rules=("bptt",))
    same_rest(pair)
    if pair.torch.noise_shapes:
        pair.with_noise()
        same_rest(pair)
    theirs, found = pair.gradients("bptt")
    assert difference(found, theirs) < 1e-10


@in_jax
def test_layers_that_hardly_hear_the_cost_are_nudged_strongly(float64: None) -> None:
    """What comes back to the layers of `cem` is 1e-9 at random params: weak nudges would be lost in rounding."""
    pair = Pair("cem")
    for rule in sorted({*CONTRASTS, "adjoint"} & set(pair.jax.rules)):
        theirs, found = pair.gradients(rule, beta=1e5)
        assert difference(found, theirs) < 1e-10, rule


@in_jax
def test_a_look_at_each_chunk(float64: None) -> None:
    """By `exit = early` samples stop before the steps of the spec."""
    pair = Pair("sparse_coding", rules=("implicit",))
    same_rest(pair)
    assert min(pair.torch.relax(pair.clamps).steps) < 200
    same(pair, ("implicit",), 1e-10)


@pytest.mark.sampled
@in_jax
@pytest.mark.parametrize("spec", ["elastic_net", "group_lasso"])
def test_kinks_move_by_proximal_steps(spec: str, float64: None) -> None:
    """By every rule that has a form, and through the answer."""
    pair = Pair(spec)
    assert set(pair.jax.rules) == set(RULES)
    same_rest(pair)
    same(pair, tuple(pair.jax.rules), 1e-10)
    same_answer(pair, 1e-10)


@in_jax
def test_back_through_so_many_proximal_steps(float64: None) -> None:
    """Exactly so many, or the last of them alone."""
    settings = {"relax.tolerance": None, "relax.steps": 6, "nudge.steps": 3}
    pair = Pair(resolved("elastic_net", **settings), rules=("bptt", "tbptt"))
    same(pair, ("bptt", "tbptt"), 1e-10)


@in_jax
@pytest.mark.parametrize(("spec", "tolerance"), [("tel", 0.2), ("tel_digits", 0.2)])
def test_it_ends_by_patience_outside_of_training(spec: str, tolerance: float, float64: None) -> None:
    """Learning runs all steps, with what training adds; elsewhere each sample stops by itself."""
    sizes = {"I": 12, "C": 6, "relax.tolerance": tolerance}
    pair = Pair(resolved(spec, **sizes))
    if pair.network.cost is not None:
        same(pair, tuple(pair.jax.rules), 1e-10)
    pair.clamps, pair.targets = given(pair.network, batch=20)
    same_rest(pair)
    assert len(set(pair.torch.relax(pair.clamps).steps.tolist())) > 1


@in_jax
def test_a_step_is_measured_by_the_energy(float64: None) -> None:
    pair = Pair(resolved("hopfield", **{"relax.measure": "energy"}))
    same_rest(pair)
    assert min(pair.torch.relax(pair.clamps).steps) < pair.module.MODEL.settings.max_steps


@pytest.mark.sampled
@in_jax
@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("sparse_coding", {"S": 4, "N": 20}),
        ("hopfield", {"relax.tolerance": 1e-8, "relax.exit": "early", "relax.max_steps": 2000}),
        ("modern_hopfield", {"relax.tolerance": None}),
        ("thick", {"T": 5, "D": 6, "H": 2, "relax.tolerance": 1e-9, "relax.chunk": 5}),
        ("kuramoto", {"relax.chunk": 2, "relax.exit": "early", "relax.tolerance": 1e-8}),  # its steps are halved
    ],
)
def test_a_relaxation_chooses_its_step(spec: str, settings: dict[str, Any], float64: None) -> None:
    """The number of steps, with what the choice cost, is torch's, and so are nudged phases and the answer.

    An estimate of the curvature is a quotient of differences: it keeps ten digits.
    """
    chosen = {**settings, "relax.step": "auto"}
    pair = Pair(resolved(spec, **chosen))
    assert not set(pair.jax.rules) & {"bptt", "tbptt"}
    same_rest(pair, 1e-10)
    same(pair, tuple(pair.jax.rules), 1e-9)
    if set(pair.network.clamps) == {"x"}:
        same_answer(pair, 1e-9)


#: Blocks of which one has a kink, one a set of its own and a D that is computed, one a force that is not affine in it.
BLOCKS = """
network sweeping
dim A = 3, B = 4, C = 2
clamp x[A]
target t[C]
param W[A, B] ~ normal(1/2), V[B, C] ~ normal(1/2), w ~ normal(1/4), d[B] = 1 in [1/2, 2]
state a[A], b[B] in [-1, 1], c[C], e[C]
energy own = 1/2 * sum[i]((a[i] - x[i])^2) + 1/2 * sum[j](d[j] * b[j]^2) - sum[i,j](a[i] * W[i,j] * b[j])
energy far = 1/2 * sum[k]((c[k] - sum[j](b[j] * V[j,k]))^2) + 1/10 * exp(w) * sum[i](abs(a[i]))
energy odd = 1/2 * sum[k](e[k]^2) + 1/4 * sum[k](e[k]^4) - 1/2 * sum[k](e[k] * c[k])
readout o[k] = c[k] + e[k]
cost loss = 1/2 * sum[k]((c[k] - t[k])^2) + sum[k](e[k]^4)
relax { solver = blocks, step = 1/4, steps = 40 }
nudge { steps = 10 }
"""


@in_jax
@pytest.mark.parametrize(
    "spec", [*share(["conv_digits", "conv_hopfield", "deep_hopfield3", "hopfield_resnet"]), "small"]
)
def test_blocks_move_to_their_minimisers(spec: str, float64: None) -> None:
    """By every rule that there is in torch and has a form; one that goes back through steps has none through sweeps."""
    pair = Pair(resolved(BLOCKS) if spec == "small" else spec)
    assert set(pair.jax.rules) == set(RULES) & set(pair.torch.rules) == set(RULES) - {"bptt", "tbptt"}
    same_rest(pair)
    same(pair, ("adjoint",), 1e-10)
    same(pair, tuple(pair.jax.rules), FEWER_DIGITS.get(spec, 1e-10))
    if spec == "small":
        same_answer(pair, 1e-10)


#: Two kinks by one weight, and a cost that is linear in one state.
TWO_KINKS = """
network two_kinks
dim A = 3, B = 4
clamp q[A]
target t[A]
param w ~ normal(1), M[A, B] ~ normal(1)
state a[A], b[B]
energy own = 1/2 * sum[i]((a[i] - q[i])^2) + 1/2 * sum[j](b[j]^2) - 1/9 * sum[i,j](M[i,j] * a[i] * b[j])
energy first = 1/10 * exp(w) * sum[i](abs(a[i]))
energy second = 1/10 * exp(w) * sum[j](abs(b[j]))
cost c = sum[i]((a[i] - t[i])^2) + sum[j](b[j])
relax { step = 1/2, steps = 60 }
nudge { steps = 20 }
"""


@in_jax
def test_the_slope_of_a_cost_may_be_a_number(float64: None) -> None:
    """It was an array of integers, which no linear solve takes."""
    pair = Pair(resolved(TWO_KINKS))
    same_rest(pair)
    same(pair, ("implicit", "adjoint", "centered-ep"), 1e-10)


@in_jax
@pytest.mark.parametrize("spec", share(sorted(set(shipped()) - OTHERS)))
def test_other_specs(spec: str, float64: None) -> None:
    try:
        pair = Pair(spec)
    except UserError:
        pytest.skip("it has no form")
    if pair.network.cost is None:
        same(pair, (), 1e-10)
        return
    own = pair.network.train.rule
    same(pair, tuple(rule for rule in (own, "adjoint") if rule in pair.jax.rules), FEWER_DIGITS.get(spec, 1e-9))


@in_jax
@pytest.mark.parametrize("spec", ["hopfield", "thick"])
def test_float32_differs_by_rounding(spec: str) -> None:
    same(Pair(spec, "float32"), ("bptt", "adjoint"), 1e-4)


@in_jax
@pytest.mark.parametrize("step", [0.5, "auto"])
def test_the_strength_of_a_nudge_is_that_of_torch(step: object, float64: None) -> None:
    pair = Pair(resolved("hopfield", **{"relax.step": step}))
    for rule in ("ep", "centered-ep"):
        ours = pair.torch.gradients(pair.clamps, pair.targets, rule)
        found = pair.jax.gradients(pair.clamps, pair.targets, rule)
        close = 1e-7 if step == "auto" else 1e-8  # an estimate of the curvature keeps ten digits
        assert difference(found, {n: x.numpy() for n, x in ours.params.items()}) < close


@in_jax
def test_a_step_is_chosen_in_bfloat16_too() -> None:
    import jax

    network = resolved("hopfield", **{"relax.step": "auto"})
    loaded: Any = pipeline.instantiate(pipeline.emit(network, ("centered-ep",), target="jax"), "cpu", "float32", 0)
    module: Any = sys.modules[type(loaded).__module__]
    clamps, targets = given(network)
    params, held = jax.tree.map(lambda x: x.astype("bfloat16"), loaded.given(clamps))
    found = jax.jit(module.centered_ep)(params, held, module.Targets(**loaded.ordered("targets", targets)))
    assert found.params.W1.dtype == found.free.pace.dtype == "bfloat16"
    assert bool(np.isfinite(np.asarray(found.params.W1, "float32")).all())


@in_jax
def test_grad_goes_through_the_answer(float64: None) -> None:
    same_answer(Pair("hopfield"), 1e-9)


def same_answer(pair: Pair, close: float) -> None:
    """The gradient of the squares of the first readout by params and by the clamp x."""
    import jax

    params, clamps = pair.jax.given(pair.clamps)
    answer, name = pair.module.answer, next(iter(pair.network.readouts))
    by_params, by_clamps = jax.grad(lambda p, c: (answer(p, c)[0] ** 2).sum(), (0, 1))(params, clamps)
    given_x = torch.from_numpy(pair.clamps["x"]).requires_grad_()
    (pair.torch({"x": given_x}, rule="implicit")[name] ** 2).sum().backward()
    ours = {n: p.grad.numpy() for n, p in pair.torch.params.items()}
    assert difference(dict(zip(pair.network.params, by_params, strict=True)), ours) < close
    assert given_x.grad is not None and difference({"x": by_clamps.x}, {"x": given_x.grad.numpy()}) < close


@in_jax
@pytest.mark.parametrize(("spec", "rule"), [("hopfield", "centered-ep"), ("thick", "tracking-aep")])
def test_optax_trains_it(spec: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module as a file: the cost of one batch falls to half of what it was."""
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    network = small(shipped()[spec])
    (tmp_path / f"{spec}_jax.py").write_text(pipeline.emit(network, (rule,), target="jax").text)
    monkeypatch.syspath_prepend(str(tmp_path))
    net = importlib.import_module(f"{spec}_jax")
    learn, (clamps, targets) = getattr(net, rule.replace("-", "_")), given(network, batch=4)
    clamps, targets = net.Clamps(**jax.tree.map(reals, clamps)), net.Targets(**jax.tree.map(reals, targets))
    params, optimizer = net.init(jax.random.key(0), "float32"), optax.adam(1e-2)
    state, costs = optimizer.init(params), []

    @jax.jit
    def update(params: Any, state: Any) -> Any:
        found = learn(params, clamps, targets)
        moves, state = optimizer.update(found.params, state, params)
        return optax.apply_updates(params, moves), state, found.cost.mean()

    for _ in range(60):
        params, state, cost = update(params, state)
        costs.append(float(cost))
    assert costs[-1] < costs[0] / 2, costs[::10]


@in_jax
def test_it_goes_over_devices_and_under_vmap(tmp_path: Path) -> None:
    """A batch shared by two devices by hand and by the compiler, sets of params, samples, donation, bfloat16."""
    made = pipeline.emit(resolved("hopfield"), ("centered-ep",), target="jax")
    (tmp_path / "hopfield_jax.py").write_text(made.text)
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, str(Path(__file__).with_name("devices.py")), str(tmp_path)]
    found = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert found.pop("devices") == 2
    assert found.pop("kept after donation") == 0
    assert found.pop("bfloat16") < 0.01
    assert max(found.values()) < 1e-5, found


def reals(x: Any) -> Any:
    """Real numbers in float32; integers as they are."""
    return x.astype("float32") if x.dtype == np.float64 else x


@in_jax
@pytest.mark.parametrize("seed", seeds(6))
def test_random_specs(seed: int, float64: None) -> None:
    """The equations of random specs beside torch's."""
    text = random_spec(seed, real=bool(seed % 2))
    print(f"seed {seed}\n{text}")
    try:
        pair = Pair(resolved(text), rules=("implicit",))
    except (SpecError, UserError) as error:
        pytest.skip(str(error).partition("\n")[0])
    same_equations(pair, 1e-9)


@torch.no_grad()
def same_equations(pair: Pair, close: float) -> None:
    """Force, energies, J^T v and the slopes by params, at random states and cotangents."""
    import jax

    from energyc import jax as ej

    random = np.random.default_rng(0)
    shapes = [(3, *(pair.network.extents[dim] for dim in s.node.dims)) for s in pair.network.states.values()]
    states, cotangents = ([random.uniform(0.1, 0.9, shape) for shape in shapes] for _ in range(2))
    fixed = prepared(pair.torch, {n: torch.from_numpy(x) for n, x in pair.clamps.items()})
    at, along = ([torch.from_numpy(x) for x in group] for group in (states, cotangents))
    params, clamps = pair.jax.given(pair.clamps)
    net = pair.module
    own, place = jax.jit(net.prepare)(params, clamps), net.States(*map(np.asarray, states))
    same_arrays(jax.jit(net.force)(params, place, own), pair.torch._force(at, fixed), close)
    if pair.network.energies:
        found = jax.jit(net.terms)(params, place, own)  # by name, in the order of names
        same_arrays([found[name] for name in pair.torch.term_names], pair.torch._terms(at, fixed), close)
    system = ej.System(net.MODEL, params, own)
    _, found, total = jax.jit(lambda *at: ej.total_vjp(system, net.force, *at))(place, clamps, net.States(*cotangents))
    by_params = total.params._asdict()
    back, slopes = pair.torch._force_vjp(at, fixed, along)
    same_arrays(found, back, close)
    fields = dict(zip(pair.network.params, params._fields, strict=True))
    same_arrays([by_params[fields[name]] for name in slopes], list(slopes.values()), close)


def same_arrays(found: Iterable[Any], expected: Sequence[torch.Tensor | None], close: float) -> None:
    """Arrays are tensors, up to the largest entry of each."""
    for x, y in zip(found, expected, strict=True):
        if y is not None:
            np.testing.assert_allclose(np.asarray(x), y, rtol=0, atol=close * max(1.0, float(y.abs().max())))


@in_jax
@pytest.mark.parametrize("spec", ["coupled_learning", "monotone"])
def test_params_are_put_back_on_their_sets(spec: str, float64: None) -> None:
    pair = Pair(spec, rules=("implicit",))
    random = np.random.default_rng(3)
    moved = {name: x + random.normal(size=x.shape) for name, x in pair.jax.params.items()}
    gradients = {name: torch.from_numpy(random.normal(size=x.shape)) for name, x in moved.items()}
    for name, x in moved.items():
        pair.torch.params[name].data.copy_(torch.from_numpy(x))
    pair.torch.project_params()
    net = pair.module
    params = net.project_params(net.Params(*moved.values()))
    for found, expected in zip(params, pair.torch.params.values(), strict=True):
        np.testing.assert_allclose(found, expected.detach(), rtol=0, atol=1e-12)
    if hasattr(net, "project_gradients"):
        along = net.project_gradients(params, net.Params(*(x.numpy() for x in gradients.values())))
        for found, expected in zip(along, pair.torch.project_gradients(gradients).values(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@in_jax
def test_operations_on_arrays_are_those_of_torch(float64: None) -> None:
    """Windows, gathers, segments and reductions beside those of the runtime of torch, on the same numbers."""
    from energyc import jax as ej

    random = np.random.default_rng(0)
    x, index, mask = random.normal(size=(2, 3, 7)), random.integers(0, 4, (2, 1, 7)), random.random((2, 3, 7)) < 0.6
    places, rows = random.integers(0, 7, (2, 5)), random.integers(0, 6, (2, 3))
    overlapping = random.normal(size=(2, 5, 3))
    none = np.where(random.random((2, 3, 7)) < 0.8, -np.inf, x)
    heads = random.integers(0, 4, (2, 3, 7))  # an index of each head
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("windows", (x, 2, -1, (4, 3), (2, 1))),
        ("windows", (x, (1, 2), -1, (2, 2), (2, 1))),
        ("overlap_add", (overlapping, 9, -1, (2, 1))),
        ("overlap_add", (random.normal(size=(2, 2, 2, 3, 2)), (3, 5), -1, (2, 1))),
        ("gather", (x, places, 2)),
        ("segment_sum", (random.normal(size=(2, 3, 5)), places, 2, 7)),
        ("segment_sum", (x, heads, 2, 7)),
        ("scatter_add", (random.normal(size=(2, 3, 4)), rows, 6)),
        ("softmax", (none, (1, 2))),
        ("first_largest", (none, (1, 2))),
        ("largest_entry", (x, (1, 2))),
    ]
    for at in (index, heads):
        cases += [(f"segment_{name}", (x, at, 5, mask)) for name in ("softmax", "logsumexp", "max")]
        cases.append(("segment_first_largest", (np.round(x), at, 5, mask)))
    for name, given in cases:
        own = [torch.from_numpy(part) if isinstance(part, np.ndarray) else part for part in given]
        expected = getattr(ops, name)(*own)
        np.testing.assert_allclose(getattr(ej, name)(*given), expected, rtol=0, atol=1e-12, err_msg=name)


@needs_jax
def test_names_of_a_spec_take_nothing_of_the_module(float64: None) -> None:
    text = SPEC.replace("b", "jnp").replace("J", "lax").replace("W", "params")
    x, jnp = np.ones((2, 3)), np.zeros((2, 4))
    ours = energyc.load(text, target="torch", dtype="float64")
    net = energyc.load(text, target="jax", dtype="float64")
    for name, param in ours.params.items():
        net.params[name][...] = param.detach().numpy()
    expected = ours.relax({"x": x, "jnp": jnp}).states["s"].numpy()
    np.testing.assert_allclose(net.relax({"x": x, "jnp": jnp}).states["s"], expected, rtol=0, atol=1e-12)


@needs_jax
@pytest.mark.parametrize("name", ["states", "params", "clamps", "targets", "array", "MODEL"])
def test_a_network_may_be_called_like_what_a_module_defines(name: str) -> None:
    net, plain = (energyc.load(SPEC.replace("network trial", f"network {n}"), target="jax") for n in (name, "trial"))
    assert type(net).__name__ == f"N{name[0].upper()}{name[1:]}"
    given = {"x": np.ones((2, 3)), "b": np.zeros((2, 4))}
    np.testing.assert_array_equal(net.relax(given).states["s"], plain.relax(given).states["s"])


@needs_jax
def test_inputs_are_checked() -> None:
    net = energyc.load(SMALL, target="jax")
    with pytest.raises(ValueError, match="the clamps are x, b, not x"):
        net.relax({"x": np.ones((2, 3))})
    with pytest.raises(ValueError, match="there is no rule chl in this module"):
        net.gradients({"x": np.ones((2, 3)), "b": np.ones((2, 4))}, {"t": np.ones((2, 4))}, "chl")


@needs_jax
def test_it_is_given_the_weights_of_a_run(tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(0)
    data = {name: torch.rand(8, n, generator=random) for name, n in (("x", 3), ("b", 4), ("t", 4))}
    run = energyc.train(SMALL, data, steps=2, settings={"train.batch": 4}, out=tmp_path / "run", quiet=True)
    params = run.params("jax")
    assert np.array_equal(params["W"], run.params()["W"].detach().numpy())


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="jax is installed")
def test_without_jax_it_is_not_loaded() -> None:
    with pytest.raises(UserError, match="jax is not installed, which modules in JAX need") as caught:
        energyc.load("hopfield", target="jax")
    assert str(caught.value.help).endswith("-m pip install 'jax>=0.4.34'")


@needs_jax
def test_float64_without_x64_is_an_error_that_says_what_to_call(float64: None) -> None:
    import jax

    jax.config.update("jax_enable_x64", False)
    with pytest.raises(UserError, match="jax_enable_x64"):
        energyc.load("deq", target="jax", dtype="float64")
    jax.config.update("jax_enable_x64", True)
    assert str(energyc.load("deq", target="jax", dtype="float64").dtype) == "float64"
