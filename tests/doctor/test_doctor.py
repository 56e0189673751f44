"""``energyc doctor`` on machines where this or that does not work: it says so, and never fails itself."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from energyc import extras
from energyc.extras import pip_install
from energyc.surfaces.doctor import examination, findings
from energyc.surfaces.doctor.examination import Examination, lacks
from energyc.surfaces.doctor.findings import Finding, carried_out, compiler_install
from tests.cli.run import ROOT, energyc, in_python
from tests.quick import slow

Capture = pytest.CaptureFixture[str]


def doctor(*shadows: Path, **environ: str) -> tuple[int, dict[str, Any], str]:
    """Run the command as a process; modules in the folders of ``shadows`` come before those that are installed."""
    places = [*map(str, shadows), str(ROOT), *(path for path in sys.path if path)]
    path = os.pathsep.join(places)
    done = in_python("-m energyc doctor --format json", **{"OMP_NUM_THREADS": "1", "PYTHONPATH": path, **environ})
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    report = json.loads(done.stdout)
    assert report["works"] == (done.returncode == 0)
    return done.returncode, {found["name"]: found for found in report["findings"]}, done.stderr


def shadow(folder: Path, name: str, text: str) -> Path:
    """A package in a folder of its own."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    return folder


@pytest.mark.slow
def test_this_machine(tmp_path: Path) -> None:
    """The core of energyc works where its tests run, and a fresh cache is filled."""
    status, found, _ = doctor(XDG_CACHE_HOME=str(tmp_path))
    assert status == 0
    core = {name for name, finding in found.items() if finding["core"]}
    assert core == {"Python", "energyc", "libraries", "torch", "specs", "a network"}
    assert all(found[name]["state"] == "works" for name in core)
    assert found["specs"]["says"].split()[1] == str(len(list((ROOT / "specs").rglob("*.energy"))))
    assert found["devices"]["threads"] == 1 and found["devices"]["devices"][0]["name"] == "cpu"
    assert found["cache"]["place"] == str(tmp_path / "energyc") and found["grammar"]["state"] == "works"
    assert not list(tmp_path.rglob("*.so")), "the kernels of the trial are not kept"
    assert {f"extra {name}" for name in ("plots", "data", "lsp", "notebook", "logs", "docs")} <= set(found)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "state", "says"),
    [
        ("raise ModuleNotFoundError('No module named torch', name='torch')", "missing", "No module named torch"),
        slow(("raise ImportError('libcudart.so: cannot open shared object file')", "broken", "libcudart.so")),
        ("import os; os.kill(os.getpid(), 11)", "broken", "was ended by SIGSEGV"),
        ("import os; os._exit(3)", "broken", "ended with exit status 3"),
        ("raise SystemExit('no licence')", "broken", "exit status 1 (no licence)"),
    ],
)
def test_torch_that_does_not_work(text: str, state: str, says: str, tmp_path: Path) -> None:
    status, found, _ = doctor(shadow(tmp_path, "torch", text), XDG_CACHE_HOME=str(tmp_path))
    assert status == 1 and (found["torch"]["state"], found["a network"]["state"] == "works") == (state, False)
    assert says in found["torch"]["says"] and "pip install 'torch>=" in found["torch"]["mend"]
    assert found["C++ kernels"]["mend"] is None or state == "broken"


@pytest.mark.slow
def test_torch_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(shadow(tmp_path, "torch", "import time; time.sleep(1000)"))
    found = findings.run_trial(limit=3)
    assert found == {"torch": {"state": "broken", "reason": "the process that tried it did not end within 3 s"}}
    states = {finding.name: finding.state for finding in findings.findings(found)}
    assert states == dict.fromkeys(("torch", "specs", "a network", "C++ kernels", "Triton", "JAX"), "broken")


