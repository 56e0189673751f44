"""Why a network does not settle, what is said to help, and the sweeps of ``verify``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.running.training.feeds import Batch
from energyc.studies.verify import Sweep, measure_fidelity, random_probe, verify
from energyc.studies.verify.limits import Laboratory, breach
from energyc.studies.verify.looseness import looseness
from energyc.studies.verify.rest import rest
from energyc.studies.verify.settling import Settling, settling
from energyc.studies.verify.spectrum import Spectrum, slowest, spectrum
from energyc.studies.verify.work import Work
from tests.specs.judging import SPECS

#: The Jacobian at 0 is R - 1.
TURNING = """\
network turning
dim D = 2
clamp x[D]
param R[D, D] ~ normal(1)
state z[D]
energy pull = 1/2 * sum[d]((z[d] - x[d])^2)
force turn on z[d] = tanh(sum[e](R[d,e] * z[e]))
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.1, steps = 40, tolerance = 1e-4, max_steps = 400 }
nudge { beta = auto, steps = 20 }
train { rule = tracking-aep }
"""
RULES = ["vf", "aep", "tracking-aep", "implicit"]


def turning(matrix: list[list[float]], dtype: torch.dtype = torch.float64, **settings: Any) -> Any:
    """The network with a given R."""
    net = energyc.load(
        TURNING, settings={k.replace("_", ".", 1): v for k, v in settings.items()}, rules=RULES, dtype=dtype
    )
    with torch.no_grad():
        net.params["R"].copy_(torch.tensor(matrix))
    return net


def zero(batch: int = 2) -> Batch:
    """Inputs at 0, slightly off, so that 0 itself is not where the state starts."""
    return Batch({"x": torch.full((batch, 2), 1e-3, dtype=torch.float64)}, {})


def judged(net: Any, probe: Batch) -> Settling:
    """As ``verify`` does it."""
    found = rest(net, probe, 4000)
    states, clamps = (found.states, found.probe.clamps) if found.settled else (found.last, probe.clamps)
    return settling(net, net, probe, found, slowest(net, states, clamps, net.relax_step))


def at_rest(net: Any, probe: Batch, largest: int = 1500) -> Spectrum:
    """The spectrum at the equilibrium of the first sample."""
    found = rest(net, probe, 4000)
    at = spectrum(net, found.states, found.probe.clamps, net.relax_step, largest=largest)
    assert at is not None
    return at


# ---------------------------------------------------------------- the spectrum


def test_the_spectrum_is_that_of_a_dense_jacobian() -> None:
    net = turning([[0.3, -2.0], [1.0, 0.2]])
    found, at = rest(net, zero(), 4000), at_rest(net, zero())
    z = found.states["z"][0]
    slope = 1 - torch.tanh(net.params["R"].detach() @ z) ** 2
    jacobian = slope[:, None] * net.params["R"].detach() - torch.eye(2, dtype=torch.float64)
    values = torch.linalg.eigvals(jacobian)
    assert at.largest_real_part == pytest.approx(float(values.real.max()), rel=1e-9)
    assert at.step_radius == pytest.approx(float((1 + 0.1 * values).abs().max()), rel=1e-9)
    assert at.asymmetry == pytest.approx(float((jacobian - jacobian.T).norm() / jacobian.norm()), rel=1e-9)


def test_arnoldi_agrees_with_the_dense_spectrum() -> None:
    net = energyc.load(SPECS / "thick.energy", preset="verify", rules=["implicit"], dtype=torch.float64)
    probe = random_probe(net, batch=1)
    dense, sparse = at_rest(net, probe), at_rest(net, probe, largest=1)
    assert sparse.step_radius == pytest.approx(dense.step_radius, rel=1e-3)
    assert sparse.largest_real_part == pytest.approx(dense.largest_real_part, rel=1e-2)
    assert sparse.estimated and not dense.estimated


PAIR = """\
network pair
dim D = 3
clamp x[D]
param c[D] = 0
state a[D], b[D]
energy rest = 1/2 * sum[d](k * a[d]^2) + 1/2 * sum[d](b[d]^2) - sum[d](x[d] * a[d])
energy pair = -sum[d](c[d] * a[d] * b[d])
const k = 100                                        # a plain step of 1 would leave by a factor of 99
readout out[d] = b[d]
cost e = 1/2 * sum[d](b[d]^2)
relax { solver = blocks, steps = 2, tolerance = 1e-6, max_steps = 400 }
nudge { beta = auto, steps = 4 }
train { rule = centered-ep }
"""


@pytest.mark.parametrize("largest", [1500, 1], ids=["dense", "Arnoldi"])
def test_the_spectrum_of_block_descent_is_that_of_its_sweeps(largest: int) -> None:
    """Of two states coupled by c the sweep is Gauss and Seidel's: an error of b becomes c^2 / k of it."""
    net = energyc.load(PAIR, rules=["centered-ep", "implicit"], dtype=torch.float64)
    with torch.no_grad():
        net.params["c"].copy_(torch.tensor([1.0, 5.0, -9.0]))
    probe = Batch({"x": torch.full((1, 3), 0.5, dtype=torch.float64)}, {})
    found, at = rest(net, probe, 4000), at_rest(net, probe, largest)
    assert at.move == "sweep" and at.step_radius == pytest.approx(0.81, rel=1e-6)
    assert at.stable_factor is None and settling(net, net, probe, found, at).causes == ()


