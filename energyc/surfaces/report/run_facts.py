"""The facts of a run from its folder, read without its data and without its module; it may be in progress."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from energyc.language.diagnostics import CompilerBug, SpecError, UserError
from energyc.language.network import Network
from energyc.language.settings.table import Block, table
from energyc.pipeline import classify, resolve
from energyc.proofs.claims.classes import Classes
from energyc.running.folder.formats import RelaxationRow, parse_relaxation
from energyc.running.folder.logs import Row, read_relaxations
from energyc.running.runs.saved import SavedRun, refuse_other_record
from energyc.running.training.run_health import Relaxation, RunHealth, run_health

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
