"""Modules generated from random specs against the NumPy interpreter; the force against differences of the energy."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.code.plan import Passes
from energyc.language.diagnostics import SpecError
from energyc.mathematics.ir import Stop, walk
from energyc.mathematics.ir.interpreter import evaluate, key
from tests.drawing import seeds
from tests.emit.judge import Judged, disagreements, judged, resolved
from tests.emit.random_specs import random_spec
from tests.quick import few

QUICK = (*range(40), 1095, 1150)


def case(seed: int, passes: Passes = Passes(), timed: bool = False, real: bool = False) -> Judged:
    """The network of a seed; a spec that does not type (an energy that cancels out) is skipped."""
    print(f"seed {seed}")
    text = random_spec(seed, timed=timed, real=real)
    try:
        network = resolved(text)
    except SpecError as error:
        codes = sorted({d.code for d in error.diagnostics if d.severity == "error"})
        pytest.skip(f"no spec: {codes}")
    print(text)
    return judged(network, np.random.default_rng(seed), passes)


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(QUICK, range(1, 16)))
def test_every_routine(seed: int) -> None:
    assert disagreements(case(seed)) == {}


def test_a_sum_of_numbers_is_a_number() -> None:
    """It was kept for a relaxation under a name that nothing gave it."""
    assert disagreements(case(911791113)) == {}


#: What once came out wrong: a sum of consts was a number where a product wanted a tensor; the sign of a difference
#: that is a number was negated; a diagonal ``s[m,m]`` was added up as ``s[m,n]``; an element outside of an integer
#: clamp was -1 as an index of a gather.
MENDED = {
    "a number that is no coefficient": """
network numbers
dim D = 3, F = 4
const gamma = 1/4, tau = 1/3
clamp q
target t
param w ~ normal(1), W[D, F] ~ normal(1)
state z[D], y[F]
energy a = q * sum[d,f](w * tanh(1 - gamma) * tanh(z[d] + y[f]) * relu(z[d] + y[f]) * W[d,f] * (1 - gamma))
energy b = q * sum[d](where(gamma < tau, z[d], 0) * max(1 - gamma, tau)) * relu'(gamma - tau / 2)
cost c = (z[0] - t)^2
""",
    "terms that cancel once they are written": """
network cancelled
dim D = 1, E = 2
clamp q
target t
param p[D, D] ~ normal(1)
state y[E]
energy own = 1/2 * sum[m](y[m]^2) - sum[m](y[m] * q * p[0, 0])
readout larger = where(p[0, 0] < 1/20, max(p[0, 0], 1/20 + p[0, 0]), y[0])
cost c = (y[0] - t)^2
""",
    "an element outside of an integer clamp": """
network outside
dim N = 3, T = 2
clamp x[N], at[N, N] : N, by[T, N] : N
target y[N]
param e[N] ~ normal(1)
state s[N]
energy leak = 1/2 * sum[i](s[i]^2) - sum[i](s[i] * where(i <= 1, x[at[i + 1, i]] + e[at[i + 1, i]], 0.3))
force push on s[i] = where(i >= 1, e[by[t, i - 1]] * x[by[t, i - 1]] * s[i], 0)
cost c = mean[i]((s[i] - y[i])^2)
relax t in T { }
""",
}
for dims, free, read in (("D, D", "m,n", "m,m"), ("D, E, D", "m,k,n", "m,k,m")):
    MENDED[f"the diagonal {read}"] = f"""
network diagonal
dim D = 3, E = 2, F = 4
clamp name[D] : F
target t
param p[F] ~ normal(1)
state s[{dims}]
energy own = 1/2 * sum[{free}](s[{free}]^2)
cost c = sum[{read.rpartition(",")[0]}](detach(s[{read}]) * p[name[m]]) - t
"""


@pytest.mark.parametrize("text", MENDED.values(), ids=list(MENDED))
def test_what_is_mended(text: str) -> None:
    assert disagreements(judged(resolved(text), np.random.default_rng(0))) == {}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("seed", few(range(20), range(6)))
def test_every_routine_of_what_the_runtime_sets(seed: int) -> None:
    assert disagreements(case(seed, timed=True)) == {}


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(12), range(4)))
def test_every_routine_of_selections_by_real_values(seed: int) -> None:
    assert disagreements(case(seed, real=True)) == {}


@pytest.mark.slow
def test_two_selections_that_have_their_axes_in_one_table() -> None:
    """Each was taken of the other without an end."""
    assert disagreements(case(215, real=True)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(160))
def test_every_routine_of_selections_by_real_values_at_length(seed: int) -> None:
    assert disagreements(case(seed, real=True)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(100))
def test_every_routine_of_what_the_runtime_sets_at_length(seed: int) -> None:
    assert disagreements(case(seed, timed=True)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(200))
def test_every_routine_at_length(seed: int) -> None:
    assert disagreements(case(seed)) == {}


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(100, 116), (101, 103, 105, 106, 110, 113)))
def test_every_mixture_of_passes(seed: int) -> None:
    on = [bool(seed >> k & 1) for k in range(4)]
    passes = Passes(hoist=on[0], share=on[1], segments=on[2], separate=on[3])
    assert disagreements(case(seed, passes)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(160))
def test_every_mixture_of_passes_at_length(seed: int) -> None:
    test_every_mixture_of_passes(seed)


@pytest.mark.slow
def test_nearly_all_random_specs_type() -> None:
    refused = 0
    for seed in range(60):
        try:
            resolved(random_spec(seed))
        except SpecError:
            refused += 1
    assert refused <= 6


SLOPES = [(k, False) for k in range(40)] + [(k, True) for k in range(20)]


@pytest.mark.abridged
@pytest.mark.parametrize(("seed", "real"), few(SLOPES, lambda case: case[0] < 10))
def test_force_is_minus_the_slope_of_the_energy(seed: int, real: bool) -> None:
    """Central differences of the interpreter's energy along a random direction, against the module's force."""
    j = case(seed, real=real)
    if j.network.forces or any(isinstance(node, Stop) for node in walk([j.derivation.energy])):
        pytest.skip("a force that is not a gradient of the energy as it stands")
    states = dict(zip(j.network.states, j.states, strict=True))
    found = sum(
        (force.numpy() * j.inputs["direction", name]).reshape(len(force), -1).sum(1)
        for name, force in j.module.force(states, j.clamps).items()
    )
    slopes = [_slope(j, h) for h in (1e-5, 3e-6, 1e-6)]
    assert min(np.abs(found + slope).max() / (1 + np.abs(slope).max()) for slope in slopes) < 1e-6


def _slope(j: Judged, h: float) -> np.ndarray:
    """dE along the directions, by differences: smooth points are everywhere but on a null set."""
    upper, lower = (_energy(j, sign * h) for sign in (1, -1))
    return (upper - lower) / (2 * h)


def _energy(j: Judged, h: float) -> np.ndarray:
    inputs = dict(j.inputs)
    for name, node in j.derivation.states.items():
        inputs[key(node)] = inputs[key(node)] + h * inputs["direction", name]
    (energy,) = evaluate([j.derivation.energy], inputs, sizes=j.network.extents, values=j.network.values)
    return energy
