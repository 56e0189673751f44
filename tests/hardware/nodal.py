"""Kirchhoff's current law read off the text of a netlist: an evaluation apart from energyc and from ngspice."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

BOLTZMANN = 1.380649e-23 / 1.602176634e-19
_ENV = {
    "exp": math.exp,
    "ln": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "abs": abs,
    "max": max,
    "min": min,
    "u": lambda x: float(x > 0),
    "sgn": lambda x: math.copysign(1.0, x) if x else 0.0,
}


def leaving(netlist: str, states: Mapping[str, float]) -> dict[str, float]:
    """The current that leaves each node of ``states`` through all elements, ideal diodes not counted."""
    lines = [line.lower() for line in netlist.splitlines()[1:] if line and line[0] not in "*."]
    inside = re.search(r"\.subckt.*?\.ends", netlist, re.DOTALL)
    lines = [line for line in lines if not inside or line not in inside[0].lower().splitlines()]
    models = {
        m[1].lower(): (float(m[2]), float(m[3])) for m in re.finditer(r"\.model (\S+) d\(is=(\S+) n=(\S+)\)", netlist)
    }
    voltage = {"0": 0.0, **{name.lower(): value for name, value in states.items()}}
    words = [line.split() for line in lines]
    named = {w[0] for w in words}
    voltage |= {w[1]: float(w[3]) for w in words if w[0][0] == "v"}
    for w in (w for w in words if w[0][0] == "e"):
        voltage[w[1]] = float(w[5]) * (voltage[w[3]] - voltage[w[4]])
    total = dict.fromkeys(voltage, 0.0)
    for line, w in zip(lines, words, strict=True):
        if w[0][0] in "vex":
            continue
        a, b = w[1], w[2]
        across = voltage[a] - voltage[b]
        match w[0][0]:
            case "r":
                current = across / float(w[3])
            case "g":
                current = float(w[5]) * (voltage[w[3]] - voltage[w[4]])
            case "i":
                current = float(w[3])
            case "d":
                saturation, emission = models[w[3]]
                law = _junction if f"b{w[0]}" in named else math.expm1
                area = float(w[4].removeprefix("area="))
                current = area * saturation * law(across / (emission * BOLTZMANN * 300.15))
            case "b":
                current = _behaviour(line.split("i = ", 1)[1], voltage)
            case kind:
                raise ValueError(f"an element of kind {kind}")
        total[a] += current
        total[b] -= current
    return {name: total[name.lower()] for name in states}


def _junction(u: float) -> float:
    """The diode of ngspice, which BD1 corrects for D1: at a voltage in thermal voltages, its saturation current 1."""
    return math.expm1(u) if u >= -3 else -1 - (3 / (math.e * u)) ** 3


def _behaviour(text: str, voltage: Mapping[str, float]) -> float:
    def v(a: str, b: str = "0") -> float:
        return voltage[a] - voltage[b]

    quoted = re.sub(r"v\(([\w]+)(?:, ([\w]+))?\)", lambda m: f"v('{m[1]}', '{m[2] or '0'}')", text)
    return float(eval(quoted, {"__builtins__": {}}, {**_ENV, "v": v}))