@pytest.mark.slow
def test_nudged_sweeps_are_as_many_as_they_need() -> None:
    """Under a drive that is held sweeps settle more slowly than in the free phase, whose radius is no guide to them."""
    spec = SPECS / "zoo" / "resistive_digits.energy"
    net = energyc.load(spec, preset="verify", rules=["aep", "implicit"], dtype=torch.float64, seed=0)
    found = measure_fidelity(net, net, random_probe(net, batch=2), ["aep"])
    limit = found.rules["aep"].limit
    assert limit is not None and limit.relative_error < 1e-7


def test_sweeps_that_leave_are_not_told_to_take_smaller_steps() -> None:
    net = energyc.load(PAIR, rules=["centered-ep", "implicit"], dtype=torch.float64)
    with torch.no_grad():
        net.params["c"].fill_(11.0)
    states = {name: torch.zeros(1, 3, dtype=torch.float64) for name in ("a", "b")}
    probe = Batch({"x": states["a"]}, {})
    at = spectrum(net, states, probe.clamps, net.relax_step)
    seen = settling(net, net, probe, rest(net, probe, 4000), at)
    assert at is not None and at.step_radius == pytest.approx(1.21, rel=1e-6)
    assert "a sweep multiplies errors" in seen.why[0] and "step size" in seen.why[1] and seen.helps == ("a lower gain",)


RING = """\
network ring
dim D = 40
clamp x[D]
param a[D] = 1, w[D] = 0
state z[D]
force pull on z[d] = x[d] - a[d] * z[d] + w[d] * z[D - 1 - d]
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.5, steps = 40, tolerance = 1e-6, max_steps = 200 }
train { rule = implicit }
"""


def ring(real: Tensor, imaginary: Tensor, step: float) -> Any:
    """A linear network whose eigenvalues are -real +- i imaginary, 20 pairs."""
    net = energyc.load(RING, settings={"relax.step": step}, dtype=torch.float64)
    with torch.no_grad():
        net.params["a"].copy_(torch.cat([real, real.flip(0)]))
        net.params["w"].copy_(torch.cat([imaginary, -imaginary.flip(0)]))
    return net


@pytest.mark.parametrize("largest", [1500, 1], ids=["dense", "Arnoldi"])
def test_the_largest_stable_step_is_that_of_the_eigenvalues(largest: int) -> None:
    """|1 + h (a + ib)| < 1 iff h < -2a / (a^2 + b^2); a weakly damped pair turns fast: 12 halvings end above."""
    real, imaginary = torch.linspace(1, 2, 20, dtype=torch.float64), torch.linspace(0, 3, 20, dtype=torch.float64)
    real[7], imaginary[7] = 1e-3, 9.0
    bound = float((2 * real / (real**2 + imaginary**2)).min())
    net = ring(real, imaginary, 0.5)
    states = {"z": torch.zeros(1, 40, dtype=torch.float64)}
    at = spectrum(net, states, {"x": states["z"]}, net.relax_step, largest=largest)
    assert at is not None and at.step_radius > 1 and at.largest_real_part == pytest.approx(-1e-3, rel=1e-2)
    assert at.stable_factor is not None
    assert 0.98 * bound < 0.5 * at.stable_factor < bound


