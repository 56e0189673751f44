"""Which kinks move proximally: what is found however it is written, and what is not taken."""

from __future__ import annotations

import numpy as np
import pytest

import energyc
from energyc.derivation.derive import Derivation, derive, proximal_of
from energyc.derivation.derive.proximal import Corner
from energyc.mathematics.ir import Node
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import read, resolve
from tests.drawing import SEED

HEAD = """\
network kinked
dim I = 3, N = 4, D = 2, E = 5
const c = 1/3, below = -1/2
clamp x[I], src[E] : N, dst[E] : N
param W[I, N] ~ normal(0.3), l = 0.3 in nonnegative, m[N] = 0.2 in [0, 5], free = 1
state s[N]{of_s}, z[N, D]{of_z}
energy fit = 1/2 * sum[i]((x[i] - sum[n](W[i,n] * s[n]))^2) + 1/2 * sum[n,d]((z[n,d] - s[n])^2)
energy kink = {kink}
readout used = l + sum[n](m[n]) + free
"""


def derived(kink: str, of_s: str = "", of_z: str = "") -> Derivation:
    return derive(resolve(read(HEAD.format(kink=kink, of_s=of_s, of_z=of_z))))


def corners(kink: str) -> list[tuple[float, bool, bool]]:
    """The corners of s: where they are, and on which sides there is a slope."""
    found = derived(kink).proximal
    return [(c.at, c.below is not None, c.above is not None) for c in found["s"].corners] if "s" in found else []


@pytest.mark.parametrize(
    ("kink", "expected"),
    [
        ("l * sum[n](abs(s[n]))", [(0, True, True)]),
        ("sum[n](m[n] * abs(2 * s[n] - 1))", [(0.5, True, True)]),
        ("c * sum[n](relu(s[n] - c))", [(1 / 3, False, True)]),
        ("sum[n](max(s[n], 0))", [(0, False, True)]),
        ("sum[n](max(1 - s[n], 0))", [(1, True, False)]),
        ("-sum[n](min(s[n], 1))", [(1, True, False)]),
        ("sum[n](leaky_relu(s[n], 0.1))", [(0, False, True)]),
        ("sum[n](where(s[n] > 2, 3 * s[n] - 6, 0))", [(2, False, True)]),
        ("sum[n](max(-s[n], 2 * s[n] - 1))", [(1 / 3, True, True)]),
        ("l * sum[n](abs(s[n]) + relu(s[n] - 1) + s[n]^2)", [(0, True, True), (1, False, True)]),
        ("sum[n](abs(s[n])) + l * sum[n](abs(s[n]))", [(0, True, True)]),
        ("l^2 * exp(free) * sum[n](abs(s[n]))", [(0, True, True)]),
    ],
)
def test_kinks_are_found_however_they_are_written(kink: str, expected: list[tuple[float, bool, bool]]) -> None:
    found = corners(kink)
    assert [(pytest.approx(at), *sides) for at, *sides in found] == [tuple(x) for x in expected]
    assert not derived(kink).kinks.staying


@pytest.mark.parametrize(
    "kink",
    ["l * sum[n](sqrt(sum[d](z[n,d]^2)))", "l * sqrt(sum[n,d](4 * z[n,d]^2))", "sum[d](c * sqrt(sum[n](z[n,d]^2)))"],
)
def test_norms_are_found(kink: str) -> None:
    norm = derived(kink).proximal["z"].norm
    assert norm is not None and norm.energy == "kink"


@pytest.mark.parametrize(
    ("kink", "of_s", "of_z", "why"),
    [
        ("sum[e](abs(s[src[e]] - s[dst[e]]))", "", "", "it is not where a single entry of the state passes a number"),
        ("free * sum[n](abs(s[n]))", "", "", "its factor is not known to be nowhere negative"),
        ("below * sum[n](abs(s[n]))", "", "", "it is not convex"),
        ("x[0]^2 * sum[n](abs(s[n]))", "", "", "its factor is not known to be nowhere negative"),
        ("sum[n](abs(s[n]))", " in sphere[N]", "", "s is kept in a sphere set"),
        ("sum[n](sqrt(sum[d](z[n,d]^2)))", "", " in [-1, 1]", "z is kept in a box"),
        ("sum[n](sqrt(sum[d](z[n,d]^2))) + sum[n,d](relu(z[n,d] - 1))", "", "", "a norm and a kink of z off 0"),
        ("sum[n](abs(s[n])) - sum[n](relu(s[n] - 1))", "", "", "a part of the same energy jumps in the same entries"),
    ],
)
def test_what_is_not_taken_says_why(kink: str, of_s: str, of_z: str, why: str) -> None:
    d = derived(kink, of_s, of_z)
    assert not d.proximal and d.smooth is d.force
    assert why in " ".join(kink.why for kink in d.kinks.staying)


@pytest.mark.parametrize(
    "kink",
    [
        "sum[n](s[n] * relu(s[n]))",
        "sum[n](where(abs(s[n]) < c, s[n]^2 / 2, c * (abs(s[n]) - c / 2)))",
        "sum[i](relu(sum[n](W[i,n] * s[n]))^2)",
        "sum[n](sqrt(1 + s[n]^2))",
        "sum[n](frozen(l) * tanh(s[n]))",
    ],
)
def test_what_has_no_kink_is_left_alone(kink: str) -> None:
    for of_s in ("", " in sphere[N]"):
        d = derived(kink, of_s)
        assert not d.proximal and not d.kinks.staying


