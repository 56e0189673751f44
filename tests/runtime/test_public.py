"""What generated modules import: ``energyc.runtime`` lists its names, needs torch alone, and checks the contract."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from energyc import UserError, pipeline, runtime
from energyc.code.module.instantiate import loaded
from energyc.code.targets import TARGETS, find_target
from energyc.resources import folder, shipped
from energyc.runtime import RULES
from energyc.runtime.equations.equations import rule_name

NAMES = {**runtime.PUBLIC, **runtime.GENERATED}

ROOT = Path(str(runtime.__file__)).parent
FILES = sorted(ROOT.rglob("*.py"))
#: The modules of energyc beside the runtime that it may import, with what ``import energyc`` itself needs.
BESIDE = ("files", "resources", "version", "collection")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_is_where_it_is_said_to_be(name: str) -> None:
    value = getattr(runtime, name)
    module = import_module(f"energyc.runtime.{NAMES[name]}")
    assert value is (module if isinstance(value, ModuleType) else getattr(module, name))
    assert name == "Tensors" or value.__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("name", sorted(runtime.FUNCTIONS))
def test_a_function_of_equations_is_in_its_module(name: str) -> None:
    assert getattr(getattr(runtime, runtime.FUNCTIONS[name]), name).__doc__


def test_other_wings_import_the_package_alone() -> None:
    """Not its modules, so that these can be arranged as the runtime needs them."""
    files = [path for path in ROOT.parent.rglob("*.py") if ROOT not in path.parents]
    nodes = [(path, node) for path in files for node in ast.walk(ast.parse(path.read_text()))]
    named = [(path, node.lineno, node.module) for path, node in nodes if isinstance(node, ast.ImportFrom)]
    named += [(path, node.lineno, a.name) for path, node in nodes if isinstance(node, ast.Import) for a in node.names]
    assert any(module == "energyc.runtime" for _, _, module in named)
    assert not [f"{path}:{line}" for path, line, module in named if str(module).startswith("energyc.runtime.")]


def test_a_name_for_types_is_the_public_one() -> None:
    """What a type checker is told is what a program gets."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    blocks = [block for block in tree.body if isinstance(block, ast.If)]
    homes = {**runtime.PUBLIC, **runtime.GENERATED}
    told = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    assert told
    for node in told:
        assert all(homes[a.name] in (node.module, f"{node.module}.{a.name}") for a in node.names)


def test_no_public_name_is_that_of_a_room() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {path.stem for path in ROOT.glob("*.py")}
    modules = {name for name in runtime.PUBLIC if isinstance(getattr(runtime, name), ModuleType)}
    assert not rooms & ((runtime.PUBLIC.keys() - modules) | runtime.FUNCTIONS.keys())
    with pytest.raises(AttributeError, match="no name 'nothing'"):
        runtime.nothing  # noqa: B018


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_runtime_imports_the_standard_library_torch_and_itself(file: Path) -> None:
    """By relative imports, so that it can be copied as it is."""
    tree, allowed = ast.parse(file.read_text()), {*sys.stdlib_module_names, "torch"}
    tried = {n for node in tree.body if isinstance(node, ast.Try) for n in ast.walk(node) if isinstance(n, ast.Import)}
    depth = len(file.relative_to(ROOT).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            assert names <= ({"triton"} if node in tried else allowed)
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            assert node.level == depth + 1 and node.module in BESIDE
        elif isinstance(node, ast.ImportFrom):
            assert node.level or str(node.module).split(".")[0] in allowed


def test_it_works_where_all_else_is_blocked(tmp_path: Path) -> None:
    """Libraries of the compiler, all other wings of energyc; a module that was compiled before relaxes and learns."""
    choices = pipeline.Choices("verify")
    network = pipeline.resolve(pipeline.read(folder("specs") / "hopfield.energy"), choices)
    (tmp_path / "hopfield_torch.py").write_text(pipeline.emit(network, None, choices).text)
    wings = {path.stem for path in ROOT.parent.iterdir() if path.suffix in ("", ".py")}
    blocked = [f"energyc.{name}" for name in wings - {"runtime", "__init__", "__pycache__", *BESIDE}]
    blocked += ["lark", "sympy", "jinja2", "pydantic", "scipy", "click", "rich", "mpmath", "pandas", "sklearn", "jax"]
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(Path(__file__).parents[2])!r}]
from tests.runtime.alone import Blocked
sys.meta_path.insert(0, Blocked({sorted(blocked)!r}))
import energyc.runtime as rt
for name in (*rt.PUBLIC, *rt.GENERATED):
    getattr(rt, name)
