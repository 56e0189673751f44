"""``energyc export --to sympy`` and ``net.to_sympy()``: what they give, and how they show it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import sympy

import energyc
from energyc import UserError
from energyc.resources import resource
from tests.cli.run import energyc as run
from tests.cli.run import written

MODERN = resource("specs", "modern_hopfield.energy")


@pytest.fixture(scope="module")
def net() -> Any:
    return energyc.load(MODERN, dims={"D": 3, "M": 2})


def test_a_network_gives_its_formulas(net: Any) -> None:
    formulas = net.to_sympy()
    assert set(formulas.terms) == {"confine", "memory"} and set(formulas.vjp) == {"z", "X"}
    z, (d,) = formulas.symbols["z"], formulas.indices["forces"]["z"]
    found = formulas.cost_slopes["z"] - 2 * (z[d] - formulas.symbols["stored"][d]) / formulas.symbols["D"]
    assert sympy.expand(found) == 0
    assert "F_z[d] = -z[d] + Sum(X[m, d]*weights1[m], (m, 0, M - 1))" in repr(formulas)
    assert formulas._repr_latex_().startswith("$$\\begin{aligned}\nconfine &= ")


def test_inlined_formulas_can_be_differentiated(net: Any) -> None:
    whole = net.to_sympy().inlined
    assert whole.definitions == {}
    k = sympy.Symbol("k", integer=True)
    slope = whole.terms["confine"].diff(whole.symbols["z"][k]).subs(whole.symbols["D"], 3)
    assert str(slope.subs(k, 1).doit()) == "z[1]"


def test_sizes_write_it_out(net: Any) -> None:
    small = net.to_sympy({"D": 2})
    assert small.sizes == {"D": 2, "M": 2}
    assert small.forces["z"].shape == (2, 1) and small.updates["X"].shape == (2, 2)
    energy = sum(small.terms.values())
    for z, force in zip(small.entries["z"], small.forces["z"], strict=True):
        assert sympy.simplify(energy.diff(z) + force) == 0
    assert "D = 2, M = 2" in repr(small)


def test_values_take_the_place_of_inputs(net: Any) -> None:
    formulas = net.to_sympy()
    given = formulas.at({"D": 2, "M": 1}, {"X": [[1, 0]]})
    assert not given.forces["z"].has(*formulas.at({"D": 2, "M": 1}).entries["X"])
    for wrong in ({"X": [1, 0]}, {"Y": 1}):
        with pytest.raises(UserError) as caught:
            formulas.at({"D": 2, "M": 1}, wrong)
        assert caught.value.code == "E0971"


def test_a_layer_has_formulas_of_its_own() -> None:
    formulas = energyc.load(resource("specs", "et_graph.energy"), dims={"L": 1, "T": 1, "D": 2}).to_sympy()
    block = formulas.layers["block"]
    assert formulas.terms == {} and set(formulas.streams) == {"start stream", "next stream"}
    assert set(block.terms) == {"att", "mem", "x"}
    assert "layer block" in repr(formulas)
    assert block.at({"M": 1, "F": 1, "D": 2, "H": 1, "Y": 1, "K": 1, "E": 1, "R": 1}).forces["x"].shape == (2, 2)


def test_what_cannot_be_given(net: Any) -> None:
    with pytest.raises(UserError, match="does not know the spec"):
        pickle.loads(pickle.dumps(net)).to_sympy()
    with pytest.raises(UserError, match="products when written out") as caught:
        assert net.to_sympy({"D": 500, "M": 500}).forces
    assert caught.value.code == "E0971"
    with pytest.raises(energyc.SpecError):
        net.to_sympy({"D": 0})


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, out = written(tmp_path), tmp_path / "deep" / "formulas.py"
    done = run(capfd, "export", path, "--to", "sympy", "-o", out)
    assert (done.status, done.out.strip()) == (0, str(out))
    text = out.read_text()
    assert '"s": ' in text and "from sympy import" in text
    shown = run(capfd, "export", path, "--to", "sympy", "--format", "json").json
    assert shown["python"] == text and shown["to"] == "sympy" and shown["network"] == "small"
    assert run(capfd, "export", path, "--to", "sympy", "--check").status == 2


@pytest.mark.slow
def test_a_run_is_exported_like_its_spec(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, folder = written(tmp_path), tmp_path / "run"
    assert run(capfd, "train", path, "--steps", 1, "--out", folder).status == 0
    texts = [run(capfd, "export", where, "--to", "sympy").out for where in (path, folder)]
    assert texts[0] == texts[1]
