"""A wheel, built through an sdist, works away from the checkout: grammar, templates and specs are in it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_data_folders_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("grammar", "codegen", "specs", "reference"):
        shipped = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.is_file()}
        assert shipped
        assert {f"energyc/{name}" for name in shipped} <= names
    assert "energyc/py.typed" in names
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


@pytest.mark.slow
def test_the_installed_wheel_compiles_a_shipped_spec(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    code = (
        "import energyc, sys; from energyc.surfaces.cli import main; from energyc.resources import resource;"
        "path = resource('specs', 'hopfield.energy'); assert 'site' in str(path), path;"
        "sys.exit(main(['compile', str(path), '-o', 'out']) or main(['new', 'mine']) or main(['check', 'mine.energy']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out" / "hopfield_torch.py").is_file()


@pytest.mark.slow
def test_the_bare_wheel_lists_copies_and_trains_by_name(wheel: Path, tmp_path: Path) -> None:
    """Without the extras, away from the checkout."""
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    code = (
        "import sys; sys.modules.update(sklearn=None, PIL=None, matplotlib=None);"
        "import energyc; from energyc.surfaces.cli import main; assert 'site' in energyc.__file__;"
        "small = ['--steps', '2', '--set', 'J=8', '--set', 'train.eval_samples=20', '--target', 'torch'];"
        "sys.exit(main(['list']) or main(['train', 'hopfield', *small, '--out', 'run']) or main(['new', 'mine'])"
        " or main(['train', 'mine.energy', *small, '--out', 'own']) or main(['new', 'other', '--from', 'kuramoto'])"
        " or main(['check', 'other.energy']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Continuous Hopfield network on digits" in done.stdout and "no pictures" in done.stderr
    assert (tmp_path / "run" / "checkpoints").is_dir() and (tmp_path / "other.energy").is_file()


@pytest.mark.slow
def test_the_installed_wheel_gives_pygments_its_lexer(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "from pygments.lexers import get_lexer_by_name, get_lexer_for_filename as by_file;"
        "print(get_lexer_by_name('energy').name, by_file('a.energy').name, __import__('energyc').__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["Energy", "Energy", str(tmp_path / "energyc" / "__init__.py")], done.stderr


def test_no_data_folder_stands_in_the_package() -> None:
    for folder in ("grammar", "codegen", "specs", "reference"):
        assert not (ROOT / "energyc" / folder).exists(), "it would shadow the data of the checkout"