def compiler(folder: Path, script: str) -> str:
    (folder / "mycc").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "mycc").chmod(0o755)
    return str(folder / "mycc")


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "says"),
    [
        slow(("exit 1", "does not compile C++17")),
        (
            'case "$*" in *-E*) exec c++ "$@";; *--version*) echo mine;; *) echo "error: no space" >&2; exit 1;; esac',
            "no space",
        ),
        slow(
            (
                'case "$*" in *-E*) exec c++ "$@";; *--version*) echo mine; exit;; esac\n'
                'for last; do :; done; echo junk > "$last"',
                ".so: ",
            )
        ),
    ],
)
def test_a_compiler_that_does_not_work(script: str, says: str, tmp_path: Path) -> None:
    status, found, _ = doctor(CXX=compiler(tmp_path, script))
    kernels = found["C++ kernels"]
    assert status == 0 and kernels["state"] == "broken" and kernels["mend"] == "unset CXX"
    assert says in kernels["says"] and "torch operations" in kernels["says"]


@pytest.mark.slow
def test_no_compiler_at_all(tmp_path: Path) -> None:
    status, found, _ = doctor(PATH=str(tmp_path), CXX="")
    assert status == 0 and found["C++ kernels"]["state"] == "missing"
    assert "no C++ compiler was found" in found["C++ kernels"]["says"]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", Path("/proc/none"), Path("/dev/null")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        found, _ = examination.caches()
        assert found.state == "broken" and "nothing can be kept" in found.says and not found.core
        assert str(found.mend).startswith("export XDG_CACHE_HOME=")


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    found, _ = examination.caches()
    assert found.state == "broken" and "Could not determine home directory" in found.says


def test_a_probe_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    def fails(*_: object) -> list[Finding]:
        raise PermissionError(13, "Permission denied")

    assert carried_out("it", fails)[0].says == "cannot be examined: PermissionError: [Errno 13] Permission denied"
    for name in ("python", "installation", "libraries", "run_trial", "caches", "extras"):
        monkeypatch.setattr(examination, name, fails)
    done = energyc(capfd, "doctor")
    assert done.status == 1 and done.out.count("Permission denied") == 6
    assert "energyc does not work here: Python, energyc, libraries, trial" in done.out


def test_what_is_missing_has_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    found = {finding.name: finding for finding in examination.extras()}
    assert found["extra plots"].says == "matplotlib is not installed"
    assert str(found["extra plots"].mend).endswith("-m pip install 'matplotlib>=3.8'")
    (core,) = examination.libraries()
    assert core.state == "missing" and "'torch>=2" in str(core.mend) and "'lark>=1" in str(core.mend)


def test_requirements_of_an_installed_package_are_those_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {extra: sorted(map(extras.written, found)) for extra, found in extras.requirements().items()}
    installed = Message()
    for extra, found in own.items():
        if extra:
            installed["Provides-Extra"] = extra
        for each in found:
            installed["Requires-Dist"] = f"{each}; extra == {extra!r}" if extra else each
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: installed)
    monkeypatch.setattr(extras, "__file__", "/nowhere/energyc/extras.py")
    assert {extra: sorted(map(extras.written, found)) for extra, found in extras.requirements().items()} == own
    assert "torch>=2.11,<2.14" in own[""]


@pytest.mark.parametrize(
    ("version", "met"),
    [("2.11", True), ("2.13.0+cpu", True), ("2.11.0rc1", False), ("2.10.9", False), ("2.14", False), ("3", False)],
)
def test_bounds(version: str, met: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    assert (lacks(Requirement("torch>=2.11,<2.14")) is None) == met


def test_commands_fit_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name in ("dnf", "uv") else None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    assert compiler_install() == "sudo dnf install -y gcc-c++"
    monkeypatch.setattr("sys.executable", "/a path/python")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert pip_install("a", "b>=1") == "uv pip install --python '/a path/python' 'a' 'b>=1'"
    monkeypatch.setattr("sys.platform", "darwin")
    assert compiler_install() == "xcode-select --install"


def test_lines_for_a_reader(monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    found = [Finding("torch", "works", "2.13", core=True), Finding("extra plots", "missing", "no matplotlib", "pip x")]
    monkeypatch.setattr(examination, "examined", lambda: Examination(found))
    done = energyc(capfd, "doctor")
    assert done.status == 0
    assert (
        done.out
        == """\
ok      torch        2.13
missing extra plots  no matplotlib
                     = pip x

energyc works here; not all of it: extra plots
"""
    )
