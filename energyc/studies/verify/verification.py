"""``energyc verify``: measure the rules of a spec, or of a checkpoint of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from energyc.language.diagnostics import Source, UserError, arithmetic, listed, stage
from energyc.language.network import Network
from energyc.language.settings import extremes
from energyc.language.syntax import ast
from energyc.pipeline import ALL, Choices, Compiled, emit, instantiate, parse, resolve, training_dtype
from energyc.running.folder.checkpoints import Checkpoint, steps
from energyc.running.runs.data_arguments import NO_DATA, Data
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.saved import SavedRun, Which, load_run
from energyc.running.training.feeds import Batch
from energyc.running.training.outcome import best_by
from energyc.running.training.run_health import Relaxation, RunHealth, run_health
from energyc.runtime import RULES, NonConvergence
from energyc.studies.verify.fidelity import Fidelity, measure_fidelity
from energyc.studies.verify.guarantees import WITHIN
from energyc.studies.verify.layers import measure_layers
from energyc.studies.verify.precision import PrecisionTable, ProductsCost, precision_table, products_cost
from energyc.studies.verify.samples import Record, given_samples, random_probe, record, samples_of
from energyc.studies.verify.work import EVALUATIONS, Progress, Work, silent, solvable

#: The preset whose sizes are small enough for exact solutions.
PRESET = "verify"
#: The number of samples drawn for a spec.
SAMPLES = 4


@dataclass(frozen=True)
class MeasuredCheckpoint:
    """A measured checkpoint of a run, with the steps of the newest and the best one (None if unknown).

    ``samples`` describes the samples, ``log`` the free phases of the run, and ``health`` how it settled and learned.
    ``best_by`` says which samples chose the best one.
    """

    step: int
    newest: int
    best: int | None
    samples: str
    log: Record
    health: RunHealth
    best_by: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        place = {"step": self.step, "newest": self.newest, "best": self.best, "best_by": self.best_by}
        return {**place, "samples": self.samples, "log": self.log.to_json(), "health": self.health.to_json()}


@dataclass(frozen=True)
class Verification:
    """The result of ``verify``: the network and its sizes, the fidelity, and the effect of rounding on training.

    ``inputs`` describes the samples of a spec or run.
    """

    network: str
    sizes: dict[str, int]
    preset: str | None
    gain: float
    fidelity: Fidelity
    precision: PrecisionTable | None
    checkpoint: MeasuredCheckpoint | None = None
    products: ProductsCost | None = None
    inputs: str = "drawn inputs"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``verify --format json``."""
        head = {"network": self.network, "sizes": self.sizes, "preset": self.preset, "gain": self.gain}
        head["inputs"] = self.inputs
        head["checkpoint"] = self.checkpoint.to_json() if self.checkpoint else None
        head["products"] = self.products.to_json() if self.products else None
        return {**head, **self.fidelity.to_json(), **self._rounding()}

    def _rounding(self) -> dict[str, Any]:
        """Return the rule, the error of each param, the nudge in ulps a step, and the states where it is under one."""
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
    evaluations: int = EVALUATIONS,
    data: Data = NO_DATA,
    within: float = WITHIN,
    notify: Callable[[str], None] = lambda text: None,
    progress: Progress = silent,
) -> Verification:
    """Measure rules on a network at initialisation, its weights times ``gain``, or with a run's trained weights.

    The newest checkpoint of a run is measured, or the ``best``; ``notify`` is called for each damaged one. A spec has
    the sizes of its preset ``verify`` unless another preset is chosen. ``rules`` are by default all that a spec admits,
    or the rule that trained a run. Inputs are random for a spec, and test samples for one whose ``data`` are given (as
    for ``--data``; it then has its full sizes) and for a run, preferably samples that do not settle if its log has any.
    ``sweep_residual`` also starts nudged phases from free phases that were stopped early. Each measurement may take
    ``evaluations`` of the force. Where the error of centered-ep has a bound, the largest beta is given at which that is
    ``within`` a number. ``progress`` is called with the name of each measurement before it starts.
    Raises SpecError, UserError.
    """
    saved = load_run(spec_or_run) if is_run(spec_or_run) else None
    source = read_spec(spec_or_run) if saved is None else saved.source
    given = data.read(source)
    choices = _with_verify_preset(source, choices) if saved is None and not data else choices
    network = resolve(source, choices, given.schemas()) if saved is None else saved.resolved(choices)
    _refuse_without_rest(network)
    trained_by = network.train.trained_by if saved is None else saved.rule
    probe = given_samples(network, given) if data and saved is None else None
    compiled = emit(network, rules or (ALL if saved is None else [trained_by]), choices)
    exact = instantiate(compiled, "cpu", torch.float64, 0).eval()
    weights = None if saved is None else saved.load_into(exact, checkpoint, notify)
    configured = _configured_copy(compiled, exact, gain)
    extreme = extremes(network.relax, network.nudge)
    with stage("verify", source.name), arithmetic("the verification", extreme):
        measured_checkpoint = None
        if saved is not None and weights is not None:
            probe, measured_checkpoint = _probe_run(saved, weights, configured, network, evaluations, data)
        fidelity, precision, products = _measure(
            compiled, exact, configured, probe, trained_by, sweep_residual, evaluations, progress, within
        )
    head = (network.name, network.extents, choices.preset, gain)
    inputs = _described(probe, measured_checkpoint, data)
    return Verification(*head, fidelity, precision, measured_checkpoint, products, inputs)


