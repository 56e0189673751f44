"""Write the derivations of a network and its model table as a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from energyc.derivation.derive import Derivation
from energyc.derivation.notation import of_network
from energyc.language.diagnostics import stage
from energyc.language.network import Layer, Network
from energyc.pipeline import classify, derive
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.report import derivations, model_tables
from energyc.surfaces.report.check import report_on
from energyc.surfaces.report.document import Block, Document, Heading, Paragraph, to_html, to_latex, to_markdown

#: Form -> layout.
LAYOUTS: Mapping[str, Callable[[Document], str]] = MappingProxyType(
    {"markdown": to_markdown, "latex": to_latex, "html": to_html}
)


def explain(network: Network, form: str = "markdown") -> str:
    """Write the derivations and the model table of a network as ``markdown``, ``latex`` or ``html``."""
    classes = classify(network)
    with stage("explain", network.source.name):
        if network.layers:
            return LAYOUTS[form](layered_explanation(network, classes))
        return LAYOUTS[form](explanation(network, derive(network, classes), classes))


def explanation(network: Network, derivation: Derivation, classes: Classes) -> Document:
    """Return who acts on whom, terms and forces, classes, rules and claims, local updates, answers, the model table."""
    notation = of_network(network)
    report = report_on(network, classes)
    blocks: list[Block] = [
        Heading("At a glance"),
        Paragraph(
            f"The network as a whole is {classes.verdict}. It has {report.params:,} learnable numbers; for one sample "
            f"a step takes {report.flops_per_step:,} operations in matrix products and scalar functions."
        ),
        *model_tables.acting(network, derivation, classes),
        *derivations.quantities(network, notation),
        *derivations.terms(network, notation),
        *derivations.forces(network, derivation, notation),
        *model_tables.classified(classes),
        *model_tables.rules(classes),
        *model_tables.claims(classes),
        *derivations.updates(network, derivation, notation),
        *derivations.correction(derivation, notation),
        *derivations.answers(network, derivation, notation),
        *model_tables.model(network, report),
    ]
    return Document(network.name, tuple(blocks), network.description)


def layered_explanation(network: Network, classes: Classes) -> Document:
    """Return what goes from block to block, each layer, rules, the answers and the model table."""
    notation = of_network(network)
    report = report_on(network, classes)
    layers = ", ".join(f"{name} ({own.verdict})" for name, own in classes.layers.items())
    blocks: list[Block] = [
        Heading("At a glance"),
        Paragraph(
            f"{report.params:,} learnable numbers; for one sample {report.flops_per_step:,} operations in a step of "
            f"every layer, in matrix products and scalar functions. Only the layers relax, each with what reaches it "
            f"fixed; they are {layers}."
        ),
        *model_tables.passing(network, classes),
        *derivations.quantities(network, notation),
        *derivations.streams(network, notation),
    ]
    for name, layer in network.layers.items():
        blocks += _layer(layer, network.copies.get(name), classes.layers[name])
    blocks += [
        *model_tables.claims(classes),
        *model_tables.rules(classes),
        Heading("Readouts, cost and metrics"),
        *derivations.answered(network, notation),
        *model_tables.model(network, report),
    ]
    return Document(network.name, tuple(blocks), network.description)


def _layer(layer: Layer, copies: int | None, classes: Classes) -> Iterator[Block]:
    network = layer.network
    derivation, notation = derive(network, classes), of_network(network)
    yield Heading(f"The layer {layer.name}" + (f", {copies} copies" if copies else ""))
    yield Paragraph(f"What reaches it is fixed while it relaxes: {', '.join(layer.clamps) or 'params alone'}.")
    yield from model_tables.acting(network, derivation, classes)
    yield from derivations.quantities(network, notation)
    yield from derivations.terms(network, notation)
    yield from derivations.forces(network, derivation, notation)
    yield from derivations.correction(derivation, notation)
    yield from model_tables.classified(classes)
    yield from model_tables.claims(classes)