def test_arnoldi_is_said_to_estimate() -> None:
    real, imaginary = torch.ones(20, dtype=torch.float64), torch.linspace(0, 3, 20, dtype=torch.float64)
    net = ring(real, imaginary, 0.5)
    probe = Batch({"x": torch.full((1, 40), 0.1, dtype=torch.float64)}, {})
    found = rest(net, probe, 4000)
    assert found.settled
    at = spectrum(net, found.states, probe.clamps, net.relax_step, largest=1)
    seen = settling(net, net, probe, found, at)
    assert "no smaller step" not in " ".join(seen.why)
    assert "Arnoldi" in seen.why[1] and "it is stable below about 0.2" in seen.helps[0]


def test_the_spectrum_is_that_of_the_slowest_sample() -> None:
    net = turning([[0.9, 0.0], [0.0, 0.9]])
    probe = Batch({"x": torch.tensor([[2.0, 2.0], [0.01, 0.01]], dtype=torch.float64)}, {})
    found = rest(net, probe, 4000)
    each = [spectrum(net, found.states, found.probe.clamps, net.relax_step, k) for k in range(2)]
    assert each[0] is not None and each[1] is not None and each[0].step_radius < each[1].step_radius - 0.02
    assert slowest(net, found.states, found.probe.clamps, net.relax_step) == each[1]


SPHERE = """\
network sphere
dim D = 3, K = 2
clamp x[D]
target l[K]
param W[D, D] ~ normal(0.3), U[D, K] ~ normal(0.5), c[K] = 0.1
state z[D] in sphere[D], y[K]
energy own = sum[d](z[d]^2) + sum[k](y[k]^2) - sum[d](x[d] * z[d]) - sum[k](c[k] * y[k])
energy between = -sum[d,k](z[d] * U[d,k] * y[k])
energy tied = -1/4 * sum[d,e](z[d] * (W[d,e] + W[e,d]) * z[e])
cost q = 1/2 * sum[k]((y[k] - l[k])^2)
relax { step = 1/4, steps = 200, tolerance = 1e-9 }
nudge { beta = 1/100, steps = 60 }
"""


@pytest.mark.slow
def test_nudged_phases_are_as_long_as_the_slowest_sample_needs() -> None:
    """On a sphere each sample settles at its own pace; a phase cut short leaves an error that no beta lowers."""
    rules = ["centered-ep", "holomorphic-ep"]
    net = energyc.load(SPHERE, rules=[*rules, "implicit"], dtype=torch.float64)
    probe = random_probe(net)
    order = [0, 1, 2, 3]
    paces = []
    for first in order:
        rows = [first, *(k for k in order if k != first)]
        turned = Batch({n: v[rows] for n, v in probe.clamps.items()}, {n: v[rows] for n, v in probe.targets.items()})
        found = measure_fidelity(net, net, turned, rules)
        assert found.passed and found.spectrum is not None
        paces.append(found.spectrum.step_radius)
        for rule in rules:
            limit = found.rules[rule].limit
            assert limit is not None and limit.relative_error < 1e-8
    assert paces == pytest.approx([paces[0]] * 4, rel=1e-9)


def test_a_solve_that_meets_what_is_not_finite_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    """At 0 the force of a root vanishes, and its slope is infinite."""
    rooted = TURNING.replace("tanh(sum[e](R[d,e] * z[e]))", "R[d,d] * sqrt(z[d])").replace("(z[d]^2)", "((z[d] - 1)^2)")
    net = energyc.load(rooted, rules=["implicit"], dtype=torch.float64)
    states = {"z": torch.zeros(2, 2, dtype=torch.float64)}
    with pytest.raises(RuntimeError, match="a derivative here is not finite"):
        net.gradients({"x": states["z"]}, {}, "implicit", steps=0, states=states)
    assert capfd.readouterr() == ("", "")


