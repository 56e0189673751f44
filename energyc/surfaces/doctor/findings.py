"""A finding; and those of the trial, which runs as a process of its own, and may crash or hang."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from energyc.code.targets import TARGETS, find_target
from energyc.code.targets.interface import Target
from energyc.extras import install_extra, pip_install, requirements, written

#: ``none`` is neither good nor bad: there is nothing here that it would be good for.
State = Literal["works", "missing", "broken", "none"]


@dataclass(frozen=True)
class Finding:
    """The result of one check, in a line.

    ``mend`` is the one command that mends it; nothing that energyc does works without what is ``core``. ``facts`` are
    further values for programs.
    """

    name: str
    state: State
    says: str
    mend: str | None = None
    core: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        """Whether there is nothing to mend."""
        return self.state in ("works", "none")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        fields = {"name": self.name, "state": self.state, "says": self.says, "mend": self.mend, "core": self.core}
        return {**fields, **self.facts}


Probe = Callable[[], Iterable[Finding]]


def carried_out(name: str, probe: Probe, *, core: bool = False) -> list[Finding]:
    """Return the findings of a probe, or that it failed itself."""
    try:
        return list(probe())
    except Exception as error:
        return [Finding(name, "broken", f"cannot be examined: {reason(error)}", core=core)]


def reason(error: BaseException) -> str:
    """Return the type and the first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


# ---------------------------------------------------------------- the trial

#: Seconds after which the trial is ended; it takes a few.
LIMIT = 300.0
Found = Mapping[str, Any]


def run_trial(limit: float = LIMIT) -> dict[str, dict[str, Any]]:
    """Run the trial; what it found by step. A step in which it ended is ``broken``, later ones are not there."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "energyc.surfaces.doctor.trial"]
    end = "ended"
    try:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
        output, errors, end = done.stdout, done.stderr, _end(done.returncode)
    except subprocess.TimeoutExpired as late:
        output, errors = _text(late.stdout), _text(late.stderr)
        end = f"did not end within {limit:g} s"
    found: dict[str, dict[str, Any]] = {}
    for line in output.splitlines():
        row = _row(line)
        if row is not None:
            step = row.pop("step")
            found[step] = row or {"state": "broken", "reason": f"the process that tried it {end}{_last(errors)}"}
    return found


def _row(line: str) -> dict[str, Any] | None:
    """A line of the trial; libraries may write lines of their own."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "step" in row else None


def _end(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-status, f'signal {-status}')}"


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _last(errors: str) -> str:
    lines = errors.strip().splitlines()
    return f" ({lines[-1][:200]})" if lines else ""


def findings(found: Mapping[str, Found]) -> Iterator[Finding]:
    """Yield the findings on what was tried."""
    untried = {"state": "broken", "reason": "not tried, since the process that tries it ended before"}
    yield from torch_findings(found.get("torch", untried))
    yield _core("specs", found.get("specs", untried), "all {specs} that ship are read and typed")
    yield _core("a network", found.get("network", untried), "a small one compiles and settles, in {seconds} s")
    yield from (of_target(find_target(name), found.get(name, untried)) for name in TARGETS[1:])


def _core(name: str, found: Found, says: str) -> Finding:
    if found["state"] == "works":
        return Finding(name, "works", says.format(**found), core=True)
    return Finding(name, found["state"], found["reason"], core=True)


def torch_findings(found: Found) -> Iterator[Finding]:
    """Yield those on torch and on its devices."""
    if found["state"] != "works":
        needed = next((written(each) for each in requirements()[""] if each.name == "torch"), "torch")
        yield Finding("torch", found["state"], found["reason"], pip_install(needed), core=True)
        return
    facts = {name: found[name] for name in ("version", "build")}
    yield Finding("torch", "works", f"{found['version']}, built for {found['build']}", core=True, facts=facts)
    cpu, *others = found["devices"]
    limits = [f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ]
    threads = f"{found['threads']} thread{'s' if found['threads'] != 1 else ''} of {cpu['cores']} cores"
    says = [f"cpu, {threads}{''.join(f' ({limit})' for limit in limits)}"]
    for device in others:
        memory = f", {device['memory_gib']} GiB" if "memory_gib" in device else ""
        says.append(f"{device['name']} ({device['is']}{memory})")
    yield Finding("devices", "works", "; ".join(says), facts={"threads": found["threads"], "devices": found["devices"]})


def of_target(target: Target, found: Found) -> Finding:
    """Return that on a target."""
    if found["state"] == "works":
        facts = {name: value for name, value in found.items() if name not in ("state", "step", "difference")}
        return Finding(target.title, "works", target.settled.format(**found), facts=facts)
    if found.get("module"):
        return Finding(target.title, "none", f"not tried: {found['reason']}")
    if target.needs.compiler:
        mend = "unset CXX" if os.environ.get("CXX") else "unset CXXFLAGS" if os.environ.get("CXXFLAGS") else None
        says = f"{found['reason']}; phases run as torch operations"
        return Finding(target.title, found["state"], says, mend or compiler_install())
    lacking = target.needs.extra if found["state"] == "missing" else None
    mend = install_extra(lacking) if lacking else None
    return Finding(target.title, found["state"], found["reason"], mend)


#: How package managers of systems install a C++ compiler; the first that is found is taken.
_COMPILERS = {
    "apt-get": "apt-get install -y g++",
    "dnf": "dnf install -y gcc-c++",
    "pacman": "pacman -S --noconfirm gcc",
    "zypper": "zypper install -y gcc-c++",
    "apk": "apk add g++",
}


def compiler_install() -> str | None:
    """Return the command that installs a C++ compiler, or None on a system that is not known."""
    if sys.platform == "darwin":
        return "xcode-select --install"
    found = next((command for manager, command in _COMPILERS.items() if shutil.which(manager)), None)
    may = not hasattr(os, "geteuid") or os.geteuid() == 0
    return found if found is None or may else f"sudo {found}"
