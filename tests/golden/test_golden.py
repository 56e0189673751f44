"""The compiler's output for each shipped spec, and for those beside it; ``--update-golden`` rewrites it.

A golden counts only if it also works: it imports, lints clean, and its force is the slope of its energy.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
import torch

from energyc import pipeline
from energyc.code.targets.jax import parts
from energyc.language.diagnostics import Source
from energyc.resources import folder
from energyc.studies.verify import random_probe
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.check_text import render_check
from energyc.surfaces.report.show import show

HERE = Path(__file__).resolve().parent
#: The shipped specs, and small ones for what none of them uses.
PATHS = {path.stem: path for place in (folder("specs"), HERE) for path in place.glob("*.energy")}
SPECS = sorted(PATHS)


def _source(name: str) -> Source:
    return Source(f"specs/{name}.energy", PATHS[name].read_text())


def _triton(source: Source) -> str:
    """The definitions of the Triton module that the torch module does not have: kernels, and how they are launched."""
    known = {text for _, text in _definitions(show(source, "torch"))}
    own = [(where, text) for where, text in _definitions(show(source, "triton")) if text not in known]
    heads = [f"# in {where}\n" if where else "" for where, _ in own]
    return "\n\n\n".join(head + text for head, (_, text) in zip(heads, own, strict=True)) + "\n"


def _jax(source: Source) -> str:
    """The network's own part of the module in JAX, and the names of the parts that it carries as people wrote them."""
    known = {part for path in Path(*parts.__path__).glob("*.py") for _, part in _top_level(path.read_text())}
    text = show(source, "jax")
    lines, carried = text.split("\n"), list[str]()
    for node, definition in reversed(_top_level(text)):
        if definition in known:
            carried.insert(0, node.name)
            del lines[_first_line(node) - 1 : node.end_lineno]
    own = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines))
    return own + "\n\n" + textwrap.indent(textwrap.fill(f"Carried: {', '.join(carried)}.", 118), "# ") + "\n"


def _top_level(text: str) -> list[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    """The functions and classes of a file, each with its source."""
    tree, lines = ast.parse(text), text.split("\n")
    return [(n, _source_of(lines, n)) for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]


def _definitions(text: str) -> list[tuple[str, str]]:
    """The functions and classes of a module, and the members of its classes, each with the class that it is in."""
    tree, lines = ast.parse(text), text.split("\n")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    inside = [(c.name, _source_of(lines, node)) for c in classes for node in c.body]
    return [("", _source_of(lines, node)) for node in tree.body if isinstance(node, ast.FunctionDef)] + inside


def _source_of(lines: Sequence[str], node: ast.stmt) -> str:
    return "\n".join(lines[_first_line(node) - 1 : node.end_lineno])


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


ARTEFACTS: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {
        "check.txt": lambda source: render_check(check_source(source)),
        "forces.txt": lambda source: show(source, "forces"),
        "ir.txt": lambda source: show(source, "ir"),
        "plan.txt": lambda source: show(source, "plan"),
        "torch.py": lambda source: show(source, "torch"),
    }
)
#: Kernels are long, and alike where networks are: of these specs each has groups or products that no other one has.
KERNELS: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType(
    {"kernels.txt": lambda source: show(source, "kernels"), "triton.py": _triton}
)
#: Of these specs what is their own of the module in JAX: a flow, forces, sets, convolutions, a metric, layers.
WITH_JAX = ("cet", "deq", "et_image", "hopfield", "hopfield_conv", "nudged_layers", "thick")
WITH_KERNELS = ("cem", "cet", "et_anomaly", "et_image", "hopfield", "hopfield_conv", "modern_hopfield", "sets", "thick")
JAX: MappingProxyType[str, Callable[[Source], str]] = MappingProxyType({"jax.py": _jax})
MAKERS = {**ARTEFACTS, **KERNELS, **JAX}
SETS = ((SPECS, ARTEFACTS), (WITH_KERNELS, KERNELS), (WITH_JAX, JAX))
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
    kept = {(path.parent.name, path.name) for path in HERE.glob("*/*") if "__pycache__" not in path.parts}
    assert kept == set(CASES)


def test_generated_code_lints_clean(tmp_path: Path) -> None:
    rules = "E,F,W,I,UP,B,C4,SIM,RUF,D1"
    ignored = "RUF001,RUF002,RUF003,RUF012,B905,D105,D107,E741"  # E741: a size is called as the spec calls it, I too
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--target-version", "py311"]
    files = [str(path) for path in sorted(HERE.glob("*/torch.py"))]
    written = [(name, "triton") for name in WITH_KERNELS] + [(name, "cpp") for name in ("hopfield", "thick", "cet")]
    written += [(name, "jax") for name in WITH_JAX]
    for name, target in written:
        path = tmp_path / f"{name}_{target}.py"
        path.write_text(show(_source(name), target))
        files.append(str(path))
    done = subprocess.run([*command, "--select", rules, "--ignore", ignored, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"golden_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _network(name: str) -> Any:
    """The golden's class where it is small, else the same module at the sizes of the preset ``verify``."""
    source = _source(name)
    if "preset verify" not in source.text:
        made = pipeline.emit(pipeline.resolve(source))
        module = _module(HERE / name / "torch.py")
        return getattr(module, made.class_name)(dtype=torch.float64, seed=1)
    made = pipeline.emit(pipeline.resolve(source, pipeline.Choices("verify")))
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