def _described(probe: Batch | None, measured: MeasuredCheckpoint | None, data: Data) -> str:
    if measured is not None:
        return measured.samples
    if probe is None:
        return Verification.inputs
    count = next(len(x) for x in (*probe.clamps.values(), *probe.targets.values()))
    return f"{count} test samples of {listed(data.described)}"


def _refuse_without_rest(network: Network) -> None:
    if network.numbered and network.step is not None:
        readers = ", ".join(f"{name} reads {network.step.name}" for name in network.numbered)
        message = f"verify compares gradients at an equilibrium, and {network.name} has none: {readers}"
        raise UserError(message, code="E0920", help="bptt is exact for the steps as they are made")


def _probe_run(
    saved: SavedRun, weights: Checkpoint, configured: Any, network: Network, evaluations: int, data: Data
) -> tuple[Batch | None, MeasuredCheckpoint]:
    """Return samples of a run (None if its data cannot be opened) and a description of its checkpoint."""
    limits = {"tolerance": configured.relax_tolerance, "gate": saved.options.gate}
    rows = saved.rows()
    log = record(rows, weights.step, limits)
    samples = samples_of(saved, network, configured, log, data)
    chosen = weights.state.get("best") or {}
    best = chosen.get("step")
    newest = max([weights.step, *steps(saved.folder.checkpoints)])
    relaxation = Relaxation.of(configured, configured.dtype)
    crowd = samples.crowd or random_probe(configured, batch=SAMPLES).clamps
    work = Work((configured,), evaluations)

    def find() -> NonConvergence | None:
        return work.measure("why samples do not settle", lambda: configured.non_convergence(crowd))

    health = run_health(rows, relaxation, saved.rule, saved.options.best, best, find)
    described = MeasuredCheckpoint(weights.step, newest, best, samples.description, log, health, best_by(chosen))
    return samples.probe, described


def _with_verify_preset(source: Source, choices: Choices) -> Choices:
    presets = {s.name.text for s in parse(source).statements if isinstance(s, ast.Preset)}
    return replace(choices, preset=PRESET) if choices.preset is None and PRESET in presets else choices


def _configured_copy(compiled: Compiled, exact: Any, gain: float) -> Any:
    """Multiply the weights of the exact network by ``gain`` and return its copy in the dtype that it trains in."""
    with torch.no_grad():
        for param in exact.parameters():
            param.mul_(gain)
    configured = instantiate(compiled, "cpu", training_dtype(compiled.network), 0).eval()
    configured.load_state_dict(exact.state_dict())
    configured.warned.add("dtype")  # samples are in float64, to be rounded here and not there
    return configured


def _measure(
    compiled: Compiled,
    exact: Any,
    configured: Any,
    probe: Batch | None,
    trained_by: str,
    sweep_residual: bool,
    evaluations: int,
    progress: Progress,
    within: float,
) -> tuple[Fidelity, PrecisionTable | None, ProductsCost | None]:
    network, verdicts = compiled.network, compiled.classes.rules
    if network.cost is None:
        raise UserError(f"{network.name} has no cost, so no rule has a gradient", code="E0922", help="add a cost line")
    probe = random_probe(exact, batch=SAMPLES) if probe is None else probe
    if network.layers:
        worth = {rule: verdicts[rule].verdict for rule in exact.rules}
        return measure_layers(network, exact, configured, probe, exact.rules, worth, progress), None, None
    _fix_step(exact, configured, probe)
    fidelity = measure_fidelity(
        exact,
        configured,
        probe,
        exact.rules,
        verdicts={rule: verdicts[rule].verdict for rule in exact.rules},
        sweep_residual=sweep_residual,
        evaluations=evaluations,
        progress=progress,
        network=network,
        within=within,
    )
    no_gradient = len(fidelity.zero) == len(exact.params)
    if no_gradient:
        return fidelity, None, None
    work = Work((exact, configured), evaluations, progress)
    table = work.measure("rounding", partial(_precision, exact, configured, probe, trained_by, fidelity.zero))
    rule = trained_by if trained_by in exact.rules else exact.rules[0]
    cost = work.measure("rounded products", lambda: solvable(lambda: products_cost(configured, exact, probe, rule)))
    return replace(fidelity, left_out=(*fidelity.left_out, *work.left_out)), table, cost


def _fix_step(exact: Any, configured: Any, probe: Batch) -> None:
    """Where relaxations choose their steps, give both networks the one that is chosen for the probe."""
    if exact.relax_auto:
        step = exact.relax(probe.clamps).step
        for net in (exact, configured):
            net.relax_step, net.relax_auto = step, False


def _precision(
    exact: Any, configured: Any, probe: Batch, trained_by: str, zero: tuple[str, ...]
) -> PrecisionTable | None:
    """Measure rounding in the rule that trains, or in the first rule with a nudge if that is not measured.

    None if no rule has a nudge, or if there is no gradient to compare.
    """
    nudging = (rule for rule in exact.rules if RULES[rule].contrasts)
    rule = trained_by if trained_by in exact.rules else next(nudging, None)
    if rule is None or exact.beta is None:
        return None
    return solvable(lambda: precision_table(configured, exact, probe, rule, zero))
