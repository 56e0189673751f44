"""``energyc.jax`` by itself: what it imports, and its contract with generated modules."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from energyc import pipeline
from energyc.runtime import CONTRACT
from tests.architecture.imports import WINGS

pytest.importorskip("jax")

TEXT = """
network small
dim I = 3, J = 4
clamp x[I]
target t[J]
param W[I, J] ~ normal(1/2)
state s[J] in [0, 1]
energy own = 1/2 * sum[j](s[j]^2) - sum[i,j](x[i] * W[i,j] * s[j])
readout out[j] = s[j]
cost c = 1/2 * sum[j]((s[j] - t[j])^2)
relax { step = 1/2, steps = 30 }
nudge { steps = 8 }
train { rule = centered-ep }
"""
#: Blocks imports of modules and packages, then runs a statement.
BLOCKED = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in {blocked!r} or name.startswith(tuple(n + "." for n in {blocked!r})):
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Refused())
{statement}
"""


def run(blocked: list[str], statement: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    text = BLOCKED.format(blocked=set(blocked), statement=statement)
    return subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True)


def module_of(text: str) -> Any:
    made = pipeline.emit(pipeline.resolve(pipeline.read(text)), target="jax")
    loaded = pipeline.instantiate(made, "cpu", "float32", 0)
    return sys.modules[type(loaded).__module__]


def test_it_imports_jax_and_numpy_alone(tmp_path: Path) -> None:
    others = "torch lark sympy jinja2 pydantic scipy.optimize sklearn matplotlib rich click".split()
    blocked = [*others, *(f"energyc.{wing}" for wing in WINGS), "energyc.pipeline", "energyc.checker"]
    done = run(blocked, "from energyc import jax as ej; print(ej.CONTRACT)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(blocked, "import energyc.pipeline", tmp_path).returncode != 0


def test_a_module_of_another_contract_says_what_to_do() -> None:
    from energyc import jax as ej

    with pytest.raises(ImportError, match=r"contract 0 of energyc.jax.*energyc compile SPEC --target jax"):
        ej.require_contract(0)


def test_generated_modules_ask_for_the_contract_of_the_package() -> None:
    """Modules are written with the number of ``energyc.runtime``, which can be read without JAX."""
    from energyc import jax as ej

    assert ej.CONTRACT == CONTRACT


def test_public_functions_have_their_docstrings() -> None:
    module = module_of(TEXT)
    assert "Laborieux" in module.centered_ep.__doc__
    assert module.relax.__doc__ and module.step.__doc__ and module.answer.__doc__


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.slow
def test_a_generated_module_has_types(tmp_path: Path) -> None:
    for name in ("hopfield", "thick"):
        made = pipeline.emit(pipeline.resolve(pipeline.read(name)), target="jax")
        (tmp_path / f"{name}_jax.py").write_text(made.text)
        command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=", f"{name}_jax.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