def test_what_is_not_finite_has_no_gradient() -> None:
    net = turning([[math.nan, 0.0], [0.0, 1.0]])
    found = net.gradients(zero().clamps, {}, "implicit")
    assert not bool(found.kept.any()) and float(found.params["R"].norm()) == 0.0


def test_a_derivative_that_is_not_finite_has_no_spectrum(capfd: pytest.CaptureFixture[str]) -> None:
    net = turning([[math.nan, 0.0], [0.0, 1.0]])
    states = {"z": torch.zeros(1, 2, dtype=torch.float64)}
    assert spectrum(net, states, {"x": states["z"]}, net.relax_step) is None
    net = ring(torch.full((20,), math.inf, dtype=torch.float64), torch.zeros(20, dtype=torch.float64), 0.5)
    states = {"z": torch.ones(1, 40, dtype=torch.float64)}
    assert spectrum(net, states, {"x": states["z"]}, net.relax_step, largest=1) is None
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- why, and what helps


def test_a_network_that_settles_is_left_alone() -> None:
    found = judged(turning([[0.2, -0.3], [0.3, 0.2]]), zero())
    assert found.residual <= 1e-4
    assert found.why == found.helps == ()


def test_too_large_a_step_is_told_with_the_largest_stable_one() -> None:
    """Eigenvalues -1 +- 3i: stable for steps under 2 / 10."""
    net = turning([[0.0, -3.0], [3.0, 0.0]], relax_step=0.5)
    found = judged(net, zero())
    assert "the step is too large" in " ".join(found.why)
    told = float(found.helps[0].rsplit(" ", 1)[1])
    assert told == pytest.approx(0.2, rel=0.02)


@pytest.mark.slow
def test_a_real_part_above_zero_wants_a_lower_gain() -> None:
    """Eigenvalues 2 +- 3i: the state goes round in a circle at every step size."""
    found = judged(turning([[3.0, -3.0], [3.0, 3.0]]), zero())
    assert "no fixed point was found" in found.why[0]
    assert any("real part" in reason for reason in found.why)
    assert any("a lower gain: it settles with 0.25 times" in remedy for remedy in found.helps)


def test_a_slow_network_is_told_how_many_steps_it_needs() -> None:
    net = turning([[0.9, 0.0], [0.0, 0.9]])
    net.relax_max_steps = 60
    probe = Batch({"x": torch.full((2, 2), 0.01, dtype=torch.float64)}, {})
    found = judged(net, probe)
    assert found.residual > 1e-4
    needed = int(found.helps[0].rsplit("=", 1)[1].rstrip(")"))
    net.relax_max_steps = needed
    assert float(net.relax(probe.clamps).residual.max()) <= 1e-4
    net.relax_max_steps = needed // 2
    assert float(net.relax(probe.clamps).residual.max()) > 1e-4


def test_an_explosion_as_configured_is_not_called_slow() -> None:
    """The float64 twin settles; in the configured dtype a state goes over the largest float32."""
    net = turning([[0.2, -0.3], [0.3, 0.2]])
    probe, found = zero(), rest(net, zero(), 4000)
    for residual, states in ((math.inf, 1e9), (math.nan, math.inf)):
        low = turning([[0.2, -0.3], [0.3, 0.2]], dtype=torch.float32)
        ended = low.relax(probe.clamps)._replace(
            residual=torch.full((2,), residual), states={"z": torch.full((2, 2), states)}
        )
        low.relax = lambda clamps, ended=ended: ended
        seen = settling(net, low, probe, found, slowest(net, found.states, probe.clamps, net.relax_step))
        said = " ".join(seen.why + seen.helps)
        assert "slowly" not in said and "more steps" not in said
        assert "froze" in said if math.isfinite(states) else "no longer finite in torch.float32" in said


#: Each clamp scales the Jacobian of its own sample.
SCALED = TURNING.replace("clamp x[D]", "clamp x[D], a[D]").replace("= tanh(", "= a[d] * tanh(")


