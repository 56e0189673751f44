"""Documents of headings, paragraphs, tables and equations, and their three layouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from energyc.notation import Formula, latex, mathml, text


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    title: str


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table of plain cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Equation:
    """``left = right``, with an optional remark."""

    left: Formula
    right: Formula
    remark: str = ""


Block = Heading | Paragraph | Table | Equation


@dataclass(frozen=True)
class Document:
    """A title and blocks."""

    title: str
    blocks: tuple[Block, ...]


# ------------------------------------------------------------------ Markdown


def to_markdown(document: Document) -> str:
    """Return Markdown with equations as code in the spec's notation, readable as plain text."""
    return "\n\n".join([f"# {_escaped(document.title)}", *_join_equations(map(_markdown, document.blocks))]) + "\n"


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
            return f"## {_escaped(block.title)}"
        case Paragraph():
            return _escaped(block.text)
        case Table():
            rows = [block.header, tuple("---" for _ in block.header), *block.rows]
            cells = [[_escaped(cell).replace("|", "\\|") for cell in row] for row in rows]
            return "\n".join("| " + " | ".join(row) + " |" for row in cells)
        case Equation():
            remark = f"    # {block.remark}" if block.remark else ""
            return f"```text\n{text.equation(block.left, block.right)}{remark}\n```"


def _escaped(content: str) -> str:
    """Escape Markdown in text from a spec."""
    return content.replace("\\", "\\\\").replace("<", "&lt;").replace("`", "'").replace("[", "\\[").replace("*", "\\*")


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
    return _LATEX_HEAD + title + "\n".join(map(_latex, document.blocks)) + "\n\\end{document}\n"


def _latex(block: Block) -> str:
    match block:
        case Heading():
            return rf"\section*{{{latex.escape(block.title)}}}"
        case Paragraph():
            return latex.escape(block.text) + "\n"
        case Table():
            return _latex_table(block)
        case Equation():
            remark = rf" \tag*{{\small {latex.escape(block.remark)}}}" if block.remark else ""
            both = latex.equation(block.left, block.right)
            return f"\\begin{{equation*}}\n{both}{remark}\n\\end{{equation*}}"


def _latex_table(table: Table) -> str:
    rows = [" & ".join(map(latex.escape, row)) + r" \\" for row in (table.header, *table.rows)]
    rows.insert(1, r"\midrule")
    columns = "l" * len(table.header)
    return "\n".join([rf"\begin{{longtable}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule", r"\end{longtable}"])


# ------------------------------------------------------------------ HTML

_HTML_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 Georgia, serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h1, h2 {{ font-weight: normal; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
td, th {{ text-align: left; padding: 0.2rem 0.8rem; border-bottom: 1px solid #ddd; }}
figure {{ margin: 0.8rem 0; overflow-x: auto; }}
figcaption, code {{ color: #666; font-size: 0.85rem; white-space: pre-wrap; }}
</style>
<h1>{title}</h1>
"""


def to_html(document: Document) -> str:
    """Return a self-contained page, with formulas as MathML above the spec's notation."""
    return _HTML_HEAD.format(title=escape(document.title)) + "\n".join(map(_html, document.blocks)) + "\n</html>\n"


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h2>{escape(block.title)}</h2>"
        case Paragraph():
            return f"<p>{escape(block.text)}</p>"
        case Table():
            head = "".join(f"<th>{escape(cell)}</th>" for cell in block.header)
            rows = "\n".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in block.rows)
            return f"<table>\n<tr>{head}</tr>\n{rows}\n</table>"
        case Equation():
            remark = f" &nbsp; {escape(block.remark)}" if block.remark else ""
            written = escape(text.equation(block.left, block.right))
            caption = f"<figcaption><code>{written}</code>{remark}</figcaption>"
            return f"<figure>{mathml.write(block.left, block.right)}{caption}</figure>"
