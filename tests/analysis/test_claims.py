"""Metric descent, and the claims of `check`: matrices, floors, equilibria, contraction."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import energyc
from energyc.language.diagnostics import Source
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, read, resolve
from energyc.proofs.claims.classes import Claim, Classes
from energyc.proofs.verdicts.in_notation import classes_of
from energyc.resources import folder

QUADRATIC = """network n
dim D = 4, R = 2
const c = 1
param W[D, D], U[D, R], V[D, R] ~ normal(0.5)
param s[D] = 1, gain = 1
clamp b[D]
target t[D]
state x[D]
"""


def classes(text: str) -> Classes:
    return classes_of(resolve(Source("spec.energy", text), Choices()))


def shipped(name: str) -> Classes:
    return classes_of(resolve(read(folder("specs") / f"{name}.energy"), Choices()))


def claim(found: Classes, about: str, what: str) -> Claim:
    (one,) = [c for c in found.claims if about in c.about and c.claim == what]
    return one


# -------------------------------------------------------------------- metric descent

TANH = """network n
dim D = 6
param W[D, D] ~ normal(0.5)
clamp b[D]
target t[D]
state x[D]
let g[d] = tanh(x[d])
energy e = 1/2*sum[d](g[d]^2) + sum[d](b[d]*g[d]) + 1/2*sum[d]((sum[k](W[d,k]*g[k]))^2)
flow x[d] = -grad(e, g[d])
cost c = sum[d]((g[d] - t[d])^2)
relax { step = 0.2, steps = 400, tolerance = 1e-9 }
"""


def test_a_flow_down_an_energy_by_a_let_is_metric_descent() -> None:
    found = classes(TANH)
    assert found.verdict == "metric-descent"
    (flow,) = [term for term in found.terms if term.kind == "flow"]
    assert flow.to_json() == {
        "name": "x", "kind": "flow", "class": "metric-descent", "evidence": "proof", "metric": "dg/dx", "ties": [],
    }  # fmt: skip
    assert claim(found, "dg/dx", "positive semidefinite").verdict == "proved"
    assert found.rules["centered-ep"].verdict == "exact"
    assert "critical point of the energy in g" in str(found.rules["centered-ep"].why)


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("rule", ["ep", "centered-ep", "vf", "aep", "tracking-aep", "adjoint", "holomorphic-aep"])
def test_rules_along_a_metric_descent_tend_to_the_gradient(rule: str) -> None:
    """EP nudges by dC/dg and contrasts dE/dtheta; the others take the flow for a force."""
    torch.manual_seed(0)
    net = energyc.load(TANH, dtype=torch.float64, seed=3)
    clamps = {"b": 0.3 * torch.randn(5, 6, dtype=torch.float64)}
    targets = {"t": torch.randn(5, 6, dtype=torch.float64)}
    exact = net.gradients(clamps, targets, rule="implicit", tolerance=1e-13).params["W"]
    settings = {} if rule == "adjoint" else {"beta": 1e-4}
    found = net.gradients(clamps, targets, rule=rule, tolerance=1e-13, nudge_steps=400, **settings).params["W"]
    assert (found - exact).norm() / exact.norm() < (1e-3 if rule == "ep" else 1e-6)


def test_a_nudge_by_the_state_would_be_wrong() -> None:
    """Gradients show that the rules do not nudge by dC/dg: the contrast under dC/dx is far off."""
    torch.manual_seed(0)
    net = energyc.load(TANH, dtype=torch.float64, seed=3)
    clamps = {"b": 0.3 * torch.randn(5, 6, dtype=torch.float64)}
    targets = {"t": torch.randn(5, 6, dtype=torch.float64)}
    exact = net.gradients(clamps, targets, rule="implicit", tolerance=1e-13).params["W"]
    net._nudge = net._cost_force
    found = net.gradients(clamps, targets, rule="centered-ep", tolerance=1e-13, nudge_steps=400, beta=1e-4).params["W"]
    assert (found - exact).norm() / exact.norm() > 0.02


@pytest.mark.parametrize(
    ("flow", "cost", "verdict", "why"),
    [
        ("flow x[d] = -grad(e, g[d])", "x[d]", "biased", "reads x beside g"),
        ("flow x[d] = -grad(e, g[d]) - x[d]", "g[d]", "biased", "x"),
        ("flow x[d] = -sum[k](W[d,k] * grad(e, g[k]))", "g[d]", "biased", "x"),
        ("flow x[d] = -tanh(grad(e, g[d]))", "g[d]", "biased", "x"),
        ("flow x[d] = -(b[d] * grad(e, g[d]))", "g[d]", "unproved", "may be singular"),
    ],
)
def test_what_speaks_against_ep_along_a_flow(flow: str, cost: str, verdict: str, why: str) -> None:
    text = TANH.replace("flow x[d] = -grad(e, g[d])", flow).replace("(g[d] - t[d])", f"({cost} - t[d])")
    rule = classes(text).rules["centered-ep"]
    assert rule.verdict == verdict
    assert why in str(rule.why)


def test_an_energy_beside_those_of_the_flow_is_no_descent() -> None:
    """x moves down e, and the energy of z reads x, too: their sum does not fall along x."""
    text = TANH.replace("state x[D]", "state x[D], z[D]") + "energy pull = sum[d]((z[d] - g[d])^2)\n"
    assert classes(text).verdict == "not-conservative"


def test_the_published_systems() -> None:
    image, mlp, literal = shipped("et_image"), shipped("cem_mlp"), shipped("cem_literal")
    assert (image.verdict, mlp.verdict, literal.verdict) == ("metric-descent", "metric-descent", "not-conservative")
    positive = claim(image, "dg/dx", "positive semidefinite")
    assert (positive.verdict, positive.condition) == ("proved", "gamma >= 0")
    assert claim(mlp, "du/dx", "positive semidefinite").condition is None
    assert claim(literal, "flow x", "minus the gradient of an energy by u").verdict == "refuted"


# -------------------------------------------------------------------- preconditioners


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(
    ("matrix", "symmetric", "positive"),
    [
        ("where(d == k, softplus(s[d]), 0) + sum[r](U[d,r] * U[k,r])", "proved", "proved"),
        ("where(d == k, softplus(s[d]), 0) + sum[r](U[d,r] * V[k,r] + V[d,r] * U[k,r])", "proved", "refuted"),
        ("where(d == k, s[d], 0)", "proved", "refuted"),
        ("where(d == k, s[d]^2, 0)", "proved", "proved"),
        ("sum[r](U[d,r] * V[k,r])", "refuted", None),
        ("sum[r](s[d] * U[d,r] * s[k] * U[k,r] * V[r,r]^2)", "proved", "proved"),
        ("sum[r](U[d,r] * U[k,r] * V[r,r])", "proved", "refuted"),
    ],
)
def test_preconditioners(matrix: str, symmetric: str, positive: str | None) -> None:
    square = "V[r,r]" in matrix
    found = classes(
        QUADRATIC.replace("V[D, R]", "V[R, R]" if square else "V[D, R]") + f"let P[d, k in D] = {matrix}\n"
        "energy e = 1/2 * sum[d](x[d]^2) + sum[d](b[d] * x[d]) + sum[d,k](W[d,k] * tanh(x[k]))\n"
        "flow x[d] = -sum[k](P[d,k] * grad(e, x[k]))\n"
        "readout y = gain + sum[d](s[d]) + sum[d,r](U[d,r]) + " + ("sum[r](V[r,r])" if square else "sum[d,r](V[d,r])")
    )
    assert claim(found, "P in flow x", "symmetric").verdict == symmetric
    if positive is not None:
        assert claim(found, "P in flow x", "positive semidefinite").verdict == positive


def test_a_negative_direction_can_be_replayed() -> None:
    text = QUADRATIC + (
        "let P[d, k in D] = where(d == k, softplus(s[d]), 0) + sum[r](U[d,r] * V[k,r] + V[d,r] * U[k,r])\n"
        "energy e = gain * sum[d](x[d]^2 + b[d] * x[d]) + sum[d,k](W[d,k] * x[k])\n"
        "flow x[d] = -sum[k](P[d,k] * grad(e, x[k]))\n"
    )
    numbers = claim(classes(text), "P in flow x", "positive semidefinite").numbers
    point = {name: np.array(value) for name, value in numbers["point"].items()}
    low_rank = point["U"] @ point["V"].T
    matrix = np.diag(np.log1p(np.exp(point["s"]))) + low_rank + low_rank.T
    assert point["v"] @ matrix @ point["v"] == pytest.approx(numbers["value"], rel=1e-9)
    assert numbers["value"] < 0


@pytest.mark.slow
def test_random_quadratic_forms_are_never_called_positive_wrongly() -> None:
    """Sums of products of random factors: where `proved`, no eigenvalue is negative at random weights."""
    generator = np.random.default_rng(20261122)
    factors = [
        "U[d,r] * U[k,r]",
        "U[d,r] * V[k,r]",
        "V[d,r] * U[k,r]",
        "U[d,r] * U[k,r] * s[d] * s[k]",
        "V[d,r] * V[k,r]",
    ]
    signs = ["", "-", "2 * ", "s[0] * ", "s[0]^2 * "]
    proved = 0
    for _ in range(40):
        parts = [
            f"{signs[generator.integers(len(signs))]}{factors[generator.integers(len(factors))]}"
            for _ in range(generator.integers(1, 4))
        ]
        matrix = f"sum[r]({' + '.join(parts)})".replace("+ -", "- ")
        text = QUADRATIC + (
            f"let P[d, k in D] = {matrix}\nenergy e = gain * sum[d](x[d]^2 + b[d] * x[d]) + sum[d,k](W[d,k] * x[k])\n"
            "flow x[d] = -sum[k](P[d,k] * grad(e, x[k]))\nreadout y = sum[d,r](U[d,r] + V[d,r]) + sum[d](s[d])\n"
        )
        network = resolve(Source("spec.energy", text), Choices())
        found = [c for c in classes_of(network).claims if c.claim == "positive semidefinite"]
        if not found or found[0].verdict != "proved":
            continue
        proved += 1
        for _ in range(10):
            values = {
                n: generator.standard_normal([network.extents[d] for d in p.node.dims])
                for n, p in network.params.items()
            }
            inputs = {("param", name): value for name, value in values.items()}
            (dense,) = evaluate([network.lets["P"].node], inputs, sizes=network.extents, values=network.values)
            low = np.linalg.eigvalsh((dense + dense.T) / 2)[0]
            assert low > -1e-9 * np.abs(dense).max(), matrix
    assert proved >= 3


# -------------------------------------------------------------------- floors


@pytest.mark.parametrize(
    ("state", "energy", "verdict"),
    [
        ("x[D]", "sum[d](x[d]^2) - sum[d](relu(x[d]))", "proved"),
        ("x[D]", "sum[d](x[d]^2) - sum[d,k](W[d,k] * relu(x[d]) * relu(x[k]))", "refuted"),
        ("x[D] in [-1, 1]", "-sum[d,k](W[d,k] * relu(x[d]) * relu(x[k]))", "proved"),
        ("x[D] in sphere[D]", "sum[d,k](W[d,k] * x[d] * x[k])", "proved"),
        ("x[D] in nonnegative", "-sum[d](x[d])", "refuted"),
        ("x[D]", "sum[d](exp(x[d]) - x[d])", "proved"),
        ("x[D]", "sum[d](exp(x[d]) - exp(2*x[d]) + x[d]^2)", "undecided"),
        ("x[D]", "sum[d](2*abs(x[d]) - x[d])", "proved"),
        ("x[D]", "sum[d](b[d]*x[d] + sqrt(1 + x[d]^2))", "undecided"),
        ("x[D]", "sum[d](b[d] * x[d])", "refuted"),
        ("x[D]", "c * sum[d](x[d]^2) - 3 * logsumexp[k](sum[d](W[d,k] * x[d]))", "proved"),
        ("x[D]", "sum[d](x[d]^4) - sum[d](x[d]^2)", "proved"),
        ("x[D]", "sum[d](tanh(x[d])) - sum[d](W[d,0] * sigmoid(x[d]))", "proved"),
    ],
)
def test_floors(state: str, energy: str, verdict: str) -> None:
    text = (
        "network n\ndim D = 4\nconst c = 1/2\nparam W[D, D] ~ normal(1)\nclamp b[D]\n"
        f"state {state}\nenergy e = {energy}\nreadout y = sum[d,k](W[d,k]) + sum[d](b[d])\n"
    )
    assert claim(classes(text), "e", "bounded below").verdict == verdict


def test_a_ray_can_be_replayed() -> None:
    text = (
        "network n\ndim D = 4\nparam W[D, D] ~ normal(1)\nstate x[D]\n"
        "energy e = 1/2 * sum[d](x[d]^2) - sum[k](relu(sum[d](W[d,k] * x[d]))^2)\n"
    )
    numbers = claim(classes(text), "e", "bounded below").numbers
    W, x = np.array(numbers["point"]["W"]), np.array(numbers["direction"]["x"])
    assert not np.any(numbers["point"]["x"])
    energies = [0.5 * (t * x) @ (t * x) - np.sum(np.maximum(t * x @ W, 0) ** 2) for t in numbers["reach"]]
    assert energies == pytest.approx(numbers["energy"], rel=1e-9)
    leading = numbers["leading"]
    assert leading["power"] == 2
    assert leading["low"] <= leading["high"] < 0
    assert energies[-1] / numbers["reach"][-1] ** 2 == pytest.approx(leading["low"], rel=1e-9)


def test_memories_without_a_floor() -> None:
    for name in ("thin", "cet_lm"):
        assert claim(shipped(name), "mem", "bounded below").verdict == "refuted"
    for name in ("cet", "hopfield", "deep_hopfield", "hopfield_conv", "modern_hopfield", "resistive"):
        assert [c.verdict for c in shipped(name).claims if c.claim == "bounded below"] == ["proved"]


# -------------------------------------------------------------------- equilibria


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ("state x[D]\nnext x[d] = tanh(sum[k](W[d,k] * x[k]))", "proved"),
        ("state x[D]\nnext x[d] = relu(sum[k](W[d,k] * x[k]))", "undecided"),
        ("state x[D]\nforce f on x[d] = sum[k](W[d,k] * sigmoid(x[k])) - c * x[d]", "proved"),
        ("state x[D]\nforce f on x[d] = sum[k](W[d,k] * sigmoid(x[k])) + c * x[d]", "undecided"),
        ("state x[D] in [0, 1]\nforce f on x[d] = sum[k](W[d,k] * x[k])", "proved"),
        ("state x[D] in sphere[D]\nforce f on x[d] = sum[k](W[d,k] * x[k])", "undecided"),
        ("state x[D] in [0, 1]\nforce f on x[d] = sum[k](W[d,k] * relu'(x[k] - 1/2))", "undecided"),
        ("state x[D]\nenergy e = 1/2 * sum[d](x[d]^2)\nforce f on x[d] = x[d] + sum[k](W[d,k])", "undecided"),
        ("state x[D]\nenergy e = sum[d](x[d]^4)\nflow x[d] = -sum[k](W[d,k] * grad(e, x[k]))", "proved"),
        ("state x[D]\nenergy e = sum[d](x[d]^4)\nflow x[d] = -sum[k](W[d,k] * grad(e, x[k])) + W[d,d]", "undecided"),
        ("state x[D]\nenergy e = sum[d](exp(x[d]))\nflow x[d] = -sum[k](W[d,k] * grad(e, x[k]))", "undecided"),
        (
            "state x[D] in nonnegative\nenergy e = sum[d](x[d]^4)\nflow x[d] = -sum[k](W[d,k] * grad(e, x[k]))",
            "undecided",
        ),
        (
            "state x[D], y[D]\nenergy e = sum[d](x[d]^4 + y[d]^2)\nenergy a = sum[d]((x[d] - y[d])^2)\n"
            "flow x[d] = -sum[k](W[d,k] * grad(e, x[k]))\nflow y[d] = -grad(e + a, y[d])",
            "undecided",
        ),
    ],
)
def test_equilibria(lines: str, verdict: str) -> None:
    found = classes(f"network n\ndim D = 4\nconst c = 1/2\nparam W[D, D] ~ normal(1)\n{lines}\n")
    assert claim(found, "the network", "an equilibrium exists").verdict == verdict
    known = "if there is an equilibrium, which is not proved" not in str(found.rules["implicit"].why)
    assert known == (verdict == "proved")
    assert found.rules["bptt"].why is None


# -------------------------------------------------------------------- contraction

LAYER = """network tel
dim I = 4, C = 6
const T_min = 0.05, T_max = {}
clamp x[I]
param W[C, I] ~ kaiming, b[C] = 0
param log_eta = log(1/2) in [log(1e-4), 0]
param tau = log(1/2) in [log(T_min), log(T_max)]
let a[c] = sum[i](W[c,i] * x[i]) + b[c]
fn S'(u) = silu(u)
state y[C]
start y[c] = a[c]
energy G = 1/2 * sum[c]((y[c] - a[c])^2) - exp(tau) * sum[c](S(y[c]))
flow y[c] = -exp(log_eta) * grad(G, y[c])
readout out[c] = y[c]
"""


def test_a_temperature_within_the_bound_contracts() -> None:
    """T max silu' = 0.909 * 1.09984 < 1; then a fixed point exists (Banach)."""
    found = classes(LAYER.format("0.909"))
    step = claim(found, "step map of y", "contraction")
    assert step.verdict == "proved"
    assert -1 < step.numbers["low"] < step.numbers["high"] < 1
    assert claim(found, "the network", "an equilibrium exists").verdict == "proved"


