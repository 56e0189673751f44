"""``energyc view``: the page of a run, or of two side by side, which needs no network and no other file."""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from energyc.language.diagnostics import CompilerBug, SpecError, UserError
from energyc.language.network import Network
from energyc.language.settings.table import Block, table
from energyc.pipeline import classify, resolve
from energyc.proofs.claims.classes import Classes
from energyc.running.folder.formats import RelaxationRow, parse_relaxation
from energyc.running.folder.logs import Row, read_relaxations
from energyc.running.runs.saved import SavedRun, load_run, refuse_other_record
from energyc.running.training.numbers import RESTING
from energyc.running.training.outcome import CHOSEN_BY, best_by
from energyc.running.training.run_health import Relaxation, RunHealth, run_health
from energyc.surfaces.charts import Chart
from energyc.surfaces.charts.curves import followed, health_charts, learning_charts, metric_names, relaxation_chart
from energyc.surfaces.html.pages import render
from energyc.surfaces.report.evidence import evidence
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


# ---------------------------------------------------------------- the facts of a run


#: The longest default in words.
LONGEST = 28
#: The distance from 1 to the next number, by dtype.
EPSILON = MappingProxyType({"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7})


@dataclass(frozen=True)
class RunFacts:
    """A run, its rows, how samples relaxed at its evaluations, and its network where its spec still resolves.

    ``relaxations_of`` says where the relaxations are from, or why there are none; ``without`` why there is no network.
    """

    run: SavedRun
    rows: Sequence[Row]
    relaxations: Sequence[RelaxationRow]
    relaxations_of: str
    network: Network | None = None
    classes: Classes | None = None
    without: str = ""

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.run.folder.path.resolve().name

    def of(self, kind: str) -> list[Row]:
        """Return the rows of a kind: ``train``, ``eval``, ``validation``."""
        return [row for row in self.rows if row.get("kind") == kind]

    @property
    def step(self) -> int:
        """The update that the rows reach."""
        return max((row["step"] for row in self.rows), default=0)

    @property
    def total(self) -> int:
        """How many updates the run is to make."""
        return int(self.run.info.get("steps", 0))

    @cached_property
    def best(self) -> Mapping[str, Any]:
        """The best evaluation according to the newest checkpoint; empty where there is none yet."""
        try:
            return self.run.checkpoint("last").state.get("best") or {}
        except UserError:
            return {}

    @cached_property
    def health(self) -> RunHealth | None:
        """The health of the run; None without its network, or without an update."""
        if self.network is None or not self.of("train"):
            return None
        relax, options = self.network.relax, self.run.options
        epsilon = EPSILON.get(str(self.run.info.get("dtype", "float32")), 2.0**-8)
        longest = relax.max_steps or 10 * relax.steps
        early, numbered = relax.exit == "inference", bool(self.network.numbered)
        relaxation = Relaxation(relax.steps, relax.tolerance, longest, epsilon, early, numbered)
        return run_health(self.rows, relaxation, self.run.rule, options.best, self.best.get("step"))

    @cached_property
    def command(self) -> str:
        """The command that makes this run again, or the call where a program gave its data."""
        info, options = self.run.info, self.run.options
        spec = str(info.get("spec") or "")
        if not spec or spec == "-" or spec.startswith("<"):  # text, or standard input
            spec = str(self.run.folder.path / "spec.energy")
        if info.get("given"):
            chosen = {"preset": info.get("preset"), "settings": info.get("overrides")}
            more = "".join(f", {name}={value!r}" for name, value in chosen.items() if value)
            main = f"rule={self.run.rule!r}, steps={self.total}, seed={options.seed}"
            return f"energyc.train({spec!r}, data{more}, {main})"
        words = ["energyc", "train", spec]
        words += ["--preset", str(info["preset"])] if info.get("preset") else []
        for key, value in info.get("overrides", {}).items():
            words += ["--set", f"{key}={value}"]
        words += ["--rule", self.run.rule, "--steps", str(self.total), "--seed", str(options.seed)]
        for name, path in info.get("data", {}).items():
            words += ["--data", f"{name}={path}"]
        words += ["--data", str(info["arrays"])] if info.get("arrays") else []
        words += ["--map", *(f"{name}={array}" for name, array in info["map"].items())] if info.get("map") else []
        words += [] if info.get("device", "cpu") == "cpu" else ["--device", str(info["device"])]
        words += [] if info.get("target", "torch") == "torch" else ["--target", str(info["target"])]
        return shlex.join(words)

    @cached_property
    def settings(self) -> dict[str, str]:
        """Every setting by its dotted name, with the sizes of the dims and the values of the consts."""
        found: dict[str, str] = {}
        if self.network is not None:
            found |= {f"dim {name}": str(size.value) for name, size in self.network.sizes.items()}
            found |= {f"const {name}": f"{const.value:g}" for name, const in self.network.consts.items()}
            found |= _written(self.network.relax) | _written(self.network.nudge)
        return {**found, **_written(self.run.options), "train.rule": self.run.rule, "train.steps": str(self.total)}

    @property
    def circumstances(self) -> dict[str, str]:
        """The circumstances of the run that are not settings: device, dtype, versions, data, hashes."""
        info: Mapping[str, Any] = self.run.info
        found = {"network": str(info.get("network", "")), "energyc": str(info.get("energyc", ""))}
        found |= {name: str(version) for name, version in info.get("versions", {}).items()}
        for key in ("device", "target", "dtype", "threads", "training_samples", "fold"):
            if info.get(key) is not None:
                found[key.replace("_", " ")] = str(info[key])
        found |= {f"data {name}": path for name, path in info.get("data", {}).items()}
        return found


def _written(block: Block) -> dict[str, str]:
    """Return the settings of a block by their dotted names, as a spec writes them."""
    found: dict[str, str] = {}
    for name, row in table(type(block)).items():
        value = getattr(block, name)
        unset = getattr(row.kind, "word", "") or row.otherwise.replace("`", "") or "none"
        unset = unset if len(unset) <= LONGEST else "by default"
        found[f"{block.word}.{name}"] = unset if value is None else _text(value)
        for owner, own in getattr(block, row.single, {}).items() if row.single else ():
            found[f"{block.word}.{name}.{owner}"] = _text(own)
    return found


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def run_facts(run: SavedRun) -> RunFacts:
    """Read a run, whose checkpoints are looked at only for the best one. Raises UserError for a damaged folder."""
    network, classes, without = _network(run)
    if network is not None:
        refuse_other_record(run.info, network)
    relaxations = read_relaxations(run.folder.relaxations)
    of = "recorded at each evaluation" if relaxations else _none_recorded(run)
    return RunFacts(run, run.rows(), relaxations, of, network, classes, without)


def relaxations_of_checkpoints(run: SavedRun, notify: Callable[[str], None]) -> tuple[list[RelaxationRow], str]:
    """Return a row for each checkpoint, oldest first, and where they are from or why there is none."""
    from energyc.running.folder import checkpoints
    from energyc.running.folder.checkpoints import Damaged
    from energyc.running.runs.prepare import reopen
    from energyc.running.training.evaluation import relaxation_row
    from energyc.running.training.feeds import Feed
    from energyc.running.training.snapshot import restore

    try:
        prepared = reopen(run.folder.path)
        session = prepared.session(run.folder.path)
        feed = Feed(session.feeds, "test", session.device, session.dtype)
    except (UserError, SpecError) as error:
        notify(f"no relaxations of {run.folder.path}: {error}")
        return [], f"no relaxation is recorded in this run, and none can be computed: {error}"
    rows = []
    for step in reversed(checkpoints.steps(run.folder.checkpoints)):
        try:
            restore(session.net, checkpoints.load(run.folder.checkpoints, step))
        except Damaged as damage:
            notify(f"the checkpoint of step {step} is damaged ({damage})")
            continue
        energies = bool(prepared.network.energies)
        row = relaxation_row(session.net, feed, step, energies=energies, seed=session.options.seed)
        rows.append(parse_relaxation(json.dumps(row)))
    return rows, "computed now from the checkpoints that the run keeps"


def _none_recorded(run: SavedRun) -> str:
    if run.info.get("layers"):
        return "each layer relaxes down an energy of its own, of which a run keeps no record"
    return "no relaxation is recorded in this run yet"


def _network(run: SavedRun) -> tuple[Network | None, Classes | None, str]:
    """Return the network with its classes, or the reason why there is none."""
    try:
        network = resolve(run.source)
        return network, classify(network), ""
    except SpecError as error:
        return None, None, f"its spec does not resolve here: {error.diagnostics[0].message}"
    except UserError as error:
        return None, None, error.message
    except CompilerBug as bug:
        return None, None, str(bug)
