"""The file of formulas: it runs with SymPy alone, is clean, and means what the interpreter computes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.pipeline import read, resolve
from energyc.studies.symbolic.formulas import Formulas
from energyc.studies.symbolic.quantities import SECTIONS
from energyc.studies.symbolic.source import source
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
