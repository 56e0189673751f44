"""Documents of headings, paragraphs, tables and equations, and their layouts as Markdown, LaTeX and a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from energyc.derivation.notation import Formula, latex, mathml, text
from energyc.surfaces.html.pages import render
from energyc.surfaces.tables import Table, layouts
from energyc.surfaces.tables.layouts import escape_markdown


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    title: str


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture for layouts that can show SVG; the others leave it out, so what it says is also said in words."""

    svg: Markup
    caption: str


@dataclass(frozen=True)
class Equation:
    """``left = right``, with an optional remark."""

    left: Formula
    right: Formula
    remark: str = ""


Block = Heading | Paragraph | Table | Equation | Picture


@dataclass(frozen=True)
class Document:
    """A title, what it is about in a sentence or two, and blocks."""

    title: str
    blocks: tuple[Block, ...]
    about: str = ""


# ------------------------------------------------------------------ Markdown


def to_markdown(document: Document) -> str:
    """Return Markdown with equations as code in the spec's notation, readable as plain text."""
    head = [f"# {escape_markdown(document.title)}", *([escape_markdown(document.about)] if document.about else [])]
    return "\n\n".join([*head, *_join_equations(map(_markdown, _written(document)))]) + "\n"


def _written(document: Document) -> list[Block]:
    """Return the blocks without pictures."""
    return [block for block in document.blocks if not isinstance(block, Picture)]


def _join_equations(pieces: Iterable[str]) -> list[str]:
    """Join consecutive equations into one block of code."""
    result: list[str] = []
    for piece in pieces:
        if result and result[-1].endswith("\n```") and piece.startswith("```text\n"):
            result[-1] = result[-1].removesuffix("```") + piece.removeprefix("```text\n")
        else:
            result.append(piece)
    return result


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {escape_markdown(block.title)}"
        case Paragraph():
            return escape_markdown(block.text)
        case Table():
            return layouts.to_markdown(block)
        case Equation():
            remark = f"    # {block.remark}" if block.remark else ""
            return f"```text\n{text.equation(block.left, block.right)}{remark}\n```"
    raise TypeError(f"no Markdown for {block!r}")


# ------------------------------------------------------------------ LaTeX

_LATEX_HEAD = r"""\documentclass{article}
\usepackage[margin=2.5cm]{geometry}
\usepackage{amsmath,amssymb,booktabs,longtable}
\setlength{\parindent}{0pt}
\begin{document}
"""


def to_latex(document: Document) -> str:
    """Return a complete LaTeX document."""
    title = rf"\title{{{latex.escape(document.title)}}}" + "\n\\date{}\n\\maketitle\n"
    about = latex.escape(document.about) + "\n\n" if document.about else ""
    return _LATEX_HEAD + title + about + "\n".join(map(_latex, _written(document))) + "\n\\end{document}\n"


def _latex(block: Block) -> str:
    match block:
        case Heading():
            return rf"\section*{{{latex.escape(block.title)}}}"
        case Paragraph():
            return latex.escape(block.text) + "\n"
        case Table():
            return layouts.to_longtable(block)
        case Equation():
            remark = rf" \tag*{{\small {latex.escape(block.remark)}}}" if block.remark else ""
            both = latex.equation(block.left, block.right)
            return f"\\begin{{equation*}}\n{both}{remark}\n\\end{{equation*}}"
    raise TypeError(f"no LaTeX for {block!r}")


# ------------------------------------------------------------------ a page


def to_html(document: Document) -> str:
    """Return a self-contained page with its sections listed beside it and formulas in MathML."""
    sections: list[tuple[str, list[tuple[str, Block]]]] = []
    for block in document.blocks:
        if isinstance(block, Heading):
            sections.append((block.title, []))
        else:
            sections[-1][1].append((type(block).__name__, block))
    return render(
        "explanation.html",
        title=document.title,
        about=document.about,
        sections=sections,
        mathml=lambda equation: Markup(mathml.equation(equation.left, equation.right)),
        text=lambda equation: text.equation(equation.left, equation.right),
    )
