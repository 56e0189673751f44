"""The report of ``energyc check``: one object, its JSON and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from energyc.language.diagnostics import Diagnostic, Source, render_text, summary, to_json
from energyc.proofs.claims.classes import Classes, SumReport, TermReport
from energyc.surfaces.report.evidence import entries, evidence, point, sum_evidence
from energyc.surfaces.tables import Table, Verdict, painted

Paint = Callable[[str], str]


@dataclass(frozen=True)
class StateReport:
    """A state: its dims, their sizes, and its constraint set in the spec's notation."""

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    constraint: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``states``."""
        return {"shape": list(self.dims), "sizes": list(self.sizes), "set": self.constraint}


@dataclass(frozen=True)
class Remarks:
    """The ``notes`` on a network and the operations of a step, and the same of each of its ``layers``."""

    notes: tuple[str, ...]
    flops_per_step: int
    layers: Mapping[str, Remarks] = field(default_factory=dict)


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

    def __str__(self) -> str:
        return self.to_text().rstrip("\n")

    def to_text(self, *, color: bool = False) -> str:
        """Return the report as text, without its diagnostics."""
        return render_check(self, color)

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
        from energyc.surfaces.html.pages import render

        messages = render_text(self.diagnostics, self.source)
        if self.classes is None:
            title = summary(self.diagnostics)
            return render("check.html", title=title, description="", facts=(), layers=(), rules=None, messages=messages)
        flops = f"{self.params:,} learnable numbers; {self.flops_per_step:,} operations a step for one sample"
        rules = self.classes.rules.items()
        rows = [(name, Verdict(rule.verdict), rule.why or "", rule.use_instead or "") for name, rule in rules]
        return render(
            "check.html",
            title=self.network,
            verdict=Verdict(self.classes.verdict),
            description=self.description,
            facts=[flops, *self.notes],
            layers=[(_term_table(name, part), _claim_table(part)) for name, part in self._parts.items()],
            rules=Table(("rule", "verdict", "why", "use instead"), tuple(rows)),
            messages=messages,
        )

    def _repr_latex_(self) -> str | None:
        """Return what a notebook puts into a document."""
        from energyc.surfaces.tables.layouts import to_array

        if self.classes is None:
            return None
        rows = [row[:3] for name, part in self._parts.items() for row in _term_table(name, part).rows]
        return to_array(Table(("term", "written as", "class"), tuple(rows)))

    @property
    def _parts(self) -> dict[str, Classes]:
        layers = {name: layer.classes for name, layer in self.layers.items()} or {"": self.classes}
        return {name: classes for name, classes in layers.items() if classes is not None}

    def to_layer_json(self) -> dict[str, Any]:
        """Return the entry of a layer in the JSON object of the whole."""
        keys = ("class", "params", "param_shapes", "param_sets", "flops_per_step", "states", "terms", "together")
        whole = self.to_json()
        return {"copies": self.copies, **{key: whole[key] for key in (*keys, "rules", "claims", "notes")}}


def _term_table(layer: str, classes: Classes) -> Table:
    prefix = f"{layer}." if layer else ""
    rows = [(prefix + term.name, term.kind, Verdict(term.verdict), evidence(term)) for term in classes.terms]
    return Table(("term", "written as", "class", "evidence"), tuple(rows))


def _claim_table(classes: Classes) -> Table:
    rows = [(claim.about, claim.claim, Verdict(claim.verdict), claim.evidence) for claim in classes.claims]
    return Table(("about", "claim", "verdict", "evidence"), tuple(rows))


# ------------------------------------------------------------------ text


def render_check(report: CheckReport, color: bool = False) -> str:
    """Return the report as text, without its diagnostics."""

    paint = partial(painted, color=color)

    parts = [_head(report, paint)]
    if not report.layers:
        parts += [_states(report), _params(report), _terms(report, paint), _claims(report, paint)]
    for layer in report.layers.values():
        parts += [
            _layer_head(layer, paint),
            _states(layer),
            _params(layer),
            _terms(layer, paint),
            _claims(layer, paint),
        ]
    parts += [_claims(report, paint)] if report.layers else []
    parts.append(_rules(report, paint))
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"


def _head(report: CheckReport, paint: Paint) -> Iterator[str]:
    yield f"network {report.network}" + (f": {report.description.splitlines()[0]}" if report.description else "")
    if report.classes:
        yield f"  class           {paint(report.classes.verdict)}"
    yield f"  params          {report.params:,}"
    yield f"  flops per step  {report.flops_per_step:,}"
    yield from (f"  note            {note}" for note in report.notes)


def _layer_head(report: CheckReport, paint: Paint) -> Iterator[str]:
    copies = f", {report.copies} copies" if report.copies > 1 else ""
    yield f"layer {report.network}{copies}"
    if report.classes:
        yield f"  class           {paint(report.classes.verdict)}"
    yield f"  flops per step  {report.flops_per_step:,}" + (" (one copy)" if copies else "")
    yield from (f"  note            {note}" for note in report.notes)


def _states(report: CheckReport) -> Iterator[str]:
    yield "states"
    rows = []
    for name, state in report.states.items():
        sizes = ", ".join(f"{dim} = {size}" for dim, size in zip(state.dims, state.sizes, strict=True))
        rows.append((f"{name}[{sizes}]" if sizes else name, f"in {state.constraint}" if state.constraint else ""))
    yield from _columns(rows)


def _params(report: CheckReport) -> Iterator[str]:
    """The params that stay on sets: what is proved, is proved there."""
    if report.param_sets:
        yield "params on sets"
        yield from _columns([(name, f"in {sets}") for name, sets in report.param_sets.items()])


def _terms(report: CheckReport, paint: Paint) -> Iterator[str]:
    if not report.classes:
        return
    yield "terms"
    width = max(len(term.name) for term in report.classes.terms) if report.classes.terms else 0
    verdicts = max((len(term.verdict) for term in report.classes.terms), default=0)
    for term in report.classes.terms:
        label = f"  {term.name:<{width}}  {term.kind:<6}  {paint(f'{term.verdict:<{verdicts}}')}"
        yield f"{label}  {evidence(term)}".rstrip()
        yield from (f"    {line}" for line in _details(term, "= " if term.kind == "energy" else "potential "))
        yield from (f"    {line}" for line in _members(term))
        yield from (f"    would be conservative {remedy}" for remedy in term.remedies)
    together = report.classes.together
    for group in (together, *together.parts) if together else ():
        yield f"  {sum_evidence(group, paint)}"
        yield from (f"    {line}" for line in (*_witness_entries(group), *_details(group, "potential ")))


def _members(term: TermReport) -> Iterator[str]:
    """The members of a family by their class, in a line for each class."""
    for kind in dict.fromkeys(term.members.values()):
        names = [name for name, found in term.members.items() if found == kind]
        yield f"{'each of its members' if len(set(term.members.values())) == 1 else kind}: {', '.join(names)}"


def _witness_entries(group: SumReport) -> Iterator[str]:
    if group.witness is not None:
        yield entries(group.witness)


def _details(term: TermReport | SumReport, potential: str) -> Iterator[str]:
    if term.witness is not None:
        yield point(term.witness)
    if term.potential is not None:
        yield f"{potential}{term.potential}"
    yield from (f"  with {definition}" for definition in term.functions)
    yield from (f"tried: {step}" for step in term.tried if term.verdict == "undecided")


def _claims(report: CheckReport, paint: Paint) -> Iterator[str]:
    claims = report.classes.own_claims if report.classes else ()
    if claims:
        yield "claims"
    for claim in claims:
        condition = f" for {claim.condition}" if claim.condition else ""
        yield f"  {claim.about}: {claim.claim}{condition}: {paint(claim.verdict)}"
        if claim.evidence:
            yield f"    {claim.evidence}"


def _rules(report: CheckReport, paint: Paint) -> Iterator[str]:
    rules = report.classes.rules if report.classes else {}
    if not rules:
        return
    yield "rules"
    width = max(map(len, rules))
    for name, rule in rules.items():
        of = "because of " if rule.verdict in ("biased", "unproved") else ""
        because = f"  {of}{rule.why}" if rule.why else ""
        instead = f"; use {rule.use_instead}" if rule.use_instead else ""
        yield f"  {name:<{width}}  {paint(rule.verdict)}{because}{instead}"


def _columns(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(left) for left, _ in rows), default=0)
    yield from (f"  {left:<{width}}  {right}".rstrip() for left, right in rows)