def test_a_temperature_beyond_the_bound_expands() -> None:
    """At T = 1.5 and eta = 1 the step's slope is 1.5 max silu' = 1.6498, where the paper's condition asks for less."""
    step = claim(classes(LAYER.format("1.5")), "step map of y", "contraction")
    assert step.verdict == "refuted"
    assert "1.649" in step.evidence


def test_claims_stand_in_the_json() -> None:
    report = energyc.check(TANH).to_json()
    assert report["class"] == "metric-descent"
    assert {"about", "claim", "verdict", "evidence"} <= report["claims"][0].keys()


def test_training_says_that_an_energy_has_no_floor() -> None:
    from energyc.surfaces.report.notes import floor_notes

    (note,) = floor_notes(shipped("thin"))
    assert "input + damping + mem has no floor" in note
    assert not list(floor_notes(shipped("cet")))


def test_a_matrix_of_each_head_is_judged_head_by_head() -> None:
    """The preconditioners of CEM's attention: diagonal and indefinite low rank, one for each copy of the state."""
    text = (
        "network n\ndim H = 2, D = 4, R = 2\nparam s[H, D] = 1, U[H, D, R], V[H, D, R] ~ normal(0.5)\nclamp b[D]\n"
        "state x[D]\nlet u[h in H, d] = x[d]\nenergy e = sum[h,d](log(1 + exp(u[h,d] - b[d])))\n"
        "let P[h, d, k in D] = where(d == k, softplus(s[h,d]), 0) + sum[r](U[h,d,r] * V[h,k,r] + V[h,d,r] * U[h,k,r])\n"
        "flow x[d] = -sum[h,k](P[h,d,k] * grad(e, u[h,k]))\n"
    )
    assert claim(classes(text), "P in flow x", "symmetric").verdict == "proved"
    assert claim(classes(text), "P in flow x", "positive semidefinite").verdict == "refuted"
    squares = text.replace("U[h,d,r] * V[h,k,r] + V[h,d,r] * U[h,k,r]", "U[h,d,r] * U[h,k,r] + V[h,d,r] * V[h,k,r]")
    assert claim(classes(squares), "P in flow x", "positive semidefinite").verdict == "proved"


