"""A standalone folder in JAX: it runs where energyc is blocked, bit for bit as the module that imports energyc.jax."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from energyc import pipeline
from energyc.code.module.standalone import standalone
from energyc.studies.verify import random_probe
from tests.jax.alone import measured
from tests.runtime.test_standalone import SIZES, compiled

pytest.importorskip("jax")


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", SIZES)
def test_the_copy_gives_what_the_package_gives(name: str, tmp_path: Path) -> None:
    module = compiled(name, "jax")
    for path, text in standalone(name, {module.file_name: (module.class_name, module.text)}).items():
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / path).write_text(text)
    probe = random_probe(pipeline.instantiate(compiled(name, "torch"), "cpu", torch.float32, 1), batch=2, seed=1)
    given = {key: x.numpy() for part in (probe.clamps, probe.targets) for key, x in part.items()}
    np.savez(tmp_path / "given.npz", **given)
    where = (str(tmp_path), f"{name}.{module.file_name.removesuffix('.py')}", module.class_name)
    program = [sys.executable, str(Path(__file__).parent / "alone.py"), *where]
    done = subprocess.run(
        [*program, "given.npz", "taken.npz"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    expected = measured(pipeline.instantiate(module, "cpu", "float32", 1), given)
    found = np.load(tmp_path / "taken.npz")
    assert set(found.files) == set(expected) and len(expected) > 0
    assert all(np.array_equal(found[key], x) for key, x in expected.items())
