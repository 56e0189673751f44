"""The layout of a document as a page, with formulas in MathML, which needs neither a script nor a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from energyc.derivation.notation import mathml, text
from energyc.surfaces.html import tables
from energyc.surfaces.html.markup import page, tag
from energyc.surfaces.report.document import Block, Document, Equation, Heading, Paragraph, Picture
from energyc.surfaces.tables import Table


def to_html(document: Document) -> str:
    """Return a self-contained page with its sections listed beside it."""
    sections = list(_sections(document.blocks))
    head = tag(
        "header", tag("h1", document.title), tag("p", document.about, class_="about") if document.about else None
    )
    body = [tag("section", map(_html, blocks), id=f"s{k}") for k, blocks in enumerate(sections)]
    return page(document.title, tag("div", _contents(sections), tag("main", head, body), class_="page"))


def _sections(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield what is before the first heading, and each heading with what is below it."""
    section: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading):
            yield section
            section = []
        section.append(block)
    yield section


def _contents(sections: Sequence[Sequence[Block]]) -> Markup:
    """Return the list of the sections that have a heading."""
    titles = [(k, section[0]) for k, section in enumerate(sections) if section]
    links = [tag("a", head.title, href=f"#s{k}") for k, head in titles if isinstance(head, Heading)]
    return tag("nav", links, aria_label="sections")


def _html(block: Block) -> Markup:
    match block:
        case Heading():
            return tag("h2", block.title)
        case Paragraph():
            return tag("p", block.text)
        case Table():
            return tables.to_html(block)
        case Picture():
            caption = tag("figcaption", block.caption)
            return tag("figure", tag("div", block.svg, class_="wide"), caption, class_="picture")
        case Equation():
            return _equation(block)
    raise TypeError(f"no HTML for {block!r}")


def _equation(equation: Equation) -> Markup:
    """Return a formula, its remark, and on request how the spec writes it."""
    formula = tag("div", Markup(mathml.equation(equation.left, equation.right)), class_="wide")
    written = tag("code", text.equation(equation.left, equation.right))
    remark = tag("span", equation.remark, class_="remark") if equation.remark else None
    source = tag("details", tag("summary", "spec", title="as a spec writes it"), written)
    return tag("figure", formula, remark, source, class_="equation")
