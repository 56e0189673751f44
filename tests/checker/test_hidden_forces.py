"""A good certificate under a spec with something added to its forces or energies: refused, however small it is.

Each is tried twice: with the certificate as it was, and with its formulas brought up to date, so that only the steps
can tell.
"""

from __future__ import annotations

import re

import pytest

from energyc.checker.judge import QUANTIFIERS
from energyc.pipeline import parse, read, resolve
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.formulas import Equations, formulas_of
from tests.checker.proofs import ENERGIES, FORCES, Json, answer, certified

FIRST = "+ a[d] - c * x[d]"
GRADIENT = {"kind": "gradient", "layer": None, "sizes": {}, "for": QUANTIFIERS}
#: Name: what is written in the place of what. Nothing of it keeps both the potential and the Jacobian.
HIDDEN = {
    "1e-12 of a term": (FIRST, f"{FIRST} + 1e-12 * sum[e](V[d,e] * y[e])"),
    "1e-25 of a cube": (FIRST, f"{FIRST} + 1e-25 * sum[e](V[d,e] * y[e]^3)"),
    "1e-30 beside a root": (FIRST, f"{FIRST} + 1e-30 * sqrt(D) * sum[e](V[d,e] * y[e]) / sqrt(c)"),
    "1e-300": (FIRST, f"{FIRST} + 1e-300 * sum[e](V[d,e] * y[e])"),
    "a kink far away": (FIRST, f"{FIRST} + sum[e](V[d,e] * relu(y[e] - 9))"),
    "a kink very far away": (FIRST, f"{FIRST} + sum[e](V[d,e] * relu(-1000000 - y[e]))"),
    "a wall": (FIRST, f"{FIRST} + sum[e](exp(50 * (y[e] - 20)))"),
    "a bump": (FIRST, f"{FIRST} + sum[e](exp(-(1000 * (y[e] - 7))^2))"),
    "a window of values": (FIRST, f"{FIRST} + sum[e](where(7 < y[e] and y[e] < 7.001, y[e], 0))"),
    "a rotation": (FIRST, f"{FIRST} + 1e-9 * sum[k | k == d + 1](x[k])"),
    "a neighbour": (FIRST, f"{FIRST} + where(0 <= d - 1, 1e-9 * x[d - 1], 0)"),
    "one place": (FIRST, f"{FIRST} + where(d == 3, x[0], 0)"),
    "a sign": ("T[e,d] * tanh(x[d])", "-T[e,d] * tanh(x[d])"),
    "a coefficient by 1e-12": ("T[e,d] * tanh(x[d])", "1.000000000001 * T[e,d] * tanh(x[d])"),
    "an exponent": ("(1 - tanh(y[e])^2)", "(1 - tanh(y[e])^4)"),
    "a function": ("T[e,d] * tanh(x[d])", "T[e,d] * softsign(x[d])"),
    "another tanh": ("V[d,e] * tanh(y[e])", "V[d,e] * tanh(1.00000000001 * y[e])"),
    "an index": ("W[d,k] * tanh(x[k])", "W[d,d] * tanh(x[k])"),
    "a let": ("tanh(x[d])\nforce first", "sigmoid(x[d])\nforce first"),
    "a param that is no longer symmetric": (" in symmetric", ""),
    "a param in the place of a tie": ("tie T[e,d] = V[d,e]", "param T[E, D] ~ normal(1)"),
    "a let in the place of a tie": ("tie T[e,d] = V[d,e]", "let T[e,d] = 1.0000001 * V[d,e]"),
    "a sum that leaves one out": ("sum[e](V[d,e]", "sum[e | e != 2](V[d,e]"),
}
#: The same of energies, whose slopes are the steps.
CHANGED = {
    "a coefficient by 1e-12": ("1/4 * sum[m](y[m]^4)", "0.250000000001 * sum[m](y[m]^4)"),
    "a far kink": ("sum[m](y[m]^4)", "sum[m](y[m]^4 + relu(y[m] - 100000))"),
    "a guard": ("m | m < n", "m | m <= n"),
    "a guard at the end": ("m | m < n", "m | m < n and m != N - 1"),
    "a temperature": ("(beta * sum[d]", "(1.00001 * beta * sum[d]"),
    "a transposed matrix": ("Q[d,e] * z[n,e]", "Q[e,d] * z[n,e]"),
    "a window": ("z[m + k, d]", "z[m, d]"),
    "a mirrored window": ("z[m + k, d]", "z[m + K - 1 - k, d]"),
    "a function of the square": ("relu(sum[d](b[d] * z[n,d]))^2", "relu(sum[d](b[d] * z[n,d]))"),
    "an input": ("(z[n,d] - x[n,d])^2", "(z[n,d] - 2 * x[n,d])^2"),
}