def test_noise_is_no_part_of_a_descent() -> None:
    noisy = TANH.replace("state x[D]", "noise eps[D] ~ normal(0.1)\nstate x[D]")
    assert classes(noisy.replace("grad(e, g[d])", "grad(e, g[d]) - eps[d]")).verdict == "metric-descent"
    assert classes(noisy.replace("grad(e, g[d])", "grad(e, g[d]) - eps[d] * x[d] - x[d]")).verdict == "not-conservative"


def test_a_slope_that_is_nowhere_a_number_shows_nothing() -> None:
    found = classes(
        """
network nowhere
dim D = 2
param a = -1 in [-2, -1]
state z[D]
energy e = sum[d](1/2 * z[d]^2 * sqrt(a))
"""
    )
    assert not [c for c in found.claims if c.claim == "contraction" and c.verdict != "undecided"]


@pytest.mark.parametrize("function", ["relu", "erf"])
def test_what_is_detached_is_evaluated_on_complex_states_too(function: str) -> None:
    found = classes(
        f"""
network cut
dim D = 2
param w[D] ~ normal(1)
target y[D]
state z[D]
energy e = sum[d](1/2 * z[d]^2 - w[d] * detach({function}(z[d])) * z[d])
cost c = sum[d]((z[d] - y[d])^2)
"""
    )
    rule = found.rules["holomorphic-ep"]
    assert rule.verdict == "inadmissible" and f"{function} in e" in str(rule)


def test_a_cost_is_differentiated_through_what_is_frozen() -> None:
    """Its slope has a step, which has no holomorphic extension; the verdict looked at the cost as forces see it."""
    found = classes(
        """
network cut
dim D = 2
param w[D] ~ normal(1)
target y[D]
state z[D]
energy e = sum[d](1/2 * z[d]^2 - w[d] * z[d])
cost c = sum[d]((frozen(max(0.3, z[d])) - y[d])^2)
"""
    )
    rule = found.rules["holomorphic-ep"]
    assert rule.verdict == "inadmissible" and "in the cost c" in str(rule)
