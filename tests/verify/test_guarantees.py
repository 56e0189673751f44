"""What verify proves at given params, beside what it measures: never less than what is."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

import energyc
from energyc.pipeline import Choices, read, resolve
from energyc.proofs.claims.derivatives import Form, ranges_of_directions
from energyc.proofs.claims.energy import whole_energy
from energyc.proofs.claims.monotone import Monotone
from energyc.studies.verify import Guarantee, random_probe, verify
from energyc.studies.verify.guarantees import SHORTER
from energyc.studies.verify.verification import SAMPLES
from tests.cli.run import energyc as energyc_command
from tests.drawing import seeds

SPECS = Path(__file__).parents[2] / "specs"
#: docs/claims.md has its figures: in one dimension the bound is hardly above the error.
ONE = """network one
param theta = 3/10
state z
energy e = z^2 + cos(z)/2 - theta*z
cost c = 1/2 * (z - 1)^2
relax { step = 0.3, steps = 200, tolerance = 1e-12 }
train { rule = centered-ep }
"""
SMOOTH = """network smooth
dim I = 3, J = 4, K = 2
clamp x[I]
target t[K]
param U[I, J] ~ normal(1/2), W[J, K] ~ normal(1/4), b[J] ~ normal(1/2)
state s[J], y[K] in [-3/2, 3/2]
energy own = sum[j](s[j]^2) + sum[k](y[k]^2)
energy pair = -sum[j,k](tanh(s[j]) * W[j,k] * y[k]) / 4
energy input = -1/4 * sum[j](softplus(s[j] + b[j] + sum[i](U[i,j] * x[i])))
cost c = sum[k](1/2 * (y[k] - t[k])^2 + 1/10 * cos(y[k]))
relax { step = 0.4, steps = 100, tolerance = 1e-10 }
train { rule = centered-ep }
"""


def proved(spec: str | Path, rules: tuple[str, ...] = ("centered-ep",)) -> Guarantee:
    found = verify(spec, rules=rules).fidelity.guarantee
    assert found is not None
    return found


@pytest.mark.abridged
@pytest.mark.parametrize("spec", [ONE, SMOOTH, "hopfield", "deep_hopfield"], ids=["one", "smooth", "hopfield", "deep"])
def test_no_error_is_above_its_bound(spec: str) -> None:
    found = proved(spec if "\n" in spec else SPECS / f"{spec}.energy")
    assert found.m > 0 and not found.unbounded and len(found.nudged) >= 2
    assert all(0 < nudged.error <= nudged.bound for nudged in found.nudged)
    assert found.nudged[-1].bound < 1e-6


def test_in_one_dimension_the_bound_is_near() -> None:
    found = proved(ONE)
    assert (found.m, found.most) == pytest.approx((1.5, 2.5))
    assert all(nudged.bound < 2 * nudged.error for nudged in found.nudged)


@pytest.mark.abridged
@pytest.mark.parametrize("within", [1e-2, 1e-3, 1e-5])
def test_the_largest_beta_in_one_dimension(within: float) -> None:
    """Equilibria of ONE by Newton's method: the error at that beta is not above what is asked, and not far below."""
    beta = verify(ONE, rules=("centered-ep",), within=within).fidelity.guarantee.strongest  # type: ignore[union-attr]
    assert beta is not None

    def rest(beta: float) -> float:
        z = 0.2
        for _ in range(50):
            z -= (2 * z - math.sin(z) / 2 - 0.3 + beta * (z - 1)) / (2 - math.cos(z) / 2 + beta)
        return z

    exact = (rest(0.0) - 1) / (2 - math.cos(rest(0.0)) / 2)
    estimate = (rest(-beta) - rest(beta)) / (2 * beta)
    error = abs(estimate - exact) / abs(exact)
    assert within / 2 < error <= within


@pytest.mark.slow
@pytest.mark.parametrize("within", [1e-2, 1e-4])
def test_at_the_largest_beta_the_error_is_within_what_is_asked(within: float) -> None:
    beta = verify(SMOOTH, rules=("centered-ep",), within=within).fidelity.guarantee.strongest  # type: ignore[union-attr]
    net = energyc.load(SMOOTH, dtype=torch.float64)
    probe = random_probe(net, batch=SAMPLES)
    assert beta is not None
    exact = net.gradients(probe.clamps, probe.targets, "implicit", tolerance=1e-13).params
    nudged = net.gradients(probe.clamps, probe.targets, "centered-ep", tolerance=1e-13, beta=beta, nudge_steps=None)
    gaps = sum(float((nudged.params[name] - g).square().sum()) for name, g in exact.items())
    error = math.sqrt(gaps / sum(float(g.square().sum()) for g in exact.values()))
    assert within / 1000 < error <= within


def test_without_a_bound_no_beta_is_largest() -> None:
    found = proved(ONE.replace("cos(z)/2", "relu(z)^2"))
    assert found.unbounded and found.strongest is None


