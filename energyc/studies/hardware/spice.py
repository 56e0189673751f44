"""A circuit as the text of a SPICE netlist, in the dialect of ngspice, and its operating point by ngspice."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from energyc.language.diagnostics import Option, UserError, spoken
from energyc.studies.hardware.circuit import GROUND, Circuit, Diode, Junction

#: The conductance of an ideal diode that conducts, in units of the largest conductance of the circuit: the voltage
#: across it is then about 1e-9 of those across the resistors.
IDEAL = 1e9
#: SPICE gives a diode's thermal voltage as emission coefficient times k T / q; these are T in degrees Celsius, and
#: k / q in volts per kelvin (exact since 2019).
TEMPERATURE, BOLTZMANN = 27.0, 1.380649e-23 / 1.602176634e-19
#: Backwards by more than this many thermal voltages, ngspice's diode has a cubic in place of the exponential.
BACKWARDS = 3.0
#: A diode is corrected there where its saturation current, at 1 V, is more than this share of a node's conductance: the
#: two laws differ by less than 0.005 of that current.
NEGLIGIBLE = 1e-5


def netlist(
    built: Circuit, heading: Sequence[str], states: Mapping[str, Any] | None = None, start: bool = False
) -> str:
    """Return the netlist of a circuit.

    ``heading`` are lines of comment, the first of which is the title. With ``start`` the solver begins at ``states``.
    """
    lines = [_comment(line) for line in heading] + [f"* {line}" for line in _inventory(built)]
    for title, elements in _elements(built).items():
        if elements:
            lines += ["", f"* {title}", *elements]
    if start and states is not None:
        lines += ["", "* Where the solver begins: the states that energyc found"]
        lines += [f".nodeset v({node})={float(states[name][place])!r}" for (name, place), node in built.nodes.items()]
    lines += ["", f".options temp={TEMPERATURE:g} tnom={TEMPERATURE:g} {_OPTIONS}", ".op", ".end"]
    return "\n".join(lines) + "\n"


_OPTIONS = "reltol=1e-9 vntol=1e-12 abstol=1e-15 gmin=1e-15 itl1=1000"


def _comment(text: str) -> str:
    return "* " + "".join(c if c.isprintable() else " " for c in text)


def _inventory(built: Circuit) -> Iterator[str]:
    """Yield what the circuit is made of."""
    counts = {
        "nodes with a state": len(built.nodes),
        "resistors": len(built.resistors),
        "amplifiers of gain -1, for couplings of positive sign": len(built.inverted),
        "negative conductances to ground": len(built.active),
        "voltage sources": len(built.voltages),
        "current sources": len(built.currents),
        "ideal diodes": len(built.limits),
        "diodes": len(built.junctions),
        "behavioural elements": len(built.behaviours),
    }
    yield "Elements: " + "; ".join(f"{count} {what}" for what, count in counts.items() if count)


def _elements(built: Circuit) -> dict[str, list[str]]:
    """The lines of each kind of element, by their title."""
    models = {law: f"junction_{k}" for k, law in enumerate(dict.fromkeys(j.law for j in built.junctions), 1)}
    return {
        "Clamps, and the bias of diodes": [f"V{n} {n} {GROUND} {v!r}" for n, v in built.voltages.items()],
        "Amplifiers of gain -1": [f"E{inv} {inv} {GROUND} {GROUND} {n} 1" for n, inv in built.inverted.items()],
        "Resistors, 1 / conductance": [
            f"R{k} {r.a} {r.b} {1 / r.conductance!r}" for k, r in enumerate(built.resistors, 1)
        ],
        "Negative conductances": [f"G{n} {n} {GROUND} {n} {GROUND} {g!r}" for n, g in built.active.items()],
        "Constant currents, out of the node": [f"I{n} {n} {GROUND} {c!r}" for n, c in built.currents.items()],
        "Edges of boxes": _limits(built),
        "Diodes": [_model(name, law) for law, name in models.items()]
        + [f"D{k} {j.anode} {j.cathode} {models[j.law]} area={j.area!r}" for k, j in enumerate(built.junctions, 1)],
        "What ngspice's diodes lack of Shockley's law, far backwards": list(_corrections(built)),
        "Other elements": [f"B{k} {b.a} {b.b} i = {b.text}" for k, b in enumerate(built.behaviours, 1)],
    }


def _limits(built: Circuit) -> list[str]:
    """Ideal diodes, as a subcircuit that another model can take the place of."""
    if not built.limits:
        return []
    head = [
        ".subckt ideal_diode anode cathode",
        f"B1 anode cathode i = {IDEAL * built.largest!r} * max(v(anode, cathode), 0)",
        ".ends",
    ]
    return [*head, *(f"X{k} {anode} {cathode} ideal_diode" for k, (anode, cathode) in enumerate(built.limits, 1))]


def _corrections(built: Circuit) -> Iterator[str]:
    """Yield behavioural sources for the diodes whose reverse currents count.

    At u < -3 Vt ngspice's diode carries -Is (1 + (3 Vt / (e u))^3), which meets Shockley's law smoothly at -3 Vt.
    """
    for k, junction in enumerate(built.junctions, 1):
        if junction.area * junction.law.saturation > NEGLIGIBLE * built.smallest:
            yield f"BD{k} {junction.anode} {junction.cathode} i = {_lacking(junction)}"


def _lacking(junction: Junction) -> str:
    thermal, edge = junction.law.thermal, -BACKWARDS * junction.law.thermal
    back = f"min({_across(junction)}, {edge!r})"
    cube = " * ".join([f"({-edge / math.e!r} / {back})"] * 3)
    return f"{junction.area * junction.law.saturation!r} * (exp({back} / {thermal!r}) + {cube})"


def _across(junction: Junction) -> str:
    """The voltage across a diode, as SPICE writes it."""
    if junction.cathode == GROUND:
        return f"v({junction.anode})"
    return f"-v({junction.cathode})" if junction.anode == GROUND else f"v({junction.anode}, {junction.cathode})"


def _model(name: str, law: Diode) -> str:
    emission = law.thermal / (BOLTZMANN * (TEMPERATURE + 273.15))
    return f".model {name} d(is={law.saturation!r} n={emission!r})"


# ------------------------------------------------------------------ ngspice

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
