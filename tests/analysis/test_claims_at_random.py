"""Claims about energies, steps and flows whose truth is known by construction: none is printed wrongly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Claim
from energyc.proofs.verdicts.in_notation import classes_of
from tests.analysis.indexed import by_index, factored
from tests.drawing import SEED, draws

#: Pieces of an energy in one state z and whether they are bounded below, for states without a set, in [0, 1], and >= 0.
#: ``{a}`` is a number above 0, ``{w}`` a param above 0, ``{u}`` an affine function of z.
PIECES: dict[str, tuple[bool, bool, bool]] = {
    "{a}*z[k]^2": (True, True, True),
    "{a}*({u})^2": (True, True, True),
    "{w}*({u})^4 - {a}*z[k]^2": (True, True, True),
    "({u})^4 - {a}*({u})^3": (True, True, True),
    "{a}*abs({u})": (True, True, True),
    "-{a}*abs(z[k])": (False, True, False),
    "z[k]^2 - {a}*abs({u})": (True, True, True),
    "{a}*softplus({u})": (True, True, True),
    "-{a}*softplus(z[k])": (False, True, False),
    "{a}*exp({u})": (True, True, True),
    "-exp({a}*z[k])": (False, True, False),
    "-exp(-{a}*z[k]^2)": (True, True, True),
    "log(sigmoid({a}*z[k]))": (False, True, True),
    "-log(sigmoid({u}))": (True, True, True),
    "-{a}/sigmoid(z[k])": (False, True, True),
    "{a}/sigmoid({u})": (True, True, True),
    "z[k]^2/2 - {a}/exp(-z[k]^2)": (False, True, False),
    "1/({a} + z[k]^2)": (True, True, True),
    "-1/({a} + z[k]^2)": (True, True, True),
    "log({a} + z[k]^2)": (True, True, True),
    "-log({a} + z[k]^2)": (False, True, False),
    "-log(1 + exp(-z[k]^2))": (True, True, True),
    "log(1 - tanh(z[k])^2)": (False, True, False),
    "-sqrt({a} + z[k]^2)": (False, True, False),
    "sqrt({a} + z[k]^2) - {w}": (True, True, True),
    "{a}*z[k]^3": (False, True, True),
    "-z[k]^3": (False, True, False),
    "{a}*z[k]": (False, True, True),
    "-tanh({u})*{a}": (True, True, True),
    "z[k]*tanh(z[k])": (True, True, True),
    "-z[k]*tanh({a}*z[k])": (False, True, False),
    "{a}*silu({u})": (True, True, True),
    "-gelu({a}*z[k])": (False, True, False),
    "sin({u}) - {w}*cos(z[k])": (True, True, True),
    "exp(-z[k])*z[k]": (False, True, True),
    "sigmoid(z[k])*z[k]^2 - {a}*z[k]": (True, True, True),
    "relu(z[k])^2 - {a}*relu(z[k])": (True, True, True),
    "-relu(-z[k])": (False, True, True),
    "where(z[k] > 0, -z[k], z[k]^2)": (False, True, False),
    "where(abs(z[k]) < 1, z[k]^2/2, abs(z[k]) - 1/2)": (True, True, True),
    "1e-6*z[k]^4 - z[k]^2": (True, True, True),
    "1e-6*z[k]^2 - {a}*z[k]": (True, True, True),
    "z[k]^2/2 - z[k]^2": (False, True, False),
    "exp(z[k]) - exp(2*z[k]) + z[k]^2": (False, True, False),
    "exp(2*z[k]) - {a}*z[k] + exp(-z[k])": (True, True, True),
    "2*abs(z[k]) - {a}*z[k]/3": (True, True, True),
    "abs(z[k]) - 2*z[k]": (False, True, False),
    "{w}*exp(-z[k]) - {a}*sqrt(1 + z[k]^2)": (False, True, False),
    "w[k]*exp(z[k]) + softplus(-z[k])*{a}": (True, True, True),
    "log(1 + exp(z[k])) - z[k]/2": (True, True, True),
    "log(1 + exp(z[k])) - 2*z[k]": (False, True, False),
}
#: With a pole on the rim of the set, or outside of it.
ON_RIMS: dict[str, tuple[str, bool]] = {
    "{a}*log(z[k])": ("[0, 1]", False),
    "-{a}*log(z[k])": ("[1/10, 1]", True),
    "log(1 - z[k])": ("[0, 1]", False),
    "log(1 - z[k]/2)": ("[0, 1]", True),
    "-1/z[k]": ("[0, 2]", False),
    "-1/(z[k] + {a})": ("[0, 2]", True),
    "z[k]*log(z[k]) - {a}*z[k]": ("[0, 1]", True),
    "-1/sqrt(z[k])": ("[0, 1]", False),
    "1/(1 - z[k])": ("[0, 1/2]", True),
    "-1/(1 - z[k])": ("[0, 1]", False),
}
SETS = ("", " in [0, 1]", " in nonnegative")
WRAPPED = "layer inner {{\n{body}\n}}\n"


def affine(generator: np.random.Generator) -> str:
    sign = "-" if generator.uniform() < 0.5 else ""
    return f"{sign}{generator.integers(1, 4)}*z[k] + {generator.integers(-2, 3)}/3"


def filled(piece: str, generator: np.random.Generator) -> str:
    number = ("1/3", "1", "5/2")[generator.integers(3)]
    return piece.replace("{a}", number).replace("{w}", "w[k]").replace("{u}", affine(generator))


def energy_of(generator: np.random.Generator) -> tuple[str, bool]:
    """A spec of one to three pieces, each in a state of its own, and whether its energy is bounded below.

    Some pieces differ from one index to the other.
    """
    lines, sum_has_floor = ["network n", "dim K = 2", "param w[K] = 1 in [1/10, 3]"], True
    terms = []
    for name in "xyz"[: generator.integers(1, 4)]:
        if generator.uniform() < 0.25:
            piece, (written, has_floor) = list(ON_RIMS.items())[generator.integers(len(ON_RIMS))]
            written = f" in {written}"
        else:
            (piece, floors), (other, others) = (list(PIECES.items())[generator.integers(len(PIECES))] for _ in range(2))
            place = int(generator.integers(3))
            written, has_floor = SETS[place], floors[place]
            if (both := by_index(generator, piece, other)) is not None:
                piece, has_floor = both, floors[place] and others[place]
            piece = factored(generator, piece)
        lines.append(f"state {name}[K]{written}")
        terms.append(f"sum[k]({filled(piece, generator).replace('z[k]', f'{name}[k]')})")
        sum_has_floor = sum_has_floor and has_floor
    lines += [f"energy e = {' + '.join(terms)}", "readout r = sum[k](w[k])"]
    return "\n".join(lines) + "\n", sum_has_floor


def claims(text: str) -> list[Claim]:
    return list(classes_of(resolve(Source("spec.energy", text), Choices())).claims)


@pytest.mark.slow
def test_floors_of_known_pieces() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator = np.random.default_rng(SEED)
    verdicts: Counter[tuple[str, bool]] = Counter()
    for _ in range(draws(40, least=20)):
        text, has_floor = energy_of(generator)
        (claim,) = [claim for claim in claims(text) if claim.claim == "bounded below"]
        assert claim.verdict != ("refuted" if has_floor else "proved"), (text, claim.evidence)
        assert "a bug in energyc" not in claim.evidence, (text, claim.evidence)
        verdicts[claim.verdict, has_floor] += 1
    print(dict(verdicts))
    assert verdicts["proved", True] > verdicts["undecided", True] / 2
    assert verdicts["refuted", False] > 0


@pytest.mark.abridged(every=9)
@pytest.mark.parametrize(("piece", "floors"), PIECES.items())
def test_each_piece(piece: str, floors: tuple[bool, bool, bool]) -> None:
    generator = np.random.default_rng(5)
    for written, has_floor in zip(SETS, floors, strict=True):
        text = f"network n\ndim K = 2\nparam w[K] = 1 in [1/10, 3]\nstate z[K]{written}\n"
        text += f"energy e = sum[k]({filled(piece, generator)})\nreadout r = sum[k](w[k])\n"
        (claim,) = [claim for claim in claims(text) if claim.claim == "bounded below"]
        assert claim.verdict != ("refuted" if has_floor else "proved"), (text, claim.evidence)
        assert "a bug in energyc" not in claim.evidence, (text, claim.evidence)


# -------------------------------------------------------------------- steps

#: Functions and the range of their slopes.
SLOPES = {
    "tanh(y[c])": (0, 1),
    "sin(y[c])": (-1, 1),
    "relu(y[c])": (0, 1),
    "abs(y[c])": (-1, 1),
    "softplus(y[c])": (0, 1),
    "sigmoid(y[c])": (0, 0.25),
    "-tanh(2*y[c])": (-2, 0),
    "y[c]": (1, 1),
    "clip(y[c], -1, 1)": (0, 1),
}
#: Conditions that hold at some places or samples and fail at others.
CHOICES = ("b[c] > 0", "c < 1", "c == C - 1", "c > 0 and b[c] < 2")
#: Sets, what may be added to a step, and whether a slope below 1 makes it a contraction then.
AROUND = {
    ("", ""): True,
    (" in [-1, 1]", ""): True,
    (" in nonnegative", ""): True,
    (" in sphere[C]", ""): False,
    (" in standardized[C]", ""): False,
    ("", " + 1/2*where(y[c] > 0, 1, -1)"): False,
    ("", " + detach(y[c])"): False,
    ("", " + mean[batch](y[c])"): False,
}


def step_of(generator: np.random.Generator) -> tuple[str, float, bool]:
    """``next y = a f(y) + b``, the largest slope of it on the line, and whether it may be a contraction.

    Now and then f is one function where a condition on an input or an index holds, and another elsewhere.
    """
    (function, (low, high)), (other, ends) = (list(SLOPES.items())[generator.integers(len(SLOPES))] for _ in range(2))
    if generator.uniform() < 0.4:
        function = f"where({CHOICES[generator.integers(len(CHOICES))]}, {function}, {other})"
        low, high = min(low, ends[0]), max(high, ends[1])
    (written, added), may = list(AROUND.items())[generator.integers(len(AROUND))]
    factor = generator.integers(1, 30) / 16
    text = f"network n\ndim C = 3\nclamp b[C]\nstate y[C]{written}\nstart y[c] = b[c] + 1\n"
    text += f"next y[c] = {factor}*{function} + b[c]{added}\n"
    steepest = factor * max(abs(low), abs(high))
    return text, float(steepest), may and bool(steepest < 1 or written == " in [-1, 1]")


@pytest.mark.slow
def test_steps_of_known_slopes() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator, verdicts = np.random.default_rng(SEED), Counter[str]()
    for _ in range(draws(40, least=40)):
        text, steepest, contracts = step_of(generator)
        for claim in claims(text):
            if claim.claim == "contraction":
                verdicts[claim.verdict] += 1
                assert claim.verdict != "proved" or contracts, (text, claim.evidence)
                assert claim.verdict != "refuted" or steepest > 1, (text, claim.evidence)
            assert "a bug in energyc" not in claim.evidence, (text, claim.evidence)
    print(dict(verdicts))
    assert verdicts["proved"] > 0
    assert verdicts["refuted"] > 0


# -------------------------------------------------------------------- flows


#: Matrices before a gradient by g, and whether they leave ``P dg/dx`` positive: for g rising in each element alone.
def says_how_it_descends(text: str) -> bool:
    """Whether a flow that is said to descend has a claim on the sign of its matrix."""
    classes = classes_of(resolve(Source("drawn.energy", text), Choices()))
    return classes.verdict != "metric-descent" or "positive semidefinite" in {claim.claim for claim in classes.claims}


METRICS = {
    "-grad(e, g[d])": True,
    "-2*grad(e, g[d])": True,
    "grad(e, g[d])": False,
    "-s[d]^2*grad(e, g[d])": True,
    "-(0 - 1)*grad(e, g[d])": False,
}
RISING = ("tanh(x[d])", "softplus(x[d])", "x[d] + sin(x[d])/2", "layernorm[d](x[d])", "2*rmsnorm[d](x[d])")


def flow_by(inner: str, flow: str) -> str:
    """A flow along a gradient by a function of the state."""
    return (
        "network n\ndim D = 3\nparam s[D] = 1\nclamp b[D]\nstate x[D]\n"
        f"let g[d] = {inner}\nenergy e = sum[d](log(1 + exp(g[d] - b[d])))\nflow x[d] = {flow}\n"
        "readout r = sum[d](s[d])\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("flow", "positive"), METRICS.items())
def test_flows_of_known_metrics(flow: str, positive: bool) -> None:
    for inner in RISING:
        text = flow_by(inner, flow)
        for claim in claims(text):
            assert "a bug in energyc" not in claim.evidence, (text, claim.evidence)
            if claim.claim == "positive semidefinite" and "layernorm" not in inner and "rmsnorm" not in inner:
                assert claim.verdict != ("refuted" if positive else "proved"), (text, claim.evidence)
            assert claim.verdict != "proved" or positive or claim.claim != "positive semidefinite", text
        assert says_how_it_descends(text), text


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    "inner",
    [
        "exp(-sum[k](x[k]^2))*rmsnorm[d](x[d])",
        "sigmoid(x[d])*layernorm[d](x[d])",
        "-tanh(x[d])",
        "x[d]*tanh(x[d])",
        "softmax[d](-x[d])",
        "sum[k](x[k]^2)*x[d] - 3*x[d]",
    ],
)
def test_a_scale_that_reads_the_state_is_part_of_the_slope(inner: str) -> None:
    text = (
        "network n\ndim D = 3\nclamp b[D]\nstate x[D]\n"
        f"let g[d] = {inner}\nenergy e = sum[d](log(1 + exp(g[d] - b[d])))\nflow x[d] = -grad(e, g[d])\n"
    )
    verdicts = [claim.verdict for claim in claims(text) if claim.claim == "positive semidefinite"]
    assert "proved" not in verdicts and says_how_it_descends(text)
