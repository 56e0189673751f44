"""Equilibria, contractions by norms, and metrics whose truth is known by construction: nothing is printed wrongly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Claim
from energyc.proofs.verdicts.in_notation import classes_of
from tests.analysis.indexed import by_index, factored
from tests.drawing import SEED, draws

NONE, ONE, MORE = "no", "one", "more"
LINE, BOX, HALF = "", " in [0, 1]", " in nonnegative"
SETS = (LINE, BOX, HALF)
#: Energies of one number and how many states are at rest: on the line, in [0, 1], at or above 0. ``{a}`` is above 0.
PIECES: dict[str, tuple[str, str, str]] = {
    "{a}*z[k]^2": (ONE, ONE, ONE),
    "{a}*(2*z[k] - 1/3)^2": (ONE, ONE, ONE),
    "{a}*(z[k] + 1)^4": (ONE, ONE, ONE),
    "{a}*exp(z[k])": (NONE, ONE, ONE),
    "{a}*exp(-z[k])": (NONE, ONE, NONE),
    "{a}*softplus(z[k])": (NONE, ONE, ONE),
    "-{a}*softplus(z[k])": (NONE, ONE, NONE),
    "{a}*z[k]": (NONE, ONE, ONE),
    "-{a}*z[k]": (NONE, ONE, NONE),
    "-exp(-{a}*z[k]^2)": (ONE, ONE, ONE),
    "exp(-{a}*z[k]^2)": (ONE, MORE, ONE),
    "log({a} + z[k]^2)": (ONE, ONE, ONE),
    "{a}*z[k]^3": (ONE, ONE, ONE),
    "{a}*abs(z[k])": (ONE, ONE, ONE),
    "{a}*abs(z[k] - 1/2) + z[k]^2": (ONE, ONE, ONE),
    "w[k]*relu(z[k] - 1/3) - {a}*z[k]/100 + z[k]^2": (ONE, ONE, ONE),
    "z[k]^2 - {a}*abs(z[k])": (MORE, MORE, MORE),
    "{a}*tanh(z[k])": (NONE, ONE, ONE),
    "z[k]*tanh({a}*z[k])": (ONE, ONE, ONE),
    "sqrt({a} + z[k]^2) - z[k]": (NONE, ONE, NONE),
    "{a}*cos(z[k])": (MORE, MORE, MORE),
    "{a}*(z[k]^4 - z[k]^2)": (MORE, MORE, MORE),
    "z[k]^2 + {a}/5*sin(z[k])": (ONE, ONE, ONE),
    "-log(sigmoid(z[k])) - z[k]": (NONE, ONE, NONE),
    "z[k]^2/2 - w[k]*sin(z[k])/30": (ONE, ONE, ONE),
    "{a}*exp(z[k]) + {a}*exp(-z[k])": (ONE, ONE, ONE),
}
#: What ``{a}`` may be.
NUMBERS = ("1/3", "1", "5/2")


def claims(text: str) -> list[Claim]:
    return list(classes_of(resolve(Source("drawn.energy", text), Choices())).claims)


def energy_of(generator: np.random.Generator) -> tuple[str, str]:
    """A spec of one to three pieces, each in a state of its own, and how many states are at rest."""
    lines, found, terms = ["network n", "dim K = 2", "param w[K] = 1 in [1/10, 3]"], ONE, list[str]()
    for name in "xyz"[: generator.integers(1, 4)]:
        (piece, numbers), (other, others) = (list(PIECES.items())[generator.integers(len(PIECES))] for _ in range(2))
        place = int(generator.integers(3))
        known = {numbers[place]}
        if (both := by_index(generator, piece, other)) is not None:
            piece, known = both, {numbers[place], others[place]}
        written = (
            factored(generator, piece).replace("{a}", NUMBERS[generator.integers(3)]).replace("z[k]", f"{name}[k]")
        )
        lines.append(f"state {name}[K]{SETS[place]}")
        terms.append(f"energy e{name} = sum[k]({written})")
        found = NONE if NONE in {found, *known} else MORE if MORE in {found, *known} else ONE
    return "\n".join([*lines, *terms, "readout r = sum[k](w[k])", ""]), found


@pytest.mark.slow
def test_rest_of_known_pieces() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator, verdicts = np.random.default_rng(SEED), Counter[tuple[str, str, str]]()
    for _ in range(draws(40, least=20)):
        text, found = energy_of(generator)
        for claim in claims(text):
            assert "a bug in energyc" not in claim.evidence, (text, claim)
            if claim.claim in ("an equilibrium exists", "there is only one equilibrium"):
                verdicts[claim.claim, found, claim.verdict] += 1
                true = found == ONE or (found == MORE and claim.claim == "an equilibrium exists")
                assert claim.verdict != ("refuted" if true else "proved"), (text, claim)
    print(dict(verdicts))
    assert verdicts["an equilibrium exists", ONE, "proved"] > verdicts["an equilibrium exists", ONE, "undecided"] / 3


# -------------------------------------------------------------------- contractions by norms

Force = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
#: Functions with slopes from 0 to 1, and these.
FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "tanh": (np.tanh, lambda u: 1 - np.tanh(u) ** 2),
    "relu": (lambda u: np.maximum(u, 0), lambda u: (u > 0) * 1.0),
    "softsign": (lambda u: u / (1 + abs(u)), lambda u: 1 / (1 + abs(u)) ** 2),
    "leaky_relu": (lambda u: np.maximum(u, u / 100), lambda u: np.where(u > 0, 1, 0.01)),
    "bend": (lambda u: np.where(u > 1, (u + 1) / 2, u), lambda u: np.where(u > 1, 0.5, 1.0)),
    "leak": (lambda u: np.maximum(u, u / 4), lambda u: np.where(u > 0, 1, 0.25)),
}
#: What the language has no name for.
OWN = "fn bend(u) = where(u > 1, (u + 1)/2, u)\nfn leak(u) = leaky_relu(u, 1/4)\n"
#: Forces and their Jacobians at z, with a param W of norm at most c, a number a and the slope of a function at u.
FORCES: dict[str, Callable[..., np.ndarray]] = {
    "energy e = {a}/2*sum[d](z[d]^2) - 1/2*sum[d,k](z[d]*W[d,k]*z[k])": lambda z, W, a, f: (W + W.T) / 2 - a * I,
    "energy e = {a}/2*sum[d](z[d]^2) + 1/2*sum[d](sum[k](W[d,k]*z[k])^2)": lambda z, W, a, f: -W.T @ W - a * I,
    "force f on z[d] = sum[k](W[d,k]*{f}(z[k])) - {a}*z[d] + x[d]": lambda z, W, a, f: W * f(z) - a * I,
    "force f on z[d] = {f}(sum[k](W[d,k]*z[k])) - {a}*z[d]": lambda z, W, a, f: f(W @ z)[:, None] * W - a * I,
    "force f on z[d] = sum[k](W[d,k]*z[k]) - sum[k](W[k,d]*z[k]) - {a}*z[d]": lambda z, W, a, f: W - W.T - a * I,
    "next z[d] = {f}(sum[k](W[d,k]*z[k]))": lambda z, W, a, f: f(W @ z)[:, None] * W - I,
    "flow z[d] = sum[k](W[d,k]*{f}(z[k])) - {a}*z[d] + x[d]": lambda z, W, a, f: W * f(z) - a * I,
}
SIZE = 4
I = np.eye(SIZE)  # noqa: E741


def params(generator: np.random.Generator, norm: float) -> np.ndarray:
    """A matrix of this norm, of all singular values or of one, symmetric now and then."""
    u, v = (np.linalg.qr(generator.standard_normal((SIZE, SIZE)))[0] for _ in range(2))
    values = norm * (np.ones(SIZE) if generator.uniform() < 0.5 else np.eye(SIZE)[0])
    signs = generator.choice((-1.0, 1.0), SIZE)
    return (u * values * signs) @ (u.T if generator.uniform() < 0.5 else v)


def force_of(generator: np.random.Generator) -> tuple[str, str, str, Fraction, Fraction, Fraction]:
    """A spec, its body and its function, the numbers a and c, and a step."""
    body = list(FORCES)[generator.integers(len(FORCES))]
    name = list(FUNCTIONS)[generator.integers(len(FUNCTIONS))]
    a, c, step = (Fraction(int(generator.integers(1, top)), 8) for top in (20, 16, 12))
    text = f"network n\ndim D = {SIZE}\n{OWN}clamp x[D]\nparam W[D,D] ~ normal(1) in norm[{c}]\nstate z[D]\n"
    text += body.replace("{a}", str(a)).replace("{f}", name)
    text += f"\nrelax {{ step.z = {step} }}\nreadout r = sum[d](x[d])\n"
    return text, body, name, a, c, step


@pytest.mark.slow
def test_contractions_of_known_norms() -> None:
    """No bound on the curvature and no rate is broken by Jacobians at params on the rim of their set."""
    print(f"ENERGYC_SEED={SEED}")
    generator, verdicts = np.random.default_rng(SEED), Counter[tuple[str, str]]()
    for _ in range(draws(40, least=20)):
        text, body, name, a, c, step = force_of(generator)
        jacobian, (_, slope) = FORCES[body], FUNCTIONS[name]
        found = {claim.claim: claim for claim in claims(text)}
        seen = [
            jacobian(10.0 ** generator.uniform(-2, 1) * generator.standard_normal(SIZE), W, float(a), slope)
            for W in (params(generator, float(c)) for _ in range(24))
        ]
        for name in ("there is only one equilibrium", "it converges"):
            if name in found:
                verdicts[name, found[name].verdict] += 1
                assert "a bug in energyc" not in found[name].evidence, (text, found[name])
        unique, converges = (found.get(each) for each in ("there is only one equilibrium", "it converges"))
        if unique is not None and unique.verdict == "proved":
            least = min(np.linalg.eigvalsh(-(J + J.T) / 2)[0] for J in seen)
            assert 0 < float(unique.numbers["m"]) <= least * (1 + 1e-9), (text, least, unique)
        if converges is not None and converges.verdict == "proved":
            rate = max(np.linalg.norm(I + float(step) * J, 2) for J in seen)
            assert rate * (1 - 1e-9) <= float(converges.numbers["rate"]) < 1, (text, rate, converges)
    print(dict(verdicts))
    assert verdicts["it converges", "proved"] > 0


# -------------------------------------------------------------------- metrics

#: Parts of a matrix before a gradient: whether it is symmetric, and whether v . M v is nowhere negative. Those where it
#: is negative are so without a bound, or where the params of the others are 0. ``{a}`` is a number above 0.
METRICS: dict[str, tuple[bool, bool]] = {
    "{a}*sum[j](A{i}[d,j]*A{i}[k,j])": (True, True),
    "-{a}*sum[j](A{i}[d,j]*A{i}[k,j])": (True, False),
    "sum[j](A{i}[d,j]*B{i}[k,j] + B{i}[d,j]*A{i}[k,j])": (True, False),
    "sum[j](A{i}[d,j]*B{i}[k,j])": (False, False),
    "where(d == k, {a}*s{i}[d]^2, 0)": (True, True),
    "where(d == k, exp(s{i}[d]), 0)": (True, True),
    "where(d == k, s{i}[d], 0)": (True, False),
    "where(d == k, {a}, 0) - {a}*p{i}[d]*p{i}[k]": (True, True),
    "where(d == k, {a}, 0) - {a}*sum[j](Q{i}[j,d]*Q{i}[j,k])": (True, True),
    "s{i}[d]*s{i}[k]": (True, True),
    "s{i}[d]^2*s{i}[k]": (False, False),
    "softplus(s{i}[0])*sum[j](A{i}[d,j]*A{i}[k,j])": (True, True),
    "tanh(s{i}[0])*sum[j](A{i}[d,j]*A{i}[k,j])": (True, False),
}
PARAMS = {"A": "A{i}[D, J] ~ normal(1)", "B": "B{i}[D, J] ~ normal(1)", "s": "s{i}[D] ~ normal(1)",
          "p": "p{i}[D] in sphere[D]", "Q": "Q{i}[J, D] in orthogonal"}  # fmt: skip


def metric_of(generator: np.random.Generator, heads: bool = False) -> tuple[str, dict[str, bool]]:
    """A flow by a matrix of one to three parts, or by one for each head, and what is true of it."""
    table = {part: kinds for part, kinds in METRICS.items() if not (heads and "Q{i}" in part)}
    chosen = [list(table.items())[generator.integers(len(table))] for _ in range(generator.integers(1, 4))]
    written = [
        part.replace("{a}", NUMBERS[generator.integers(3)]).replace("{i}", str(i)) for i, (part, _) in enumerate(chosen)
    ]
    read = [p.replace("{i}", str(i)) for i, part in enumerate(written) for n, p in PARAMS.items() if f"{n}{i}[" in part]
    kinds = {"symmetric": all(s for _, (s, _) in chosen), "positive semidefinite": all(p for _, (_, p) in chosen)}
    text = f"network n\ndim D = 3, J = 2\nparam {', '.join(read)}\nclamp b[D]\nstate x[D]\n"
    text += "energy e = sum[d](log(1 + exp(x[d] - b[d])))\n"
    text += f"let P[d, k in D] = {' + '.join(written)}\nflow x[d] = -sum[k](P[d,k]*grad(e, x[k]))\n"
    if heads:
        text = re.sub(r"\b(?=(?:[ABsp]\d|P|x)\[)(\w+)\[", lambda m: f"{m[1]}[{'H' if m[0][0] != 'P' else 'h'},", text)
        text = text.replace("dim D", "dim H = 2, D")
        head, _, body = text.partition("state x[H,D]\n")
        text = head + "state x[H,D]\n" + body.replace("[H,", "[h,").replace("sum[d](log", "sum[h,d](log")
    return text, kinds


@pytest.mark.slow
@pytest.mark.parametrize("heads", [False, True])
def test_known_metrics(heads: bool) -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator, verdicts = np.random.default_rng(SEED), Counter[tuple[str, bool, str]]()
    for _ in range(draws(20, least=15)):
        text, kinds = metric_of(generator, heads)
        for claim in claims(text):
            if re.match(r"P (in|of) flow", claim.about) and claim.claim in kinds:
                true = kinds[claim.claim]
                verdicts[claim.claim, true, claim.verdict] += 1
                assert claim.verdict != ("refuted" if true else "proved"), (text, claim)
                assert "a bug in energyc" not in claim.evidence, (text, claim)
    print(dict(verdicts))
    assert verdicts["positive semidefinite", True, "proved"] > 0
    assert verdicts["positive semidefinite", False, "refuted"] > 0


# -------------------------------------------------------------------- short steps


def turned(generator: np.random.Generator) -> tuple[str, bool]:
    """An energy a |z|^2 on a sphere or of standardized values, a number beside it, and whether a step rests somewhere.

    The force is -2 a z and what the number adds, which may be nothing: a step turns z around if it is longer than 1/2a.
    """
    on = ("sphere", "standardized")[generator.integers(2)]
    a, step = (Fraction(int(generator.integers(1, top)), 16) for top in (20, 24))
    beside = ("", " + 1/8*sum[d](p[d]*z[d])", " + 1/16*sum[d](cos(p[d]))")[generator.integers(3)]
    text = f"network n\ndim D = {generator.integers(2, 6)}\nclamp x[D]\nparam p[D] = 0 in [-1, 1]\n"
    text += f"state z[D] in {on}[D]\nstart z[d] = x[d]\nenergy e = {a}*sum[d](z[d]^2){beside}\n"
    return text + f"relax {{ step = {step} }}\nreadout r = sum[d](x[d] + p[d])\n", 2 * a * step < 1


@pytest.mark.slow
def test_short_steps_on_spheres() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator, verdicts = np.random.default_rng(SEED), Counter[tuple[bool, str]]()
    for _ in range(draws(40, least=20)):
        text, rests = turned(generator)
        (claim,) = [claim for claim in claims(text) if claim.claim == "an equilibrium exists"]
        verdicts[rests, claim.verdict] += 1
        assert claim.verdict != ("refuted" if rests else "proved"), (text, claim)
        assert "a bug in energyc" not in claim.evidence, (text, claim)
    print(dict(verdicts))
    assert verdicts[True, "proved"] > 0
