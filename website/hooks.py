"""What MkDocs calls while it builds the site (mkdocs.yml): generated pages, and formulas as MathML."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from website import pages
from website.searching import SUBJECTS

#: What our tests read behind the name of a fence (``preset=small``, ``D=3``), which Markdown does not know.
_OPTIONS = re.compile(r"^```energy (?!title=).*$", re.MULTILINE)
#: Where a page wants cards of the gallery, and of which systems.
_CARDS = re.compile(r"<!-- cards: ([\w ]+) -->")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated."""
    made = {f"specs/{name}.md": pages.spec_page(name) for name in pages.spec_names()}
    made["specs/index.md"] = pages.spec_index()
    made |= {target: pages.copied_page(source) for source, target in pages.COPIED.items()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    for name in pages.ALONGSIDE:
        files.append(File.generated(config, name, content=(pages.ROOT / name).read_bytes()))
    files.append(File.generated(config, "assets/diagram.css", content=pages.DIAGRAM_STYLE.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, and lead links out of ``docs`` to the pages that stand for them."""
    if page.file.src_uri == "gallery.md":
        markdown = pages.gallery_page(markdown)
    page.meta.setdefault("tags", list(SUBJECTS.get(page.file.src_uri, ())))
    markdown = _CARDS.sub(lambda named: pages.cards(named[1].split()), markdown)
    markdown = _OPTIONS.sub("```energy", markdown)
    for source, target in pages.COPIED.items() if page.file.src_uri not in pages.COPIED.values() else ():
        markdown = re.sub(rf"\]\(((?:\.\./)*)\.\./{re.escape(source)}", rf"](\g<1>{target}", markdown)
    parts = _CODE.split(markdown)
    parts[::2] = [_FORMULA.sub(_mathml, part) for part in parts[::2]]
    return "".join(parts)


def _mathml(formula: re.Match[str]) -> str:
    display = formula[1] is not None
    written = convert(unescape((formula[1] or formula[2]).strip()), display="block" if display else "inline")
    written = written.replace("\n", " ")
    # Markdown takes a formula at the beginning of a line for a block, unless it stands in a span.
    return written if display else f"<span>{written}</span>"
