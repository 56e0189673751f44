"""The compiler's output for each shipped spec, and for those beside it; ``--update-golden`` rewrites it.

A golden counts only if it also works: it imports, lints clean, and its force is the slope of its energy.
"""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
import torch

from energyc import pipeline
from energyc.language.diagnostics import Source
from energyc.resources import folder
from energyc.studies.verify import random_probe
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.check_report import render_check
from energyc.surfaces.report.show import show

HERE = Path(__file__).resolve().parent
#: The shipped specs, and small ones for what none of them uses.
PATHS = {path.stem: path for place in (folder("specs"), HERE) for path in place.glob("*.energy")}
SPECS = sorted(PATHS)


def _source(name: str) -> Source:
    return Source(f"specs/{name}.energy", PATHS[name].read_text())


def _kernels(source: Source, target: str) -> str:
    """The definitions of a module with kernels that the torch module does not have."""
    known = {text for _, text in _definitions(show(source, "torch"))}
    own = [(where, text) for where, text in _definitions(show(source, target)) if text not in known]
    heads = [f"# in {where}\n" if where else "" for where, _ in own]
    return "\n\n\n".join(head + text for head, (_, text) in zip(heads, own, strict=True)) + "\n"


def _definitions(text: str) -> list[tuple[str, str]]:
    """The functions and constants of a module, and the members of its classes, each with the class that it is in."""
    tree, lines = ast.parse(text), text.split("\n")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    inside = [(c.name, _source_of(lines, node)) for c in classes for node in c.body]
    others = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign)]
    return inside + [("", _source_of(lines, node)) for node in others]


def _source_of(lines: Sequence[str], node: ast.stmt) -> str:
    return "\n".join(lines[_first_line(node) - 1 : node.end_lineno])


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


ARTEFACTS: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {
        "check.txt": lambda source: render_check(check_source(source), verbose=True),
        "forces.txt": lambda source: show(source, "forces"),
    }
)
#: The specs whose modules are kept: gradients, convolutions, forces, layers, and two that were made for what is rare.
WITH_TORCH = ("blocks", "cet", "et_graph", "hopfield", "sets", "thick")
TORCH: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {"torch.py": lambda source: show(source, "torch")}
)
#: Of these specs what modules with kernels have beside that. All six in all formats have some 12,000 lines: those of
#: blocks and et_graph in C++, and of all but the shortest two in Triton, are left out.
WITH_CPP = ("cet", "hopfield", "sets", "thick")
CPP: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {"cpp.py": lambda source: _kernels(source, "cpp")}
)
WITH_TRITON = ("hopfield", "sets")
TRITON: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {"triton.py": lambda source: _kernels(source, "triton")}
)
#: Of these specs the module in JAX.
WITH_JAX = WITH_TORCH
JAX: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType({"jax.py": lambda source: show(source, "jax")})
MAKERS = {**ARTEFACTS, **TORCH, **CPP, **TRITON, **JAX}
SETS = ((SPECS, ARTEFACTS), (WITH_TORCH, TORCH), (WITH_CPP, CPP), (WITH_TRITON, TRITON), (WITH_JAX, JAX))
#: The most lines of all goldens: more is not read.
MOST_LINES = 6_500
CASES = [(name, made) for names, makers in SETS for name in names for made in makers]


@pytest.mark.parametrize(("name", "artefact"), CASES)
def test_the_golden_is_what_is_made(name: str, artefact: str, update_golden: bool) -> None:
    path = HERE / name / artefact
    made = MAKERS[artefact](_source(name))
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made)
    assert path.exists(), f"make golden writes {path.name}"
    assert made == path.read_text(), f"{path.relative_to(HERE)} is stale: make golden, and read the difference"


def test_no_golden_is_left_over() -> None:
    kept = [path for path in HERE.glob("*/*") if "__pycache__" not in path.parts]
    assert {(path.parent.name, path.name) for path in kept} == set(CASES)
    assert sum(len(path.read_text().splitlines()) for path in kept) <= MOST_LINES


def test_generated_code_lints_clean(tmp_path: Path) -> None:
    rules = "E,F,W,I,UP,B,C4,SIM,RUF,D1"
    ignored = "RUF001,RUF002,RUF003,RUF012,B905,D105,D107,E741"  # E741: a size is called as the spec calls it, I too
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--target-version", "py311"]
    files = [str(path) for path in sorted(HERE.glob("*/torch.py"))]
    cases = {"cpp": WITH_CPP, "triton": (*WITH_TRITON, "cet", "thick"), "jax": WITH_JAX}
    written = [(name, target) for target, names in cases.items() for name in names]
    written += [(name, "torch") for name in SPECS if name not in WITH_TORCH]
    for name, target in written:
        path = tmp_path / f"{name}_{target}.py"
        path.write_text(show(_source(name), target))
        files.append(str(path))
    command += ["--select", rules, "--ignore", ignored, "--per-file-ignores", "*_jax.py:D101"]  # fields have shapes
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"golden_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _network(name: str) -> Any:
    """The golden's class where it is kept and small, else that of a module at the sizes of the preset ``verify``."""
    source = _source(name)
    is_small = "preset verify" not in source.text
    made = pipeline.emit(pipeline.resolve(source, pipeline.Choices(None if is_small else "verify")))
    if is_small and name in WITH_TORCH:
        return getattr(_module(HERE / name / "torch.py"), made.class_name)(dtype=torch.float64, seed=1)
    return pipeline.instantiate(made, "cpu", torch.float64, 1)


@pytest.mark.parametrize("name", SPECS)
def test_the_force_is_the_slope_of_the_energy(name: str) -> None:
    network = pipeline.resolve(_source(name))
    if network.layers:
        pytest.skip("only its layers have energies: tests/layers holds them to a transcription")
    if network.forces:
        pytest.skip("some force is written as such: tests/specs holds it to a transcription")
    net = _network(name)
    probe = random_probe(net, batch=2, seed=3)
    random = torch.Generator().manual_seed(5)
    draw = lambda shape: torch.randn((2, *shape), generator=random, dtype=torch.float64)  # noqa: E731
    states = {state: draw(shape) for state, shape in net.state_shapes.items()}
    way = {state: draw(shape) for state, shape in net.state_shapes.items()}
    force = net.force(states, probe.clamps)
    work = sum((force[state] * way[state]).flatten(1).sum(1) for state in states)
    h = 1e-6
    moved = [net.energy({s: z + sign * h * way[s] for s, z in states.items()}, probe.clamps) for sign in (1, -1)]
    torch.testing.assert_close((moved[0] - moved[1]) / (2 * h), -work, rtol=1e-6, atol=1e-6)
