"""Proximal rest: each convex kink of docs/language.md, and kinks that steps leave in the gradient."""

from __future__ import annotations

import pytest

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.verdicts.in_notation import classes_of
from tests.checker.forged import Forger
from tests.checker.proofs import Json, answer
from tests.checker.test_slopes import converges, form, rest, unique
from tests.checker.test_trees import spec_of

FIT = "state z[N,D]\nenergy fit = 1/2*sum[n,d](z[n,d]^2) - sum[n,d](x[d]*z[n,d])\n"
LEVEL = "param l[D] = 1 in nonnegative, q = 1 in [0, 2], b = 1\n"
USED = "readout used = sum[d](l[d] + m[d]) + q + b\n"
#: Kinks that move proximally. The compiler says so, and the checker too.
MOVING = {
    "abs": "sum[n,d](abs(z[n,d]))",
    "a param": "sum[n,d](l[d]*abs(z[n,d])) + q*sum[n,d](abs(z[n,d]))",
    "an exponential": "exp(b)*sum[n,d](2*abs(z[n,d])/3)",
    "off 0": "sum[n,d](abs(2*z[n,d] - 1) + relu(1 - z[n,d]))",
    "a maximum": "sum[n,d](max(z[n,d], 1/2))",
    "beside a square": "q*sum[n,d](abs(z[n,d]) + z[n,d]^2)",
    "a norm": "sum[n](sqrt(sum[d](z[n,d]^2)))",
    "a norm along two dims": "q*sqrt(sum[n,d](z[n,d]^2))",
    "a norm and abs": "sum[n](sqrt(sum[d](z[n,d]^2))) + sum[n,d](abs(z[n,d]))",
}
#: Kinks that do not, or not together: no tree that says so gets yes.
STAYING = {
    "a gathered entry": ("", "sum[n](abs(z[n,i[n]]))"),
    "one entry": ("", "abs(z[0,0])"),
    "a diagonal": ("state y[D,D]\nenergy own = sum[d,k](y[d,k]^2)\n", "sum[d](abs(y[d,d]))"),
    "two entries": ("", "sum[n,d](abs(z[n,d] - z[n,0]))"),
    "an input before it": ("", "sum[n,d](x[d]^2*abs(z[n,d]))"),
    "a gathered param": ("", "sum[n,d](m[i[0]]*abs(z[n,d]))"),
    "a param of any sign": ("", "sum[n,d](b*abs(z[n,d]))"),
    "a pole": ("", "sum[n,d](abs(z[n,d])/q)"),
    "subtracted": ("", "-sum[n,d](abs(z[n,d]))"),
    "a concave one": ("", "sum[n,d](min(z[n,d], 0))"),
    "an index before it": ("", "sum[n,d](d*abs(z[n,d]))"),
    "another state before it": ("state y\nenergy own = y^4\n", "y^2*sum[n,d](abs(z[n,d]))"),
    "two norms": ("", "sum[n](sqrt(sum[d](z[n,d]^2))) + sum[d](sqrt(sum[n](z[n,d]^2)))"),
    "a norm and a kink off 0": ("", "sum[n](sqrt(sum[d](z[n,d]^2))) + sum[n,d](abs(z[n,d] - 1))"),
    "a norm in a box": ("state y[D] in [-1, 1]\nenergy own = sum[d](y[d]^2)\n", "sqrt(sum[d](y[d]^2))"),
    "a norm under a guard": ("", "sum[n](sqrt(sum[d | d < 2](z[n,d]^2)))"),
    "steps that are plain": ("relax { proximal = off }\n", "sum[n,d](abs(z[n,d]))"),
}


def text_of(kink: str, more: str = "") -> str:
    return spec_of(f"clamp i[N] : D\nparam m[D] = 1 in nonnegative\n{LEVEL}{FIT}{more}energy kink = {kink}\n{USED}")


def claimed(text: str, claim: str, kind: str) -> tuple[list[str], list[Json]]:
    """The verdicts on a claim, and the trees of this kind."""
    classes = classes_of(resolve(Source("spec.energy", text), Choices()))
    verdicts = [one.verdict for one in classes.claims if one.claim == claim]
    return verdicts, [one for one in classes.certificates["claims"] if one["statement"]["kind"] == kind]


def rest_of(text: str) -> tuple[str, list[str]]:
    (verdict,), trees = claimed(text, "an equilibrium exists", "rest")
    return verdict, [tree["rule"] for tree in trees]


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", MOVING)
def test_kinks_that_move_proximally(name: str) -> None:
    assert rest_of(text_of(MOVING[name])) == ("proved", ["proximal"])


