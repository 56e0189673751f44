"""Claims under settings from outside: what is proved of a spec as written is not, where other settings make it false.

Each spec is judged as written, where the claim is proved, so that the attack is one; then with settings, consts and
sizes from outside, of a preset, in a layer with settings of its own, in families and in copies, where it is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from energyc.checker.judge import judge
from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Classes
from energyc.proofs.verdicts.in_notation import classes_of
from tests.analysis.placed import in_copies, in_families, in_layer
from tests.cli.run import energyc as command

CONTRACTION, REST, FLOOR = "contraction", "an equilibrium exists", "bounded below"
UNIQUE, CONVERGES, POSITIVE = "there is only one equilibrium", "it converges", "positive semidefinite"
GRADIENT = "energy g = 1/2*sum[d](z[d]^2)\nflow z[d] = -grad(g, z[d])\n"
LASSO = "state z[D]\nenergy fit = 1/2*sum[d]((z[d] - x[d])^2)\nenergy sparse = sum[d](abs(z[d]))\n"
PRODUCTS = "state z[D]\nenergy e = 1/2*sum[d](z[d]^2) - 1/2*sum[d,k in D](z[d]*W[d,k]*z[k])\n"
METRIC = "energy e = sum[d](log(1 + exp(g[d] - x[d])))\nflow z[d] = -grad(e, g[d])\n"
#: A spec, the claims that are proved of it as written, and settings under which each of them is false.
ATTACKS: dict[str, tuple[str, tuple[str, ...], dict[str, object]]] = {
    # the length of a step
    "a contraction by a longer step": (
        f"state z[D]\n{GRADIENT}relax {{ step = 1 }}",
        (CONTRACTION,),
        {"relax.step": 2},
    ),
    "a contraction by a step of the state's own": (
        f"state z[D]\n{GRADIENT}relax {{ step = 1 }}",
        (CONTRACTION,),
        {"relax.step.z": "5/2"},
    ),
    "a contraction by a step that is chosen anew": (
        f"state z[D]\n{GRADIENT}relax {{ step = 1 }}",
        (CONTRACTION, CONVERGES),
        {"relax.step": "auto"},
    ),
    "a contraction without damping": (
        "state z[D]\nnext z[d] = -3/2*z[d] + x[d]\nrelax { step.z = 1/2 }",
        (CONTRACTION, CONVERGES),
        {"relax.step.z": 1},
    ),
    "convergence by a longer step": (
        "state z[D]\nenergy e = 2*sum[d](z[d]^2)\nrelax { step = 1/4 }",
        (CONVERGES,),
        {"relax.step": "1/2"},
    ),
    "convergence under a solver": (
        "state z[D]\nenergy e = 2*sum[d](z[d]^2)\nrelax { step = 1/4 }",
        (CONVERGES,),
        {"relax.solver": "anderson"},
    ),
    "a least energy on a sphere under a long step": (
        "state z[D] in sphere[D]\nstart z[d] = 1\nenergy e = sum[d](z[d]^2)\nrelax { step = 1/100 }",
        (REST,),
        {"relax.step": 1},
    ),
    "a least energy on a sphere of a larger dim": (
        "state z[D] in sphere[D]\nstart z[d] = 1\nenergy e = 1/100 * sum[d,f in D](z[d]^2)\nrelax { step = 1/4 }",
        (REST,),
        {"D": 400},
    ),
    # proximal steps
    "rest on kinks by plain steps": (LASSO, (REST, UNIQUE), {"relax.proximal": "off"}),
    "convergence on kinks by plain steps": (f"{LASSO}relax {{ step = 1/2 }}", (CONVERGES,), {"relax.proximal": "off"}),
    "convergence on kinks by long steps": (f"{LASSO}relax {{ step = 1/2 }}", (CONVERGES,), {"relax.step": 2}),
    # consts
    "a contraction by a const": (
        "const c = 1/2\nstate z[D]\nnext z[d] = tanh(c*z[d] + x[d])",
        (CONTRACTION, UNIQUE),
        {"c": 3},
    ),
    "a floor by a const": ("const c = 1\nstate z[D]\nenergy e = sum[d](c*z[d]^4 - z[d]^2)", (FLOOR, REST), {"c": -1}),
    "a floor by a power": ("const power = 4\nstate z[D]\nenergy e = sum[d](z[d]^power)", (FLOOR, REST), {"power": 3}),
    "a floor by a const that is 0": (
        "const c = 1\nstate z[D]\nenergy e = sum[d](c*z[d]^2 - x[d]*z[d])",
        (FLOOR, REST, UNIQUE),
        {"c": 0},
    ),
    "a floor off a pole": (
        "const c = 1\nstate z[D] in [0, 1]\nenergy e = sum[d](log(z[d] + c))",
        (FLOOR, REST),
        {"c": 0},
    ),
    "a floor where a condition holds": (
        "const c = 0\nstate z[D]\nenergy e = sum[d](where(exp(z[d]) > 1, z[d], c*z[d]))",
        (FLOOR,),
        {"c": 1},
    ),
    "a floor by a box": (
        "const c = 1\nparam w = 1 in [c, 2]\nstate z[D]\nenergy e = w*sum[d](z[d]^2)",
        (FLOOR, REST, UNIQUE),
        {"c": -1},
    ),
    "a state in a box": ("const c = 1\nstate z[D] in [c, 2]\nenergy e = sum[d](log(z[d]))", (FLOOR, REST), {"c": 0}),
    "a norm by a const": (
        f"const c = 1/2\nparam W[D, D] ~ normal(0.1) in norm[c]\n{PRODUCTS}relax {{ step = 1/2 }}",
        (FLOOR, UNIQUE, CONVERGES),
        {"c": 2},
    ),
    "a metric by a const": (
        f"const c = 1\nstate z[D]\nlet g[d] = c*layernorm[d](z[d])\n{METRIC}",
        (POSITIVE,),
        {"c": -1},
    ),
    "a normaliser by its epsilon": (
        "const c = 1\nstate z[D]\nlet g[d] = rmsnorm[d](z[d], eps = c)\n"
        "energy e = 1/2*sum[d](z[d]^2) - sum[d](x[d]*g[d])",
        (FLOOR, REST),
        {"c": -1},
    ),
    # sizes
    "a box at a larger size": (
        f"param W[D, D] ~ normal(0.01) in symmetric and [-1/10, 1/10]\n{PRODUCTS}relax {{ step = 1/2 }}",
        (UNIQUE, CONVERGES),
        {"D": 40},
    ),
    "the size of a sum": (
        "state z[D]\nforce f on z[d] = 1/10*sum[k in D](z[k]) - z[d]\nrelax { step = 1/2 }",
        (UNIQUE, CONVERGES),
        {"D": 20},
    ),
}  # fmt: skip


def text_of(body: str) -> str:
    return f"network n\ndim D = 3, N = 4\nclamp x[D]\n{body}\nreadout r = sum[d](x[d])\n"


def judged(text: str, choices: Choices) -> Classes:
    return classes_of(resolve(Source("spec.energy", text), choices))


def verdicts(classes: Classes, claim: str) -> set[str]:
    return {one.verdict for one in classes.claims if one.claim == claim}


def holds_nothing_false(classes: Classes, claims: tuple[str, ...], text: str) -> None:
    """None of the claims is proved, none is called a bug, and the checker agrees with what is."""
    for claim in claims:
        assert "proved" not in verdicts(classes, claim), claim
    assert not [one for one in classes.claims if "a bug in energyc" in one.evidence]
    assert {each.verdict for each in judge(classes.certificates, text)} <= {"yes"}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_proved_as_written(name: str) -> None:
    body, claims, _ = ATTACKS[name]
    classes = judged(text_of(body), Choices())
    assert {claim: verdicts(classes, claim) for claim in claims} == {claim: {"proved"} for claim in claims}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", ATTACKS)
def test_is_not_under_settings_from_outside(name: str) -> None:
    body, claims, settings = ATTACKS[name]
    holds_nothing_false(judged(text_of(body), Choices(overrides=settings)), claims, text_of(body))


def preset_of(settings: Mapping[str, object]) -> str:
    return "preset other { " + ", ".join(f"{key} = {value}" for key, value in settings.items()) + " }\n"


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_under_a_preset(name: str) -> None:
    body, claims, settings = ATTACKS[name]
    text = text_of(body) + preset_of(settings)
    holds_nothing_false(judged(text, Choices(preset="other")), claims, text)


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("place", ["a layer", "a repeat"])
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_in_a_layer_by_settings_of_its_own(name: str, place: str) -> None:
    body, claims, settings = ATTACKS[name]
    text = text_of(in_layer(body, repeated=place == "a repeat"))
    own = {re.sub(r"^relax", "inner.relax", key): value for key, value in settings.items()}
    holds_nothing_false(judged(text, Choices(overrides=own)), claims, text)


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize("place", [in_families, in_copies])
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_in_families_and_copies(name: str, place: Callable[[str], str]) -> None:
    body, claims, settings = ATTACKS[name]
    text = text_of(place(body))
    holds_nothing_false(judged(text, Choices(overrides=settings)), claims, text)


def test_the_command_and_load_take_them_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "c.energy"
    spec.write_text(text_of(f"state z[D]\n{GRADIENT}relax {{ step = 1 }}\ncost c = sum[d](z[d]^2)"))
    for settings, expected in (([], "proved"), (["--set", "relax.step=5/2"], "refuted")):
        done = command(capfd, "check", spec, "--format", "json", *settings)
        assert done.status == 0, done.err
        found = [one["verdict"] for one in json.loads(done.out)["claims"] if one["claim"] == CONTRACTION]
        assert found == [expected]


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_does_a_file_say_so_of_another_spec(name: str) -> None:
    """The certificates of a spec as written, with the consts of the settings, or the other way round."""
    body, claims, settings = ATTACKS[name]
    text, consts = text_of(body), {k: str(v) for k, v in settings.items() if k.islower() and "." not in k}
    file = judged(text, Choices()).certificates
    about = [entry for entry in file["claims"] if entry["claim"].rpartition(": ")[2] in claims]
    if consts:
        answers = judge({**file, "claims": about, "certificates": [], "consts": consts}, text)
        assert "yes" not in {each.verdict for each in answers}, answers