for name, module in rt.FUNCTIONS.items():
    getattr(getattr(rt, module), name)
import torch
from hopfield_torch import Hopfield
net = Hopfield(dtype=torch.float64)
x, label = torch.rand(2, 12, dtype=torch.float64), torch.tensor([1, 2])
assert all(bool(g.isfinite().all()) for g in net.gradients({{"x": x}}, {{"label": label}}).params.values())
print(net.non_convergence({{"x": x}}) is None)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout in ("True\n", "False\n"), done.stderr


def test_importing_the_facade_imports_no_torch() -> None:
    program = "import sys, energyc.runtime; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_another_contract_names_the_command() -> None:
    runtime.require_contract(runtime.CONTRACT)
    with pytest.raises(ImportError, match=r"contract 0 .* energyc compile SPEC"):
        runtime.require_contract(0)


def test_a_module_of_an_earlier_version_says_how_to_make_it_anew() -> None:
    text = '"""x"""\n\nimport torch\nfrom torch import nn\n\n\nclass Hopfield(nn.Module):\n    pass\n'
    with pytest.raises(UserError, match=r"earlier version of energyc[\s\S]*energyc.load\(SPEC\)"):
        loaded(text)


def test_a_class_of_an_earlier_version_names_the_command() -> None:
    """As modules of version 0.2 that import the runtime have it."""
    equations = type("SmallEquations", (), {})
    with pytest.raises(ImportError, match=r"module of Small .* earlier version .* energyc compile SPEC"):
        type("Small", (equations, runtime.EnergyNetwork), {})


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", sorted(shipped()))
def test_modules_read_what_the_runtime_exports(name: str) -> None:
    """With all rules, and by all targets whose modules are those of torch."""
    network = pipeline.resolve(pipeline.read(shipped()[name]))
    for target in (target for target in TARGETS if find_target(target).learns):
        tree = ast.parse(pipeline.emit(network, pipeline.ALL, target=target).text)
        parts = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        read = {part.attr for part in parts if isinstance(part.value, ast.Name) and part.value.id == "rt"}
        assert read <= {"require_contract", *runtime.GENERATED, *runtime.FUNCTIONS.values()}
        called = [part for part in parts if isinstance(part.value, ast.Attribute) and ast.unparse(part)[:3] == "rt."]
        modules = {part.attr: part.value.attr for part in called if isinstance(part.value, ast.Attribute)}
        assert all(runtime.FUNCTIONS[name] == module for name, module in modules.items())
        assert "EnergyNetwork" in read or "LayeredNetwork" in read or "KernelNetwork" in read


def test_what_a_setting_chooses_is_a_part_of_the_runtime() -> None:
    choices = pipeline.Choices("verify")
    network = pipeline.resolve(pipeline.read(folder("specs") / "hopfield.energy"), choices)
    net = pipeline.instantiate(pipeline.emit(network, None, choices), "cpu", torch.float64, 1)
    clamps = {"x": torch.rand(2, 12, dtype=torch.float64)}
    net.relax_exit, net.relax_solver = "early", "anderson"
    assert bool((net.relax(clamps).residual <= net.relax_tolerance).all())
    net.relax_solver = "nothing"
    with pytest.raises(ValueError, match="there is no solver 'nothing'"):
        net.relax(clamps)


def test_the_catalogue_names_the_functions_of_the_rules() -> None:
    for name, declared in RULES.items():
        assert rule_name(getattr(runtime, declared.function)) == name == declared.name
        assert declared.mathematics