@pytest.mark.abridged(every=9)
@pytest.mark.parametrize("name", STAYING)
def test_no_tree_shows_rest_where_a_kink_stays_in_the_force(name: str) -> None:
    more, kink = STAYING[name]
    text = text_of(kink, more)
    made = Forger(text)
    trees = [tree for tree in made.rests() if tree["rule"] == "proximal"]
    assert trees
    assert [tree for tree in trees if answer(made.root(tree), text).verdict == "yes"] == []
    assert "proximal" not in rest_of(text)[1]


# ---------------------------------------------------------------- one equilibrium beside kinks


@pytest.mark.abridged
@pytest.mark.parametrize("name", MOVING)
def test_one_equilibrium_beside_kinks(name: str) -> None:
    """m is 1 by the squares of FIT, whatever the kinks are."""
    verdicts, (tree,) = claimed(text_of(MOVING[name]), "there is only one equilibrium", "unique")
    assert verdicts == ["proved"]
    (curved,) = tree["premises"]
    assert tree["statement"]["steps"] == curved["statement"]["steps"] == "proximal"
    assert curved["statement"]["m"] == "1"


def curves(made: Forger, m: str, most: str | None = None) -> list[Json]:
    """Bounds of the curvature beside each choice of kinks among the parts."""
    steps, curved = dict.fromkeys(made.states, "1"), list[Json]()
    for some in range(2 ** len(made.parts)):
        kinks = [part for k, part in enumerate(made.parts) if some >> k & 1]
        for squares in ([], ["sum[n,d](w.z[n,d]^2)"]):
            one = form(steps, m, most, squares)
            one["statement"]["steps"] = "proximal"
            curved.append({**one, "facts": {"squares": squares, "kinks": kinks}})
    return curved


#: Forces that do not pull all states together, though kinks in them move proximally, or would if they could.
LOOSE = {
    "two wells": "state z[N,D]\nenergy e = sum[n,d](z[n,d]^4 - z[n,d]^2)\nenergy kink = sum[n,d](abs(z[n,d]))",
    "kinks alone": "state z[N,D]\nenergy kink = sum[n,d](abs(z[n,d]))",
    "a square that falls in the same part": "state z[N,D]\nenergy kink = sum[n,d](abs(z[n,d]) + (-1)*z[n,d]^2)",
    "another state": "state z[N,D], y\nenergy e = sum[n,d](z[n,d]^2)\nenergy kink = abs(y)",
    "a force": "state z[N,D]\nenergy e = sum[n,d](z[n,d]^2 + abs(z[n,d]))\nforce f on z[n,d] = 3*tanh(z[n,d])",
    "a param before a square": "param b = 1\nstate z[N,D]\nenergy e = b*sum[n,d](z[n,d]^2) + sum[n,d](abs(z[n,d]))",
}  # fmt: skip


@pytest.mark.abridged(every=12)
@pytest.mark.parametrize("name", [*LOOSE, *STAYING])
def test_no_tree_shows_one_equilibrium_where_kinks_stay_or_the_rest_is_loose(name: str) -> None:
    text = spec_of(LOOSE[name] + "\n") if name in LOOSE else text_of(STAYING[name][1], STAYING[name][0])
    made = Forger(text)
    trees = [make(one) for one in curves(made, "1e-9") for make in (unique, rest)]
    trees += [converges(one, "999999/1000000") for one in curves(made, "1e-9", "1000")]
    assert trees
    assert [tree for tree in trees if answer(made.root(tree), text).verdict == "yes"] == []
    assert claimed(text, "there is only one equilibrium", "unique")[1] == []


def test_bounds_beside_kinks_are_those_of_the_rest() -> None:
    """Second derivatives of 1 and 4 beside kinks: steps of 2/5 are at best as fast as max(1 - 2/5, 8/5 - 1)."""
    body = "energy e = sum[n,d](z[n,d]^2/2 + 2*abs(z[n,d])) + 2*y^2 + relu(y)\n"
    text = spec_of(f"state z[N,D], y\n{body}")
    made = Forger(text)

    def accepted(m: str, most: str, rate: str) -> bool:
        found = curves(made, m, most)
        for one in found:
            one["statement"]["lengths"] = dict.fromkeys(made.states, "2/5")
        return any(answer(made.root(converges(one, rate)), text).verdict == "yes" for one in found)

    assert accepted("2/5", "8/5", "3/5")
    for m, most, rate in (("401/1000", "8/5", "3/5"), ("2/5", "159/100", "3/5"), ("2/5", "8/5", "599/1000")):
        assert not accepted(m, most, rate)
