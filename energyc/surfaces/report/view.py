"""``energyc view``: the page of a run, or of two side by side, which needs no network and no other file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from markupsafe import Markup

from energyc.files import SafePath
from energyc.running.folder.formats import RelaxationRow
from energyc.running.runs.saved import load_run
from energyc.running.training.numbers import RESTING
from energyc.running.training.outcome import CHOSEN_BY, best_by
from energyc.surfaces.charts import Chart, Mark, Scale, Series
from energyc.surfaces.charts.learning import held_out, metric_names, points, training
from energyc.surfaces.html.chart import legend, number, svg
from energyc.surfaces.html.markup import PAGE, Content, page, tag
from energyc.surfaces.html.verdicts import verdict
from energyc.surfaces.report.curves import HEALTH, shows
from energyc.surfaces.report.embedded import embedded
from energyc.surfaces.report.evidence import evidence
from energyc.surfaces.report.run_facts import RunFacts, run_facts

Notify = Callable[[str], None]
#: A larger picture is not put into the page.
LARGEST = 8 * 2**20


def view(runs: Sequence[Path | str], notify: Notify = lambda text: None) -> str:
    """Return the page of one run or of two. Raises UserError E0511 for a folder that is not a run.

    Of a run without recorded relaxations they are computed from the checkpoints that it keeps, where its data can be
    opened; ``notify`` is told where not.
    """
    found = [_with_relaxations(run_facts(load_run(run)), notify) for run in runs]
    title = " and ".join(facts.name for facts in found)
    main = tag("main", _head(title, found), *_sections(found))
    return page(title, tag("div", main, class_="page view"), styles=(*PAGE, "chart.css", "view.css"),
                scripts=("view.js",))  # fmt: skip


def _with_relaxations(facts: RunFacts, notify: Notify) -> RunFacts:
    from energyc.surfaces.report.checkpoint_relaxations import relaxations_of_checkpoints

    if facts.relaxations or facts.run.info.get("layers"):
        return facts
    rows, of = relaxations_of_checkpoints(facts.run, notify)
    return replace(facts, relaxations=rows, relaxations_of=of)


def _sections(found: Sequence[RunFacts]) -> Iterator[Markup]:
    for title, content in (
        ("Learning", _learning(found)),
        ("Health", _health(found)),
        ("Relaxation", _relaxations(found)),
        ("Settings", _settings(found)),
        ("Classes and rules", _beside(found, _classes)),
        ("How it was made", _beside(found, _made)),
        ("Pictures", _beside(found, _pictures)),
        ("Spec", _beside(found, _spec)),
    ):
        yield tag("section", tag("h2", title), content)


def _beside(found: Sequence[RunFacts], draw: Callable[[RunFacts], Content]) -> Markup:
    """Return what is drawn of each run, side by side, under their names where there are two."""
    columns = [tag("div", _name(facts, k) if len(found) > 1 else None, draw(facts)) for k, facts in enumerate(found)]
    return tag("div", columns, class_="beside" if len(found) > 1 else None)


def _name(facts: RunFacts, place: int) -> Markup:
    return tag("h3", tag("i", class_="dot"), facts.name, class_=f"c{place}")


# ------------------------------------------------------------------ the head


def _head(title: str, found: Sequence[RunFacts]) -> Markup:
    return tag("header", tag("h1", title), _beside(found, _summary))


def _summary(facts: RunFacts) -> Markup:
    about = facts.network.description if facts.network else ""
    tiles = [("rule", facts.run.rule), ("updates", f"{facts.step:,} of {facts.total:,}")]
    tiles += [(f"best {name}", _value(name, facts.best["numbers"][name])) for name in _deciding(facts)]
    if facts.best:
        tiles.append((f"best {CHOSEN_BY[best_by(facts.best)]}, at update", f"{facts.best['step']:,}"))
    shown = [tag("div", tag("span", label), tag("b", value)) for label, value in tiles]
    health = facts.health
    return tag(
        "div",
        tag("p", about, class_="about") if about else None,
        tag("div", shown, class_="tiles"),
        tag("p", "in progress, or stopped before its end", class_="warning") if facts.step < facts.total else None,
        None if health is None else tag("p", str(health)),
        None if health is None else [tag("p", str(symptom), class_="warning") for symptom in health.symptoms],
    )


def _deciding(facts: RunFacts) -> list[str]:
    """The numbers of the best evaluation that its tiles show: the cost and every metric."""
    numbers = facts.best.get("numbers", {})
    return [name for name in ("cost", *metric_names(numbers)) if numbers.get(name) is not None]


def _value(name: str, value: float) -> str:
    return f"{value:.2%}" if name == "accuracy" else number(value)


# ------------------------------------------------------------------ curves over the updates


def _learning(found: Sequence[RunFacts]) -> Markup:
    names = list(dict.fromkeys(name for facts in found for row in facts.of("eval")[:1] for name in metric_names(row)))
    panels = [_panel("cost", _cost_curves(found), "log", found)]
    panels += [_panel(name, _held_out(found, name), "linear", found) for name in names]
    return tag("div", panels, class_="panels")


def _panel(name: str, curves: Sequence[Series], scale: Scale, found: Sequence[RunFacts]) -> Markup:
    best = found[0].best.get("step") if len(found) == 1 else None
    mark = None if best is None else Mark(best, "best")
    drawn = svg(Chart(tuple(curves), "update", name, scale, mark=mark))
    return tag("figure", drawn, legend(curves))


def _cost_curves(found: Sequence[RunFacts]) -> list[Series]:
    several = len(found) > 1
    curves = [
        training(facts.rows, "cost", k if several else 0, _labelled(facts, several)) for k, facts in enumerate(found)
    ]
    return [*chain.from_iterable(curves), *_held_out(found, "cost")]


def _held_out(found: Sequence[RunFacts], name: str) -> list[Series]:
    several = len(found) > 1
    curves = [
        held_out(facts.rows, name, colour=k if several else None, label=_labelled(facts, several), validation="dashed")
        for k, facts in enumerate(found)
    ]
    return [*chain.from_iterable(curves)]


def _labelled(facts: RunFacts, several: bool) -> Callable[[str], str]:
    return (lambda word: f"{facts.name}, {word}") if several else str


def _health(found: Sequence[RunFacts]) -> Markup:
    measured: Mapping[str, tuple[str, bool]] = {"settled": ("share of samples that settled", False), **HEALTH}
    panels = []
    for key, (label, logarithmic) in measured.items():
        curves = []
        for k, facts in enumerate(found):
            rows = facts.of("train")
            rests = facts.health is None or facts.health.rests
            if (rests or key not in RESTING) and any(shows(key, row) for row in rows):
                steps, values = points(rows, key)
                curves.append(Series(facts.name if len(found) > 1 else label, steps, values, "line", k))
        if curves:
            scale: Scale = "log" if logarithmic else "linear"
            within = (0.0, 1.0) if key == "settled" else None
            drawn = svg(Chart(tuple(curves), "update", label, scale, y_range=within))
            panels.append(tag("figure", drawn, legend(curves) if len(found) > 1 else None))
    return tag("div", panels, class_="panels") if panels else tag("p", "no update was recorded yet", class_="nothing")


# ------------------------------------------------------------------ relaxations


def _relaxations(found: Sequence[RunFacts]) -> Markup:
    return _beside(found, _relaxation)


def _relaxation(facts: RunFacts) -> Content:
    rows = facts.relaxations
    if not rows:
        return tag("p", facts.relaxations_of, class_="nothing")
    last = len(rows) - 1
    parts: list[Content] = []
    kinds: tuple[tuple[str, str, Scale], ...] = (("energies", "energy", "linear"), ("residuals", "residual", "log"))
    for key, label, scale in kinds:
        if any(key in row for row in rows):
            curves = [each for k, row in enumerate(rows) for each in _followed(row, key, k)]
            drawn = Chart(tuple(curves), "step of the relaxation", label, scale, "steps")
            parts.append(tag("figure", svg(drawn, last)))
    updates = ",".join(str(row["step"]) for row in rows)
    slider = tag("input", type="range", min=0, max=last, value=last, step=1, aria_label="update")
    control = tag("label", "update", slider, tag("output", f"{rows[last]['step']:,}"), class_="slider")
    samples = len(rows[last]["residuals"])
    note = (
        f"{samples} test samples, thin; their mean, thick; {facts.relaxations_of}. The axes are those of all updates."
    )
    return tag("div", control, tag("div", parts, class_="panels"), tag("p", note, class_="note"),
               class_="relaxations", data_updates=updates)  # fmt: skip


def _followed(row: RelaxationRow, key: str, place: int) -> Iterator[Series]:
    """Yield the samples and their mean at an update; a residual says nothing before the first step."""
    first = 1 if key == "residuals" else 0
    steps = [float(k) for k in row["at"]][first:]
    samples: list[list[float | None]] = [sample[first:] for sample in row.get(key, [])]  # type: ignore[attr-defined]
    for sample in samples:
        yield Series("", steps, sample, "faint", group=place)
    means = [_mean(values) for values in zip(*samples, strict=True)]
    yield Series("mean", steps, means, "line", group=place)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# ------------------------------------------------------------------ tables


def _settings(found: Sequence[RunFacts]) -> Markup:
    """Return the settings: of one run all of them, of two those that differ, and the others on request."""
    tables = [facts.settings for facts in found]
    names = list(dict.fromkeys(name for table in tables for name in table))
    if len(found) == 1:
        return _listed(tables[0])
    differing = [name for name in names if len({table.get(name) for table in tables}) > 1]
    same = {name: tables[0][name] for name in names if name not in differing}
    head = tag("tr", tag("th", "setting"), [tag("th", facts.name) for facts in found])
    rows = [
        tag("tr", tag("td", tag("code", name)), [tag("td", table.get(name, "")) for table in tables], class_="differs")
        for name in differing
    ]
    count = len(differing)
    said = f"{count or 'No'} setting{'' if count == 1 else 's'} differ{'s' if count == 1 else ''}."
    table = tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="wide") if differing else None
    return tag("div", tag("p", said), table, tag("details", tag("summary", f"{len(same)} are the same"), _listed(same)))


def _listed(values: Mapping[str, str]) -> Markup:
    pairs = [tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()]
    return tag("dl", pairs, class_="listed")


def _classes(facts: RunFacts) -> Content:
    if facts.classes is None:
        return tag("p", facts.without, class_="nothing")
    parts = facts.classes.layers or {"": facts.classes}
    rows = [
        tag("tr", [tag("td", f"{layer}.{term.name}" if layer else term.name), tag("td", term.kind),
                   tag("td", verdict(term.verdict)), tag("td", evidence(replace(term, witness=None)))])
        for layer, classes in parts.items()
        for term in classes.terms
    ]  # fmt: skip
    head = tag("tr", [tag("th", word) for word in ("term", "written as", "class", "evidence")])
    rule = facts.classes.rules.get(facts.run.rule)
    said: Content = ["As a whole it is ", verdict(facts.classes.verdict), "."]
    if rule is not None:
        because = rule.reason if rule.verdict != "exact" else ""
        said = [said, f" On it {facts.run.rule} is ", verdict(rule.verdict), f"{because}."]
    return [tag("p", said), tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="wide")]


def _made(facts: RunFacts) -> Content:
    rows = [tag("tr", tag("td", name), tag("td", value)) for name, value in facts.circumstances.items()]
    return [tag("pre", facts.command, class_="command"), tag("div", tag("table", tag("tbody", rows)), class_="wide")]


def _pictures(facts: RunFacts) -> Content:
    folder = facts.run.folder.pictures
    paths = [folder / name for name in folder.names("*.png")]
    if not paths:
        return tag("p", f"none yet: energyc plot {facts.run.folder.path}", class_="nothing")
    return tag("div", map(_picture, paths), class_="pictures")


def _picture(path: SafePath) -> Markup:
    try:
        content = embedded(path.read(LARGEST))
    except OSError as error:
        return tag("p", f"{path.name} cannot be read: {error.strerror}", class_="nothing")
    image = tag("img", src=content, alt=path.stem)
    return tag("figure", image, tag("figcaption", path.stem), class_="picture")


def _spec(facts: RunFacts) -> Content:
    return tag("details", tag("summary", "spec.energy, as the run resolved it"), tag("pre", facts.run.source.text))