def scaled(matrix: list[list[float]], step: float) -> Settling:
    """The first sample settles at any step; the second has the matrix whole."""
    net = energyc.load(SCALED, settings={"relax.step": step}, rules=RULES, dtype=torch.float64)
    with torch.no_grad():
        net.params["R"].copy_(torch.tensor(matrix))
    factors = torch.tensor([[0.1, 0.1], [1.0, 1.0]], dtype=torch.float64)
    return judged(net, Batch({**zero().clamps, "a": factors}, {}))


@pytest.mark.slow
def test_samples_that_do_not_settle_are_not_judged_by_one_that_does() -> None:
    """Eigenvalues 2 +- 3i: more steps help none of them."""
    found = scaled([[3.0, -3.0], [3.0, 3.0]], 0.1)
    assert found.why[0] == "1 of 2 samples do not settle"
    assert "no fixed point was found" in found.why[1]
    assert not any("about" in remedy for remedy in found.helps)
    assert "a lower gain: it settles with 0.25 times" in found.helps[-1]


def test_a_step_too_large_for_some_samples() -> None:
    """Eigenvalues -1 +- 3i are stable for steps under 1/5, and 1/8 is tried."""
    found = scaled([[0.0, -3.0], [3.0, 0.0]], 0.5)
    assert found.why[0] == "1 of 2 samples do not settle" and "the step is too large" in found.why[1]
    assert found.helps == ("a smaller step: relax.step = 0.125",)


@pytest.mark.slow
def test_without_a_fixed_point_verify_says_so() -> None:
    net = turning([[3.0, -3.0], [3.0, 3.0]])
    found = measure_fidelity(net, net, zero(), ["tracking-aep"], most_steps=2000)
    assert not found.passed and found.settled == 0
    assert found.rules["tracking-aep"].note == "no fixed point was found"


# ---------------------------------------------------------------- the rules


@pytest.mark.slow
def test_verify_tells_biased_rules_from_exact_ones() -> None:
    net = turning([[0.5, -1.5], [0.7, 0.1]])
    probe = Batch({"x": torch.tensor([[0.5, -0.2], [0.1, 0.9]], dtype=torch.float64)}, {})
    found = measure_fidelity(net, net, probe, ["vf", "aep", "tracking-aep"], verdicts={"vf": "biased"})
    assert found.passed
    assert [rule.verdict for rule in found.rules.values()] == ["biased", "exact", "exact"]
    for rule in ("aep", "tracking-aep"):
        limit, sweep = found.rules[rule].limit, found.rules[rule].sweep
        assert limit is not None and limit.relative_error < 1e-6
        assert sweep is not None and sweep.slope() == pytest.approx(2, abs=0.3)
    biased = found.rules["vf"].limit
    assert biased is not None and biased.relative_error > 0.05
    failed = measure_fidelity(net, net, probe, ["vf"])
    assert not failed.passed
    fault = failed.rules["vf"].fault
    assert "its error stays at" in fault and "cosine too low: 0." in fault


DETACHED = """\
network detached
dim D = 3
clamp x[D]
target y[D]
param W[D, D] ~ normal(0.3), g[D] = 1
state z[D]
energy base = sum[d](z[d]^2) - sum[d](x[d] * z[d] * g[d])
energy held = -1/4 * sum[d,e]({} * z[e])
cost c = 1/2 * sum[d]((z[d] - {} - y[d])^2)
relax {{ step = 1/4, steps = 200, tolerance = 1e-9 }}
nudge {{ beta = 1/100, steps = 60 }}
"""
SYMMETRIC = "z[d] * (W[d,e] + W[e,d])"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("held", "aim", "cut"),
    [
        ("detach(z[d]) * (W[d,e] + W[e,d])", "0", True),
        ("z[d] * detach(W[d,e] + W[e,d])", "0", True),
        (SYMMETRIC, "detach(z[d] / 2)", True),
        (SYMMETRIC, "detach(g[d])", True),
        (SYMMETRIC, "detach(x[d])", False),
        (SYMMETRIC, "0", False),
    ],
)
def test_what_is_detached_is_not_compared_with_differences(tmp_path: Path, held: str, aim: str, cut: bool) -> None:
    """Differences find the derivative that ``detach`` leaves out; backpropagation through steps leaves it out too."""
    path = tmp_path / "detached.energy"
    path.write_text(DETACHED.format(held, aim))
    found = verify(path, rules=["implicit", "adjoint", "tbptt"]).fidelity
    assert found.passed
    implicit, adjoint, unrolled = (found.rules[rule] for rule in ("implicit", "adjoint", "tbptt"))
    assert ("detaches" in implicit.law) == cut
    assert ("finite differences" in implicit.law) != cut
    for rule in (adjoint, unrolled):
        assert rule.limit is not None and rule.limit.relative_error < 1e-8


