"""``energyc.sweep``: a run for each combination of some settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Misuse, Option, UserError, spoken
from energyc.language.network import Network
from energyc.pipeline import Choices, classify, parse, resolve, wrong_argument
from energyc.running.folder.layout import RunFolder
from energyc.running.ranks.group import ALONE
from energyc.running.runs.locate import read_spec
from energyc.surfaces.api.common import given
from energyc.surfaces.api.compare import Comparison, compare, shortened
from energyc.surfaces.api.result import Tabular
from energyc.surfaces.api.run import Run, Runs
from energyc.surfaces.api.training import resume, run_folder, train
from energyc.surfaces.report.notes import idle_settings

#: What a name of a folder may not hold.
_UNSAFE = re.compile(r"[^\w.=+-]+")


@dataclass(frozen=True, repr=False)
class Sweep(Tabular):
    """The runs of a sweep, and their table."""

    folder: Path
    runs: tuple[Run | Runs, ...]
    comparison: Comparison

    def to_json(self) -> dict[str, Any]:
        """Return the table."""
        return {"sweep": str(self.folder), **self.comparison.to_json()}

    def to_text(self, *, color: bool = False) -> str:
        """Return the table."""
        return self.comparison.to_text(color=color)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table."""
        return self.comparison.records()


def sweep(
    spec: str | PathLike[str],
    over: Mapping[str, Sequence[object]],
    data: Any = None,
    *,
    out: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    **options: Any,
) -> Sweep:
    """Train a spec for every combination of values of dims, consts or settings, ``{"train.lr": [1e-3, 3e-3]}``.

    The folder ``out``, by default ``runs/NAME-N``, has a folder for each run, named by its values. In a folder that is
    there finished runs stay, and an unfinished one is continued. The other arguments are those of ``energyc.train``.
    Raises as ``energyc.train``; UserError for values that are not lists.
    """
    for name, values in over.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise wrong_argument(name, values, f'a list of values, as {{"{name}": [1, 2]}}')
    if not over:
        raise Misuse(
            spoken("{} names no setting", Option("sweep")), code="E0930", help='give {"train.lr": [1e-3, 3e-3]}'
        )
    kept = {
        name: options[name]
        for name in ("test", "validation", "map", "quiet", "notify", "progress", "group")
        if name in options
    }
    runs = list[Run | Runs]()
    source = read_spec(spec if isinstance(spec, str) else Path(spec))
    first = {name: values[0] for name, values in over.items()}
    choices = Choices.of(
        options.get("preset"), options.get("dims"), options.get("consts"), {**(settings or {}), **first}
    )
    _refuse_idle(resolve(source, choices, given(data, map=options.get("map")).read(source).schemas()), over)
    name = parse(source).name.text
    with run_folder(out, name, options.get("group", ALONE)) as folder:
        for values in product(*over.values()):
            point = dict(zip(over, values, strict=True))
            place = folder / _named(point)
            if RunFolder(place).info.exists() or RunFolder(place).of_several:
                runs.append(resume(place, data, **kept))
            else:
                runs.append(train(spec, data, out=place, settings={**(settings or {}), **point}, **options))
        return Sweep(folder, tuple(runs), compare(*(run.folder for run in runs)))


def _refuse_idle(network: Network, over: Mapping[str, object]) -> None:
    """Raise UserError E0503 for a setting of the sweep that does nothing on this network."""
    for note in idle_settings(network, classify(network)):
        if note.split()[0] in over:
            raise UserError(f"the runs of this sweep would be the same: {note}", code="E0503", help="sweep another one")


def _named(point: Mapping[str, object]) -> str:
    """Return the name of the folder of a run: ``lr=0.001,J=32``."""
    return ",".join(_UNSAFE.sub("_", f"{name.rpartition('.')[2]}={shortened(value)}") for name, value in point.items())
