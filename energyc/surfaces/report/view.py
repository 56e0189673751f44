"""``energyc view``: the page of a run, or of two side by side, which needs no network and no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from energyc.running.folder.formats import RelaxationRow
from energyc.running.runs.saved import load_run
from energyc.running.training.numbers import RESTING
from energyc.running.training.outcome import CHOSEN_BY, best_by
from energyc.surfaces.charts import Chart
from energyc.surfaces.charts.learning import Row, health_charts, learning_charts, metric_names
from energyc.surfaces.charts.relaxing import followed, relaxation_chart
from energyc.surfaces.html.pages import render
from energyc.surfaces.report.evidence import evidence
from energyc.surfaces.report.run_facts import RunFacts, relaxations_of_checkpoints, run_facts
from energyc.surfaces.tables import Table, Verdict, number

Notify = Callable[[str], None]
#: A larger picture is not put into the page.
LARGEST = 8 * 2**20


def view(runs: Sequence[Path | str], notify: Notify = lambda text: None) -> str:
    """Return the page of one run or of two. Raises UserError E0511 for a folder that is not a run.

    Of a run without recorded relaxations they are computed from the checkpoints that it keeps, where its data can be
    opened; ``notify`` is told where not.
    """
    found = [_with_relaxations(run_facts(load_run(run)), notify) for run in runs]
    names = [facts.name for facts in found]
    labels = names if len(set(names)) == len(names) else [str(facts.run.folder.path) for facts in found]
    best = found[0].best.get("step") if len(found) == 1 else None
    return render(
        "view.html",
        title=" and ".join(names),
        styles=["chart.css", "view.css"],
        scripts=["view.js"],
        found=[_shown(facts) for facts in found],
        learning=learning_charts(dict(zip(labels, (facts.rows for facts in found), strict=True)), best),
        health=health_charts(dict(zip(labels, map(_measured, found), strict=True))),
        settings=_settings([facts.settings for facts in found]),
    )


def _with_relaxations(facts: RunFacts, notify: Notify) -> RunFacts:
    if facts.relaxations or facts.run.info.get("layers"):
        return facts
    rows, of = relaxations_of_checkpoints(facts.run, notify)
    return replace(facts, relaxations=rows, relaxations_of=of)


def _shown(facts: RunFacts) -> dict[str, Any]:
    """Return what the page shows of a run."""
    folder = facts.run.folder.pictures
    return {
        "facts": facts,
        "tiles": _tiles(facts),
        "updates": [row["step"] for row in facts.relaxations],
        "relaxations": _relaxations(facts.relaxations),
        "terms": _terms(facts),
        "verdict": None if facts.classes is None else Verdict(facts.classes.verdict),
        "rule": _rule(facts),
        "pictures": [(Path(name).stem, *_picture(facts, name)) for name in folder.names("*.png")],
    }


def _tiles(facts: RunFacts) -> list[tuple[str, str]]:
    """The update that the run has reached, and the cost and every metric of its best evaluation."""
    tiles = [("rule", facts.run.rule), ("updates", f"{facts.step:,} of {facts.total:,}")]
    numbers = facts.best.get("numbers", {})
    for name in ("cost", *metric_names(numbers)):
        if (value := numbers.get(name)) is not None:
            tiles.append((f"best {name}", f"{value:.2%}" if name == "accuracy" else number(value)))
    if facts.best:
        tiles.append((f"best {CHOSEN_BY[best_by(facts.best)]}, at update", f"{facts.best['step']:,}"))
    return tiles


def _measured(facts: RunFacts) -> Sequence[Row]:
    """The rows of a run, without numbers of a rest that its states do not come to."""
    if facts.health is None or facts.health.rests:
        return facts.rows
    return [{name: value for name, value in row.items() if name not in RESTING} for row in facts.rows]


def _relaxations(rows: Sequence[RelaxationRow]) -> list[Chart]:
    """The energies and the residuals of samples over the steps, a group of curves for each update."""
    charts = []
    for key, name in (("energies", "energy"), ("residuals", "residual")):
        curves = [
            curve
            for place, row in enumerate(rows)
            if key in row
            for curve in followed(name, row["at"], row[key], group=place)  # type: ignore[literal-required]
        ]
        if curves:
            charts.append(relaxation_chart(name, curves))
    return charts


def _settings(tables: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The settings that are the same, and by name the values of those that differ."""
    names = dict.fromkeys(name for table in tables for name in table)
    values = {name: [table.get(name, "") for table in tables] for name in names}
    differing = {name: each for name, each in values.items() if len(set(each)) > 1}
    return {"same": {name: values[name][0] for name in names if name not in differing}, "differing": differing}


def _terms(facts: RunFacts) -> Table | None:
    if facts.classes is None:
        return None
    rows = [
        (f"{layer}.{term.name}" if layer else term.name, term.kind, Verdict(term.verdict),
         evidence(replace(term, witness=None)))
        for layer, classes in (facts.classes.layers or {"": facts.classes}).items()
        for term in classes.terms
    ]  # fmt: skip
    return Table(("term", "written as", "class", "evidence"), tuple(rows))


def _rule(facts: RunFacts) -> tuple[Verdict, str] | None:
    """The verdict on the rule of the run, and the reason unless it is exact."""
    rule = None if facts.classes is None else facts.classes.rules.get(facts.run.rule)
    return None if rule is None else (Verdict(rule.verdict), rule.reason if rule.verdict != "exact" else "")


def _picture(facts: RunFacts, name: str) -> tuple[str, str]:
    """The address of a picture, or why it cannot be read."""
    try:
        return embedded((facts.run.folder.pictures / name).read(LARGEST)), ""
    except OSError as error:
        return "", f"{name} cannot be read: {error.strerror}"


def embedded(png: bytes) -> str:
    """Return a ``data:`` address of a picture."""
    return f"data:image/png;base64,{b64encode(png).decode()}"
