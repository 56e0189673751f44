"""``energyc verify``: a spec or a run put on the scales of :mod:`energyc.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.calculus import depends
from energyc.diagnostics import Source, UserError, stage
from energyc.emit.features import CONTRAST
from energyc.ir import Stop, walk
from energyc.pipeline import ALL, Choices, Compiled, emit, instantiate, read, resolve
from energyc.resolve import Network
from energyc.runs import dtype_of, feeds_of, is_run
from energyc.syntax import ast

if TYPE_CHECKING:
    from energyc.rules import Fidelity, PrecisionTable, Probe
    from energyc.train.run import SavedRun

#: The preset that gives sizes small enough to solve exactly.
PRESET = "verify"
SAMPLES = 4
#: A run is measured at its own sizes, on fewer samples.
RUN_SAMPLES = 2


@dataclass(frozen=True)
class Verification:
    """What was measured, of which network, at which sizes, and what rounding does to the rule it trains by."""

    network: str
    sizes: dict[str, int]
    preset: str | None
    gain: float
    fidelity: Fidelity
    precision: PrecisionTable | None

    def to_json(self) -> dict[str, Any]:
        """The object of ``verify --format json``."""
        head = {"network": self.network, "sizes": self.sizes, "preset": self.preset, "gain": self.gain}
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
) -> Verification:
    """Measure rules on a network at initialisation, its weights times ``gain``, or with a run's trained weights.

    Sizes: those of the spec's preset ``verify`` where no other preset is chosen. Rules: of a spec all that it admits,
    of a run the one that it was trained by, where none are asked for. Inputs are drawn; a run's are its own test
    samples where its data can be opened. With ``sweep_residual`` also from free phases that were cut off early.
    Raises SpecError, UserError.
    """
    from energyc.train.run import load_run

    saved = load_run(spec_or_run) if is_run(spec_or_run) else None
    source = read(spec_or_run) if saved is None else saved.source
    choices = _at_small_sizes(source, choices) if saved is None else choices
    network = resolve(source, choices)
    trained_by = str(network.train.get("rule", "implicit")) if saved is None else saved.rule
    compiled = emit(network, rules or (ALL if saved is None else [trained_by, "implicit"]), choices)
    exact, configured = _twins(compiled, saved, gain)
    with stage("verify", source.name):
        probe = None if saved is None else _probe_of(saved, network)
        fidelity, precision = _measured(compiled, exact, configured, probe, trained_by, sweep_residual)
    return Verification(network.name, network.extents, choices.preset, gain, fidelity, precision)


def _probe_of(saved: SavedRun, network: Network) -> Probe | None:
    """Test samples of a run; None where its data cannot be opened."""
    import torch

    from energyc.rules import Probe
    from energyc.train.feeds import Feed
    from energyc.train.order import spread

    try:
        feed = Feed(feeds_of(saved, network), "test", "cpu", torch.float64)
    except UserError:
        return None
    batch = feed.batch(spread(len(feed), RUN_SAMPLES))
    return Probe(batch.clamps, batch.targets)


def _at_small_sizes(source: Source, choices: Choices) -> Choices:
    from energyc.pipeline import parse

    presets = {s.name.text for s in parse(source).statements if isinstance(s, ast.Preset)}
    return replace(choices, preset=PRESET) if choices.preset is None and PRESET in presets else choices


def _twins(compiled: Compiled, saved: SavedRun | None, gain: float) -> tuple[Any, Any]:
    """The network in float64, and in the dtype that it trains in, with the same weights."""
    import torch

    exact = instantiate(compiled, "cpu", torch.float64, 0)
    if saved is not None:
        saved.load_into(exact)
    with torch.no_grad():
        for param in exact.parameters():
            param.mul_(gain)
    configured = instantiate(compiled, "cpu", dtype_of(compiled.network), 0)
    configured.load_state_dict(exact.state_dict())
    return exact, configured


def _measured(
    compiled: Compiled, exact: Any, configured: Any, probe: Probe | None, trained_by: str, sweep_residual: bool
) -> tuple[Fidelity, PrecisionTable | None]:
    from energyc.rules import random_probe, verify

    network, verdicts = compiled.network, compiled.classes.rules
    if network.cost is None:
        raise UserError(f"{network.name} has no cost, so no rule has a gradient", code="E0922", help="add a cost line")
    probe = probe or random_probe(exact, batch=SAMPLES)
    fidelity = verify(
        exact,
        configured,
        probe,
        exact.rules,
        verdicts={rule: verdicts[rule].verdict for rule in exact.rules},
        sweep_residual=sweep_residual,
        detaches=_detaches(network),
    )
    return fidelity, _rounded(exact, configured, probe, trained_by)


def _rounded(exact: Any, configured: Any, probe: Probe, trained_by: str) -> PrecisionTable | None:
    """What rounding does to the rule trained by, or where that is not measured to the first one with a nudge.

    None where no rule has one, and where there is no gradient to compare.
    """
    from energyc.rules import precision_table

    rule = trained_by if trained_by in exact.rules else next((rule for rule in exact.rules if rule in CONTRAST), None)
    if rule is None or exact.beta is None:
        return None
    try:
        return precision_table(configured, exact, probe, rule)
    except RuntimeError:  # the implicit solve, where the free phase is far from rest
        return None


def _detaches(network: Network) -> bool:
    """Whether a term or the cost cuts derivatives by a state or param with ``detach``."""
    roots = [term.node for term in network.terms.values()] + ([network.cost.node] if network.cost else [])
    cut = {node.argument for node in walk(roots) if isinstance(node, Stop) and node.mode == "detach"}
    moving = {state.node for state in network.states.values()} | {param.node for param in network.params.values()}
    return not cut.isdisjoint(depends(cut, moving))
