"""The card of a report of ``check`` in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.card import card
from energyc.surfaces.html.markup import Content, tag
from energyc.surfaces.html.tables import to_html
from energyc.surfaces.html.verdicts import verdict
from energyc.surfaces.report.evidence import evidence
from energyc.surfaces.tables import Table, Verdict
from energyc.surfaces.tables.layouts import to_array

#: A layer's name (empty for a network without layers) and its classes.
Parts = Mapping[str, Classes]


def check_html(
    title: str, description: str, parts: Parts, whole: Classes, facts: Sequence[str], messages: str = ""
) -> str:
    """Return the card of a spec that types: classes with their evidence, rules, claims; ``messages`` are warnings."""
    body: list[Content] = [tag("p", description)] if description else []
    body += [tag("p", fact, class_="soft") for fact in facts]
    for name, classes in parts.items():
        prefix = f"{name}." if name else ""
        rows = [(prefix + term.name, term.kind, Verdict(term.verdict), evidence(term)) for term in classes.terms]
        body.append(to_html(Table(("term", "written as", "class", "evidence"), tuple(rows))))
        claims = [(c.about, c.claim, Verdict(c.verdict), c.evidence) for c in classes.claims]
        if claims:
            shown = to_html(Table(("about", "claim", "verdict", "evidence"), tuple(claims)))
            body.append(tag("details", tag("summary", "claims"), shown))
    rules = [
        (name, Verdict(rule.verdict), rule.why or "", rule.use_instead or "") for name, rule in whole.rules.items()
    ]
    body.append(to_html(Table(("rule", "verdict", "why", "use instead"), tuple(rules))))
    body += [tag("pre", messages)] if messages else []
    return card([title, " ", verdict(whole.verdict)], body)


def errors_html(title: str, messages: str) -> str:
    """Return the card of a spec with errors: each with its line and its caret."""
    return card(title, tag("pre", messages))


def check_latex(parts: Parts) -> str:
    """Return the terms with their classes, as a table in LaTeX."""
    return to_array(Table(("term", "written as", "class"), tuple(_terms(parts))))


def _terms(parts: Parts) -> Iterable[tuple[str, str, str]]:
    for name, classes in parts.items():
        for term in classes.terms:
            yield (f"{name}.{term.name}" if name else term.name), term.kind, term.verdict
