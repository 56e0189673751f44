"""The tables of an explanation: what there is, who acts on whom, classes with their evidence, rules, claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from energyc.derivation.derive import Derivation
from energyc.derivation.derive.influence import Influence, influences
from energyc.language.network import Network, Param
from energyc.mathematics.ir import Node
from energyc.proofs.claims.classes import Classes, SumReport, TermReport
from energyc.surfaces.html.diagram import diagram, whole_diagram
from energyc.surfaces.report.check_report import CheckReport, StateReport
from energyc.surfaces.report.document import Block, Heading, Paragraph, Picture
from energyc.surfaces.report.evidence import entries, evidence, point, sum_evidence
from energyc.surfaces.tables import Cell, Table, Verdict

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
