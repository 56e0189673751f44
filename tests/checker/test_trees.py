"""Rule trees: each rule with a right tree, false claims by every rule, and trees that were changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from energyc.checker.judge import judge
from tests.analysis.test_claims_at_random import ON_RIMS, PIECES, SETS, filled
from tests.analysis.test_claims_once_false import NOT_PROVED
from tests.checker.forged import Forger
from tests.checker.proofs import Json, answer, certified, text_of

#: A spec, the rule at the root of its tree, and those below.
RULES = {
    "a continuous energy on boxes": ("hopfield", "floor", ["sum", "range"]),
    "least on it": ("hopfield", "rest", ["least", "sum", "range"]),
    "least with kinks downward": ("hopfield_conv", "rest", ["least", "sum", "range"]),
    "parts by their ranges": ("kuramoto", "floor", ["sum", "range"]),
    "parts on normalised states": ("et_image", "floor", ["sum", "range"]),
    "an integral": ("cem_mlp", "floor", ["sum", "range"]),
    "powers outgrow a logsumexp": ("modern_hopfield", "floor", ["sum", "outgrown"]),
    "a power of four": ("dense_memory", "rest", ["least", "sum", "outgrown"]),
    "one state after the other": ("resistive", "rest", ["least", "sum", "outgrown", "range"]),
    "kinks that move proximally": ("sparse_coding", "rest", ["proximal", "sum", "outgrown", "range"]),
    "a next value": ("deq", "rest", ["brouwer", "damped"]),
    "energies that damp": ("thick", "rest", ["brouwer", "damped"]),
    "damping in part": ("dyadic", "rest", ["brouwer", "damped"]),
}
HEAD = "network n\ndim D = 3, N = 4\nclamp x[D]\n"
#: Energies that are not bounded below, and what they are part of: no tree may say that they are.
FALSE_FLOORS = {
    "a line": "state z[D]\nenergy e = -sum[d](z[d])",
    "a param of any sign": "param w[D] = 1\nstate z[D]\nenergy e = sum[d](w[d]*z[d]^2)",
    "an input of any sign": "state z[D]\nenergy e = sum[d](z[d]^2) - sum[d](x[d]*z[d]^2)",
    "a sum over part of the entries": "state z[D]\nenergy e = z[0]^2 - sum[d](z[d])",
    "a sum under a guard": "state z[D]\nenergy e = sum[d | d < 2](z[d]^2) - sum[d](z[d])",
    "a diagonal": "state z[D,D]\nenergy e = sum[d](z[d,d]^2) - sum[d,k](z[d,k])",
    "a transpose": "state z[D,D]\nenergy e = sum[d,k](z[d,k]*z[k,d]) - sum[d](z[d,d])",
    "a gathered square": "clamp i[N] : D\nstate z[D]\nenergy e = sum[n](z[i[n]]^2) - sum[d](z[d])",
    "a zero diagonal": "param W[D,D] = 1 in zero_diagonal and [0, 2]\nstate z[D]\n"
    "energy e = sum[d](W[d,d]*z[d]^2) - sum[d](z[d])",
    "a cube": "state z[D]\nenergy e = sum[d](z[d]^3)",
    "a fourth power on a half line": "state z[D] in nonnegative\nenergy e = sum[d](z[d]^3) - sum[d](z[d]^4)",
    "powers as large": "state y, z\nenergy e = y^2 + z^2 - 3*y*z",
    "powers as large, of two terms": "state y, z\nenergy e = y^2 + z^2\nenergy f = -3*y*z",
    "a square of nothing": "state y, z\nenergy e = (y - z)^2 - y",
    "a sign of what is 0 on half a line": "state z\nenergy e = -z^4*(1 - sign(relu(z))^2)",
    "a weight of 0 on half a line": "state z\nenergy e = z^2*relu(z) - abs(z)",
    "a quotient": "state z\nenergy e = z^4/z^2 - z^2*2",
    "a root of a square": "state z\nenergy e = -sqrt(z^2)^3",
    "a product with softmax": "state z[D], y\nlet p[d] = softmax[d](z[d])\nenergy e = sum[d](p[d])*y^2*p[0] - y",
    "exp of a product": "state y, z\nenergy e = y^2 + z^2 - exp(y*z)",
    "a lettered pole": "state y in [0, 1], z\nlet a = 1/y\nenergy e = z^2 - a*z",
    "what a state decides": "state y[D]\nenergy e = sum[d](where(y[d] > 0, -y[d], y[d]^2))",
    "a difference of equal conditions": "param w = 0\nstate z\n"
    "energy e = -z^4*(where(w >= 0, 1, 0) - where(w > 0, 1, 0))",
    "a difference of equal conditions beside a square": "param w = 0\nstate z\n"
    "energy e = z^2 - z^4*(where(w >= 0, 1, 0) - where(w > 0, 1, 0))",
    "a condition and its opposite": "param w = 0\nstate z\n"
    "energy e = z^2 - z^4*(1 - where(w > 0, 1, 0) - where(w < 0, 1, 0))",
    "a frozen cancellation": "state z\nenergy e = z^2 - 2*frozen(z)^2",
    "a detached cancellation": "state z\nenergy e = z^2 - 2*detach(z)^2",
    "a mean of the batch": "state z[D]\nenergy e = sum[d](z[d]^2) - 2*sum[d](z[d]*mean[batch](z[d]))",
    "a norm above 1": "param Q[D,D] ~ normal(1) in norm[11/10]\nstate z[D]\n"
    "energy e = sum[d](z[d]^2) - sum[d,k](z[d]*Q[d,k]*z[k])",
    "a norm of 1, and a load": "param Q[D,D] ~ normal(1) in norm[1]\nstate z[D]\n"
    "energy e = sum[d](z[d]^2) - sum[d,k](z[d]*Q[d,k]*z[k]) - sum[d](x[d]*z[d])",
    "the norm of another": "param Q[D,D] ~ normal(1) in norm[1/2], P[D,D] ~ normal(1)\nstate z[D]\n"
    "energy e = sum[d](z[d]^2) - sum[d,k](z[d]*P[d,k]*z[k]) + sum[d,k](tanh(Q[d,k]))",
    "norms of two states": "param Q[D,N] ~ normal(1) in norm[1]\nstate z[D], y[N]\n"
    "energy e = 1/2*sum[d](z[d]^2) + 49/100*sum[n](y[n]^2) - sum[d,n](z[d]*Q[d,n]*y[n])",
    "a box, for all sizes": "param Q[D,D] = 0 in [-1/10, 1/10]\nstate z[D]\n"
    "energy e = sum[d](z[d]^2) - sum[d,k](z[d]*Q[d,k]*z[k])",
    "a vector that is longer": "param p[D] in sphere[D]\nstate z[D]\nenergy e = sum[d](z[d]^2) - 2*sum[d](p[d]*z[d])^2",
    "many vectors": "param p[N,D] in sphere[D]\nstate z[D]\nenergy e = sum[d](z[d]^2) - sum[n](sum[d](p[n,d]*z[d])^2)",
    "part of the entries by norms": "param Q[D,D] ~ normal(1) in norm[1/2]\nstate z[D]\n"
    "energy e = sum[d | d < 2](z[d]^2) - sum[d,k](z[d]*Q[d,k]*z[k])",
    "an exponential on one side": "state z[D]\nenergy e = sum[d](exp(z[d]) + z[d])",
    "an exponential that is outgrown": "state z[D]\nenergy e = sum[d](exp(z[d]) + exp(-z[d]) - exp(2*z[d]))",
    "an exponential as large": "state z[D]\nenergy e = sum[d](exp(z[d]) + z[d]^2 - z[d]*exp(z[d]))",
    "a cube beside a fourth power of part": "state z[D]\nenergy e = z[0]^4 - sum[d](z[d]^3)",
    "an odd power of a sign": "state z[D]\nenergy e = sum[d](z[d]^3*sign(z[d])*sign(z[d]) + exp(z[d]))",
    "an exponential that an input scales": "state z[D]\nenergy e = sum[d](x[d]*exp(z[d]) + z[d]^2)",
    "exponentials of two elements": "state z[D]\nenergy e = sum[d](exp(z[d]) + exp(-z[d])) - exp(z[0])*exp(z[1])",
    "an exponential of a gathered element": "clamp i[N] : D\nstate z[D]\n"
    "energy e = sum[n](exp(z[i[n]]) + exp(-z[i[n]])) - sum[d](z[d])",
    "a power times an exponential": "state z[D]\n"
    "energy e = sum[d](exp(-z[d]) + z[d]^2*exp(-2*z[d])*tanh(z[d]) + z[d]^2)",
    "a bounded factor of any sign": "state z[D]\nenergy e = sum[d](z[d]^4*sin(z[d]) + z[d]^2)",
    "convex, but for a jump": "state z[D]\nenergy e = sum[d](z[d]^2 - where(z[d] > 0, 0, 2*z[d]^2))",
    "convex in one state": "state y, z\nenergy e = y^2 - y*z",
    "convex beside a force": "state z[D]\nenergy e = sum[d](-z[d])\nforce f on z[d] = -3*z[d]",
    "an integral of what falls": "fn S'(u) = tanh(u) - 2\nstate z\nenergy e = S(z)",
}
#: Steps that need not rest.
FALSE_RESTS = {
    "a jump": "state z[D] in [-1, 1]\nforce f on z[d] = where(z[d] > 0, -1, 1)",
    "no damping": "state z[D]\nforce f on z[d] = x[d]",
    "growth": "state z[D]\nforce f on z[d] = z[d] + x[d]",
    "a transposed damping": "state z[D,D]\nforce f on z[d,k] = x[d] - z[k,d]",
    "a damping that an input scales": "state z[D]\nforce f on z[d] = 1 - x[d]*z[d]",
    "more than damping": "param W[D,D] ~ normal(1)\nstate z[D]\nforce f on z[d] = sum[k](W[d,k]*z[k]) - z[d] + x[d]",
    "a next value that grows": "state z[D]\nnext z[d] = 2*z[d] + 1",
    "a ring": "state z[D] in sphere[D]\nstart z[d] = 1\nforce f on z[d] = x[d]",
    "a kink upward": "state z[D]\nenergy e = sum[d](z[d]^2 + abs(z[d] - x[d]) - x[d]*z[d])\nrelax { proximal = off }",
    "a kink on a rim": "state y in [0, 1]\nenergy e = abs(y) - y/2\nrelax { proximal = off }",
    "a product with a kink": "state z[D]\nenergy e = sum[d](z[d]^2) + abs(z[0]*z[1] - x[0])",
    "a maximum": "state z[D]\nenergy e = sum[d](z[d]^2) + max[d](x[d]*z[d])",
    "the number of a step": "dim T = 5\nstate y[D] in [-1, 1]\nforce f on y[d] = where(t < 2, 1, -1)\n"
    "relax t in T { step = 1 }",
    "noise": "noise n[D] ~ normal(1)\nstate z[D]\nforce f on z[d] = n[d] - z[d]",
    "a flow": "state z[D]\nflow z[d] = x[d]",
    "a flow with a drift": "state z[D]\nenergy e = sum[d](sqrt(1 + z[d]^2))\nflow z[d] = 2 - grad(e, z[d])",
    "a flow by another gradient": "state z[D], y[D]\nenergy e = sum[d](z[d]^2 + y[d]^2 - z[d]*y[d])\n"
    "energy f = sum[d]((z[d] - 1)^2)\nflow z[d] = -grad(e, z[d])\nflow y[d] = -grad(e + f, y[d]) - grad(f, z[d])",
    "a flow on a half line": "state z[D] in nonnegative\nenergy e = sum[d](z[d]^2)\nflow z[d] = 1 + grad(e, z[d])",
    "a flow with a pole": "state z[D]\nenergy e = sum[d](z[d]^2)\nflow z[d] = -grad(e, z[d])/z[d]",
    "a flow of a state alone": "state z[D], y[D]\nenergy e = sum[d](z[d]^2 + y[d]^2)\nflow z[d] = -grad(e, z[d])\n"
    "flow y[d] = tanh(x[d])",
    "a flow with noise": "noise n[D] ~ normal(1)\nstate z[D]\nenergy e = sum[d](z[d]^2)\n"
    "flow z[d] = n[d] - grad(e, z[d])",
    "a flow past a kink": "state z[D]\nenergy e = sum[d](z[d]^2 + abs(z[d] - x[d]))\nflow z[d] = -grad(e, z[d])",
    "a flow with a power": "state z[D]\nenergy e = sum[d](z[d]^2)\nflow z[d] = 2^grad(e, z[d])",
    "frozen": "state y[D]\nenergy e = 1/2*sum[d](y[d]^2)\nenergy f = 1/2*sum[d]((y[d] - frozen(2*y[d] + 1))^2)",
}


def spec_of(body: str) -> str:
    return f"{HEAD}{body}\nreadout r = sum[d](x[d])\n"


@cache
def tree(name: str, kind: str) -> Json:
    """The tree of this kind that energyc writes of a spec."""
    (found,) = [entry for entry in certified(text_of(name))["claims"] if entry["statement"]["kind"] == kind]
    return dict(json.loads(json.dumps(found)))


def rules(entry: Json) -> Iterator[str]:
    yield entry["rule"]
    for premise in entry["premises"]:
        yield from rules(premise)


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", RULES)
def test_a_right_tree_by_each_rule(name: str) -> None:
    spec, kind, expected = RULES[name]
    entry = tree(spec, kind)
    assert [*dict.fromkeys(rules(entry))] == expected
    assert answer(entry, text_of(spec)).verdict == "yes"


# ---------------------------------------------------------------- false claims


def accepted(text: str, kind: str) -> list[Json]:
    forger = Forger(text)
    made = (
        [tree for attained in (False, True) for tree in forger.floors(attained)]
        if kind == "floor"
        else [*forger.rests()]
    )
    assert made
    return [each for each in map(forger.root, made) if answer(each, text).verdict == "yes"]


ONCE = [(body, kind) for body, names in NOT_PROVED.values() for name, kind in
        (("bounded below", "floor"), ("an equilibrium exists", "rest")) if name in names]  # fmt: skip


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize(("body", "kind"), ONCE)
def test_no_tree_shows_what_was_once_printed(body: str, kind: str) -> None:
    assert accepted(spec_of(body), kind) == []


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("name", FALSE_FLOORS)
def test_no_tree_shows_a_false_floor(name: str) -> None:
    assert accepted(spec_of(FALSE_FLOORS[name]), "floor") == []


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", FALSE_RESTS)
def test_no_tree_shows_a_false_rest(name: str) -> None:
    assert accepted(spec_of(FALSE_RESTS[name]), "rest") == []


WITHOUT_FLOORS = [
    *(piece for piece, floors in PIECES.items() if not all(floors)),
    *(piece for piece, (_, has_floor) in ON_RIMS.items() if not has_floor),
]


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("piece", WITHOUT_FLOORS)
def test_no_tree_shows_a_false_floor_of_a_known_piece(piece: str) -> None:
    """Each energy that is drawn for the compiler's floors, on the sets on which it has none."""
    sets = [ON_RIMS[piece]] if piece in ON_RIMS else zip(SETS, PIECES[piece], strict=True)
    for written, has_floor in sets:
        energy = filled(piece, np.random.default_rng(7)).replace("[k]", "[d]")
        on = written if not written or written.startswith(" in") else f" in {written}"
        text = spec_of(
            f"param w[D] = 1 in [1/10, 3]\nstate z[D]{on}\nenergy e = sum[d]({energy})\nreadout q = sum[d](w[d])"
        )
        assert has_floor or accepted(text, "floor") == [], text


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("state z[D]\nenergy e = sum[d](z[d]^2) - sum[d](x[d]*z[d])", "floor"),
        ("state z[D]\nenergy e = sum[d](z[d]^2) - sum[d](x[d]*z[d])", "rest"),
        ("state z[D]\nenergy e = sum[d](z[d]^2) + sum[d](abs(z[d]))", "rest"),
        ("state z[D]\nforce f on z[d] = x[d] - z[d]", "rest"),
        ("state z[D] in [-1, 1]\nflow z[d] = x[d]", "rest"),
        ("state z[D] in [1, 2]\nenergy e = sum[d](z[d]^2)\nflow z[d] = grad(e, z[d])", "rest"),
        ("state z[D]\nenergy e = sum[d](z[d]^2)\nflow z[d] = 1 - grad(e, z[d])", "rest"),
        ("state z[D]\nflow z[d] = tanh(x[d]*z[d]) - 2*z[d]", "rest"),
        ("state z[D]\nenergy e = sum[d](z[d]^2)\nflow z[d] = -2*grad(e, z[d])", "rest"),
        ("param Q[D,D] in orthogonal\nstate z[D]\nenergy e = sum[d](z[d]^2) - sum[d,k](z[d]*Q[d,k]*z[k])", "floor"),
        (
            "param Q[D,D] in orthogonal\nstate z[D]\n"
            "energy e = sum[d](z[d]^2) - 9/10*sum[d,k](z[d]*Q[d,k]*z[k]) - sum[d](x[d]*z[d])",
            "rest",
        ),
        ("state y[D] in simplex[D]\nenergy e = sum[d](y[d]*log(y[d]))", "floor"),
        ("state z[D]\nenergy e = sum[d](exp(2*z[d]) + exp(-z[d]) - x[d]*z[d]^3)", "floor"),
        ("state z[D]\nenergy e = sum[d](z[d]^3 - x[d]*abs(z[d]))\nenergy f = sum[d](exp(-z[d]))", "floor"),
        ("state z[D] in nonnegative\nenergy e = sum[d](z[d]^3 - x[d]*z[d]^2)", "floor"),
        ("state z[D]\nenergy e = sum[d](where(z[d] > 0, z[d]^2/2, 50*z[d]^2)) - sum[d](x[d]*z[d])", "floor"),
    ],
)
def test_forged_trees_of_what_is_true_are_accepted(body: str, kind: str) -> None:
    assert accepted(spec_of(body), kind)