def with_jacobian() -> Json:
    """The certificate of a symmetric Jacobian of the forces, beside that of their potential."""
    network = resolve(read(FORCES))
    proof = Symmetries(network, network.tree).symmetric(["first", "second"]).proof([()], jumps=False)
    assert proof.certificate is not None
    return {"claim": "first, second: symmetric", **proof.certificate}


def brought_up_to_date(entry: Json, text: str) -> Json:
    """A certificate with the formulas of another spec."""
    written = re.findall(r"\w+", str(entry["steps"]))
    return {**entry, "formulas": formulas_of(Equations.of(parse(read(text)), None), entry["statement"]["of"], written)}


@pytest.mark.abridged(every=12)
@pytest.mark.parametrize("kind", ["potential", "Jacobian"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_hidden_force_is_refused(kind: str, hidden: str) -> None:
    (potential,) = (e for e in certified(FORCES)["certificates"] if len(e["statement"]["of"]) == 2)
    entry = potential if kind == "potential" else with_jacobian()
    assert answer(entry, FORCES).verdict == "yes"
    old, new = HIDDEN[hidden]
    assert FORCES.count(old) == 1
    text = FORCES.replace(old, new)
    assert answer(entry, text).verdict != "yes"
    assert answer(brought_up_to_date(entry, text), text).verdict == "no"


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("changed", CHANGED)
def test_a_changed_energy_is_refused(changed: str) -> None:
    old, new = CHANGED[changed]
    assert ENERGIES.count(old) == 1
    text, refused = ENERGIES.replace(old, new), 0
    for entry in certified(ENERGIES)["certificates"]:
        assert answer(entry, ENERGIES).verdict == "yes"
        fresh = brought_up_to_date(entry, text)
        if fresh["formulas"] != entry["formulas"]:
            assert answer(entry, text).verdict == "no"
            assert answer(fresh, text).verdict == "no"
            refused += 1
    assert refused


def test_roots_are_exact() -> None:
    """A root of a size has no float in it."""
    text = "network roots\ndim D = 4\nstate z[D]\nenergy e = sqrt(D) * sum[d](z[d]^2) / sqrt(2)\nrelax { step = 0.1 }\n"
    (entry,) = certified(text)["certificates"]
    for step, verdict in (("1e-40", "no"), ("0", "yes")):
        (slope,) = entry["steps"]
        changed = {**slope, "is": f"{slope['is']} + {step} * sqrt(D) * z[d]"}
        assert answer({**entry, "steps": [changed]}, text).verdict == verdict


def test_a_potential_may_not_read_a_direction() -> None:
    """With directions in it, an expression can have any force as its slope along them."""
    text = """network spin
dim D = 2
param A[D, D] ~ normal(1)
state z[D]
force turn on z[d] = sum[e](A[d,e] * z[e])
relax { step = 0.1 }
"""
    square, form = "sum[d](w.z[d]^2)", "sum[d,e](w.z[d] * A[d,e] * {}[e])"
    along = "sum[d](w.z[d] * z[d])"
    linear, quadratic = form.format("z"), form.format("w.z")
    energy = f"-({linear} * {along} / {square} - 1/2 * {quadratic} * {along}^2 / {square}^2)"
    entry = {
        "claim": "turn: conservative",
        "statement": {**GRADIENT, "of": ["turn"], "by": ["z"]},
        "formulas": formulas_of(Equations.of(parse(read(text)), None), ["turn"], []),
        "steps": [{"rule": "potential", "energy": energy}],
    }
    assert answer(entry, text).verdict == "no"


def test_the_sign_of_indices_is_exact() -> None:
    """Its square is not 1 where two indices are equal."""
    text = "network s\ndim D = 4\nstate z[D]\nenergy e = 1/2 * sum[d,k](sign(d - k)^2 * z[d] * z[k])\n"
    (right,) = re.findall(r"energy e = (.*)\n", text)
    entry = {
        "claim": "e",
        "statement": {**GRADIENT, "of": ["e"], "by": ["z"]},
        "formulas": {"energy e": right},
    }
    for force, verdict in (
        ("-sum[k](z[k])", "no"),
        ("-sum[k](sign(d - k)^2 * z[k])", "yes"),
    ):
        steps = [{"rule": "slope", "force": "z[d]", "is": force}]
        assert answer({**entry, "steps": steps}, text).verdict == verdict


def test_a_sign_is_0_where_its_argument_is() -> None:
    """``sign(relu(z))^2`` is 0 for negative z, where this energy has a force; ``sign(z)^2`` is 1 off 0."""
    for inner, verdict in (("relu(z[d])", "no"), ("z[d]", "yes"), ("z[d] + tanh(z[d])", "yes"), ("max(z[d], 0)", "no")):
        text = f"network n\ndim D = 2\nstate z[D]\nenergy e = -sum[d](z[d]^4 * (1 - sign({inner})^2))\n"
        entry = {
            "claim": "e",
            "statement": {"kind": "gradient", "of": ["e"], "by": ["z"], "layer": None, "sizes": {}, "for": QUANTIFIERS},
            "formulas": {"energy e": f"-sum[d](z[d]^4 * (1 - sign({inner})^2))"},
            "steps": [{"rule": "slope", "force": "z[d]", "is": "0"}],
        }
        assert answer(entry, text).verdict == verdict, inner


# ---------------------------------------------------------------- indices that elements give, orthonormal matrices

ORTHONORMAL = """network turned
dim D = 3, K = 2
param R[D, D] ~ normal(1) in orthogonal, Q[K, D] ~ normal(1) in orthogonal
clamp b[D]
state y[D]
force f on y[m] = sum[n in D, k in D](R[n,m] * R[n,k] * tanh(y[k])) - y[m] + b[m]
readout q[k] = sum[d](Q[k,d] * y[d])
relax { step = 0.1 }
"""
#: What is written in the place of the rows of R, and whether the certificate still holds.
TURNED = {
    ("R[n,m] * R[n,k]", "R[n,m] * R[n,k]"): True,
    ("R[n,m] * R[n,k]", "R[m,n] * R[k,n]"): True,
    ("R[n,m] * R[n,k]", "R[n,m] * R[k,n]"): False,
    ("R[n,m] * R[n,k]", "2 * R[n,m] * R[n,k]"): False,
    ("R[D, D] ~ normal(1) in orthogonal", "R[D, D] ~ normal(1) in norm[1]"): False,
    ("R[D, D] ~ normal(1) in orthogonal", "R[D, D] ~ normal(1) in sphere[D]"): False,
    ("sum[n in D, k in D](R[n,m] * R[n,k]", "sum[n in K, k in D](Q[n,m] * Q[n,k]"): False,
}


@pytest.mark.parametrize("old", TURNED, ids=lambda old: old[1])
def test_a_matrix_is_orthonormal_along_its_own_axes(old: tuple[str, str]) -> None:
    (entry,) = certified(ORTHONORMAL)["certificates"]
    text = ORTHONORMAL.replace(*old)
    assert (answer(brought_up_to_date(entry, text), text).verdict == "yes") == TURNED[old]


GATHERED = """network edges
dim N = 4, E = 5, D = 2
clamp src[E] : N, dst[E] : N
state z[N, D]
energy alike = 1/20 * sum[n,d](mean[e | dst[e] == n and src[e] != n](z[n,d] - z[src[e],d])^2)
relax { step = 0.1 }
"""


@pytest.mark.slow
def test_two_elements_that_an_equation_makes_the_same_are_at_one_index() -> None:
    (entry,) = (each for each in certified(GATHERED)["certificates"] if each["statement"]["of"] == ["alike"])
    assert answer(entry, GATHERED).verdict == "yes"
    for old, new in (("src[e] != n", "src[e] == n"), ("1/20", "1/21")):
        text = GATHERED.replace(old, new)
        assert text != GATHERED
        assert answer(brought_up_to_date(entry, text), text).verdict != "yes", new
    (step,) = entry["steps"]
    changed = {**step, "is": step["is"].replace("dst[e2] == dst[e]", "dst[e2] == src[e]")}
    assert changed != step
    assert answer({**entry, "steps": [changed]}, GATHERED).verdict != "yes"
