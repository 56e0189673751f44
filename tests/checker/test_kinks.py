"""Proximal rest: each convex kink of docs/language.md, and kinks that steps leave in the gradient."""

from __future__ import annotations

import pytest

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.verdicts.in_notation import classes_of
from tests.checker.forged import Forger
from tests.checker.proofs import answer
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


def rest_of(text: str) -> tuple[str, list[str]]:
    classes = classes_of(resolve(Source("spec.energy", text), Choices()))
    (claim,) = [one for one in classes.claims if one.claim == "an equilibrium exists"]
    return claim.verdict, [one["rule"] for one in classes.certificates["claims"] if one["statement"]["kind"] == "rest"]


@pytest.mark.parametrize("name", MOVING)
def test_kinks_that_move_proximally(name: str) -> None:
    assert rest_of(text_of(MOVING[name])) == ("proved", ["proximal"])


@pytest.mark.parametrize("name", STAYING)
def test_no_tree_shows_rest_where_a_kink_stays_in_the_force(name: str) -> None:
    more, kink = STAYING[name]
    text = text_of(kink, more)
    made = Forger(text)
    trees = [tree for tree in made.rests() if tree["rule"] == "proximal"]
    assert trees
    assert [tree for tree in trees if answer(made.root(tree), text).verdict == "yes"] == []
    assert "proximal" not in rest_of(text)[1]