# ---------------------------------------------------------------- changes


def places(entry: Json) -> Iterator[Json]:
    yield entry
    for premise in entry["premises"]:
        yield from places(premise)


def changes(entry: Json) -> Iterator[tuple[str, Json]]:
    """A tree with one thing changed, in all the ways below."""

    def changed(k: int, change: Callable[[Json], object]) -> Json:
        made = copy.deepcopy(entry)
        change([*places(made)][k])
        return made

    for k, place in enumerate(places(entry)):
        yield "another rule", changed(k, lambda n: n.update(rule="range" if n["rule"] != "range" else "outgrown"))
        yield "no rule", changed(k, lambda n: n.update(rule=""))
        yield "facts", changed(k, lambda n: n["facts"].update(more="1"))
        yield "a premise twice", changed(k, lambda n: n["premises"].extend(n["premises"][:1] or [copy.deepcopy(n)]))
        yield "another kind", changed(k, lambda n: n["statement"].update(kind="claim"))
        yield "a field more", changed(k, lambda n: n["statement"].update(everywhere=True))
        if place["premises"]:
            yield "a premise less", changed(k, lambda n: n["premises"].pop())
        for field in place["statement"]:
            yield f"without {field}", changed(k, lambda n, f=field: n["statement"].pop(f))
        if "for" in place["statement"]:
            yield "other quantifiers", changed(k, lambda n: n["statement"].update({"for": "all sizes"}))
            yield "a layer", changed(k, lambda n: n["statement"].update(layer="inner"))
        if place["statement"].get("confines"):
            for name in place["statement"]["confines"]:
                yield "another power", changed(k, lambda n, s=name: n["statement"]["confines"].update({s: "3"}))
                yield "no power", changed(k, lambda n, s=name: n["statement"]["confines"].pop(s))
        if place["statement"]["kind"] == "part":
            yield "a part less", changed(k, lambda n: n["statement"]["of"].pop())
            yield "a part twice", changed(k, lambda n: n["statement"]["of"].append(n["statement"]["of"][0]))
            yield "another part", changed(k, lambda n: n["statement"]["of"][0].__setitem__(1, "0 * 1"))
            yield (
                "half a part",
                changed(k, lambda n: n["statement"]["of"][0].__setitem__(1, f"1/2 * ({n['statement']['of'][0][1]})")),
            )
    yield "steps", changed(0, lambda n: n["statement"].update(steps="long"))
    for left in entry["formulas"]:
        yield "a formula less", changed(0, lambda n, f=left: n["formulas"].pop(f))
        yield "another formula", changed(0, lambda n, f=left: n["formulas"].update({f: n["formulas"][f] + " + 1e-20"}))


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(
    "name", [name for name, (spec, _, _) in RULES.items() if spec not in ("thick", "hopfield_conv")]
)
def test_a_changed_tree_is_refused(name: str) -> None:
    spec, kind, _ = RULES[name]
    found = [(what, made) for what, made in changes(tree(spec, kind)) if made != tree(spec, kind)]
    assert len(found) > 15
    assert [(what, made) for what, made in found if answer(made, text_of(spec)).verdict == "yes"] == []


