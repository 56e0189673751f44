"""Energies with selections by real values whose sides meet, or do not, with their slopes: claims, and the checker."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.checker.claims import reader
from energyc.checker.syntax import expression
from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Claim
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.forces import field_from
from energyc.proofs.conservativeness.selections import is_smooth
from energyc.proofs.verdicts.in_notation import classes_of
from tests.drawing import SEED, draws

HEAD = """network n
dim D = 3
const c = 2
clamp x[D]
param a[D] = 1 in [1/2, 2], W[D, D] ~ normal(0.02)
state z[D]
energy own = sum[d](1/2 * z[d]^2 - x[d] * z[d])
readout r = sum[d,k in D](a[d] * W[d,k])
relax { step = 1/5, tolerance = 1e-4 }
"""
#: Of convex energies with bounded slopes.
CONVEX = [
    "where(abs(z[d]) < 1, z[d]^2/2, abs(z[d]) - 1/2)",
    "where(abs(z[d]) < a[d], z[d]^2/2, a[d]*abs(z[d]) - a[d]^2/2)",
    "where(z[d]^2 < 4, z[d]^2/4, abs(z[d]) - 1)",
    "where(z[d] > -1 and z[d] < 1, z[d]^2/2, abs(z[d]) - 1/2)",
    "where(z[d] > 1, z[d] - 1/2, where(z[d] < -1, -z[d] - 1/2, z[d]^2/2))",
    "where(z[d] >= 0, a[d]*z[d]^2/2, z[d]^2/20)",
    "where(z[d] > x[d], (z[d] - x[d])^2/2, 0)",
    "where(z[d] > c, z[d]^2/2, where(z[d] > 0, z[d]^2/2, z[d]^2/20))",
    "where(abs(z[d] - x[d]) < c, (z[d] - x[d])^2/2, c*abs(z[d] - x[d]) - c^2/2)",
    "where(abs(x[d] - 2*z[d]) <= a[d], (x[d] - 2*z[d])^2/2, a[d]*abs(x[d] - 2*z[d]) - a[d]^2/2)",
    "where(abs(z[d] - sum[k in D](W[d,k]*x[k])) < 1, (z[d] - sum[k in D](W[d,k]*x[k]))^2/2, "
    "abs(z[d] - sum[k in D](W[d,k]*x[k])) - 1/2)",
]
#: Of others.
SMOOTH = [
    "where(z[d] > 0, z[d]^2/2 + z[d], exp(z[d]) - 1)",
    "where(z[d] > 0, log(1 + exp(-z[d])) + z[d], log(1 + exp(z[d])))",
    "where(z[d] > 0, z[d]^3, 0)",
]
KINKED = [
    "where(z[d] > 0, z[d], z[d]/2)",
    "where(z[d] > 0, z[d]^2/2 + 1, z[d]^2/2)",
    "where(z[d] > 0, z[d]^2/2 + z[d]/1000000, z[d]^2/20)",
    "where(abs(z[d]) < 1, z[d]^2/2, 2*abs(z[d]) - 3/2)",
    "where(abs(z[d] - x[d]) < c, (z[d] - x[d])^2/2, 3*abs(z[d] - x[d]) - 2*c)",
    "where(z[d]^2 > 0, z[d]^2, z[d])",
    "where(z[d] > 0, relu(z[d]), 0)",
    "where(z[d] > 0, 2*relu(z[d]), z[d])",
    "where(z[d] >= 1, 2*relu(z[d] - 1), z[d] - 1)",
    "where(z[d] < 1, 1 - z[d], 2*relu(1 - z[d]))",
    "where(z[d] > 0, abs(z[d]), z[d]/2)",
    "where(tanh(z[d]) > 0, tanh(z[d]), z[d]/2)",
    "where(sigmoid(z[d]) > 1/2, sigmoid(z[d]) - 1/2, z[d])",
    "where(exp(z[d]) > 1, z[d], 0)",
    "where(z[d] > 0, z[d]^2, 0) + where(z[d] > 0, z[d], 0)",
    "where(z[d] > 0, z[d], 0) * z[k]",
    "where(abs(z[d]) < 1, abs(z[d]), z[d]^2/2 + 1/2)",
    "where(abs(z[d]) < 1, (1 - abs(z[d]))^2, 0)",
    "where(abs(z[d]) > -1, relu(abs(z[d])), (abs(z[d]) + 1)^2)",
    "where(z[d] > 0, frozen(z[d]), z[d])",
    "where(z[d] > 0, 3*frozen(z[d]) - 2*z[d], z[d])",
    "sqrt(where(z[d] > 0, z[d]^2/2, 0))",
    "1/2*where(z[d] > 0, z[d]^4, 0)^(1/4)",
]
FUNCTIONS = {
    "fn h(u) = where(abs(u) < 1, u^2/2, abs(u) - 1/2)\nenergy e = sum[d](h(z[d] - x[d]))\n": True,
    "fn h(u, b) = where(abs(u) < b, u^2/2, b*abs(u) - b^2/2)\nenergy e = sum[d](h(z[d] - x[d], 2))\n": True,
    "fn h(u) = where(u > 0, 2*u, u)\nenergy e = sum[d](h(z[d]))\n": False,
    "let u[d] = sum[k in D](W[d,k]*z[k])\nenergy e = sum[d](where(u[d] > 0, u[d]^2/2, 0))\n": True,
    "let u[d] = sum[k in D](W[d,k]*z[k])\nenergy e = sum[d](where(u[d] > 0, u[d], 0))\n": False,
}


def piece(text: str) -> str:
    return HEAD + f"energy e = sum[{'d,k in D' if 'z[k]' in text else 'd'}]({text})\n"


def claims(text: str) -> dict[str, Claim]:
    return {claim.claim: claim for claim in classes_of(resolve(Source("spec.energy", text), Choices())).claims}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("text", CONVEX)
def test_a_convex_energy_of_pieces_has_one_equilibrium(text: str) -> None:
    assert {claim.verdict for claim in claims(piece(text)).values()} == {"proved"}


def test_a_sum_in_a_condition_is_no_comparison() -> None:
    inner = "sum[j in D](W[d,j] * z[j])"
    assert claims(piece(f"where({inner} > 0, ({inner})^2/2, 0)"))["bounded below"].verdict == "proved"


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("text", [*map(piece, SMOOTH), *(HEAD + text for text, smooth in FUNCTIONS.items() if smooth)])
def test_steps_rest_where_slopes_meet(text: str) -> None:
    assert claims(text)["an equilibrium exists"].verdict == "proved"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    "text", [*map(piece, KINKED), *(HEAD + text for text, smooth in FUNCTIONS.items() if not smooth)]
)
def test_nothing_is_claimed_where_they_do_not(text: str) -> None:
    """The least value may lie on the kink, where no step rests."""
    found = claims(text)
    assert found["an equilibrium exists"].verdict == "undecided"
    assert all("a bug in energyc" not in claim.evidence for claim in found.values())


def test_the_slope_by_a_let_may_jump_where_none_by_a_state_does() -> None:
    """``let u = z^3``: relu(u) has a continuous slope by z, and a jump in that by u."""
    text = HEAD.replace("energy own = sum[d](1/2 * z[d]^2 - x[d] * z[d])\n", "let u[d] = z[d]^3\n")
    text += "energy e = sum[d](where(u[d] > 0, u[d], 0))\nflow z[d] = -z[d] - grad(e, u[d])\n"
    claim = claims(text)["an equilibrium exists"]
    assert claim.verdict == "undecided" and "a bug in energyc" not in claim.evidence
    huber = "energy e = sum[d](where(abs(z[d]) < 1, z[d]^2/2, abs(z[d]) - 1/2))\nflow z[d] = -z[d] - grad(e, z[d])\n"
    assert claims(text[: text.index("energy e")] + huber)["an equilibrium exists"].verdict == "proved"


def test_the_force_of_an_energy_needs_slopes_that_meet_and_a_force_sides() -> None:
    kinked = "where(z[d] > 0, z[d]/2, z[d]/4)"
    field = HEAD.replace("energy own = sum[d](1/2 * z[d]^2 - x[d] * z[d])", "force own on z[d] = x[d] - z[d]")
    assert claims(field + f"force f on z[d] = {kinked}\n")["an equilibrium exists"].verdict == "proved"
    both = field + f"force f on z[d] = {kinked}\nenergy e = sum[d]({kinked})\n"
    assert claims(both)["an equilibrium exists"].verdict == "undecided"


@pytest.mark.parametrize(
    ("left", "norm", "m", "most"), [("50*z[d]^2", "1/2", 0.5, 100.5), ("z[d]^2/20", "1/20", 0.05, 1.05)]
)
def test_leaky_units_are_as_curved_as_the_flatter_side(left: str, norm: str, m: float, most: float) -> None:
    text = HEAD.replace("energy own = sum[d](1/2 * z[d]^2 - x[d] * z[d])\n", "").replace(
        "normal(0.02)", f"normal(0.02) in symmetric and norm[{norm}]"
    )
    text += f"energy own = sum[d](where(z[d] > 0, z[d]^2/2, {left}) - x[d]*z[d])\n"
    claim = claims(text + "energy pull = -1/2 * sum[d,k](z[d] * W[d,k] * z[k])\n")["there is only one equilibrium"]
    assert claim.verdict == "proved"
    assert [claim.numbers["m"], claim.numbers["L"]] == pytest.approx([m, most], rel=1e-8)  # rounded outwards


#: Forces that jump where the condition in a slope of a function changes, beside a selection with the same condition.
SLOPES = [
    "fn h(u) = where(u > 0, u, 0)\nforce f on z[d] = -5*h'(z[d])\nforce g on z[d] = where(z[d] > 0, z[d]/2, z[d]/4)\n",
    "fn S'(u) = where(u > 0, 1, 0)\nforce f on z[d] = -5*S'(z[d])\nforce g on z[d] = where(z[d] > 0, z[d]/2, z[d]/4)\n",
    "fn S'(u) = where(u > 0, 1, 0)\nenergy f = 5*sum[d](S(z[d]))\nenergy g = sum[d](where(z[d] > 0, z[d]^2/2, 0))\n",
]


@pytest.mark.abridged
@pytest.mark.parametrize("text", SLOPES)
def test_a_slope_of_a_function_borrows_nothing(text: str) -> None:
    field = HEAD.replace("energy own = sum[d](1/2 * z[d]^2 - x[d] * z[d])", "force own on z[d] = x[d] - z[d]")
    for head in (field, HEAD):
        network = resolve(Source("spec.energy", head + text), Choices())
        assert Monotone.of(network).barred, text
        assert claims(head + text)["an equilibrium exists"].verdict == "undecided", text


@pytest.mark.parametrize("text", [text for text in KINKED if "frozen" not in text])  # which is not covered
def test_the_checker_sees_no_slope_that_jumps_as_continuous(text: str) -> None:
    checker = reader(None, piece(text), ())
    assert not checker.bounds.of(expression(text), {"d": "D", "k": "D"}).smooth


EDGES = {
    "z[d] > {c}": ("(z[d] - {c})",),
    "{c} <= z[d]": ("(z[d] - {c})",),
    "not z[d] < {c}": ("(z[d] - {c})",),
    "z[d] > x[d]": ("(z[d] - x[d])",),
    "z[d] > {c} or z[d] > x[d]": ("(z[d] - {c})", "(z[d] - x[d])"),
    "-{c} < z[d] < {c}": ("(z[d] - {c})", "(z[d] + {c})"),
    "z[d]^2 > {c}^2": ("(z[d] - {c})", "(z[d] + {c})"),
}
OTHERS = ("z[d]^2", "tanh(z[d])", "exp(z[d])", "z[d]*x[d]", "sum[k in D](W[d,k]*z[k])")


def drawn(generator: np.random.Generator) -> tuple[str, bool]:
    """A selection, and whether its slopes meet: its sides differ by a product of powers of what is 0 at its edges."""
    condition, gaps = [*EDGES.items()][generator.integers(len(EDGES))]
    powers = [int(power) for power in generator.integers(1, 4, len(gaps))]
    other, scale = OTHERS[generator.integers(len(OTHERS))], ("1", "-2", "a[d]")[generator.integers(3)]
    difference = " * ".join(f"{gap}^{power}" for gap, power in zip(gaps, powers, strict=True))
    text = f"where({condition}, {other} + {scale} * {difference}, {other})"
    return text.replace("{c}", ("1", "2", "c")[generator.integers(3)]), min(powers) > 1


def test_drawn_selections_are_smooth_by_both_where_they_are() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator = np.random.default_rng(SEED)
    shown = [0, 0]
    for _ in range(draws(40, least=8)):
        text, smooth = drawn(generator)
        spec = piece(text)
        network = resolve(Source("spec.energy", spec), Choices())
        (selection,) = network.real_selections
        checker = reader(None, spec, ())
        found = (
            is_smooth(selection, field_from(network), Symmetries.of(network)),
            bool(checker.bounds.of(expression(text), {"d": "D"}).smooth),
        )
        assert smooth or not any(found), text
        shown = [count + each for count, each in zip(shown, found, strict=True)]
    assert min(shown) > 0


def bent(generator: np.random.Generator) -> tuple[str, dict[str, bool | None]]:
    """An energy of two parabolas that differ by a power beyond a place, and whether claims about it are true.

    By a first power with a negative factor it bends down, so that the least value is not there. By one with a positive
    factor it need not rest where it is.
    """
    power, sign = int(generator.integers(1, 4)), (1, -1)[generator.integers(2)]
    place, (factor, size) = (
        ("1", "x[d]", "-1/2", "0")[generator.integers(4)],
        (("1/3", 1 / 3), ("a[d]", 2.0))[generator.integers(2)],
    )
    condition = ("z[d] > {c}", "not z[d] <= {c}", "{c} < z[d]")[generator.integers(3)].replace("{c}", place)
    side = f"z[d]^2/4 {'-+'[sign > 0]} {factor} * (z[d] - {place})^{power}"
    text = piece(f"where({condition}, {side}, z[d]^2/4)")
    if power == 1:
        return text, {"bounded below": True, "an equilibrium exists": None if sign > 0 else True}
    if power == 2:
        convex = sign > 0 or 1.5 - 2 * size > 0
        one = {"an equilibrium exists": True, "there is only one equilibrium": True, "it converges": None}
        return text, {"bounded below": convex, **(one if convex else {})}
    return text, {"bounded below": sign > 0, **({"an equilibrium exists": True} if sign > 0 else {})}
