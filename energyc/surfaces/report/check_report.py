"""The report of ``energyc check``: one object, its JSON and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from energyc.language.diagnostics import Diagnostic, Source, render_text, summary, to_json
from energyc.proofs.claims.classes import (
    CONTRACTION,
    CONVERGES,
    EQUILIBRIUM,
    UNIQUE,
    Claim,
    Classes,
    RuleReport,
    SumReport,
    TermReport,
)
from energyc.surfaces.report.evidence import entries, evidence, point, sum_evidence
from energyc.surfaces.tables import Table, Verdict, painted

#: The verdicts on rules, in the order of a report.
VERDICTS = ("exact", "surrogate", "unproved", "biased", "inadmissible")
#: The claims on convergence; the others are on energies and their matrices.
ON_CONVERGENCE = (EQUILIBRIUM, UNIQUE, CONVERGES, CONTRACTION)


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

    def to_text(self, *, color: bool = False, verbose: bool = False) -> str:
        """Return the report as text, without its diagnostics; ``verbose`` with formulas, potentials and witnesses."""
        return render_check(self, color, verbose)

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


def render_check(report: CheckReport, color: bool = False, verbose: bool = False) -> str:
    """Return the report as text, without its diagnostics.

    The ``verbose`` one has each formula, potential and witness, and a line for each rule.
    """
    text = CheckText(partial(painted, color=color), verbose)
    return "\n\n".join("\n".join(part) for part in text.parts(report) if part) + "\n"


@dataclass(frozen=True)
class CheckText:
    """The parts of a text, each a list of lines."""

    paint: Callable[[str], str]
    verbose: bool

    def parts(self, report: CheckReport) -> Iterator[list[str]]:
        """Yield the parts of the report on a network; its layers stand before what holds of the whole."""
        if not report.layers:
            yield [_title(report), *_facts(report)]
            yield from self._judged(report.classes)
        else:
            yield [_title(report), f"  class   {self._class(report.classes)}", *_numbers(report), *_notes(report)]
            for layer in report.layers.values():
                copies = f", {layer.copies} copies" if layer.copies > 1 else ""
                yield [f"layer {layer.network}{copies}", *_facts(layer)]
                yield from self._judged(layer.classes)
            yield self._convergence(report.classes)
        yield self._rules(report.classes.rules if report.classes else {})

    def _judged(self, classes: Classes | None) -> Iterator[list[str]]:
        if classes is not None:
            yield self._energy(classes)
            yield self._convergence(classes)

    def _class(self, classes: Classes | None) -> str:
        return self.paint(classes.verdict) if classes else ""

    # ------------------------------------------------------------ energy

    def _energy(self, classes: Classes) -> list[str]:
        claims = [claim for claim in classes.own_claims if claim.claim not in ON_CONVERGENCE]
        lines = [f"energy: {self._class(classes)} ({_meaning(classes)})"]
        lines += self._terms(classes)
        return lines + [line for claim in claims for line in claim_lines(claim, self.paint)]

    def _terms(self, classes: Classes) -> Iterator[str]:
        width = max((len(term.name) for term in classes.terms), default=0)
        verdicts = max((len(term.verdict) for term in classes.terms), default=0)
        for term in classes.terms:
            label = f"  {term.name:<{width}}  {term.kind:<6}  {self.paint(f'{term.verdict:<{verdicts}}')}"
            yield f"{label}  {evidence(term)}".rstrip()
            if self.verbose:
                yield from (f"    {line}" for line in _details(term, "= " if term.kind == "energy" else "potential "))
            yield from (f"    {line}" for line in _members(term))
            yield from (f"    would be conservative {remedy}" for remedy in term.remedies)
        together = classes.together
        for group in (together, *together.parts) if together else ():
            yield f"  {sum_evidence(group, self.paint)}"
            if self.verbose:
                yield from (f"    {line}" for line in (*_witness_entries(group), *_details(group, "potential ")))

    # ------------------------------------------------------------ convergence

    def _convergence(self, classes: Classes | None) -> list[str]:
        claims = [claim for claim in classes.own_claims if claim.claim in ON_CONVERGENCE] if classes else []
        if not claims:
            return []
        return [
            f"convergence: {_convergence(claims)}",
            *(line for claim in claims for line in claim_lines(claim, self.paint)),
        ]

    # ------------------------------------------------------------ rules

    def _rules(self, rules: Mapping[str, RuleReport]) -> list[str]:
        """Return a line for each rule, or for all with one verdict for one reason."""
        if not rules:
            return []
        alike: dict[tuple[str, str], list[str]] = {}
        for name, rule in rules.items():
            alike.setdefault((rule.verdict, name if self.verbose else _because(rule)), []).append(name)
        rows = [(", ".join(names), rules[names[0]]) for names in alike.values()]
        if not self.verbose:
            rows.sort(key=lambda row: VERDICTS.index(row[1].verdict))
        return ["rules", *(self._rule(names, rule, rules) for names, rule in rows)]

    def _rule(self, names: str, rule: RuleReport, rules: Mapping[str, RuleReport]) -> str:
        because = _because(rule)
        if self.verbose:
            width = max(map(len, rules))
            return f"  {names:<{width}}  {self.paint(rule.verdict)}" + (f"  {because}" if because else "")
        width = max(len(each.verdict) for each in rules.values())
        return f"  {self.paint(f'{rule.verdict:<{width}}')}  {names}" + (f": {because}" if because else "")


def claim_lines(claim: Claim, paint: Callable[[str], str] = str) -> Iterator[str]:
    """Yield a claim with its verdict, and its evidence below."""
    condition = f" for {claim.condition}" if claim.condition else ""
    yield f"  {claim.about}: {claim.claim}{condition}: {paint(claim.verdict)}"
    if claim.evidence:
        yield f"    {claim.evidence}"


def _because(rule: RuleReport) -> str:
    of = "because of " if rule.verdict in ("biased", "unproved") else ""
    instead = f"; use {rule.use_instead}" if rule.use_instead else ""
    return (f"{of}{rule.why}" if rule.why else "") + instead


def _meaning(classes: Classes) -> str:
    """Return what the class of a network says of its force."""
    match classes.verdict:
        case "conservative":
            return "the force is minus the gradient of an energy"
        case "metric-descent":
            return "the states descend an energy in a metric"
        case "not-conservative":
            return "the force is not the gradient of an energy"
    return "whether the force is the gradient of an energy is open"


def _convergence(claims: Iterable[Claim]) -> str:
    """Return what is proved of where steps lead."""
    proved = {claim.claim for claim in claims if claim.verdict == "proved"}
    if UNIQUE in proved and CONVERGES in proved:
        return "proved, to the only equilibrium from every start"
    known = "an equilibrium exists, " if EQUILIBRIUM in proved else ""
    known = "there is only one equilibrium, " if UNIQUE in proved else known
    return f"not proved ({known}energyc verify measures whether steps converge)"


def _members(term: TermReport) -> Iterator[str]:
    """Yield the members of a family by their class, in a line for each class."""
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


# ------------------------------------------------------------------ facts


def _title(report: CheckReport) -> str:
    return f"network {report.network}" + (f": {report.description.splitlines()[0]}" if report.description else "")


def _facts(report: CheckReport) -> Iterator[str]:
    yield from _labelled("states", _states(report))
    yield from _labelled("on sets", (f"{name} in {sets}" for name, sets in report.param_sets.items()))
    yield from _numbers(report)
    yield from _notes(report)


def _numbers(report: CheckReport) -> Iterator[str]:
    yield from _labelled("params", [f"{report.params:,}"])
    one = " of one copy" if report.copies > 1 else ""
    yield from _labelled("flops", [f"{report.flops_per_step:,} a step{one}"])


def _notes(report: CheckReport) -> Iterator[str]:
    yield from _labelled("notes", report.notes)


def _states(report: CheckReport) -> Iterator[str]:
    for name, state in report.states.items():
        sizes = ", ".join(f"{dim} = {size}" for dim, size in zip(state.dims, state.sizes, strict=True))
        yield (f"{name}[{sizes}]" if sizes else name) + (f" in {state.constraint}" if state.constraint else "")


def _labelled(label: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines behind a label, which stands before the first."""
    for k, line in enumerate(lines):
        yield f"  {'' if k else label:<8}{line}"
