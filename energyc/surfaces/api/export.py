"""``energyc.export``: a network as a circuit, as an Ising problem, or as formulas for SymPy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from energyc.language.diagnostics import Misuse, Option, spoken
from energyc.language.network import Network
from energyc.pipeline import Choices
from energyc.running.training.division import Part
from energyc.studies.hardware.problem import Judgement, Sample, problem
from energyc.surfaces.api.common import Notify, given, network_of, notes_to
from energyc.surfaces.api.files import write_text
from energyc.surfaces.api.result import Result

Kind = Literal["spice", "ising", "sympy"]
#: The endings of files that hold JSON.
JSON_ENDINGS = (".json",)


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """Result of an export: its ``text``, the ``file`` if there is one, and ngspice's judgement of a netlist.

    ``facts`` are the network, the kind and the sample.
    """

    facts: Mapping[str, Any]
    text: str
    file: Path | None = None
    judgement: Judgement | None = None
    #: What the JSON has beside the facts where there is no file.
    inline: Mapping[str, Any] = field(default_factory=dict)
    #: What it has where there is one.
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Return whether ngspice, if it was asked, agrees."""
        return self.judgement is None or self.judgement.passed

    def to_json(self) -> dict[str, Any]:
        """Return the facts with the text, or with the path of the file."""
        written = self.inline if self.file is None else {"file": str(self.file), **self.counts}
        judged = {} if self.judgement is None else {"check": self.judgement.to_json()}
        return {**self.facts, **written, **judged}

    def to_text(self, *, color: bool = False) -> str:
        """Return the text, or the path of the file."""
        return self.text if self.file is None else f"{self.file}\n"


def export(
    spec_or_run: str | PathLike[str],
    to: Kind,
    out: str | Path | None = None,
    data: Any = None,
    *,
    test: Any = None,
    map: Mapping[str, str] | None = None,
    sample: int = 0,
    split: Part = "test",
    check: bool = False,
    seed: int = 0,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    notify: Notify | None = None,
) -> Exported:
    """Write a network as a SPICE netlist (``spice``) or an Ising problem (``ising``) at one sample, or for SymPy.

    The weights are those of a run's best checkpoint, or the first ones of a spec, drawn by ``seed``. ``out`` is the
    file; an Ising problem is JSON in a file that ends so, else a coefficient list. With ``sympy`` it is a Python file
    of terms, forces, Jacobian products and updates for all sizes. ``data``, ``test`` and ``map`` are those of
    ``energyc.train``. ``check`` solves the netlist with ngspice and compares it with the network's equilibrium.

    Raises SpecError (E0960 to E0963: what has no such form); UserError for the run, the data and the sample.
    """
    if check and to != "spice":
        text = "{} needs {}: ngspice solves circuits"
        raise Misuse(spoken(text, Option("check", True), Option("to", "spice")), code="E0930")
    choices, feeding = Choices.of(preset, dims, consts, settings), given(data, test, map=map)
    if to == "sympy":
        return _formulas(network_of(spec_or_run, choices, feeding), out)
    place = spec_or_run if isinstance(spec_or_run, str) else Path(spec_or_run)
    chosen = Sample(sample, split)
    found = problem(place, choices, sample=chosen, data=feeding, seed=seed, notify=notes_to(notify))
    facts = {"network": found.network.name, "to": to, "sample": found.origin}
    if to == "ising":
        made = found.ising()
        inline = made.to_json()
        as_json = json.dumps({**facts, **inline}) + "\n"
        text = as_json if out is None or Path(out).suffix in JSON_ENDINGS else made.to_coo()
        counts = {"spins": len(made.h), "couplings": made.J.nnz}
        return Exported(facts, text, _written(out, text), None, inline, counts)
    netlist = found.spice()
    judged = found.check(netlist) if check else None
    return Exported(facts, netlist, _written(out, netlist), judged, {"netlist": netlist})


def _written(out: str | Path | None, text: str) -> Path | None:
    return None if out is None else write_text(Path(out), text)


def _formulas(network: Network, out: str | Path | None) -> Exported:
    from energyc.studies.symbolic.formulas import Formulas
    from energyc.studies.symbolic.source import source

    text = source(Formulas(network))
    facts = {"network": network.name, "to": "sympy"}
    return Exported(facts, text, _written(out, text), inline={"python": text})
