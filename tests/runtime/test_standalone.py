"""``energyc compile --standalone``: a folder that runs without energyc, bit for bit as the module that imports it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from energyc import pipeline
from energyc.code.module.standalone import PACKAGE, standalone
from energyc.resources import folder
from energyc.studies.verify import random_probe
from tests.cli.run import energyc, written
from tests.emit.kernels import needs_compiler
from tests.runtime.alone import measured, measured_in_jax

SIZES: dict[str, dict[str, object]] = {
    "hopfield": {"I": 12, "J": 9, "K": 4},
    "cet": {"S": 12, "P": 4, "stride": 2, "D": 16, "H": 2, "A": 8, "M": 24},
    "thick": {"T": 6, "D": 8, "H": 2},
    "et_graph": {"M": 4, "F": 3, "D": 4, "H": 2, "Y": 3, "K": 5, "E": 2, "L": 2, "T": 3, "Z": 2},
    "tel": {"I": 5, "C": 6, "K": 5},
}
CASES = [(name, "torch") for name in SIZES] + [pytest.param(name, "cpp", marks=needs_compiler) for name in SIZES]


#: Two modules, one for torch and one for JAX.
BOTH = {"a.py": ("A", "\nfrom energyc import runtime as rt\n"), "b.py": ("B", "\nfrom energyc import jax as ej\n")}


def compiled(name: str, target: str) -> pipeline.Compiled:
    choices = pipeline.Choices(None, SIZES[name])
    network = pipeline.resolve(pipeline.read(folder("specs") / f"{name}.energy"), choices)
    return pipeline.emit(network, None, choices, target)


def run_alone(name: str, module: pipeline.Compiled, folder: Path, given: Path, taken: Path) -> None:
    """What a standalone folder gives where energyc is blocked, in the file ``taken``."""
    for path, text in standalone(name, {module.file_name: (module.class_name, module.text)}).items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    where = (str(folder), f"{name}.{module.file_name.removesuffix('.py')}", module.class_name)
    program = [sys.executable, str(Path(__file__).parent / "alone.py"), *where, str(given), str(taken)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_copy_gives_what_the_runtime_gives(name: str, target: str, tmp_path: Path) -> None:
    module = compiled(name, target)
    net = pipeline.instantiate(module, "cpu", torch.float64, 1)
    probe = random_probe(net, batch=2, seed=1)
    given, taken = tmp_path / "given", tmp_path / "taken"
    torch.save((probe.clamps, probe.targets), given)
    run_alone(name, module, tmp_path, given, taken)
    found, expected = torch.load(taken), measured(net, probe.clamps, probe.targets)
    assert len(found) == len(expected) and all(map(torch.equal, found, expected))


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", SIZES)
def test_the_copy_in_jax_gives_what_the_package_gives(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    module = compiled(name, "jax")
    probe = random_probe(pipeline.instantiate(compiled(name, "torch"), "cpu", torch.float32, 1), batch=2, seed=1)
    arrays = {key: x.numpy() for part in (probe.clamps, probe.targets) for key, x in part.items()}
    given, taken = tmp_path / "given.npz", tmp_path / "taken.npz"
    np.savez(given, **arrays)
    run_alone(name, module, tmp_path, given, taken)
    found, expected = np.load(taken), measured_in_jax(pipeline.instantiate(module, "cpu", "float32", 1), arrays)
    assert set(found.files) == set(expected) and len(expected) > 0
    assert all(np.array_equal(found[key], x) for key, x in expected.items())


@pytest.mark.parametrize("target", ["torch", "cpp", "triton", "jax"])
def test_a_module_differs_in_its_imports_alone(target: str) -> None:
    module = compiled("hopfield", target)
    text = standalone("hopfield", {module.file_name: (module.class_name, module.text)})[module.file_name]
    pairs = list(zip(module.text.split("\n"), text.split("\n"), strict=True))
    changed = [(before, after) for before, after in pairs if before != after]
    own = "jax as ej" if target == "jax" else "runtime as rt"
    assert changed[0] == (f"from energyc import {own}", f"from .{PACKAGE} import {own}")
    assert all(after == before.replace("energyc", f".{PACKAGE}", 1) for before, after in changed)
    assert len(changed) == (2 if target == "triton" else 1)


def test_every_file_is_copied_as_it_is() -> None:
    package = Path(str(importlib.util.find_spec("energyc").origin)).parent  # type: ignore[union-attr]
    copied = {path.removeprefix(f"{PACKAGE}/"): text for path, text in standalone("x", BOTH).items()}
    for path, text in copied.items():
        if path not in ("__init__.py", *BOTH) and not path.startswith("codegen/"):
            assert text == (package / path).read_text(), path
    assert {path for path in copied if path.startswith("codegen/")} == {
        f"codegen/cpp/{path.name}" for path in (folder("codegen") / "cpp").glob("*.h")
    }


def test_the_command_writes_a_package(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "compile", written(tmp_path), "--standalone", "-o", tmp_path / "out")
    assert done.status == 0 and done.out.strip() == str(tmp_path / "out" / "small" / "small_torch.py")
    line = done.err.splitlines()[-1].removeprefix("in Python: ")
    program = f"import sys; sys.modules['energyc'] = None; {line}; print(Small().name)"
    found = subprocess.run([sys.executable, "-c", program], cwd="/", capture_output=True, text=True)
    assert found.stdout == "small\n", found.stderr


@pytest.mark.parametrize("name", ["jax", "torch", "random"])
def test_a_folder_that_would_hide_a_package_is_refused(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path)
    spec.write_text(spec.read_text().replace("network small", f"network {name}"))
    done = energyc(capfd, "compile", spec, "--standalone", "-o", tmp_path / "out")
    assert done.status == 1 and f"would hide the package {name}" in done.err and not (tmp_path / "out").exists()


def test_a_package_of_another_hand_is_not_overwritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec, own = written(tmp_path), tmp_path / "out" / "small" / "__init__.py"
    for _ in range(2):  # its own it writes again
        assert energyc(capfd, "compile", spec, "--standalone", "-o", tmp_path / "out").status == 0
    own.write_text("mine = 1\n")
    done = energyc(capfd, "compile", spec, "--standalone", "-o", tmp_path / "out")
    assert done.status == 1 and "E0906" in done.err and "-o" in done.err
    assert own.read_text() == "mine = 1\n"
