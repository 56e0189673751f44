"""The report of ``energyc check`` as one object, and its JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from energyc import pipeline
from energyc.code.plan import force_flops
from energyc.derivation.derive import Derivation
from energyc.language.diagnostics import Diagnostic, Source, SpecError, render_text, stage, summary, to_json
from energyc.language.network import ConstraintSet, Network
from energyc.language.settings import SOLVERS, Nudge
from energyc.pipeline import Choices
from energyc.proofs.claims.classes import Classes
from energyc.runtime.rules import RULES
from energyc.surfaces.report.check_card import check_html, check_latex, errors_html
from energyc.surfaces.report.notes import (
    batch_mates,
    block_notes,
    chosen_rule,
    idle_settings,
    infinite_notes,
    kink_notes,
    missing_cost,
    steep_notes,
    stiffness_notes,
)


@dataclass(frozen=True)
class StateReport:
    """A state: its dims, their sizes, and its constraint set in the spec's notation."""

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    constraint: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``states``."""
        return {"shape": list(self.dims), "sizes": list(self.sizes), "set": self.constraint}


@dataclass(frozen=True, repr=False)
class CheckReport:
    """The report of ``check``. A spec with errors has ``diagnostics`` and little else.

    ``params`` counts untied numbers. ``flops_per_step`` counts the operations in one step of the free phase for one
    sample, two for each multiply-add of a matrix product and one for each value of a scalar function, without those
    that run once a relaxation. ``layers`` are the reports of the layers, each of one of its ``copies``; the whole has
    the states, the terms and the operations of all copies.
    """

    source: Source
    network: str | None = None
    description: str = ""
    classes: Classes | None = None
    params: int = 0
    param_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    flops_per_step: int = 0
    dims: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, StateReport] = field(default_factory=dict)
    batch_mates: Mapping[str, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    layers: Mapping[str, CheckReport] = field(default_factory=dict)
    copies: int = 1
    #: The sets of the params that stay on any beside a box, in the spec's notation.
    param_sets: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The verdicts in a few lines."""
        if self.network is None or self.classes is None:
            return f"CheckReport({self.source.name}: {summary(self.diagnostics)})"
        states = ", ".join(f"{name} {list(state.sizes)}" for name, state in self.states.items())
        terms = ", ".join(f"{term.name} {term.verdict}" for term in self.classes.terms)
        exact = ", ".join(name for name, rule in self.classes.rules.items() if rule.verdict == "exact")
        lines = [f"CheckReport({self.network}: {self.classes.verdict}, {self.params:,} params"]
        lines += [f"  states: {states}", f"  terms: {terms}", f"  exact rules: {exact or 'none'}"]
        lines += [f"  {summary(self.diagnostics)}"] if self.diagnostics else []
        return "\n".join(lines) + ")"

    @property
    def ok(self) -> bool:
        """Whether the spec has no error."""
        return all(diagnostic.severity != "error" for diagnostic in self.diagnostics)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``check --format json``."""
        classes = self.classes
        return {
            "network": self.network,
            "description": self.description,
            "class": classes.verdict if classes else None,
            "params": self.params,
            "param_shapes": {name: list(shape) for name, shape in self.param_shapes.items()},
            "param_sets": dict(self.param_sets),
            "flops_per_step": self.flops_per_step,
            "dims": dict(self.dims),
            "states": {name: state.to_json() for name, state in self.states.items()},
            "terms": [term.to_json() for term in classes.terms] if classes else [],
            "together": classes.together.to_json() if classes and classes.together else None,
            "rules": {name: rule.to_json() for name, rule in classes.rules.items()} if classes else {},
            "claims": [claim.to_json() for claim in classes.claims] if classes else [],
            "batch_mates": {name: "training" if only else "always" for name, only in self.batch_mates.items()},
            "notes": list(self.notes),
            "diagnostics": [to_json(diagnostic, self.source) for diagnostic in self.diagnostics],
            **({"layers": {name: layer.to_layer_json() for name, layer in self.layers.items()}} if self.layers else {}),
        }

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        messages = render_text(self.diagnostics, self.source)
        if self.classes is None:
            return errors_html(summary(self.diagnostics), messages)
        flops = f"{self.params:,} learnable numbers; {self.flops_per_step:,} operations a step for one sample"
        title, facts = self.network or "", [flops, *self.notes]
        return check_html(title, self.description, self._parts, self.classes, facts, messages)

    def _repr_latex_(self) -> str | None:
        """Return what a notebook puts into a document."""
        return None if self.classes is None else check_latex(self._parts)

    @property
    def _parts(self) -> dict[str, Classes]:
        layers = {name: layer.classes for name, layer in self.layers.items()} or {"": self.classes}
        return {name: classes for name, classes in layers.items() if classes is not None}

    def to_layer_json(self) -> dict[str, Any]:
        """Return the entry of a layer in the JSON object of the whole."""
        keys = ("class", "params", "param_shapes", "param_sets", "flops_per_step", "states", "terms", "together")
        whole = self.to_json()
        return {"copies": self.copies, **{key: whole[key] for key in (*keys, "rules", "claims", "notes")}}


def check(
    text_or_path: str | Path,
    *,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> CheckReport:
    """Return the report of ``energyc check``, with the errors of the spec in its ``diagnostics``.

    Raises UserError if the file cannot be read.
    """
    return check_source(pipeline.read(text_or_path), Choices.of(preset, dims, consts, settings))


def check_source(source: Source, choices: Choices = Choices()) -> CheckReport:
    """Return the report of a source."""
    try:
        network = pipeline.resolve(source, choices)
    except SpecError as error:
        return CheckReport(source, diagnostics=tuple(error.diagnostics))
    classes = pipeline.classify(network)
    with stage("report", source.name):
        if not network.layers:
            return check_report(network, pipeline.derive(network), classes)
        return layered_report(network, classes)


def layered_report(network: Network, classes: Classes) -> CheckReport:
    """Return the report of a network of layers."""
    copies = network.copies
    layers = {}
    for name, layer in network.layers.items():
        own, derivation = classes.layers[name], pipeline.derive(layer.network)
        notes = (
            *layer_notes(layer.network, own, network.train.trained_by),
            *kink_notes(derivation),
            *block_notes(derivation, own),
        )
        report = check_report(layer.network, derivation, own)
        layers[name] = replace(report, copies=copies.get(name, 1), notes=tuple(notes))
    return replace(
        check_report(network, pipeline.derive(network), classes),
        notes=(*chosen_rule(network, classes), *missing_cost(network), *idle_settings(network, classes)),
        flops_per_step=sum(layer.copies * layer.flops_per_step for layer in layers.values()),
        states={f"{name}.{state}": own for name, layer in layers.items() for state, own in layer.states.items()},
        layers=layers,
    )


def check_report(network: Network, derivation: Derivation, classes: Classes) -> CheckReport:
    """Return the report of a well-typed network without layers, of a layer, or of what is around layers."""
    sizes = network.extents
    shapes = {name: tuple(sizes[d] for d in param.node.dims) for name, param in network.params.items()}
    return CheckReport(
        source=network.source,
        network=network.name,
        description=network.description,
        classes=classes,
        params=sum(math.prod(shape) for shape in shapes.values()),
        param_shapes=shapes,
        param_sets={name: param.sets for name, param in network.params.items() if param.structure},
        flops_per_step=force_flops(derivation),
        dims=sizes,
        states={name: _state(network, name) for name in network.states},
        batch_mates=network.batch_mates,
        notes=(
            *chosen_rule(network, classes),
            *_notes(network),
            *kink_notes(derivation),
            *block_notes(derivation, classes),
            *batch_mates(network),
            *missing_cost(network),
            *idle_settings(network, classes),
        ),
        diagnostics=network.warnings,
    )


def _state(network: Network, name: str) -> StateReport:
    state = network.states[name]
    dims = state.node.dims
    constraint = None if state.constraint is None else written_set(state.constraint, dims)
    return StateReport(dims, tuple(network.extents[d] for d in dims), constraint)


def written_set(constraint: ConstraintSet, dims: Sequence[str]) -> str:
    """Return a constraint set in the spec's notation."""
    if constraint.kind == "box":
        return f"[{_bound(constraint.low)}, {_bound(constraint.high)}]"
    along = [dims[axis] for axis in constraint.axes]
    return constraint.kind if len(along) == len(dims) == 0 else f"{constraint.kind}[{', '.join(along)}]"


