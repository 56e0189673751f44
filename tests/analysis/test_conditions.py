"""Floors of selections: what a condition says of numbers, where it holds, and of those at its own indices alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.analysis.test_claims_once_false import claims, classes
from tests.checker.test_trees import accepted, spec_of
from tests.drawing import SEED, draws

#: Energies that are bounded below because of what decides in them.
BOUNDED = (
    "state a, b\nenergy e = where(a*b > 1, a*b, 1)",
    "state a\nenergy e = where(exp(a) > 1, a, 0)",
    "state z[D]\nenergy e = sum[d](where(exp(z[d]) > 1, z[d], 0))",
    "state a, b\nenergy e = where(a > 1 and b > 0, a + b, 1)",
    "state a\nenergy e = where(a <= -1, -a, a^2)",
    "state a\nenergy e = where(tanh(a) > 1/2, a, 0)",
    "state a, b\nenergy e = where(a*b > x[0], a*b, x[0])",
    "state a\nenergy e = where(not (a < 0), a, 0)",
    "state a\nenergy e = where(0 < a, a, 1)",
    "state z[D]\nenergy e = sum[d](where(z[d] >= 2, x[d]^2*z[d]^3, 0))",
    "state z[D] in [0, 1]\nenergy e = sum[d](where(z[d] > 1/2, log(z[d]), 0))",
    "state a\nenergy e = where(3*a - 1 > 2, a, log(1 + a^2))",
    "state a\nenergy e = where(-a >= 0 or a >= 0, exp(a), -exp(a))",
    "state a, b\nenergy e = where(a > 0 or b < 0, log(1 + a^2), 1)",
    "state a, b\nenergy e = where(exp(a) > 0 or b < 0 or a*b > 1, log(1 + b^2), -a)",
    "state a, b\nenergy e = where(exp(a*b) >= -1 and a^2 > -1, 1, -a^2)",
)
#: Energies that are not.
FALLING = {
    "the other side": "state a\nenergy e = where(exp(a) > 1, -a, 0)",
    "what does not decide": "state a, b\nenergy e = where(a > 1, a*b, 0)",
    "a bound from above": "state a\nenergy e = where(a < 1, a, 1)",
    "one of two conditions": "state a, b\nenergy e = where(a > 1 or b > 1, a, 0)",
    "a logarithm beside one of two": "state a, b\nenergy e = where(a > 1 or b > 1, log(1 + a^2), a)",
    "a pole beside one of two": "state a, b\nenergy e = where(a > 1 or b > 1, log(a^2), 0)",
    "a negation": "state a\nenergy e = where(not (a > 1), a, 0)",
    "two conditions that fail": "state a, b\nenergy e = where(a > 1 and b > 1, 0, a)",
    "another element": "state z[D]\nenergy e = sum[d](where(z[d] > 0, z[0], 0))",
    "a sum in a let": "state z[D]\nlet q[d in D] = sum[k in D](z[k])\nenergy e = sum[d](where(z[d] > 0, q[d], 0))",
    "a let beside it": "state a, b\nlet q = a*b\nenergy e = where(a > 0, q, 0)",
    "a part of a sum": "state z[D]\nlet q[d in D] = sum[k in D](z[k])\nenergy e = sum[d](where(q[d] > 0, z[d], 0))",
    "a transpose": "state z[D,D]\nenergy e = sum[d,k](where(z[d,k] > 0, z[k,d], 0))",
    "a row": "state z[D]\nenergy e = sum[d,k in D](where(z[d] > 0, z[k], 0))",
    "an index that is bound again": "state z[D]\nenergy e = sum[d](where(z[d] > 0, sum[d in D](z[d]), 0))",
    "the name of a parameter": "fn f(a) = a\nstate a, b\nenergy e = where(a > 0, f(b), 0)",
    "a pole": "state a\nenergy e = where(a >= 0, log(a), 0)",
    "a pole that is not excluded": "state a\nenergy e = where(a >= 0, -1/(1 - a)^2, 0)",
    "one of two that fail": "state a, b\nenergy e = where(not (a > 1 and b > 1), 0, 1) + where(a > 1 and b > 1, 0, -a)",
    "one of two within another": "state a, b\nenergy e = where(b > 0 and (a > 1 or b > 1), a, 0)",
    "one of two of which one is nowhere": "state a, b\nenergy e = where(exp(a) < 0 or b > 1, a, 0)",
    "a pole on a rim": "state z[D] in [0, 1]\nenergy e = sum[d](where(z[d] > 0, log(z[d]), 0))",
    "a pole on the other rim": "state z[D] in [0, 1]\nenergy e = sum[d](where(z[d] < 1, -1/(1 - z[d]), 0))",
    "a pole that a condition names": "state z[D] in [0, 1]\nenergy e = sum[d](where(1 - z[d] > 0, -1/(1 - z[d]), 0))",
    "a bound by a state": "state a, b\nenergy e = where(a > b, a, 0)",
    "a bound that a state moves": "state a, b\nenergy e = where(a > -b^2, a, 0)",
    "an equation of indices": "state z[D]\nenergy e = sum[d](where(d != 1, z[d], 0))",
    "an even function": "state a\nenergy e = where(a^2 > 1, a, 0)",
    "a falling function": "state a\nenergy e = where(exp(-a) > 1, a, 0)",
    "a value that is not reached": "state a\nenergy e = where(tanh(a) > -2, a, 0)",
    "a gathered element": "clamp i[N] : D\nstate z[D]\nenergy e = sum[n](where(z[i[n]] > 0, z[n - n], 0))",
}


@pytest.mark.abridged(every=8)
@pytest.mark.parametrize("body", BOUNDED)
def test_a_condition_bounds_what_it_is_about(body: str) -> None:
    assert [one.verdict for one in claims(body, "bounded below")] == ["proved"]
    assert classes(body).certificates["uncertified"] == []


@pytest.mark.abridged(every=8)
@pytest.mark.parametrize("name", FALLING)
def test_nothing_else(name: str) -> None:
    assert "proved" not in {one.verdict for one in claims(FALLING[name], "bounded below")}
    assert accepted(spec_of(FALLING[name]), "floor") == []


#: Energies on a box that take their least value, because the sides meet where the condition changes, and that do not.
MEETING = {
    "where(y[d] > 1/2, y[d], 1/2)": True,
    "where(y[d] >= x[d], (y[d] - x[d])^2, 0)": True,
    "where(2*y[d] < 1, -y[d]^2, -y[d]/2)": True,
    "where(exp(y[d]) > 2, exp(2*y[d]), 4)": True,
    "where(y[d] > 1/2, y[d], 1)": False,
    "where(y[d] > x[d], y[d]^3, 0)": False,
    "where(y[d] > 0, y[0], y[d])": False,
    "where(y[0] > 0, y[d] + 1, 1)": False,
    "where(y[d]^2 > 1/4, y[d], 1/2)": False,
    "where(y[d] > 0, y[d]/y[d], 1)": False,
    "where(y[d] > 0, sum[d in D](y[d]), 0)": False,
    "where(y[d] > 1/2 and y[d] > 0, y[d], 1/2)": False,
}


@pytest.mark.parametrize("energy", MEETING)
def test_a_least_value_is_taken_where_sides_meet(energy: str) -> None:
    found = accepted(spec_of(f"state y[D] in [-1, 1]\nenergy e = sum[d]({energy})"), "floor")
    assert any(tree["statement"]["attained"] for tree in found) == MEETING[energy]


# -------------------------------------------------------------------- random selections

SIDES = ("a", "-a", "b", "a^2", "-a^2", "a*b", "-a*b", "exp(a)", "-exp(a)", "a^3", "a - b", "1", "log(1 + a^2)")
TESTED = ("a", "-a", "b", "a*b", "exp(a)", "tanh(a)", "-exp(a)", "a^2", "a - b", "a + 1", "2*a", "exp(a*b)")
SIGNS = (">", ">=", "<", "<=")
REACH = np.concatenate([-np.geomspace(1e12, 1e-3, 90), [0.0], np.geomspace(1e-3, 1e12, 90)])


def drawn(generator: np.random.Generator) -> tuple[str, str]:
    """A condition with numbers, and its sides."""

    def one(of: tuple[str, ...]) -> str:
        return of[generator.integers(len(of))]

    level = one(("0", "1", "-1", "1/2", "2"))
    condition = f"{one(TESTED)} {one(SIGNS)} {level}"
    if generator.random() < 0.3:
        condition += f" {one(('and', 'or'))} {one(TESTED)} {one(SIGNS)} {level}"
    return condition, f"{one(SIDES)}, {one(SIDES)}"


def falls(condition: str, sides: str) -> bool:
    """Whether it is lower far out than near by, on a grid of a and b."""
    functions = {"exp": np.exp, "tanh": np.tanh, "log": np.log, "softplus": lambda u: np.logaddexp(0, u)}
    a, b = np.meshgrid(REACH, REACH)
    names = {**functions, "a": a, "b": b}
    written = [part.replace("^", "**") for part in (condition, *sides.split(", "))]
    test = written[0].replace(" and ", ") & (").replace(" or ", ") | (")
    with np.errstate(all="ignore"):
        one, other = (np.broadcast_to(eval(part, names), a.shape) for part in written[1:])
        found = np.where(eval(f"({test})", names), one, other).astype(float)
    near = np.maximum(abs(a), abs(b)) < 30
    return bool(np.nanmin(found) < np.nanmin(found[near]) - 1)


def tally(count: int) -> Counter[tuple[bool, str]]:
    print(f"ENERGYC_SEED={SEED}")
    generator, counts = np.random.default_rng(SEED), Counter[tuple[bool, str]]()
    for _ in range(count):
        condition, sides = drawn(generator)
        body = f"state a, b\nenergy e = where({condition}, {sides})\nenergy moving = cos(a) + cos(b)"
        (found,) = claims(body, "bounded below") or [None]
        if found is not None:
            truth = not falls(condition, sides)
            assert (found.verdict, truth) not in (("proved", False), ("refuted", True)), body
            assert "a bug in energyc" not in found.evidence, body
            counts[truth, found.verdict] += 1
    return counts


@pytest.mark.slow
def test_no_floor_of_many_random_selections_is_false() -> None:
    """Prints how many of each truth have which verdict."""
    counts = tally(draws(400))
    print(dict(counts))
    assert min(counts[True, "proved"], counts[False, "undecided"] + counts[False, "refuted"])
