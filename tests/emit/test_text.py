"""The generated text: it imports torch alone, lints clean, and is the same bytes in every process."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from energyc import pipeline
from energyc.code.module.context import Options
from energyc.code.targets.torch.module import torch_module
from tests.emit.judge import RULES, resolved
from tests.emit.random_specs import random_spec
from tests.quick import few

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.energy"))
ALLOWED = {
    "__future__",
    "inspect",
    "textwrap",
    "contextlib",
    "itertools",
    "math",
    "cmath",
    "collections.abc",
    "typing",
    "warnings",
}


@cache
def text_of(path: Path) -> str:
    """The module of a spec with all of its rules."""
    network = resolved(path)
    return pipeline.emit(network, pipeline.ALL).text


QUICK = ("hopfield", "cet", "thick", "deq", "edges")


def random_text(seed: int) -> str:
    options = Options(rules=RULES, label="spec", version="test")
    return torch_module(options.plan(resolved(random_spec(seed))), options).text


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    "path",
    few(SPECS, lambda path: path.stem in QUICK),
    ids=lambda path: path.stem,
)
def test_it_imports_torch_and_the_runtime(path: Path) -> None:
    for node in ast.walk(ast.parse(text_of(path))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        assert all(name in ALLOWED or name == "energyc" or name.split(".")[0] == "torch" for name in names), names


@pytest.mark.slow
def test_modules_with_every_rule_lint_clean(tmp_path: Path) -> None:
    for path in SPECS:
        (tmp_path / f"{path.stem}_torch.py").write_text(text_of(path))
    assert lint(tmp_path, "RUF012,B905,E741") == ""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpp", "triton"])
def test_modules_with_kernels_lack_no_name(target: str, tmp_path: Path) -> None:
    for name in ("hopfield", "cem"):
        text = pipeline.emit(resolved(ROOT / "specs" / f"{name}.energy"), pipeline.ALL, target=target).text
        (tmp_path / f"{name}_{target}.py").write_text(text)
    assert lint(tmp_path, "E501", "--select=F") == ""


@pytest.mark.slow
def test_modules_of_random_specs_have_no_name_too_many_or_too_few(tmp_path: Path) -> None:
    for seed in (1, 2, 3, 5, 8, 13):
        (tmp_path / f"random_{seed}.py").write_text(random_text(seed))
    assert lint(tmp_path, "RUF012,B905,E501,SIM300,E741") == ""


def lint(folder: Path, ignored: str, *options: str) -> str:
    """The complaints of ruff on a folder, under the project's rules."""
    command = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    command += ["--ignore", ignored, "--output-format", "concise", *options, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout


SCRIPT = """
from tests.emit.test_text import digests
print(digests())
"""


def digests() -> dict[str, str]:
    """A digest of the module of each spec, and of some random ones."""
    texts = {path.stem: text_of(path) for path in SPECS} | {f"random {seed}": random_text(seed) for seed in (1, 2, 3)}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


@pytest.mark.slow
def test_the_same_bytes_in_two_processes() -> None:
    """Hashes of strings, and so the orders of sets, differ from this process."""
    environment = {**os.environ, "PYTHONHASHSEED": str(1 + hash("this process") % 1000), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, env=environment, cwd=ROOT)
    assert ast.literal_eval(done.stdout.decode()) == digests()


def test_kernels_that_there_are_not_are_an_answer() -> None:
    chosen = pipeline.Choices(None, {"relax.solver": "newton"})
    network = pipeline.resolve(pipeline.read("specs/hopfield.energy"), chosen)
    assert pipeline.kernels(network) == "no kernels: its solver is newton\n"