FROZEN = """\
network frozen
dim D = 3
clamp x[D]
target y[D]
param W[D, D] ~ normal(0.3), g[D] = 1
state z[D]
energy base = sum[d](z[d]^2) - sum[d](x[d] * z[d] * g[d])
energy held = -sum[d,e](frozen({}) * {} * z[e])
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax {{ step = 1/4, steps = 200, tolerance = 1e-9 }}
nudge {{ beta = 1/100, steps = 60 }}
"""


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("held", "weight", "rules"),
    [
        ("z[d]", "(W[d,e] + W[e,d])", ["centered-ep", "aep", "tracking-aep"]),
        ("tanh(W[d,d] * z[d])", "where(d == e, 1, 0)", ["centered-ep", "aep", "tracking-aep"]),
        ("z[d]", "W[d,e]", ["aep", "tracking-aep"]),
    ],
    ids=["symmetric", "not linear", "not conservative"],
)
def test_an_energy_that_freezes_a_state_is_learned_by_its_force(held: str, weight: str, rules: list[str]) -> None:
    """d(dE/dW)/dz sees the frozen state move, -dF/dW does not: half of the gradient would be wrong by a factor."""
    net = energyc.load(FROZEN.format(held, weight), rules=[*rules, "implicit"], dtype=torch.float64)
    found = measure_fidelity(net, net, random_probe(net), rules)
    assert found.passed
    for rule in rules:
        limit = found.rules[rule].limit
        assert limit is not None and limit.relative_error < 1e-7


def test_the_order_of_a_sweep() -> None:
    points = tuple((beta, 0.3 * beta**3 + 1e-16 / beta) for beta in (1.0, 0.1, 0.01, 1e-3, 1e-4))
    assert Sweep("beta", points).slope() == pytest.approx(3, abs=0.1)
    assert Sweep("beta", tuple((beta, 1e-13) for beta in (1.0, 0.1))).slope() is None


def test_points_lost_to_rounding_are_no_part_of_an_order() -> None:
    """``thick`` at twelve times its weights: between 3.8e-6 and the least is a point within three times of that."""
    errors = (1.34e-2, 2.41e-4, 3.80e-6, 1.08e-7, 6.95e-8, 7.12e-8, 2.48e-7)
    sweep = Sweep("beta", tuple((8.0 ** -(k + 2), error) for k, error in enumerate(errors)))
    assert sweep.orders() == pytest.approx([1.99], abs=0.01)
    assert not breach(sweep, 2)


def test_what_breaks_a_law_is_said() -> None:
    def sweep(*errors: float) -> Sweep:
        return Sweep("beta", tuple((8.0**-k, error) for k, error in enumerate(errors)))

    assert "measured beta^1.00 of beta^2" in breach(sweep(*(8.0 ** -(k + 3) for k in range(6))), 2)
    assert "falls no lower than 2.0e-05" in breach(sweep(9e-3, 1.4e-4, 2.2e-5, 2e-5, 2e-5), 2)
    assert "falls no lower than 1.0e-06" in breach(sweep(1e-6, 1.1e-6), 2)


