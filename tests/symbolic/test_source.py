"""The file of formulas: it runs with SymPy alone, is clean, and means what the interpreter computes."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import energyc
from energyc import UserError
from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.pipeline import read, resolve
from energyc.resources import resource
from energyc.studies.symbolic.formulas import Formulas
from energyc.studies.symbolic.quantities import SECTIONS
from energyc.studies.symbolic.source import source
from tests.cli.run import energyc as run
from tests.cli.run import written
from tests.symbolic.judge import Judge
from tests.symbolic.reading import Reader
from tests.symbolic.small import MODELS, ROOT, SPECS, path, small

QUICK = ("hopfield", "modern_hopfield", "deq", "tel", "cem_literal", "edges")

#: Names that mean something to Python, to SymPy, to the file, or nothing good.
NASTY = """
network class_
dim E = 2, lambda = 3, Sum = 2
const pi = 1/3, S = -1
clamp Symbol[E] : Sum
param Integer[lambda] ~ normal(1), l[E] ~ normal(1), __import__ ~ normal(1)
fn phi'(u) = S * tanh(u)
state terms[E], import[lambda]
let definitions[e] = frozen(terms[e]) * pi + detach(terms[e]^2)
energy print = sum[i in E](phi(terms[i]) * l[i]) + 1/2 * sum[j](import[j]^2 * Integer[j])
             + sum[e](definitions[e] * terms[e])
energy eval = __import__ * sum[i in E | Symbol[i] == 1](terms[i]^2) + mean[batch](terms[0]) * terms[1]^2
"""


def executed(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "formulas"}
    exec(compile(text, "formulas.py", "exec"), names)
    return names


def case(name: str) -> Any:
    return pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("name", [case(name) for name in (*SPECS, *MODELS)])
def test_the_formulas_of_a_file_are_those_of_the_interpreter(name: str) -> None:
    network = small(name)
    formulas = Formulas(network)
    check(network, formulas, executed(source(formulas)), "")


def check(network: Network, formulas: Formulas, names: dict[str, Any], prefix: str) -> None:
    judge = Judge(network)
    tensors = {formulas._symbols.input(node): node for node in judge.inputs}
    labels = {getattr(tensor, "label", tensor).name: judge.values[key(node)] for tensor, node in tensors.items()}
    reader = Reader({**network.extents, **network.values}, labels)
    reader.define(names.get(f"{prefix}definitions", {}), network.extents)
    inputs = {key(n): judge.values[key(n)][None] if n.batched else judge.values[key(n)] for n in judge.inputs}
    for section in SECTIONS:
        for entry, side in formulas._quantities.section(section).items():
            (array,) = evaluate([side.node], inputs, sizes=network.extents, values=network.values)
            array = array[0] if side.node.batched else array
            found = reader.tensor(names[prefix + section][entry], formulas.indices[section][entry], list(array.shape))
            assert np.allclose(found.astype(float), array, rtol=1e-8, atol=1e-8), f"{section} {entry}"
    for name, layer in network.layers.items():
        check(layer.network, formulas.layers[name], names, f"{prefix}{name}_")


def test_a_file_needs_sympy_alone_and_is_clean(tmp_path: Path) -> None:
    for name in ("hopfield", "thick", "et_graph"):
        text = source(Formulas(resolve(read(path(name)))))
        (tmp_path / f"{name}.py").write_text(text)
        assert max(map(len, text.splitlines())) <= 100
        roots = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert {getattr(node, "module", None) for node in roots} == {"sympy"}
    done = subprocess.run([sys.executable, "hopfield.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lint(tmp_path)


def lint(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--config",
        str(ROOT / "pyproject.toml"),
        "--no-cache",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_names_of_a_spec_are_no_code(tmp_path: Path) -> None:
    formulas = Formulas(resolve(read(NASTY)))
    text = source(formulas)
    (tmp_path / "nasty.py").write_text(text)
    lint(tmp_path)
    names = executed(text)
    assert set(names["terms"]) == {"print", "eval"}
    assert {str(symbol) for symbol in names["terms"]["eval"].free_symbols} >= {"__import__", "Symbol", "E"}
    force = names["forces"]["import"]
    assert str(force) == "-Integer[j]*import[j]"


# ------------------------------------------------------------------ export --to sympy and net.to_sympy()

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
