"""``energyc verify``: the rules of a spec, or of the checkpoint of a run, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from energyc.calculus import depends
from energyc.diagnostics import Source, UserError, arithmetic, stage
from energyc.ir import Stop, walk
from energyc.pipeline import ALL, Choices, Compiled, emit, instantiate, parse, resolve, training_dtype
from energyc.resolve import Network
from energyc.rules import RULES
from energyc.runs.locate import is_run, read_spec
from energyc.runs.saved import SavedRun, Which, load_run
from energyc.syntax import ast
from energyc.train.checkpoint import Checkpoint, steps
from energyc.train.run_health import Relaxation, RunHealth, run_health
from energyc.verify.fidelity import Fidelity, measure_fidelity
from energyc.verify.precision import PrecisionTable, precision_table
from energyc.verify.probe import Probe, random_probe
from energyc.verify.record import Record, record
from energyc.verify.samples import samples_of
from energyc.verify.work import Progress, silent

#: The preset that gives sizes small enough to solve exactly.
PRESET = "verify"
#: Drawn for a spec.
SAMPLES = 4


@dataclass(frozen=True)
class MeasuredCheckpoint:
    """A checkpoint of a run, beside the newest and the best one (None: not known).

    ``samples`` says on what it is measured, ``log`` how the run settled, ``health`` how it did and learned.
    """

    step: int
    newest: int
    best: int | None
    samples: str
    log: Record
    health: RunHealth

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        place = {"step": self.step, "newest": self.newest, "best": self.best}
        return {**place, "samples": self.samples, "log": self.log.to_json(), "health": self.health.to_json()}


@dataclass(frozen=True)
class Verification:
    """What was measured, of which network, at which sizes, and what rounding does to the rule it trains by."""

    network: str
    sizes: dict[str, int]
    preset: str | None
    gain: float
    fidelity: Fidelity
    precision: PrecisionTable | None
    checkpoint: MeasuredCheckpoint | None = None

    def to_json(self) -> dict[str, Any]:
        """The object of ``verify --format json``."""
        head = {"network": self.network, "sizes": self.sizes, "preset": self.preset, "gain": self.gain}
        head["checkpoint"] = self.checkpoint.to_json() if self.checkpoint else None
        return {**head, **self.fidelity.to_json(), **self._rounding()}

    def _rounding(self) -> dict[str, Any]:
        """The errors of params and of which rule, the nudge in ulps a step, the states on which that is under one."""
        if self.precision is None:
            return {"float32": {}, "float32_rule": None, "nudge_ulps": {}, "faint": []}
        errors = {row.param: row.error for row in self.precision.rows}
        nudge = {"nudge_ulps": dict(self.precision.nudge_ulps), "faint": list(self.precision.faint)}
        return {"float32": errors, "float32_rule": self.precision.rule, **nudge}


def verify(
    spec_or_run: str | Path,
    choices: Choices = Choices(),
    *,
    rules: Sequence[str] | None = None,
    gain: float = 1.0,
    sweep_residual: bool = False,
    checkpoint: Which = "last",
    notify: Callable[[str], None] = lambda text: None,
    progress: Progress = silent,
) -> Verification:
    """Measure rules on a network at initialisation, its weights times ``gain``, or with a run's trained weights.

    Of a run the newest checkpoint is measured, or the ``best``; ``notify`` is called for a damaged one. A spec has the
    sizes of its preset ``verify`` unless another preset is chosen. By default ``rules`` are all that a spec admits, and
    the one that trained a run. Inputs are drawn; those of a run are test samples where its data can be opened, and
    among these such as do not settle where its log has some. ``sweep_residual`` also starts nudged phases from free
    phases that were cut off early. ``progress`` is called with a word on what is measured next.
    Raises SpecError, UserError.
    """
    saved = load_run(spec_or_run) if is_run(spec_or_run) else None
    source = read_spec(spec_or_run) if saved is None else saved.source
    choices = _at_small_sizes(source, choices) if saved is None else choices
    network = resolve(source, choices)
    trained_by = network.train.trained_by if saved is None else saved.rule
    compiled = emit(network, rules or (ALL if saved is None else [trained_by, "implicit"]), choices)
    exact = instantiate(compiled, "cpu", torch.float64, 0)
    weights = None if saved is None else saved.load_into(exact, checkpoint, notify)
    configured = _configured_copy(compiled, exact, gain)
    with stage("verify", source.name), arithmetic("the verification"):
        probe, measured = None, None
        if saved is not None and weights is not None:
            probe, measured = _on_run(saved, weights, configured, network)
        fidelity, precision = _measured(compiled, exact, configured, probe, trained_by, sweep_residual, progress)
    return Verification(network.name, network.extents, choices.preset, gain, fidelity, precision, measured)


def _on_run(
    saved: SavedRun, weights: Checkpoint, configured: Any, network: Network
) -> tuple[Probe | None, MeasuredCheckpoint]:
    """Samples to measure the checkpoint of a run on (None where its data cannot be opened), and what is known of it."""
    limits = {"tolerance": configured.relax_tolerance, "gate": saved.options.gate}
    rows = saved.rows()
    log = record(rows, weights.step, limits)
    probe, samples = samples_of(saved, network, configured, log)
    best = (weights.state.get("best") or {}).get("step")
    newest = max([weights.step, *steps(saved.folder.checkpoints)])
    relaxation = Relaxation.of(configured, configured.dtype)
    health = run_health(rows, relaxation, saved.rule, saved.options.best, best)
    return probe, MeasuredCheckpoint(weights.step, newest, best, samples, log, health)


def _at_small_sizes(source: Source, choices: Choices) -> Choices:
    presets = {s.name.text for s in parse(source).statements if isinstance(s, ast.Preset)}
    return replace(choices, preset=PRESET) if choices.preset is None and PRESET in presets else choices


def _configured_copy(compiled: Compiled, exact: Any, gain: float) -> Any:
    """The network in the dtype that it trains in, with the weights of the exact one, which are first multiplied."""
    with torch.no_grad():
        for param in exact.parameters():
            param.mul_(gain)
    configured = instantiate(compiled, "cpu", training_dtype(compiled.network), 0)
    configured.load_state_dict(exact.state_dict())
    return configured


def _measured(
    compiled: Compiled,
    exact: Any,
    configured: Any,
    probe: Probe | None,
    trained_by: str,
    sweep_residual: bool,
    progress: Progress,
) -> tuple[Fidelity, PrecisionTable | None]:
    network, verdicts = compiled.network, compiled.classes.rules
    if network.cost is None:
        raise UserError(f"{network.name} has no cost, so no rule has a gradient", code="E0922", help="add a cost line")
    probe = probe or random_probe(exact, batch=SAMPLES)
    fidelity = measure_fidelity(
        exact,
        configured,
        probe,
        exact.rules,
        verdicts={rule: verdicts[rule].verdict for rule in exact.rules},
        sweep_residual=sweep_residual,
        detaches=_detaches(network),
        progress=progress,
    )
    nothing = len(fidelity.zero) == len(exact.params)
    return fidelity, None if nothing else _precision(exact, configured, probe, trained_by, fidelity.zero)


def _precision(
    exact: Any, configured: Any, probe: Probe, trained_by: str, zero: tuple[str, ...]
) -> PrecisionTable | None:
    """What rounding does to the rule trained by, or where that is not measured to the first one with a nudge.

    None where no rule has one, and where there is no gradient to compare.
    """
    nudging = (rule for rule in exact.rules if RULES[rule].contrasts)
    rule = trained_by if trained_by in exact.rules else next(nudging, None)
    if rule is None or exact.beta is None:
        return None
    try:
        return precision_table(configured, exact, probe, rule, zero)
    except RuntimeError:  # the implicit solve, where the free phase is far from rest
        return None


def _detaches(network: Network) -> bool:
    """Whether a term or the cost cuts derivatives by a state or param with ``detach``."""
    roots = [term.node for term in network.terms.values()] + ([network.cost.node] if network.cost else [])
    cut = {node.argument for node in walk(roots) if isinstance(node, Stop) and node.mode == "detach"}
    moving = {state.node for state in network.states.values()} | {param.node for param in network.params.values()}
    return not cut.isdisjoint(depends(cut, moving))