@pytest.mark.parametrize(
    "errors",
    [(1.41e-3, 4.10e-4, 9.47e-13), (1.26e-3, 4.16e-4, 1.13e-4, 2.21e-12), (1e-3, 4e-4, 1e-4, 7e-8, 6.9e-8)],
    ids=["cet_lm", "thin", "a higher floor"],
)
def test_kinks_at_larger_betas_are_no_breach(errors: tuple[float, ...]) -> None:
    """The nudge carries units over kinks, until it is too short for that; then the error is rounding within a step."""
    sweep = Sweep("beta", tuple((2 * 8.0**-k, error) for k, error in enumerate(errors)))
    slope = sweep.slope()
    assert slope is not None and slope < 1.5
    assert not breach(sweep, 2)


@pytest.mark.parametrize("floor", [1e-15, 1e-12, 1e-10, 1e-8])
@pytest.mark.parametrize(("order", "law"), [(1, 2), (2, 4)])
def test_an_order_too_low_is_a_breach_at_any_floor(order: int, law: int, floor: float) -> None:
    """The step into rounding is as steep as the rule's own order at most, wherever the sweep begins."""
    for first in (1e-2, 5e-3, 2e-3):
        errors = [first * 8.0 ** (-k * order) + floor for k in range(16)]
        sweep = Sweep("beta", tuple((8.0**-k, error) for k, error in enumerate(errors)))
        assert "law not met: measured" in breach(sweep, law)


@pytest.mark.slow
def test_a_relu_in_the_way_of_the_nudge_is_said() -> None:
    found = verify(SPECS / "cet_lm.energy", rules=["centered-ep"], gain=0.5).fidelity.rules["centered-ep"]
    assert found.passed and found.limit is not None and found.limit.relative_error < 1e-11
    assert found.law == "beta^2 (kinks at larger beta)"


def test_an_error_keeps_to_its_order() -> None:
    def sweep(order: int, floor: float = 0.0) -> Sweep:
        return Sweep("beta", tuple((8.0**-k, 0.01 * 8.0 ** (-k * order) + floor) for k in range(1, 7)))

    assert not breach(sweep(1), 1) and not breach(sweep(2), 2) and not breach(sweep(4), 4)
    assert breach(sweep(1), 2)
    assert breach(sweep(2), 4)
    assert breach(sweep(2, floor=1e-3), 2)
    assert not breach(sweep(2), 1)


@pytest.mark.slow
def test_a_loose_free_phase_spoils_frozen_aep_first() -> None:
    """``thick`` at 2.5 times its weights, from a residual of 1e-2: the correction at the midpoint holds alone."""
    net = energyc.load(
        SPECS / "thick.energy", preset="verify", rules=["aep", "tracking-aep", "implicit"], dtype=torch.float64
    )
    with torch.no_grad():
        for param in net.parameters():
            param.mul_(2.5)
    found = rest(net, random_probe(net), 4000)
    at = slowest(net, found.states, found.probe.clamps, net.relax_step)
    swept = looseness(Laboratory(net, found, at), ["aep", "tracking-aep"], Work((net,)), (1e-2, 1e-6))
    assert swept is not None
    (frozen, tight), (tracking, _) = swept.rules["aep"], swept.rules["tracking-aep"]
    assert frozen.residual == tracking.residual <= 1e-2
    assert not frozen.faithful and frozen.worst.cosine < 0.6
    assert tracking.faithful
    assert tight.faithful and tight.worst.cosine > 0.99
    assert swept.threshold("aep") == tight.residual and swept.threshold("tracking-aep") == tracking.residual


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("energy", "cause"),
    [("abs(z[d])", "its force jumps"), ("-z[d]^4", "the energy has no floor"), ("-z[d]^2", "the energy has no floor")],
)
def test_a_kink_and_an_energy_without_a_floor_are_named(energy: str, cause: str) -> None:
    text = TURNING.replace(
        "force turn on z[d] = tanh(", f"energy more = sum[d](4 * {energy})\nforce turn on z[d] = 0 * tanh("
    )
    net = energyc.load(text, rules=["implicit"], settings={"relax.proximal": "off"}, dtype=torch.float64)
    probe = Batch({"x": torch.linspace(0.5, 2.0, 8, dtype=torch.float64).reshape(4, 2)}, {})
    told = judged(net, probe)
    assert any(cause in why for why in told.why) and told.helps
    assert "a lower gain" not in " ".join(told.helps)