def _bound(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def layer_notes(network: Network, classes: Classes, rule: str) -> Iterable[str]:
    """Yield what matters of a layer before it is trained by a rule."""
    nudged = rule in RULES and RULES[rule].serves_layers
    yield from _notes(network if nudged else replace(network, nudge=Nudge()))
    yield from idle_settings(network, classes)
    if network.nudge != Nudge() and not nudged:
        yield f"nudge does nothing in training by {rule}, which nudges no layer"


def _notes(network: Network) -> Iterable[str]:
    relax, nudge = network.relax, network.nudge
    if relax.tolerance is None:
        yield f"relax has no tolerance: exactly {relax.steps} steps, converged or not"
    elif relax.exit == "early":
        yield f"a sample stops once it has settled, at the latest after {relax.longest} steps, also in training"
    elif relax.exit == "inference":
        yield f"in training exactly {relax.steps} steps; otherwise a sample stops once it has settled"
    if relax.solver != "gradient":
        yield f"where there are several equilibria, {SOLVERS[relax.solver]} may rest at another than plain steps do"
    if relax.step is None:
        yield "relax.step = auto is one step for a batch: how a sample relaxes depends on its batch mates"
    if relax.products:
        yield f"relax.products = {relax.products} is one decision for a batch: when it ends depends on the batch mates"
    if nudge.beta is not None:
        yield f"beta = {nudge.beta:g}: energyc verify shows whether it is well above rounding in float32"
    yield from steep_notes(network)
    yield from infinite_notes(network)
    yield from stiffness_notes(network)
