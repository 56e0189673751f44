"""Write the derivations of a network and its model table as a document: its blocks, and the tables among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from energyc.derivation.derive import Derivation
from energyc.derivation.derive.influence import Influence, influences
from energyc.derivation.notation import of_network
from energyc.language.diagnostics import stage
from energyc.language.network import Layer, Network, Param
from energyc.mathematics.ir import Node
from energyc.pipeline import classify, derive
from energyc.proofs.claims.classes import Classes, SumReport, TermReport
from energyc.surfaces.html.diagram import diagram, whole_diagram
from energyc.surfaces.report import derivations
from energyc.surfaces.report.check import report_on
from energyc.surfaces.report.check_report import CheckReport, StateReport
from energyc.surfaces.report.document import (
    Block,
    Document,
    Heading,
    Paragraph,
    Picture,
    to_html,
    to_latex,
    to_markdown,
)
from energyc.surfaces.report.evidence import entries, evidence, point, sum_evidence
from energyc.surfaces.tables import Cell, Table, Verdict

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
        *acting(network, derivation, classes),
        *derivations.quantities(network, notation),
        *derivations.terms(network, notation),
        *derivations.forces(network, derivation, notation),
        *classified(classes),
        *rules(classes),
        *claims(classes),
        *derivations.updates(network, derivation, notation),
        *derivations.correction(derivation, notation),
        *derivations.answers(network, derivation, notation),
        *model(network, report),
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
        *passing(network, classes),
        *derivations.quantities(network, notation),
        *derivations.streams(network, notation),
    ]
    for name, layer in network.layers.items():
        blocks += _layer(layer, network.copies.get(name), classes.layers[name])
    blocks += [
        *claims(classes),
        *rules(classes),
        Heading("Readouts, cost and metrics"),
        *derivations.answered(network, notation),
        *model(network, report),
    ]
    return Document(network.name, tuple(blocks), network.description)


def _layer(layer: Layer, copies: int | None, classes: Classes) -> Iterator[Block]:
    network = layer.network
    derivation, notation = derive(network, classes), of_network(network)
    yield Heading(f"The layer {layer.name}" + (f", {copies} copies" if copies else ""))
    yield Paragraph(f"What reaches it is fixed while it relaxes: {', '.join(layer.clamps) or 'params alone'}.")
    yield from acting(network, derivation, classes)
    yield from derivations.quantities(network, notation)
    yield from derivations.terms(network, notation)
    yield from derivations.forces(network, derivation, notation)
    yield from derivations.correction(derivation, notation)
    yield from classified(classes)
    yield from claims(classes)


# ---------------------------------------------------------------- tables


#: The length of the longest point of a witness shown in full.
POINT = 600
#: Classes from the best to the worst.
CLASSES = ("conservative", "metric-descent", "undecided", "not-conservative")
_WHOLE = (
    "The whole. An arrow at a layer: it reads that, fixed while it relaxes. An arrow at a stream, which is rounded: "
    "the next copy gets it from there. Green layers are gradients, blue ones move by their energy's gradient in a "
    "metric, red ones are refuted as gradients, amber ones are undecided."
)
_CAPTION = (
    "An arrow at a state: the term moves it. An arrow at a term: the term reads it. Green terms are gradients, blue "
    "ones move by their energy's gradient in a metric, red ones are refuted as gradients, amber ones are undecided."
)


def acting(network: Network, derivation: Derivation, classes: Classes) -> Iterator[Block]:
    """Yield the picture of which state acts on which, and the same as a table."""
    if not network.states:
        return
    yield Picture(diagram(network, derivation, classes), _CAPTION)
    yield Table(
        ("state", "is acted on by", "through", "class"), tuple(_pairs(influences(derivation), network, classes))
    )


def passing(network: Network, classes: Classes) -> Iterator[Block]:
    """Yield the picture of a whole network of layers."""
    yield Picture(whole_diagram(network, classes), _WHOLE)


def _pairs(found: list[Influence], network: Network, classes: Classes) -> Iterator[tuple[Cell, ...]]:
    """Yield for each state, and each that acts on it, the terms by which it does and the worst of their classes."""
    verdicts = {term.name: term.verdict for term in classes.terms}
    for state in network.states:
        by: dict[str, list[str]] = {}
        for each in found:
            sources = each.moves.get(state)
            for source in (sources or ("params alone",)) if sources is not None else ():
                by.setdefault(source, []).append(each.term)
        for source, terms in by.items():
            named = "itself" if source == state else source
            worst = max((verdicts[term] for term in terms), key=CLASSES.index)
            yield state, named, ", ".join(terms), Verdict(worst)


def model(network: Network, report: CheckReport) -> Iterator[Block]:
    """Yield the sizes and the tensors."""
    yield Heading("Dims and tensors")
    if network.sizes:
        yield Table(("dim", "size", "from"), tuple(_dim(network, name) for name in network.sizes))
    yield Table(("kind", "name", "dims", "numbers", "kept in"), _tensors(network, report))


def _tensors(network: Network, report: CheckReport) -> tuple[tuple[str, ...], ...]:
    rows = [("state", name, *_shape(state)) for name, state in report.states.items()]
    rows += [("param", name, *_sized(network, param.node)[:2], _kept(param)) for name, param in network.params.items()]
    rows += [("clamp", name, *_sized(network, clamp.node)) for name, clamp in network.clamps.items()]
    rows += [("noise", name, *_sized(network, noise.node)) for name, noise in network.noises.items()]
    rows += [("target", name, *_sized(network, target.node)) for name, target in network.targets.items()]
    return tuple(rows)


def _dim(network: Network, name: str) -> tuple[str, str, str]:
    size = network.sizes[name]
    return name, str(size.value), ", ".join(size.derived_from)


def _shape(state: StateReport) -> tuple[str, str, str]:
    return ", ".join(state.dims) or "scalar", f"{math.prod(state.sizes):,}", state.constraint or ""


def _kept(param: Param) -> str:
    """The sets of a param."""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (param.low, param.high))
    return " and ".join(filter(None, [param.sets, f"[{low or '-inf'}, {high or 'inf'}]" if low or high else ""]))


def _sized(network: Network, node: Node) -> tuple[str, str, str]:
    return ", ".join(node.dims) or "scalar", f"{math.prod(network.extents[d] for d in node.dims):,}", ""


def classified(classes: Classes) -> Iterator[Block]:
    """Yield the class of each term, the evidence in full, and the sums of terms that are not proved alone."""
    yield Heading("What is a gradient")
    rows = [(t.name, t.kind, Verdict(t.verdict), evidence(replace(t, witness=None))) for t in classes.terms]
    yield Table(("term", "written as", "class", "evidence"), tuple(rows))
    for term in classes.terms:
        yield from _shown(term.name, term, written=term.kind == "energy")
    together = classes.together
    for group in (together, *together.parts) if together else ():
        yield Paragraph(sum_evidence(group) + ".")
        yield from _shown(", ".join(group.terms), group)


def _shown(name: str, report: TermReport | SumReport, written: bool = False) -> Iterator[Block]:
    """Yield the witness with its point, or the potential unless the term is ``written`` as an energy."""
    if report.witness is not None:
        yield Paragraph(f"Witness against {name}: {entries(report.witness)}, {point(report.witness, POINT)}.")
    if report.potential is not None and not written:
        defined = "".join(f", with {definition}" for definition in report.functions)
        yield Paragraph(f"Potential of {name}: {report.potential}{defined}.")


def rules(classes: Classes) -> Iterator[Block]:
    """Yield the verdict on each learning rule with its reason."""
    yield Heading("Learning rules on this network")
    header = ("rule", "verdict", "why", "use instead")
    rows = [
        (name, Verdict(rule.verdict), rule.why or "", rule.use_instead or "") for name, rule in classes.rules.items()
    ]
    used = 1 + max(k for row in rows for k, cell in enumerate(row) if cell)
    yield Table(header[:used], tuple(row[:used] for row in rows))


def claims(classes: Classes) -> Iterator[Block]:
    """Yield what else is claimed of the network, each claim with its verdict and its evidence."""
    if not classes.own_claims:
        return
    yield Heading("Claims")
    rows = []
    for each in classes.own_claims:
        condition = f" for {each.condition}" if each.condition else ""
        rows.append((each.about, each.claim + condition, Verdict(each.verdict), each.evidence))
    yield Table(("about", "claim", "verdict", "evidence"), tuple(rows))
