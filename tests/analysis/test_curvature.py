"""Bounds on the curvature against dense Jacobians, by autograd, at params on the rims of their sets."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

import energyc
from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import CONVERGES, UNIQUE
from energyc.proofs.claims.curvature import Curvature, Part, least_eigenvalue, rate_of, steps_to
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.verdicts.in_notation import classes_of
from energyc.runtime.equations.inputs import prepared
from tests.drawing import seeds

SETS = ("norm[{c}]", "orthogonal", "[-{c}/4, {c}/4]", "sphere[K]")
STATES = ("", " in [0, 1]", " in [-1/2, 2]", " in nonnegative")
ENERGIES = (
    "-sum[j,k](s[j] * W[j,k] * y[k])",
    "1/2 * sum[j]((s[j] - sum[k](W[j,k] * y[k]))^2)",
    "-{a} * sum[j](softplus(sum[k](W[j,k] * y[k]) + b[j]))",
    "{a} * sum[j](log(1 + exp(sum[k](W[j,k] * y[k]) - s[j])))",
    "{a} * sum[j,k](tanh(s[j]) * W[j,k] * sin(y[k]))",
    "1/4 * sum[j](s[j]^4)",
    "-{a} * sum[j](cos(s[j]))",
    "-{a}/2 * sum[j,i](S[j,i] * s[j] * s[i])",
    "{a} * sum[j](sigmoid(s[j]) * exp(-s[j]^2))",
    "{a} * sum[k](sqrt(1 + y[k]^2))",
    "{a} * sum[j](where(s[j] > 1/2, (s[j] - 1/2)^2, 0))",
    "-{a} * sum[j,k | k == j + 1](s[j] * y[k])",
    "-{a} * sum[j,k | k == 2*j](s[j] * tanh(y[k]))",
    "-{a}/2 * sum[j,i | i < j](s[i] * s[j])",
    "{a}/2 * sum[j](where(j < 1, s[j]^2, -s[j] * sum[k | k == j](y[k])))",
    "{a}/2 * sum[j](sum[k](y[k] * s[j]))",
    "{a}/4 * sum[j](sum[i](s[i]) * s[j])",
)
FORCES = (
    "force turn on s[j] = {a} * sum[i](B[j,i] * s[i] - B[i,j] * s[i])",
    "force feed on y[k] = {a} * tanh(sum[j](W[j,k] * s[j]))",
    "force back on s[j] = {a} * sigmoid(s[j]) * sum[k](W[j,k] * y[k])",
    "force pull on s[j] = -sum[k](W[j,k] * sum[i](W[i,k] * s[i]))",
)
HEAD = """network drawn
dim J = 3, K = 5
state s[J]{first}
state y[K]{second}
"""
PARAMS = {
    "W": "param W[J, K] ~ normal(1) in {set}",
    "S": "param S[J, J] ~ normal(1) in symmetric and norm[1/2]",
    "B": "param B[J, J] ~ normal(1) in norm[{c}]",
    "b": "param b[J] ~ normal(1)",
}


def drawn(seed: int) -> str:
    """A spec with convex energies of both states, some terms that are not, and now and then forces."""
    random = np.random.default_rng(seed)
    numbers = {"a": f"{random.uniform(0.1, 1):.2f}", "c": f"{random.uniform(0.2, 0.9):.2f}"}
    kinds = [STATES[k] for k in random.integers(len(STATES), size=2)]
    chosen = str(random.choice(SETS)).format(**numbers)
    own = random.uniform(1, 4, size=2)
    text = f"energy own = {own[0]:.2f}/2 * sum[j](s[j]^2) + {own[1]:.2f}/2 * sum[k](y[k]^2)\n"
    for k, term in enumerate(random.choice(ENERGIES, random.integers(1, 4), replace=False)):
        text += f"energy e{k} = {str(term).format(**numbers)}\n"
    if random.uniform() < 0.4:
        text += str(random.choice(FORCES)).format(**numbers) + "\n"
    read = [line.format(set=chosen, c=numbers["c"]) for name, line in PARAMS.items() if f"{name}[" in text]
    return "\n".join([HEAD.format(first=kinds[0], second=kinds[1]) + text, *read, "relax { step = 0.1 }", ""])


def resolved(text: str) -> Network:
    return resolve(Source("spec.energy", text), Choices())


def jacobians(text: str, seed: int, count: int = 6) -> list[np.ndarray]:
    """Dense Jacobians of the whole force at states on their sets, with weights on the rims of theirs."""
    net = energyc.load(text, dtype=torch.float64)
    random = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(count):
        with torch.no_grad():
            for param in net.params.values():
                param.copy_(3 * torch.randn(param.shape, generator=random, dtype=torch.float64))
        net.project_params()
        start = [
            3 * torch.randn((1, *shape), generator=random, dtype=torch.float64) for shape in net.state_shapes.values()
        ]
        fixed = prepared(net, {})
        net._project_(start)

        def force(*states: torch.Tensor, net: object = net, fixed: object = fixed) -> tuple[torch.Tensor, ...]:
            return tuple(net._force(list(states), fixed))  # type: ignore[attr-defined]

        blocks = torch.autograd.functional.jacobian(force, tuple(start), vectorize=True, strategy="forward-mode")
        rows = [torch.cat([b.reshape(f.numel(), -1) for b in row], 1) for row, f in zip(blocks, start, strict=True)]
        found.append(torch.cat(rows).detach().numpy())
    return found


def outside(found: Curvature, dense: np.ndarray) -> str:
    """Which bound a Jacobian breaks; empty where it keeps both."""
    m, most = found.bounds()
    values = np.linalg.eigvalsh(-(dense + dense.T) / 2)
    if values[0] < m - 1e-9 * (1 + abs(m)):
        return f"an eigenvalue {values[0]} below m = {m}"
    steep = float(values[-1]) if found.gradient else float(np.linalg.norm(dense, 2))
    return f"a slope {steep} above L = {most}" if steep > most * (1 + 1e-9) + 1e-9 else ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_jacobian_breaks_a_bound(seed: int) -> None:
    text = drawn(seed)
    print(f"seed {seed}\n{text}")
    monotone = Monotone.of(resolved(text))
    assert [outside(monotone.bounds, dense) for dense in jacobians(text, seed)] == [""] * 6


@pytest.mark.slow
def test_no_jacobian_breaks_a_bound_at_length() -> None:
    """Most draws have bounds, so that the test is not empty."""
    seen: Counter[str] = Counter()
    for seed in seeds(300):
        text = drawn(seed)
        found = Monotone.of(resolved(text)).bounds
        m, most = found.bounds()
        seen["monotone"] += m > 0
        seen["bounded"] += math.isfinite(m) and math.isfinite(most)
        seen["drawn"] += 1
        for dense in jacobians(text, seed, 3):
            assert not outside(found, dense), f"seed {seed}\n{text}"
    print(dict(seen))
    assert seen["bounded"] > seen["drawn"] / 3 and seen["monotone"] > seen["drawn"] / 6


# ---------------------------------------------------------------- values that are known

KNOWN = {
    "norm": ("param W[J, K] ~ normal(1) in norm[9/10]", "-sum[j,k](s[j] * W[j,k] * y[k])", 0.1, 1.9),
    "orthogonal": ("param W[J, K] in orthogonal", "-1/2 * sum[j,k](s[j] * W[j,k] * y[k])", 0.5, 1.5),
    "unit vectors": ("param W[J, K] in sphere[K]", "-1/4 * sum[j,k](s[j] * W[j,k] * y[k])", 1 - 3**0.5 / 4, None),
    "a box": ("param W[J, K] ~ normal(1) in [-1/10, 1/10]", "-sum[j,k](s[j] * W[j,k] * y[k])", 1 - 15**0.5 / 10, None),
    "a sigmoid's slope": (
        "param W[J, K] ~ normal(1) in norm[1]",
        "-2 * sum[j](softplus(sum[k](W[j,k] * y[k])))",
        0.5,
        1.0,
    ),
    "a square": ("param W[J, K] ~ normal(1) in norm[2]", "1/2 * sum[j](sum[k](W[j,k] * y[k])^2)", 1.0, 5.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_bounds_that_are_known(name: str) -> None:
    """Of each bound that is taken somewhere on the sets the value is exact."""
    param, energy, m, most = KNOWN[name]
    text = f"""network known
