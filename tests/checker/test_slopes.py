"""Rule trees on slopes: curvature, convergence, contraction, positive Jacobians; false ones by every rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from energyc.checker.nodes import FOR
from energyc.checker.syntax import read_spec
from tests.analysis.test_claims_once_false import NOT_PROVED
from tests.checker.forged import REST, node
from tests.checker.proofs import Json, answer, certified, text_of
from tests.checker.test_trees import changes, spec_of
from tests.drawing import SEED, draws

SMALL = "1e-9"


def form(steps: dict[str, str], m: str, most: str | None, squares: list[str]) -> Json:
    statement = {"kind": "curved", "steps": "plain", "lengths": steps, "m": m, "L": most}
    return node("form", statement, facts={"squares": squares})


def unique(curved: Json, sizes: dict[str, int] | None = None) -> Json:
    statement = {"kind": "unique", "steps": curved["statement"]["steps"], "sizes": sizes or {}}
    return node("monotone", {**statement, "layer": None, "for": FOR["unique"]}, [curved])


def rest(curved: Json) -> Json:
    steps = curved["statement"]["steps"]
    return node("monotone", {"kind": "rest", "steps": steps, **REST}, [curved])


def converges(curved: Json, rate: str, sizes: dict[str, int] | None = None) -> Json:
    same = {name: curved["statement"][name] for name in ("steps", "lengths")}
    statement = {"kind": "converges", **same, "rate": rate, "sizes": sizes or {}}
    return node("rate", {**statement, "layer": None, "for": FOR["converges"]}, [curved])


def contraction(name: str, step: str) -> Json:
    statement = {"kind": "contraction", "of": name, "step": step, "sizes": {}, "layer": None}
    return node("slope", {**statement, "for": FOR["contraction"]})


def positive(of: str, by: str, squares: list[str], apart: list[str], given: list[str]) -> Json:
    statement = {"kind": "positive", "of": of, "by": by, "given": given, "layer": None, "for": FOR["positive"]}
    return node("form", statement, facts={"squares": squares, "apart": apart})


def verdict(text: str, made: Json) -> str:
    return answer(root(text, made), text).verdict


def root(text: str, made: Json) -> Json:
    """A tree with the formulas of a spec, whether energyc takes the spec or not."""
    formulas = {key: left.body for key, left in read_spec(text, None)["equations"].items()}
    return {"claim": "forged", "formulas": formulas, **made}


# ---------------------------------------------------------------- one equilibrium

#: What may be taken off a form, if it is nowhere negative; the last of these are not, or have no value.
SQUARES = ("sum[d](w.z[d]^2)", "2 * sum[d](w.z[d]^2)", "sum[d in D](sum[k in D](W[d,k] * w.z[k])^2)")
FORGED = (
    "sqrt(0 - 1)^2 * 3 * sum[d](w.z[d]^2)",
    "3 * sum[d](sqrt(x[d] - x[d] - 1)^2 * w.z[d]^2)",
    "sum[d]((0 - 4)^(1/2) * (0 - 4)^(1/2) * w.z[d]^2)",
    "3 * sum[d](((0 - w.z[d]^2)^(1/2))^2)",
    "3 * sum[d](v[d] * w.z[d]^2)",
    "0 - 3 * sum[d](w.z[d]^2)",
    "3 * sum[d](w.z[d] * w.z[d + 1])",
    "sum[d](exp(log(0 - 3)) * w.z[d]^2)",
    "sum[d](abs(w.z[d])^2 / (w.z[d] - w.z[d]))",
    "sum[d](q[d]^2 * w.z[d]^2)",
)
NORM = "param W[D,D] ~ normal(1) in norm[{c}]\nstate z[D]\n"
#: Forces that do not pull all states together, for some params, sizes or states.
NOT_MONOTONE = {
    "two wells": "state z[D]\nenergy e = sum[d](z[d]^4 - z[d]^2)",
    "two wells by what is nearly convex": "state z[D]\nenergy e = sum[d](z[d]^2/2 - 51/100*z[d]*tanh(z[d]))",
    "a sphere": "state z[D] in sphere[D]\nstart z[d] = 1\nenergy e = sum[d](z[d]^2)",
    "standardized": "state z[D] in standardized[D]\nstart z[d] = x[d]\nenergy e = sum[d](z[d]^2)",
    "the norm of another param": "param A[D,D] ~ normal(1) in norm[1/2], W[D,D] ~ normal(1)\nstate z[D]\n"
    "force f on z[d] = sum[k](W[d,k]*z[k]) - z[d]",
    "no set": "param W[D,D] ~ normal(1)\nstate z[D]\nenergy e = sum[d](z[d]^2) - sum[d,k](z[d]*W[d,k]*z[k])",
    "a norm above 1": NORM.format(c="11/10") + "force f on z[d] = sum[k](W[d,k]*tanh(z[k])) - z[d]",
    "a norm of 1": NORM.format(c="1") + "force f on z[d] = sum[k](W[d,k]*z[k]) - z[d]",
    "twice a norm": NORM.format(c="6/10") + "energy e = 1/2*sum[d](z[d]^2) - sum[d,k](z[d]*W[d,k]*z[k])",
    "orthogonal rows": "param W[D,D] in orthogonal\nstate z[D]\nforce f on z[d] = sum[k](W[d,k]*z[k]) - z[d]",
    "a box at all sizes": "param W[D,D] = 0 in [-1/10, 1/10]\nstate z[D]\nforce f on z[d] = sum[k](W[d,k]*z[k]) - z[d]",
    "the size of a dim": "state z[D]\nforce f on z[d] = 1/10*sum[k](z[k]) - z[d]",
    "a sum under a guard": "state z[D]\nenergy e = sum[d | d < 2](z[d]^2)",
    "a guard at size 1": "state z[D]\nenergy e = sum[d | d >= 1](z[d]^2)",
    "a transpose": "state z[D,D]\nforce f on z[d,k] = -z[k,d]",
    "a diagonal": "state z[D,D]\nenergy e = sum[d](z[d,d]^2)",
    "one element": "state z[D]\nforce f on z[d] = -z[0]",
    "another element": "state z[D]\nforce f on z[d] = -z[d + 1]",
    "what is gathered": "clamp i[N] : D\nstate z[D]\nenergy e = sum[n](z[i[n]]^2)",
    "an input before it": "state z[D]\nforce f on z[d] = -x[d]*z[d]",
    "a param of any sign": "param v[D] = 1\nstate z[D]\nenergy e = sum[d](v[d]*z[d]^2)",
    "a param that may be 0": "param v[D] = 1 in nonnegative\nstate z[D]\nenergy e = sum[d](v[d]*z[d]^2)",
    "a steep function": "state z[D]\nforce f on z[d] = 2*tanh(z[d]) - z[d] + x[d]",
    "a steep relu": "state z[D]\nforce f on z[d] = relu(2*z[d]) - z[d]",
    "the overshoot of silu": "state z[D]\nforce f on z[d] = silu(92/100*z[d]) - z[d]",
    "the overshoot of gelu": "state z[D]\nforce f on z[d] = gelu(9/10*z[d]) - z[d]",
    "the undershoot of silu": "state z[D]\nforce f on z[d] = -11*silu(z[d]) - z[d]",
    "a falling abs": "state z[D]\nforce f on z[d] = -2*abs(z[d]) - z[d]",
    "a leak": "state z[D]\nforce f on z[d] = leaky_relu(100*z[d]) - z[d]",
    "a jump": "state z[D]\nforce f on z[d] = where(z[d] > 0, 1, -1) - z[d]",
    "a sign": "state z[D]\nforce f on z[d] = sign(z[d]) - z[d]",
    "a kink downward": "state z[D]\nenergy e = sum[d](z[d]^2/2 - abs(z[d]))",
    "a kink upward": "state z[D]\nenergy e = sum[d](z[d]^2/2 + abs(z[d] - x[d]))\nrelax { proximal = off }",
    "a mean of the batch": "state z[D]\nforce f on z[d] = 2*mean[batch](z[d]) - z[d]",
    "a mean of the batch in a let": "state z[D]\nlet q[d] = mean[batch](z[d])\nforce f on z[d] = 2*q[d] - z[d]",
    "frozen": "state z[D]\nenergy e = sum[d]((z[d] - frozen(2*z[d] + 1))^2)",
    "detached": "state z[D]\nforce f on z[d] = detach(2*z[d]) - z[d] + 1",
    "noise": "noise n[D] ~ normal(1)\nstate z[D]\nforce f on z[d] = n[d] - z[d]",
    "the number of the step": "dim T = 5\nstate z[D]\nforce f on z[d] = where(t < 2, 1, -1) - z[d]\n"
    "relax t in T { step = 1 }",
    "a flow that another element drives": "state z[D]\nflow z[d] = -z[d + 1]",
    "a flow beside a force": "state z[D], y[D]\nflow z[d] = -z[d]\nforce f on y[d] = -y[d]",
    "a flow uphill": "state z[D]\nenergy e = sum[d](z[d]^2)\nflow z[d] = grad(e, z[d])",
    "a state that rests anywhere": "state z[D], y[D]\nenergy e = sum[d](z[d]^2)",
    "states that pull one another": "state z[D], y[D]\nenergy e = sum[d](z[d]^2 + y[d]^2 - 2*z[d]*y[d])",
    "a difference of equal conditions": "param v = 0\nstate z[D]\n"
    "force f on z[d] = 3*z[d]*(where(v >= 0, 1, 0) - where(v > 0, 1, 0)) - z[d]",
    "a pole": "state z[D]\nforce f on z[d] = 1/z[d] - z[d]",
    "a pole that cancels": "state z[D]\nforce f on z[d] = -z[d]*(z[d]/z[d])",
    "a root of what is negative": "state z[D]\nlet q[d] = sqrt(0 - 1 - x[d]^2)\nforce f on z[d] = z[d]",
    "a maximum": "state z[D]\nforce f on z[d] = max[k](z[k]) - z[d]",
    "softmax": "state z[D]\nforce f on z[d] = 3*softmax[d](z[d]) - z[d]",
}  # fmt: skip


def forged_curves(text: str) -> Iterator[Json]:
    states = read_spec(text, None)["states"]
    squares: list[list[str]] = [[], *([each] for each in (*SQUARES, *FORGED))]
    for chosen in squares:
        curved = form(dict.fromkeys(states, "1"), SMALL, None, chosen)
        for sizes in ({}, {"N": 4}):
            yield root(text, unique(curved, sizes))
        yield root(text, rest(curved))
        if not chosen:
            steep = {**curved, "statement": {**curved["statement"], "L": "1000"}}
            yield root(text, converges(steep, "999999/1000000"))


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", NOT_MONOTONE)
def test_no_tree_shows_that_a_loose_force_pulls(name: str) -> None:
    text = spec_of(NOT_MONOTONE[name])
    assert [made for made in forged_curves(text) if answer(made, text).verdict == "yes"] == []


ONCE = [
    body for body, names in NOT_PROVED.values() if {"an equilibrium exists", "there is only one equilibrium"} & {*names}
]


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("body", ONCE)
def test_no_tree_shows_one_equilibrium_where_none_was(body: str) -> None:
    text = spec_of(body)
    assert [made for made in forged_curves(text) if answer(made, text).verdict == "yes"] == []


#: Forces with the largest m and the least L that hold for all params on their sets, which some of them attain.
#: ``a`` and ``c`` are numbers above 0, ``f`` is a function with slopes from 0 to 1, and both.
KNOWN = {
    "energy e = {a}/2*sum[d](z[d]^2)": ("a", "a"),
    "energy e = {a}/2*sum[d](z[d]^2) - 1/2*sum[d,k](z[d]*W[d,k]*z[k])": ("a - c", "a + c"),
    "energy e = {a}/2*sum[d](z[d]^2) + 1/2*sum[d](sum[k](W[d,k]*z[k])^2)": ("a", "a + c**2"),
    "force f on z[d] = sum[k](W[d,k]*{f}(z[k])) - {a}*z[d] + x[d]": ("a - c", "a + c"),
    "force f on z[d] = {f}(sum[k](W[d,k]*z[k]) + x[d]) - {a}*z[d]": ("a - c", "a + c"),
    "force f on z[d] = sum[k](W[d,k]*z[k]) - sum[k](W[k,d]*z[k]) - {a}*z[d]": ("a", "a + 2*c"),
    "let h[d] = sum[k](W[d,k]*z[k])\nforce f on z[d] = -sum[k](W[k,d]*h[k]) - {a}*z[d]": ("a", "a + c**2"),
    "next z[d] = {f}(sum[k](W[d,k]*z[k]))": ("1 - c", "1 + c"),
    "energy e = {a}/2*sum[d](z[d]^2)\nforce f on z[d] = sum[k](W[d,k]*{f}(z[k]))": ("a - c", "a + c"),
    "energy e = {a}/2*sum[d](z[d]^2 + softplus(4*z[d]))": ("a", "a + 2*a"),
    "energy e = {a}/2*sum[d](z[d]^2) + 1/2*sum[d](relu(sum[k](W[d,k]*z[k]))^2)": ("a", "a + c**2"),
}
TAKEN_OFF: tuple[list[str], ...] = ([], ["sum[d in D](sum[k in D](W[d,k]*w.z[k])^2)"],
             ["sum[d in D]((relu'(sum[k in D](W[d,k] * z[k])) * sum[k in D](W[d,k] * w.z[k]))^2)"])  # fmt: skip
ONES = ("tanh", "relu", "softsign", "4*sigmoid")


def known(generator: np.random.Generator) -> tuple[str, Fraction, Fraction]:
    """A spec, its m and its L."""
    body, (m, most) = list(KNOWN.items())[generator.integers(len(KNOWN))]
    a, c = (Fraction(int(generator.integers(1, 20)), 8) for _ in range(2))
    written = body.replace("{a}", str(a)).replace("{f}", ONES[generator.integers(len(ONES))])
    values = {"a": a, "c": c}
    text = spec_of(NORM.format(c=c) + written)
    return text, Fraction(eval(m, values)), Fraction(eval(most, values))


def test_bounds_of_known_forces() -> None:
    """The largest m and the least L are accepted, any that says more is not."""
    print(f"ENERGYC_SEED={SEED}")
    generator, count = np.random.default_rng(SEED), 0
    little = Fraction(1, 10**9)
    for _ in range(draws(25)):
        text, m, most = known(generator)

        def accepts(m: Fraction, most: Fraction, text: str = text) -> bool:
            curved = (form({"z": "1"}, str(m), str(most), each) for each in TAKEN_OFF)
            return any(verdict(text, unique(each)) == "yes" for each in curved)

        loose = m <= 0
        assert accepts(m, most) != loose, text
        assert not accepts(m + little, most), text
        assert not accepts(max(m, little) / 2, most - little), text
        assert not loose or not accepts(little, most * 9), text
        count += not loose
    assert count


@pytest.mark.parametrize("length", ["1/10", "1/5", "2/5", "9/20", "1/2", "3/5"])
def test_rates_of_a_known_energy(length: str) -> None:
    """Its second derivatives are 1 and 4: a step is at best as fast as max(|1 - length|, |1 - 4 length|)."""
    text = spec_of("state y, z[D]\nenergy e = y^2/2 + 2*sum[d](z[d]^2)")
    step = Fraction(length)
    truth = max(abs(1 - step), abs(1 - 4 * step))
    for rate, m, most in product(
        ("0", "1/2", "9/10", "1", str(truth), str(truth * Fraction(999, 1000))), "012", "12345"
    ):
        low, high = (str(step * int(each)) for each in (m, most))
        made = converges(form({"y": length, "z": length}, low, high, []), rate)
        holds = truth <= Fraction(rate) < 1 and int(m) <= 1 and int(most) >= 4
        if verdict(text, made) == "yes":
            assert holds, (rate, m, most)
        elif holds and Fraction(rate) >= max(abs(1 - step * int(m)), abs(1 - step * int(most))):
            raise AssertionError((rate, m, most))


def test_each_state_has_its_step() -> None:
    text = spec_of("state y, z[D]\nenergy e = y^2/2 + 2*sum[d](z[d]^2)")
    steps = {"y": "1", "z": "1/4"}
    assert verdict(text, converges(form(steps, "1", "1", []), "0")) == "yes"
    assert verdict(text, converges(form({"y": "1/4", "z": "1"}, "1", "1", []), "0")) == "no"
    moved = converges(form(steps, "1", "1", []), "0")
    moved["statement"]["lengths"] = {"y": "1", "z": "1"}
    assert verdict(text, moved) == "no"


def test_a_rotation_needs_short_steps() -> None:
    """The Jacobian is -1 and 2 beside it: |J v|^2 = 5 |v|^2, so that a step of 2/5 leaves a distance as it is."""
    text = spec_of("state y, z\nforce f on y = -y + 2*z\nforce g on z = -z - 2*y")
    for k in range(1, 20):
        step = Fraction(k, 40)
        truth = 1 - 2 * step + 5 * step**2
        for wide, rate in product("239", (Fraction(1, 2), Fraction(99, 100), Fraction(999999, 10**6))):
            most = Fraction(wide)
            curved = form({"y": str(step), "z": str(step)}, str(step), str(step * most), [])
            if verdict(text, converges(curved, str(rate))) == "yes":
                assert rate**2 >= truth
                assert most >= 3
    curved = form({"y": "1/9", "z": "1/9"}, "1/9", "3/9", [])
    assert verdict(text, converges(curved, "95/100")) == "yes"


def test_sizes_are_those_of_the_statement() -> None:
    text = spec_of("param W[D,D] = 0 in [-1/10, 1/10]\nstate z[D]\nforce f on z[d] = sum[k](W[d,k]*z[k]) - z[d]")
    curved = form({"z": "1"}, "1/10", None, [])
    assert verdict(text, unique(curved, {"D": 9})) == "yes"
    for size in (10, 0, -1, 9.0, "9", True):
        assert verdict(text, unique(curved, {"D": size})) != "yes" or size is True  # type: ignore[dict-item]
    assert verdict(text, unique(curved)) == "no"
    assert verdict(text, rest(curved)) == "no"


# ---------------------------------------------------------------- contraction

#: A spec, a state, a step, and whether a step of the state is a contraction.
STEPS = {
    "tanh": ("state y[D]\nnext y[d] = 9/10*tanh(y[d]) + x[d]", "1", True),
    "steep tanh": ("state y[D]\nnext y[d] = 11/10*tanh(y[d])", "1", False),
    "a slope of 1": ("state y[D]\nnext y[d] = tanh(y[d])", "1", False),
    "a step too long": ("state y[D]\nflow y[d] = -y[d]", "2", False),
    "a short step": ("state y[D]\nflow y[d] = -y[d]", "19/10", True),
    "no step": ("state y[D]\nflow y[d] = -y[d]", "0", False),
    "a negative step": ("state y[D]\nflow y[d] = -y[d]", "-1/2", False),
    "uphill": ("state y[D]\nenergy g = sum[d](y[d]^2)\nflow y[d] = grad(g, y[d])", "1/2", False),
    "downhill": ("state y[D]\nenergy g = sum[d](y[d]^2)\nflow y[d] = -grad(g, y[d])", "1/2", True),
    "down two hills": ("state y[D]\nenergy g = sum[d](y[d]^2)\nenergy h = sum[d](cos(y[d]))\n"
                       "flow y[d] = -grad(g + h, y[d])", "1/2", True),
    "down a hill that is too steep": ("state y[D]\nenergy g = sum[d](y[d]^2)\nenergy h = 3*sum[d](cos(y[d]))\n"
                                      "flow y[d] = -grad(g + h, y[d])", "1/2", False),
    "a sphere": ("state y[D] in sphere[D]\nstart y[d] = 1\nnext y[d] = y[d]/2", "1", False),
    "standardized": ("state y[D] in standardized[D]\nstart y[d] = x[d]\nnext y[d] = y[d]/2", "1", False),
    "a box": ("state y[D] in [-1, 1]\nnext y[d] = y[d]/2", "1", True),
    "a jump": ("state y[D]\nnext y[d] = where(y[d] > 0, -1, 1) + y[d]/2", "1", False),
    "a sign": ("state y[D]\nnext y[d] = y[d]/2 - sign(y[d])", "1", False),
    "detached": ("state y[D]\nnext y[d] = y[d]/2 + detach(y[d])", "1", False),
    "a mean of the batch": ("state y[D]\nnext y[d] = y[d]/2 - 2*mean[batch](y[d])", "1", False),
    "elements that meet": ("state y[D]\nnext y[d] = y[d]/2 + sum[k](y[k])", "1", False),
    "another element": ("state y[D]\nnext y[d] = y[d]/2 + y[d + 1]", "1", False),
    "another state": ("state y[D], z[D]\nenergy e = sum[d](z[d]^2)\nflow y[d] = z[d] - y[d]\n"
                      "flow z[d] = -grad(e, z[d])",
                      "1", True),
    "a rate that is learned": ("dim T = 3\nparam r[T] = 1/2 in [1/100, 1]\nstate y[D]\nflow y[d] = -r[t]*y[d]\n"
                               "relax t in T { step = 1 }", "1", True),
    "a rate up to 2": ("dim T = 3\nparam r[T] = 1/2 in [1/100, 2]\nstate y[D]\nflow y[d] = -r[t]*y[d]\n"
                       "relax t in T { step = 1 }", "1", False),
    "a rate that may be 0": ("dim T = 3\nparam r[T] = 1/2 in [0, 1]\nstate y[D]\nflow y[d] = -r[t]*y[d]\n"
                             "relax t in T { step = 1 }", "1", False),
    "a rate out of range": ("dim T = 3\nparam r[T] = 1/2 in [1/100, 1]\nstate y[D]\nflow y[d] = -r[t + 1]*y[d]\n"
                            "relax t in T { step = 1 }", "1", False),
    "the overshoot of silu": ("state y[D]\nnext y[d] = 92/100*silu(y[d])", "1", False),
    "below the overshoot of silu": ("state y[D]\nnext y[d] = 9/10*silu(y[d])", "1", True),
    "by a let": ("state y[D]\nlet f[d] = tanh(y[d])\nenergy g = sum[d](y[d]*f[d] - softplus(2*y[d]) + y[d])\n"
                 "flow y[d] = -grad(g, f[d])", "1/10", True),
    "by a let, uphill": ("state y[D]\nlet f[d] = tanh(y[d])\nenergy g = sum[d](y[d]*f[d])\nflow y[d] = grad(g, f[d])",
                         "1/10", False),
    "by a let with a kink": ("state y[D]\nlet f[d] = y[d]\nenergy g = sum[d](f[d]^2/2 + abs(f[d]))\n"
                             "flow y[d] = -grad(g, f[d])", "1/10", False),
    "by a let beside a kink of the state": ("state y[D]\nlet f[d] = tanh(y[d])\n"
                                            "energy g = sum[d](y[d]*f[d] + abs(y[d])*f[d])\n"
                                            "flow y[d] = -grad(g, f[d])", "1/10", False),
    "by a let that another element moves": ("state y[D]\nlet f[d] = tanh(y[d])\n"
                                            "energy g = sum[d](y[d]*f[d]) + 1/100*sum[d](f[d])^2\n"
                                            "flow y[d] = -grad(g, f[d])", "1/10", False),
    "by a let that has a jump": ("state y[D]\nlet f[d] = where(y[d] > 0, 1, 0)\nenergy g = sum[d](y[d]*f[d] + f[d]^2)\n"
                                 "flow y[d] = -grad(g, f[d])", "1/10", False),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_contraction(name: str) -> None:
    body, step, holds = STEPS[name]
    text = spec_of(body)
    made = contraction("y", step)
    assert (verdict(text, made) == "yes") == holds
    banach = node("banach", {"kind": "rest", "steps": "plain", **REST}, [made])
    alone = holds and " t in T" not in body and "z[D]" not in body
    assert (verdict(text, banach) == "yes") == alone


# ---------------------------------------------------------------- positive Jacobians

LAYERNORM = (
    "{s}(variance[d](x[d]) + 1e-5)^(-3/2) * (1e-5 * sum[d]((w.x[d] - mean[k in D](w.x[k]))^2) + 1/2 * mean[d]("
    "sum[k in D](((x[d] - mean[l in D](x[l])) * (w.x[k] - mean[l in D](w.x[l])) - (x[k] - mean[l in D](x[l])) * "
    "(w.x[d] - mean[l in D](w.x[l])))^2)))"
)
RMSNORM = (
    "{s}(mean[d](x[d]^2) + 1e-5)^(-3/2) * (1e-5 * sum[d](w.x[d]^2) + 1/2 * mean[d](sum[k in D]((x[d] * w.x[k] - x[k] * "
    "w.x[d])^2)))"
)
SOFTMAX = "{s}1/2 * sum[d](sum[k in D](softmax[d](x[d]) * softmax[k](x[k]) * (w.x[d] - w.x[k])^2))"
SCALED = {LAYERNORM: ("", "a * "), RMSNORM: ("", "2 * ", "a^2 * "), SOFTMAX: ("",)}
ALL = [[], *([text.format(s=scale)] for text, scales in SCALED.items() for scale in scales),
       ["2 * sum[d](w.x[d]^2) * sqrt(0 - 1)^2"], ["sum[d](sum[k in D](Q[d,k] * w.x[k])^2)"]]  # fmt: skip
#: A let and whether its Jacobian is positive, if some params are not negative.
JACOBIANS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "x[d]": (True, ()),
    "-x[d]": (False, ()),
    "layernorm[d](x[d])": (True, ()),
    "layernorm[d](x[d], eps = 1e-6)": (False, ()),  # no tree here has this eps
    "a * layernorm[d](x[d]) + b[d]": (True, ("a",)),
    "b[0] * layernorm[d](x[d])": (False, ()),
    "a^2 * rmsnorm[d](x[d])": (True, ()),
    "-rmsnorm[d](x[d])": (False, ()),
    "b[d] * rmsnorm[d](x[d])": (False, ()),
    "2 * rmsnorm[d](x[d])": (True, ()),
    "sigmoid(x[d]) * rmsnorm[d](x[d])": (False, ()),
    "exp(-sum[k](x[k]^2)) * rmsnorm[d](x[d])": (False, ()),
    "softmax[d](x[d])": (True, ()),
    "softmax[d](-x[d])": (False, ()),
    "softmax[d](2 * x[d])": (False, ()),
    "tanh(x[d])": (True, ()),
    "-tanh(x[d])": (False, ()),
    "x[d] * tanh(x[d])": (False, ()),
    "x[d] + sin(x[d])/2": (True, ()),
    "x[d] + 2*sin(x[d])": (False, ()),
    "sum[k](x[k]^2) * x[d] - 3*x[d]": (False, ()),
    "x[d] - 1/2*sum[k](Q[d,k]*x[k])": (True, ()),
    "x[d] - sum[k](Q[d,k]*x[k])": (True, ()),
    "x[d] - 11/10*sum[k](Q[d,k]*x[k])": (False, ()),
    "sum[k](Q[k,d] * sum[l](Q[k,l]*x[l]))": (True, ()),
    "sum[k](Q[d,k]*x[k])": (False, ()),
    "x[d] - sum[k in D](p[d]*p[k]*x[k])": (True, ()),
    "x[d] - 2*sum[k in D](p[d]*p[k]*x[k])": (False, ()),
    "x[d] - sum[k in D](b[d]*b[k]*x[k])": (False, ()),
    "sum[k | k < d](x[k])": (False, ()),
    "x[0]": (False, ()),
    "mean[batch](x[d])": (False, ()),
    "detach(x[d])": (False, ()),
}
HELD = "param a = 1, b[D] = 1, Q[D,D] in orthogonal, p[D] in sphere[D]\nclamp c[D]\nstate x[D]\n"


def positive_ones(text: str, given: list[str]) -> list[Json]:
    made = (root(text, positive("g", "x", squares, [], given)) for squares in ALL)
    return [each for each in made if answer(each, text).verdict == "yes"]


@pytest.mark.abridged(every=17)
@pytest.mark.parametrize("inner", JACOBIANS)
def test_positive_jacobians(inner: str) -> None:
    holds, given = JACOBIANS[inner]
    text = f"network n\ndim D = 3\n{HELD}let g[d] = {inner}\nenergy e = sum[d](g[d]^2)\nflow x[d] = -grad(e, g[d])\n"
    assert bool(positive_ones(text, [*given])) == holds
    for others in ([], ["b"], ["c"], "a") if given else ():
        made = positive("g", "x", [LAYERNORM.format(s="a * ")], [], others)  # type: ignore[arg-type]
        assert verdict(text, made) != "yes"


def test_indices_apart() -> None:
    """Each row of a state is normalised by itself, but not along another dim."""
    text = "network n\ndim D = 3, N = 4\nstate x[N,D]\nlet g[n,d] = {}\nenergy e = sum[n,d](g[n,d]^2)\n"
    text += "flow x[n,d] = -grad(e, g[n,d])\n"
    squares = RMSNORM.format(s="").replace("[d]", "[n,d]").replace("[k]", "[n,k]")
    squares = squares.replace("mean[n,d]", "mean[d]").replace("sum[n,d]", "sum[d]")
    made = positive("g", "x", [squares], ["n"], [])
    assert verdict(text.format("rmsnorm[d](x[n,d])"), made) == "yes"
    assert verdict(text.format("rmsnorm[n](x[n,d])"), made) == "no"
    assert verdict(text.format("rmsnorm[d](x[n,d]) - 1/2*x[n,d]"), made) == "no"
    assert verdict(text.format("rmsnorm[d](x[n,d])"), positive("g", "x", [squares], [], [])) != "yes"


# ---------------------------------------------------------------- matrices that are nowhere negative

ONE = "where(d == k, 1, 0)"
#: A matrix ``M[d,k]``, and whether it is positive semidefinite for all params on their sets.
MATRICES = {
    "sum[n](A[d,n]*A[k,n])": True,
    f"{ONE} + 2*sum[n](A[d,n]*A[k,n])": True,
    "sum[n](v[n]*A[d,n]*A[k,n])": True,
    "sum[e in D](S[d,e]*S[e,k])": True,
    f"{ONE} - p[d]*p[k]": True,
    f"{ONE} - sum[n](R[n,d]*R[n,k])": True,
    f"2*{ONE} - Q[d,k] - Q[k,d]": True,
    "where(d == k, softplus(w[d]), 0)": True,
    f"{ONE} - 101/100*p[d]*p[k]": False,
    f"199/100*{ONE} - Q[d,k] - Q[k,d]": False,
    "sum[n](w[n - n]*A[d,n]*A[k,n])": False,
    "sum[e in D](W[d,e]*W[e,k])": False,
    "sum[n](A[d,n]*A[k,n]) - 1/100*p[d]*p[k]": False,
    "-sum[n](A[d,n]*A[k,n])": False,
    "where(d == k, w[d], 0)": False,
    "where(d != k, 1, 0)": False,
    "W[d,k] + W[k,d]": False,
    f"{ONE} - sum[n](B[n,d]*B[n,k])": False,
    f"{ONE} - p[d]*c[k]": False,
    f"sqrt(0 - 1)^2*{ONE}": False,
}
FORMS = ("sum[d](w.M[d]^2)", "sum[n](sum[d](A[d,n] * w.M[d])^2)", "2 * sum[n](sum[d](A[d,n] * w.M[d])^2)",
         "sum[n](v[n] * sum[d](A[d,n] * w.M[d])^2)", "sum[e in D](sum[d](S[d,e] * w.M[d])^2)",
         "sum[d](softplus(w[d]) * w.M[d]^2)", "sum[d](w[d] * w.M[d]^2)", "sum[d,k in D](w.M[d] * w.M[k])",
         "sum[e in D](sum[d](W[d,e] * w.M[d])^2)", "sum[d](w.x[d]^2)", "sum[d](sqrt(0 - 1)^2 * w.M[d]^2)")  # fmt: skip


def semidefinite(squares: list[str], by: tuple[str, ...] = ("d", "k")) -> Json:
    statement = {"kind": "semidefinite", "of": "M", "by": [*by], "layer": None, "for": FOR["semidefinite"]}
    return node("form", statement, facts={"squares": squares})


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("matrix", MATRICES)
def test_matrices_that_are_nowhere_negative(matrix: str) -> None:
    params = "param A[D,N], W[D,D], B[N,D] ~ normal(1), S[D,D] ~ normal(1) in symmetric, v[N] = 1 in [0, 2], w[D] = 1\n"
    params += "param p[D] in sphere[D], Q[D,D] in orthogonal, R[N,D] in orthogonal\nclamp c[D]\nstate x[D]\n"
    text = f"network n\ndim D = 4, N = 3\n{params}let M[d, k in D] = {matrix}\n"
    text += "energy e = sum[d](x[d]^2)\nflow x[d] = -sum[k in D](M[d,k]*grad(e, x[k]))\n"
    made = [semidefinite(list(each)) for each in ([], *((one,) for one in FORMS), FORMS[:2])]
    assert any(verdict(text, each) == "yes" for each in made) == MATRICES[matrix]
    turned = [semidefinite([one], ("k", "d")) for one in FORMS]
    assert any(verdict(text, each) == "yes" for each in turned) <= MATRICES[matrix]
    for by in (("d",), ("d", "d"), ("d", "x"), ("d", "k", "d")):
        assert "yes" not in {verdict(text, semidefinite([one], by)) for one in FORMS}


# ---------------------------------------------------------------- changes

WRITTEN = [("monotone", "unique"), ("monotone", "converges"), ("monotone", "rest"), ("resistive", "unique"),
           ("tel", "contraction"), ("cem_mlp", "positive"), ("elastic_net", "unique"), ("elastic_net", "converges"),
           ("group_lasso", "unique"), ("input_convex", "unique"), ("coupled_learning", "unique")]  # fmt: skip


@cache
def tree(name: str, kind: str) -> Json:
    (found,) = [entry for entry in certified(text_of(name))["claims"] if entry["statement"]["kind"] == kind]
    return dict(json.loads(json.dumps(found)))


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(("name", "kind"), WRITTEN)
def test_a_changed_tree_is_refused(name: str, kind: str) -> None:
    entry = tree(name, kind)
    assert answer(entry, text_of(name)).verdict == "yes"
    found = [(what, made) for what, made in changes(entry) if made != entry and what != "a field more"]
    assert len(found) > 8
    assert [(what, made) for what, made in found if answer(made, text_of(name)).verdict == "yes"] == []


#: A spec, the kind of a tree, and what is written in the place of what so that the claim no longer holds.
EXCHANGED = [
    ("monotone", "unique", "state z[D] in nonnegative", "state z[D] in sphere[D]"),
    ("monotone", "unique", "-m * z[d] - sum", "-m * z[d] + sum"),
    ("monotone", "unique", "B[d,e] * z[e]) - sum[e](B[e,d]", "B[d,e] * z[e]) + sum[e](2 * B[e,d]"),
    ("monotone", "unique", "const m = 1 ", "const m = 1/2 "),
    ("monotone", "converges", "in norm[3/4]", "in norm[4/5]"),
    ("monotone", "converges", "in norm[1/4]", "in norm[1/3]"),
    ("resistive", "unique", "~ uniform(0.001, 0.1) in [1e-5, 1]    # ", "~ uniform(0.001, 0.1) in [0, 1]    # "),
    ("resistive", "unique", "(w[k] - v[j])^2", "(w[k] - v[j])^3"),
    ("resistive", "unique", "Is * (exp(v / Vt) - 1)", "Is * (1 - exp(v / Vt))"),
    ("tel", "contraction", "T_max = 0.909", "T_max = 0.95"),
    ("tel", "contraction", "log_eta[K] = log(1/2) in [log(1e-4), 0]", "log_eta[K] = log(1/2) in [log(1e-4), 1]"),
    ("tel", "contraction", "-exp(log_eta[k]) * grad", "exp(log_eta[k]) * grad"),
    ("cem_mlp", "positive", "let u[d] = rms", "let u[d] = -rms"),
    ("cem_mlp", "positive", "eps = 1e-6", "eps = 1e-7"),
    ("et_anomaly", "positive", "gamma * layernorm", "lambda[0,0] * layernorm"),
    ("elastic_net", "unique", "ridge/2 * sum", "0 * sum"),
    ("elastic_net", "unique", "lasso * sum[n](abs(s[n]))", "-lasso * sum[n](abs(s[n]))"),
    ("elastic_net", "unique", "lasso * sum[n](abs(s[n]))", "sum[n](x[0] * abs(s[n]))"),
    ("elastic_net", "unique", "relax { step = certified", "relax { proximal = off, step = certified"),
    ("elastic_net", "converges", "in norm[2]", "in norm[21/10]"),
    ("elastic_net", "converges", "ridge = 1/2", "ridge = 1/3"),
    ("group_lasso", "unique", "1/20 * sum[g,d](s[g,d]^2)", "-1/20 * sum[g,d](s[g,d]^2)"),
    ("group_lasso", "unique", "lambda = 0.4 in nonnegative", "lambda = 0.4"),
    ("input_convex", "unique", "in [0, 100]", "in [-1, 100]"),
    ("input_convex", "unique", "softplus(sum[i]", "logsigmoid(sum[i]"),
    ("coupled_learning", "unique", "param g_in[I, N]  ~ uniform(0.01, 0.3) in [1e-4, 2]", "param g_in[I, N]"),
]  # fmt: skip


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(("name", "kind", "old", "new"), EXCHANGED)
def test_the_tree_of_another_spec_is_refused(name: str, kind: str, old: str, new: str) -> None:
    text = text_of(name)
    other = text.replace(old, new)
    assert other != text
    entry = tree(name, kind)
    assert answer(entry, text).verdict == "yes"
    assert answer(entry, other).verdict != "yes"
    assert answer({**entry, "formulas": root(other, {})["formulas"]}, other).verdict != "yes"
