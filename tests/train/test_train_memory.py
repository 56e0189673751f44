"""Memory: what reading a run takes, and what is said where there is too little."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import energyc as package
from energyc.files import SafePath
from energyc.running.data.files import read_bytes
from tests.cli.run import SMALL, energyc, written

Capture = pytest.CaptureFixture[str]
#: A laptop.
BYTES = 8 << 30
CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({BYTES}, {BYTES}))
from energyc.surfaces.cli import main
for words in (
    ["train", "small.energy", "--out", "run", "--steps", "4", "--quiet"],
    ["train", "--resume", "run", "--steps", "6", "--quiet"],
    ["eval", "run"],
):
    if status := main(words):
        sys.exit(f"{{' '.join(words)}}: {{status}}")
"""
CONTENT = b"0,1,2\n" * 500
#: Readers of a file of a few kB, each with a limit of gigabytes.
READERS: dict[str, Callable[[Path], bytes]] = {
    "a file of a folder": lambda path: (SafePath(path.parent) / path.name).read(16 << 30),
    "a file of data": lambda path: read_bytes(path, "", "", most=2 << 30),
    "a packed file of data": lambda path: read_bytes(_packed(path), "", "", most=2 << 30),
}


def _packed(path: Path) -> Path:
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


@pytest.mark.parametrize("reader", READERS)
def test_a_bounded_read_allocates_what_the_file_has(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    tracemalloc.start()
    try:
        assert READERS[reader](path) == CONTENT
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux")
def test_a_run_is_trained_resumed_and_evaluated_on_a_laptop(tmp_path: Path) -> None:
    written(tmp_path, SMALL)
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "ENERGYC_TARGET": "torch"}
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def run(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small run whose tensors find no room any more."""
    folder = tmp_path / "run"
    assert energyc(capfd, "train", written(tmp_path), "--steps", "2", "--out", folder, "--target", "torch").status == 0
    monkeypatch.setattr(SafePath, "read", _without_room)
    return folder


_read = SafePath.read


def _without_room(path: SafePath, *limit: int) -> bytes:
    if path.suffix == ".safetensors":
        raise MemoryError(f"{path} has 9 bytes")
    return _read(path, *limit)


@pytest.mark.parametrize("words", ["eval RUN", "train --resume RUN --steps 4", "verify RUN"])
def test_too_little_memory_is_not_called_damage(words: str, run: Path, capfd: Capture) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = energyc(capfd, *words.replace("RUN", str(run)).split())
    assert done.status == 1 and "error[E0916]: there is not enough memory: " in done.err, done.err
    assert ".safetensors has 9 bytes" in done.err
    assert not any(word in done.err for word in ("damaged", "from the start", "Traceback"))
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_load_raises_what_it_is(run: Path) -> None:
    with pytest.raises(MemoryError, match="safetensors has 9 bytes"):
        package.load(run)


def test_an_estimator_raises_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(SafePath, "read", _without_room)
    random = np.random.default_rng(0)
    estimator = package.Estimator(written(tmp_path), steps=2, target="torch")
    with pytest.raises(MemoryError, match="safetensors has 9 bytes"):
        estimator.fit(random.random((40, 64)), np.arange(40) % 10)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you"),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 11.90 GiB"),
        MemoryError("Unable to allocate 10.0 GiB for an array"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_an_update_without_memory_is_one_message(
    error: Exception, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("energyc.running.training.learner.Learner.update", fail)
    done = energyc(capfd, "train", written(tmp_path), "--out", tmp_path / "run", "--target", "torch", "--quiet")
    assert done.status == 1 and "error[E0916]: there is not enough memory: " in done.err, done.err
    assert "smaller train.batch" in done.err
