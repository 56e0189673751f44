r"""The corners of a network's boxes as an Ising problem.

A state z in [lo, hi] is read at its two ends by a spin s of -1 or 1, :math:`z = (lo + hi)/2 + s\,(hi - lo)/2`. The
energy of a quadratic network at such a corner is

.. math:: E(z) = \mathrm{scale} \cdot H(s) + \mathrm{offset}, \qquad H(s) = \sum_i h_i s_i + \sum_{i<j} J_{ij} s_i s_j

in the sign convention of D-Wave's tools: the spins that minimise H minimise E. The largest of \|h\| and \|J\| is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from energyc.language.diagnostics import Diagnostic
from energyc.language.network import Network
from energyc.studies.hardware.form import Form, read_form

Array = NDArray[np.float64]
Variable = tuple[str, tuple[int, ...], float, float]


@dataclass(frozen=True)
class Ising:
    """An Ising problem: ``h`` [n], ``J`` [n, n] above its diagonal, and what its energy means for the network.

    ``variables`` gives each spin its state, the indices of the element, and the values at -1 and at 1.
    """

    h: Array
    J: sparse.csr_array
    scale: float
    offset: float
    variables: tuple[Variable, ...]

    def energy(self, spins: Array) -> Array:
        """The energy of the network at spins ``[..., n]``, through H, scale and offset."""
        spins = np.asarray(spins, dtype=np.float64)
        return self.scale * (spins @ self.h + np.sum((spins @ self.J) * spins, axis=-1)) + self.offset

    def corner(self, spins: Array) -> dict[str, Array]:
        """The states at spins ``[n]``, by name, flat."""
        states: dict[str, list[float]] = {}
        for spin, (name, _, low, high) in zip(np.asarray(spins), self.variables, strict=True):
            states.setdefault(name, []).append(high if spin > 0 else low)
        return {name: np.array(values) for name, values in states.items()}

    def pairs(self) -> list[tuple[int, int, float]]:
        """Each pair i < j with its coupling, in order."""
        entries = self.J.tocoo()
        triples = zip(*(axis.tolist() for axis in entries.coords), entries.data.tolist(), strict=True)
        return sorted((i, j, value) for i, j, value in triples if value)

    def to_json(self) -> dict[str, Any]:
        """The problem as plain values."""
        names = ["_".join([name, *map(str, place)]) for name, place, _, _ in self.variables]
        spins = [
            {"name": label, "state": name, "index": list(place), "low": low, "high": high}
            for label, (name, place, low, high) in zip(names, self.variables, strict=True)
        ]
        pairs = self.pairs()
        return {
            "vartype": "SPIN",
            "h": self.h.tolist(),
            "J": {
                "row": [i for i, _, _ in pairs],
                "column": [j for _, j, _ in pairs],
                "value": [value for _, _, value in pairs],
            },
            "scale": self.scale,
            "offset": self.offset,
            "spins": spins,
        }

    def to_coo(self) -> str:
        """The problem as coefficient list: ``i i h`` and ``i j J`` lines, as dimod reads them.

        It has a line for each spin, and numbers without exponents, since dimod passes over lines with others.
        """
        lines = ["# vartype=SPIN", f"# scale={self.scale!r}", f"# offset={self.offset!r}"]
        entries = [(i, i, value) for i, value in enumerate(self.h.tolist())] + self.pairs()
        return "\n".join([*lines, *(f"{i} {j} {_decimal(value)}" for i, j, value in sorted(entries))]) + "\n"


def _decimal(value: float) -> str:
    """The shortest decimal that reads back as the number."""
    return np.format_float_positional(value, trim="0")


def ising(network: Network, params: Mapping[str, Any], clamps: Mapping[str, Any]) -> Ising:
    """Return the Ising problem of a network at some weights and at the clamps of one sample, ``[*shape]`` by name.

    Raises SpecError with E0962 for each term that is not quadratic, and E0963 for each state without a box.
    """
    low, high, refused = _boxes(network)
    form = read_form(network, params, clamps, code="E0962", refused=refused)
    ends = [np.array([of[name] for name, _ in form.states.places()]) for of in (low, high)]
    variables = tuple((name, place, low[name], high[name]) for name, place in form.states.places())
    return _problem(form, (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2, variables)


def _boxes(network: Network) -> tuple[dict[str, float], dict[str, float], list[Diagnostic]]:
    """The ends of each state's box, and a diagnostic for each state that has none."""
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    refused = []
    for name, state in network.states.items():
        held = state.constraint
        if held is not None and held.kind == "box" and held.low is not None and held.high is not None:
            low[name], high[name] = held.low, held.high
            continue
        message = f"the state {name} has no box with two ends, so no spin stands for it"
        refused.append(Diagnostic("E0963", message, span=state.span, help=f"declare it as {name}[...] in [0, 1]"))
    return low, high, refused


def _problem(form: Form, middle: Array, half: Array, variables: tuple[Variable, ...]) -> Ising:
    """Substitute z = middle + half * s; s_i^2 = 1."""
    coupling = form.coupling
    slope = form.linear + coupling @ middle
    spread = sparse.diags_array(half)
    pair = sparse.csr_array(sparse.triu(spread @ coupling @ spread, k=1))
    field = half * slope
    squares = np.sum(coupling.diagonal() * half**2) / 2
    offset = form.constant + form.linear @ middle + middle @ (coupling @ middle) / 2 + squares
    scale = float(max(np.abs(field).max(initial=0), np.abs(pair.data).max(initial=0))) or 1.0
    return Ising(field / scale, pair / scale, scale, float(offset), variables)
