"""What ``energyc check`` reports on a spec or on a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from energyc import pipeline
from energyc.collection import rarely_collected
from energyc.kept import known, told_apart
from energyc.language.diagnostics import Source, SpecError, stage
from energyc.language.network import ConstraintSet, Network
from energyc.pipeline import Choices
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.report.check_report import CheckReport, Remarks, StateReport


@rarely_collected()
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
    return report_on(network, pipeline.classify(network))


def report_on(network: Network, classes: Classes) -> CheckReport:
    """Return the report of a well-typed network."""

    def made() -> Remarks:
        from energyc.surfaces.report.network_notes import remarks_on

        return remarks_on(network, classes)

    with stage("report", network.source.name):
        remarks = known(Remarks, [network.identity, told_apart(classes)], made)
        report = _report(network, classes, remarks)
        return _with_layers(report, network, classes, remarks) if network.layers else report


def _with_layers(report: CheckReport, network: Network, classes: Classes, remarks: Remarks) -> CheckReport:
    """Return the report of a network of layers, by that of what is around them."""
    layers = {
        name: replace(
            _report(layer.network, classes.layers[name], remarks.layers[name]), copies=network.copies.get(name, 1)
        )
        for name, layer in network.layers.items()
    }
    states = {f"{name}.{state}": own for name, layer in layers.items() for state, own in layer.states.items()}
    return replace(report, states=states, layers=layers)


def _report(network: Network, classes: Classes, remarks: Remarks) -> CheckReport:
    """Return the report of a network without layers, of a layer, or of what is around layers."""
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
        flops_per_step=remarks.flops_per_step,
        dims=sizes,
        states={name: _state(network, name) for name in network.states},
        batch_mates=network.batch_mates,
        notes=remarks.notes,
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
