"""Presets, overrides and settings: the spec gives way to a preset, a preset to what is asked for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from energyc.language.diagnostics import SpecError
from tests.resolve.helpers import findings, network, shipped

SPEC = """
dim N = 4, M = 2*N
const c = 1/3, r = sqrt(2)
state z[N], y[M] in nonnegative
param W[N, M] ~ uniform(c) in [0, 1]
energy e = c*r/2 * sum[n](z[n]^2) + sum[m](y[m]^2) - sum[n,m](z[n]*W[n,m]*y[m])
cost k = sum[n](z[n]^2)
metric one = max[n](z[n])
metric two = max[n](z[n])
relax { step = 1/2, steps = 30, tolerance = 1e-4, step.y = 1/4, solver = newton, explosion = none }
nudge { beta = auto, steps = N }
train { rule = centered-ep, schedule = cosine(warmup = 100), lr.W = 0.1, metrics = [one, two] }
preset small { N = 3, c = 1/2, relax.steps = 7 }
"""


def test_the_spec_alone() -> None:
    net = network(SPEC)
    assert net.extents == {"N": 4, "M": 8}
    assert net.consts["c"].exact == Fraction(1, 3)
    assert net.consts["r"].exact is None and net.consts["r"].value == pytest.approx(2**0.5)
    assert net.sizes["M"].derived_from == ("N",)
    assert (net.relax.step, net.relax.steps, net.relax.tolerance, dict(net.relax.step_of)) == (
        0.5,
        30,
        1e-4,
        {"y": 0.25},
    )
    assert (net.relax.solver, net.relax.explosion) == ("newton", None)
    assert (net.nudge.beta, net.nudge.steps) == (None, 4)
    assert (net.train.schedule, net.train.warmup) == ("cosine", 100)
    assert net.train.rates == {"W": 0.1} and net.train.metrics == ("one", "two")
    assert net.states["y"].constraint is not None and net.states["y"].constraint.kind == "nonnegative"
    assert (net.params["W"].low, net.params["W"].high) == (0.0, 1.0)


def test_a_preset_and_what_is_asked_for() -> None:
    assert network(SPEC, preset="small").extents == {"N": 3, "M": 6}
    net = network(SPEC, preset="small", N=2, **{"relax.step": 0.1, "nudge.beta": "0.25"})
    assert net.extents == {"N": 2, "M": 4}
    assert (net.relax.step, net.relax.steps, net.nudge.beta) == (0.1, 7, 0.25)
    assert net.consts["c"].exact == Fraction(1, 2)


@pytest.mark.parametrize(
    ("key", "given", "code", "said"),
    [
        ("M", 9, "E0214", "derived from N"),
        ("K", 9, "E0215", "no dim or const"),
        ("z", 9, "E0215", "is a state"),
        ("N", 2.5, "E0211", "positive integer"),
        ("N", 0, "E0211", "positive integer"),
        ("N", "big", "E0216", "is a number"),
        ("relax.steps", "many", "E0542", "positive whole number"),
        ("relax.stops", 1, "E0541", "no setting"),
        ("relaxed.steps", 1, "E0541", "no settings"),
        ("relax.step.q", 1, "E0543", "no state"),
        ("relax.solver", "simplex", "E0542", "one of gradient, newton, anderson"),
        ("relax.step.z", "auto", "E0542", "positive number, not `auto`"),
        ("relax.explosion", -1, "E0542", "positive number or none"),
        ("nudge.tolerance", 0, "E0542", "a positive number"),
    ],
)
def test_what_cannot_be_set(key: str, given: object, code: str, said: str) -> None:
    found = findings(SPEC, **{key: given})
    assert [d.code for d in found if d.severity == "error"] == [code]
    assert said in found[0].message


def test_remedies_name_what_can_be_set() -> None:
    spec = """
dim T = 5, H = 2, A = 4*H, B = A + T
data text = characters(context = T)
dim V = text.vocabulary, M = V
const c = A
param W1, Weight ~ normal(1)
state z[T, V, M, B]
energy e = c*sum[t,v,m,b](z[t,v,m,b]^2) + W1 + Weight
"""

    def help_of(key: str) -> str | None:
        return next(d.help for d in findings(spec, **{key: 7}) if d.severity == "error")

    assert help_of("B") == "set H or T instead"
    for size in ("V", "M"):
        assert str(help_of(size)).startswith("it is a size of the data: change the options of text")
    assert help_of("Q") == "these can be set: T, H and c"
    assert help_of("train.lr.Wieght") == "did you mean `Weight`?"
    assert help_of("train.lr.q") == "the params are W1 and Weight"


def test_an_unknown_preset() -> None:
    with pytest.raises(SpecError) as error:
        network(SPEC, preset="smal")
    assert error.value.diagnostics[0].code == "E0217"
    assert error.value.diagnostics[0].help == "did you mean `small`?"


def test_dims_that_were_set_need_not_fit_the_data() -> None:
    net = shipped("hopfield", I=12, J=9, K=4)
    assert not net.clamps["x"].fits and not net.targets["label"].fits
    assert shipped("hopfield").clamps["x"].fits


def test_ties_constraints_and_laws() -> None:
    net = network(
        """
dim D = 3, F = 2
param W1[F, D], V[D] ~ normal(0.02), b[D] = 1/2
tie W2[d,f] = W1[f,d]
state z[D] in standardized[D], q[F, D] in simplex[D]
energy e = sum[d,f](q[f,d] * W2[d,f] * z[d] * V[d] * b[d])
"""
    )
    assert net.ties["W2"].axes == (1, 0) and net.ties["W2"].source == "W1"
    assert net.params["W1"].law is not None and net.params["W1"].law.arguments == (0.02,)
    assert net.params["V"].law == net.params["W1"].law
    assert net.params["b"].law is None and net.params["b"].start is not None
    assert net.states["q"].constraint is not None and net.states["q"].constraint.axes == (1,)


@pytest.mark.parametrize(
    ("key", "paths"), [("lr", "`train.lr`"), ("steps", "`relax.steps`, `nudge.steps` or `train.steps`")]
)
def test_a_setting_without_its_block(key: str, paths: str) -> None:
    (found,) = findings(SPEC, **{key: 1})
    assert found.code == "E0215" and found.help == f"as a setting it is {paths}"