dim J = 3, K = 5
{param}
state s[J], y[K]
energy own = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy rest = {energy}
relax {{ step = 0.1 }}
"""
    low, high = Monotone.of(resolved(text)).bounds.bounds()
    assert low == pytest.approx(m, rel=1e-9)
    if most is not None:
        assert high == pytest.approx(most, rel=1e-9)


def test_what_turns_does_not_push() -> None:
    """v . (B - B^T) v is 0, however large B is; the slope of the force has no bound."""
    text = """network turning
dim D = 4
param B[D, D] ~ normal(1)
state z[D] in nonnegative
force f on z[d] = -z[d] + sum[e](B[d,e] * z[e]) - sum[e](B[e,d] * z[e])
relax { step = 0.1 }
"""
    found = Monotone.of(resolved(text)).bounds
    assert found.bounds()[0] == pytest.approx(1) and found.steep == ["f"]


def test_mixed_terms_of_a_convex_energy_count_as_little_as_is_best() -> None:
    """(w - v)^2 alone has curvature 0; with v^2 it has some, however steep it is."""
    one, mixed = Part("v", np.diag([1e-3, 0.0]), np.zeros((2, 2)), True), np.array([[0.0, -30.0], [-30.0, 1.0]])
    found = Curvature(("v", "w"), (one, Part("pair", mixed, np.zeros((2, 2)), True)), True)
    m = found.bounds()[0]
    assert 0 < m < 1e-6
    shares = np.geomspace(1e-12, 1, 2000)
    assert m <= max(np.linalg.eigvalsh(one.low + s * mixed)[0] for s in shares) * 1.01


def test_a_lower_bound_of_eigenvalues() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        raw = generator.standard_normal((4, 4))
        assert least_eigenvalue(raw + raw.T) <= np.linalg.eigvalsh(raw + raw.T)[0]


def test_rates_and_steps() -> None:
    assert rate_of(0.1, 1.9, True) == pytest.approx(0.9) and rate_of(0.5, 1.0, False) == pytest.approx(1.0)
    assert rate_of(-math.inf, 1.0, True) == math.inf
    assert steps_to(1e-6, 0.5) == 20 and steps_to(1e-6, 0.0) == 1 and steps_to(1e-6, 1.0) is None


# ---------------------------------------------------------------- what check prints

CERTIFIED = """network certified
dim J = 5, K = 3
param W[J, K] ~ normal(0.2) in norm[9/10], b[J] ~ normal(1)
state s[J], y[K] in [0, 1]
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy synapse = -sum[j,k](s[j] * W[j,k] * y[k]) - sum[j](b[j] * s[j])
relax { step = 1/2, tolerance = 1e-6 }
"""


def claimed(text: str) -> dict[str, str]:
    return {claim.claim: claim.verdict for claim in classes_of(resolved(text)).claims}


def test_one_equilibrium_is_proved_and_steps_to_it() -> None:
    found = claimed(CERTIFIED)
    assert found[UNIQUE] == found[CONVERGES] == "proved"


@pytest.mark.parametrize(
    "old, new",
    [
        ("norm[9/10]", "norm[11/10]"),
        ("norm[9/10]", "[-1, 1]"),
        (" in norm[9/10]", ""),
        ("1/2 * sum[j](s[j]^2)", "1/3 * sum[j](s[j]^2)"),
        ("-sum[j,k](s[j] * W[j,k] * y[k])", "-sum[j,k](s[j] * W[j,k] * y[k]) - sum[j](s[j]^2)"),
        ("sum[j](b[j] * s[j])", "sum[j](b[j] * s[j]^2)"),
    ],
)
def test_one_equilibrium_is_not_claimed_where_there_may_be_more(old: str, new: str) -> None:
    assert old in CERTIFIED
    assert claimed(CERTIFIED.replace(old, new)).get(UNIQUE) != "proved"


@pytest.mark.parametrize("kind", ["sphere[J]", "standardized[J]"])
def test_nothing_is_claimed_on_sets_that_are_not_convex(kind: str) -> None:
    found = claimed(CERTIFIED.replace("state s[J], y[K] in [0, 1]", f"state s[J] in {kind}\nstate y[K] in [0, 1]"))
    assert found.get(UNIQUE) != "proved" and CONVERGES not in found


@pytest.mark.parametrize("seed", seeds(3))
def test_different_starts_end_at_the_equilibrium_at_the_rate_that_is_promised(seed: int) -> None:
    print(f"seed {seed}")
    text = CERTIFIED.replace("step = 1/2", "step = certified")
    net, random = energyc.load(text, dtype=torch.float64), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        net.params["W"].copy_(torch.randn(5, 3, generator=random, dtype=torch.float64))
    net.project_params()
    rate = Monotone.of(resolved(text)).bounds.best_step()[1]  # type: ignore[index]
    states = [
        {n: torch.rand(1, k, generator=random, dtype=torch.float64) for n, k in (("s", 5), ("y", 3))} for _ in "ab"
    ]
    apart = []
    for steps in (1, 2, 3, 4):
        ends = [net.relax({}, steps=steps, states={n: x.clone() for n, x in start.items()}).states for start in states]
        apart.append(math.sqrt(sum(float((ends[0][n] - ends[1][n]).square().sum()) for n in ends[0])))
    assert all(after <= rate * before * (1 + 1e-9) + 1e-14 for before, after in pairwise(apart))  # rounding ends it