def test_the_report_names_the_error_that_was_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Unrounded: at 2.5e-3 nothing is proved of 2e-3."""
    (tmp_path / "one.energy").write_text(ONE)
    arguments = str(tmp_path / "one.energy"), "--rule", "centered-ep", "--within", "0.0025"
    assert "for an error of at most 0.0025" in energyc_command(capfd, "verify", *arguments).out


def test_where_the_bound_is_zero_no_beta_is_largest() -> None:
    """A quadratic energy and a cost that is linear: the contrast is the gradient at any beta."""
    found = proved(ONE.replace("z^2 + cos(z)/2 - theta*z", "z^2 - theta*z").replace("1/2 * (z - 1)^2", "3 * z"))
    assert all(nudged.bound == 0 for nudged in found.nudged) and found.strongest is None


@pytest.mark.abridged
@pytest.mark.parametrize("name", ["hopfield", "deep_hopfield", "monotone"])
def test_steps_converge_as_soon_as_is_promised(name: str) -> None:
    rules = ("implicit",) if name == "monotone" else ("centered-ep",)
    found = proved(SPECS / f"{name}.energy", rules)
    assert found.predicted is not None and found.measured is not None
    assert 0 < found.measured <= found.predicted and found.rate**found.predicted <= SHORTER


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, said",
    [
        ("W[j,k] * y[k]) / 4", "W[j,k] * y[k])", "because of pair and input"),
        ("step = 0.4", "step = 0.7", ""),
        ("step = 0.4", "step = 1.4", "a step of 1.4 is too long for these bounds"),
    ],
)
def test_what_is_not_proved_says_why(old: str, new: str, said: str) -> None:
    assert old in SMOOTH
    found = proved(SMOOTH.replace(old, new))
    assert said in found.why and bool(found.why) == bool(said)
    assert (found.predicted is None) == bool(said)


def test_an_entry_near_the_rim_of_its_box_has_no_bound() -> None:
    """At beta = 0 it rests on the rim, at any other beside it: the error is of the order of beta."""
    at_rest = 2 * 0.1 - math.sin(0.1) / 2
    text = ONE.replace("state z", "state z in [1/10, 2]").replace("theta = 3/10", f"theta = {at_rest:.17g}")
    found = proved(text)
    assert "to or off a rim of the box" in found.unbounded


#: Kinks of derivatives, and what is not smooth; empty where the force is not even known to be continuous.
KINKS = {
    "relu(z)^2": "relu",
    "max(z, 0)^2": "relu",
    "S(z)": "relu",
    "abs(z)^3": "",
    "where(z > 0, z^3, 0)": "a condition on real values",
}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("kink, said", KINKS.items())
def test_across_a_kink_there_is_no_bound(kink: str, said: str) -> None:
    """Derivatives of each side know nothing of the other: with relu(z)^2 the error was 0.24 at a bound of 2e-6."""
    text = ONE.replace("cos(z)/2", kink).replace("theta = 3/10", "theta = 1/1000")
    text = text.replace("state z", "fn S'(u) = relu(u)\nstate z") if "S(z)" in kink else text
    found = proved(text)
    assert not found.nudged
    assert found.unbounded == f"{said} is not smooth" if said else "continuous" in found.unbounded


def test_a_force_that_is_no_gradient_has_no_bound_of_ep() -> None:
    assert "as a whole" in proved(SPECS / "monotone.energy").unbounded


# ---------------------------------------------------------------- bounds of derivatives


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("order", [2, 3, 4])
def test_no_directional_derivative_is_above_its_bound(seed: int, order: int) -> None:
    """Along random and along axis directions, by nested autograd on the module's own energy."""
    print(f"seed {seed}")
    network = resolve(read(SMOOTH), Choices())
    net, random = energyc.load(SMOOTH, dtype=torch.float64), torch.Generator().manual_seed(seed)
    clamps = {"x": torch.randn(1, 3, generator=random, dtype=torch.float64)}
    monotone = Monotone.of(network)
    given = {param.node: net.params[name].detach().numpy() for name, param in network.params.items()}
    given |= {network.clamps["x"].node: clamps["x"].numpy()}
    directions = ranges_of_directions(monotone.base, monotone.base.states)
    box = dict.fromkeys(monotone.base.states, (-2.0, 2.0))
    norms = monotone.norms(given=given, narrower={**directions, **box})
    bound = Form.of(monotone.base, whole_energy(network, monotone.base), order).bound(norms)
    largest = 0.0
    for k in range(40):
        at = 4 * torch.rand(6, generator=random, dtype=torch.float64) - 2
        way = (
            torch.eye(6, dtype=torch.float64)[k % 6] if k < 6 else torch.randn(6, generator=random, dtype=torch.float64)
        )
        largest = max(largest, abs(_along(net, clamps, at, way / way.norm(), order)))
    assert 0 < largest <= bound * (1 + 1e-9)
    assert bound < 200 * largest  # not a formality


def _along(net: object, clamps: dict[str, Tensor], at: Tensor, way: Tensor, order: int) -> float:
    """The derivative of the energy along a direction."""

    def energy(t: Tensor) -> Tensor:
        z = at + t * way
        states = {"s": z[None, :4], "y": z[None, 4:]}
        return _energy(net, clamps, states)

    function = energy
    for _ in range(order):
        function = torch.func.grad(function)
    return float(function(torch.zeros((), dtype=torch.float64)))


def _energy(net: object, clamps: dict[str, Tensor], states: dict[str, Tensor]) -> Tensor:
    """The energy written out by hand."""
    params, s, y = {n: p.detach() for n, p in net.params.items()}, states["s"][0], states["y"][0]  # type: ignore[attr-defined]
    pair = -(torch.tanh(s) @ params["W"] @ y) / 4
    inputs = torch.nn.functional.softplus(s + params["b"] + clamps["x"][0] @ params["U"])
    return (s * s).sum() + (y * y).sum() + pair - 0.25 * inputs.sum()
