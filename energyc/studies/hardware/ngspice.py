"""Solve a netlist with ngspice."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from energyc.language.diagnostics import Option, UserError, spoken

#: Seconds after which a simulation is ended.
LIMIT = 600


def find_ngspice() -> str | None:
    """The path of ngspice; None where it is not installed."""
    return shutil.which("ngspice")


def operating_point(netlist: str) -> dict[str, float]:
    """Return the voltage of every node of a netlist at its operating point, by its name in lower case.

    Raises UserError E0966: there is no ngspice, or it does not converge.
    """
    program = find_ngspice()
    if program is None:
        message = "the netlist cannot be simulated: ngspice is not installed"
        help_text = spoken("install Debian's package ngspice, or leave out {}", Option("check", True))
        raise UserError(message, code="E0966", help=help_text)
    with tempfile.TemporaryDirectory() as folder:
        path, raw = Path(folder) / "circuit.cir", Path(folder) / "circuit.raw"
        path.write_text(netlist, encoding="utf-8")
        try:
            command = [program, "-n", "-b", "-r", str(raw), str(path)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise _failed(f"it took more than {LIMIT} s") from None
        if not raw.exists():
            raise _failed(_reason(done.stdout + done.stderr))
        return _read_raw(raw.read_bytes())


def _failed(reason: str) -> UserError:
    return UserError(f"ngspice found no operating point: {reason}", code="E0966", help="look at the netlist: -o FILE")


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line or "singular" in line), lines[-1] if lines else "no output")


def _read_raw(data: bytes) -> dict[str, float]:
    """Read ngspice's raw file: a header with the names, then float64 numbers."""
    head, _, body = data.partition(b"Binary:\n")
    lines = head.decode("utf-8", "replace").splitlines()
    if not body or "Variables:" not in lines:
        raise _failed("its output has no numbers")
    names = [line.split()[1].lower() for line in lines[lines.index("Variables:") + 1 :] if line.strip()]
    values = np.frombuffer(body, dtype="<f8", count=len(names))
    return {
        name.removeprefix("v(").removesuffix(")"): float(value)
        for name, value in zip(names, values, strict=True)
        if name.startswith("v(") or "#" not in name
    }