KINKS = [
    "l * sum[n](abs(s[n]))",
    "sum[n](m[n] * abs(2 * s[n] - 1))",
    "c * sum[n](relu(s[n] - c))",
    "sum[n](m[n] * max(1 - 3 * s[n], 0))",
    "-sum[n](m[n] * min(2 * s[n], 1))",
    "sum[n](leaky_relu(s[n], 0.1))",
    "sum[n](m[n] * max(-s[n], 2 * s[n] - 1))",
    "l * sum[n](abs(s[n]) + relu(s[n] - 1) + s[n]^2)",
    "sum[n](abs(s[n])) + l * sum[n](abs(s[n]))",
    "2 * sum[n](m[n] * abs(s[n])) - sum[n](s[n])",
    "sum[n](m[n] * sqrt(sum[d](z[n,d]^2)))",
    "3 * sum[n](m[n] * sqrt(sum[d](4 * z[n,d]^2)))",
    "l * sqrt(sum[n,d](9 * z[n,d]^2))",
    "sum[d](c * sqrt(sum[n](z[n,d]^2)))",
    "sum[n](sqrt(sum[d](z[n,d]^2))) + l * sum[n](sqrt(sum[d](z[n,d]^2)))",
    "l * (sum[n](abs(s[n])) + sum[n](m[n] * sqrt(sum[d](z[n,d]^2 / 4))))",
    "l * sum[n](abs(s[n])) + sum[n](m[n] * (relu(s[n] - 1) + sqrt(sum[d](z[n,d]^2))))",
]


@pytest.mark.parametrize("kink", KINKS)
def test_the_kinks_and_the_rest_make_up_the_force(kink: str) -> None:
    """A corner pushes by its slope on the side where the state is, a norm along the state by its weight."""
    d, random = derived(kink), np.random.default_rng(SEED)
    state = {"s": 2 * random.normal(size=(3, 4)), "z": 2 * random.normal(size=(3, 4, 2))}
    inputs = {("state", name): value for name, value in state.items()}
    inputs |= {("clamp", "x"): random.normal(size=(3, 3)), ("param", "W"): random.normal(size=(3, 4))}
    inputs |= {("param", "l"): np.asarray(0.3), ("param", "m"): random.uniform(0.5, 2, size=4)}

    weights = set[Node]()

    def value(node: Node) -> np.ndarray:
        return evaluate([node], inputs, sizes=d.network.extents, values=d.network.values)[0]

    def push(weight: Node | None) -> np.ndarray | int:
        weights.update([weight] if weight else [])
        return value(weight) if weight else 0

    for name, at in state.items():
        found = value(d.smooth[name])
        for kink in d.proximal[name].kinks if name in d.proximal else ():
            if isinstance(kink, Corner):
                found = found + (at < kink.at) * push(kink.below) - (at > kink.at) * push(kink.above)
            else:
                length = np.sqrt((at**2).sum(tuple(k + 1 for k in kink.axes), keepdims=True))
                found = found - push(kink.weight) * at / length
        np.testing.assert_allclose(found, value(d.force[name]), rtol=1e-12, atol=1e-12)
    assert weights and weights == set(d.weights.values())


@pytest.mark.parametrize(
    "kink", ["sum[n](sqrt(sum[d](z[n,d]^2) + l))", "sum[n](sqrt(z[n,0]^2))", "sum[n](1 / sqrt(s[n]))"]
)
def test_what_is_near_a_norm_is_none(kink: str) -> None:
    assert not derived(kink).proximal


KEPT = ["-l * sum[n](sqrt(sum[d](z[n,d]^2)))", "below * sqrt(sum[n,d](z[n,d]^2))", "free * sqrt(sum[n,d](z[n,d]^2))"]


@pytest.mark.abridged
@pytest.mark.parametrize("kink", KEPT)
def test_a_norm_whose_weight_may_be_below_zero_stays(kink: str) -> None:
    d = derived(kink)
    assert not d.proximal and d.kinks.staying


def test_off_leaves_all_in_the_gradient() -> None:
    text = HEAD.format(kink="sum[n](abs(s[n]))", of_s="", of_z="") + "relax { proximal = off }"
    assert not proximal_of(resolve(read(text)))
    assert proximal_of(resolve(read(text.replace("off", "auto")))).keys() == {"s"}


def test_check_names_what_moves_proximally() -> None:
    text = HEAD.format(kink="l * sum[n](abs(s[n])) + sum[e](abs(z[src[e],0] - z[dst[e],0]))", of_s="", of_z="")
    notes = energyc.check(text).notes
    assert "the kink of kink on s moves by a proximal step: soft threshold" in notes
    assert any("strict complementarity" in note for note in notes)
    assert any(note.startswith("a kink of kink stays in the force on z, which may not rest there") for note in notes)
    idle = energyc.check(text, settings={"relax.proximal": "off"}).notes
    assert not any("proximal" in note for note in idle)
    smooth = HEAD.format(kink="sum[n](s[n]^2)", of_s="", of_z="") + "relax { proximal = off }"
    assert "relax.proximal = off does nothing: no kink would move by a proximal step" in energyc.check(smooth).notes
