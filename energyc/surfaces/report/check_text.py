"""The report of ``check`` as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from energyc.proofs.claims.classes import SumReport, TermReport
from energyc.surfaces.report.check import CheckReport
from energyc.surfaces.report.evidence import evidence, sum_evidence
from energyc.surfaces.report.witness_text import entries, point

Paint = Callable[[str], str]
_STYLES = {
    "conservative": "32",
    "exact": "32",
    "metric-descent": "36",
    "surrogate": "36",
    "undecided": "33",
    "unproved": "33",
}
_BAD = "31"


def render_check(report: CheckReport, color: bool = False) -> str:
    """Return the report as text, without its diagnostics."""

    def paint(verdict: str) -> str:
        style = _STYLES.get(verdict.strip(), _BAD)
        return f"\x1b[{style}m{verdict}\x1b[0m" if color else verdict

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