#: A spec, the kind of a tree, and what is written in the place of what so that the claim no longer holds.
EXCHANGED = [
    ("hopfield", "floor", "state s[J] in [0, 1]", "state s[J]"),
    ("hopfield", "rest", "state y[K] in [-1, 2]", "state y[K] in sphere[K]"),
    ("hopfield", "rest", "-sum[j](b1[j] * s[j])", "-sum[j](b1[j] * abs(s[j] - 1/2))"),
    ("hopfield", "rest", "-sum[j](b1[j] * s[j])", "-sum[j](b1[j] * log(s[j]))"),
    ("hopfield_conv", "rest", "energy conv2 = -sum", "energy conv2 = sum"),
    ("modern_hopfield", "floor", "1/2 * sum[d](z[d]^2)", "1/2 * sum[d](z[d]^1)"),
    ("modern_hopfield", "floor", "logsumexp[m](beta * sum[d](X[m,d] * z[d]))", "sum[m](sum[d](X[m,d] * z[d])^2)"),
    ("kuramoto", "floor", "sum[k](a[k] * sin(phi[k]))", "sum[k](a[k] * phi[k])"),
    ("dense_memory", "rest", "relu(overlap[m])^3", "relu(overlap[m])^4"),
    ("resistive", "rest", "param g1[I, J] ~ uniform(0.001, 0.1) in [1e-5, 1]", "param g1[I, J] ~ uniform(0.001, 0.1)"),
    ("resistive", "rest", "diode'(v) = Is * (exp(v / Vt) - 1)", "diode'(v) = Is * (exp(v / Vt) - 2)"),
    ("sparse_coding", "rest", "in [0.01, 10]", "in [-0.01, 10]"),
    ("sparse_coding", "rest", "step = auto", "proximal = off, step = auto"),
    ("deq", "rest", "next z[d] = tanh(", "next z[d] = relu("),
    ("dyadic", "rest", "out[k] - u[k]", "out[k] + u[k]"),
    ("thick", "rest", "layernorm[d](z[t,d]) + h1[d]", "z[t,d] + h1[d]"),
]


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize(("name", "kind", "old", "new"), EXCHANGED)
def test_the_tree_of_another_spec_is_refused(name: str, kind: str, old: str, new: str) -> None:
    """As it was written, and with its formulas and parts brought up to date."""
    text = text_of(name)
    other = text.replace(old, new)
    assert other != text
    entry = tree(name, kind)
    assert answer(entry, other).verdict != "yes"
    assert answer(json.loads(json.dumps(entry).replace(old, new)), other).verdict != "yes"
    forged = Forger(other)
    assert answer({**entry, "formulas": forged.root({})["formulas"]}, other).verdict != "yes"


def test_a_claim_of_a_layer_is_about_its_states() -> None:
    text = text_of("cem")
    (entry,) = [each for each in certified(text)["claims"] if each["statement"]["layer"] == "mlp"]
    assert answer(entry, text).verdict == "yes"
    moved = {**entry, "statement": {**entry["statement"], "layer": "attention"}}
    assert answer(moved, text).verdict != "yes"


def test_consts_from_outside_are_those_of_the_file() -> None:
    text = spec_of("const c = 1\nstate z[D]\nenergy e = c*sum[d](z[d]^2) - sum[d](x[d]*z[d])")
    (entry,) = [each for each in certified(text)["claims"] if each["statement"]["kind"] == "floor"]
    file = {**certified(text), "certificates": [], "claims": [entry]}
    assert [each.verdict for each in judge(file, text)] == ["yes"]
    assert [each.verdict for each in judge({**file, "consts": {"c": "-1"}}, text)] == ["no"]
