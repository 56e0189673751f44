"""The pages of the site that are not written by hand: a page for each shipped spec, and files of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from energyc.derivation.notation import mathml, text
from energyc.pipeline import classify, derive, read, resolve
from energyc.surfaces.report.document import Document, Equation, Heading, Picture, to_markdown
from energyc.surfaces.report.explain import explanation, layered_explanation

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "specs"
#: A file of the repository -> its page.
COPIED = {
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/results/against.md": "benchmarks/results/against.md",
    "benchmarks/results/terms.md": "benchmarks/results/terms.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
#: Files that stand beside the pages as they are.
ALONGSIDE = ("benchmarks/results/against.png", "benchmarks/results/against.json")
#: A style sheet of the reports that the site takes as it is.
DIAGRAM_STYLE = ROOT / "energyc" / "surfaces" / "html" / "diagram.css"
_SECTION = re.compile(r"^## .*?: `(?P<spec>\w+)`\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def spec_names() -> list[str]:
    """The names of the shipped specs."""
    return sorted(path.stem for path in SPECS.glob("*.energy"))


def spec_page(name: str) -> str:
    """A shipped spec, what ``check`` says of it, what was measured of it, and its derivation."""
    spec = (SPECS / f"{name}.energy").read_text(encoding="utf-8")
    report = (ROOT / "tests" / "golden" / name / "check.txt").read_text(encoding="utf-8")
    return "\n\n".join(
        [
            f"# {name}",
            _description(spec),
            *_measured(name),
            "## The spec",
            f"```energy\n{spec}```",
            f"## What `energyc check specs/{name}.energy` says",
            f"```text\n{report.rstrip()}\n```",
            "## Derivation",
            f"`energyc explain specs/{name}.energy` writes this part.",
            *_derivation(name),
        ]
    )


def spec_index() -> str:
    """The table of all shipped specs."""
    rows = []
    for name in spec_names():
        description = _description((SPECS / f"{name}.energy").read_text(encoding="utf-8")).replace("|", "\\|")
        rows.append(f"| [{name}]({name}.md) | {description} | {_class(name)} |")
    head = "# Every shipped spec\n\nEach with its check report, its derivation, and what was measured of it.\n"
    return "\n".join([head, "| spec | what it is | class |", "| --- | --- | --- |", *rows, ""])


def copied_page(source: str) -> str:
    """A file of the repository, with links that lead to the pages of the site."""
    target = Path(COPIED[source])
    up = "../" * (len(target.parts) - 1)
    text = (ROOT / source).read_text(encoding="utf-8")
    text = re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)
    return re.sub(r"\]\((?!https?:|#|\.\.)([^)#]*?)\)", lambda link: _relinked(link, source, up), text)


def _relinked(link: re.Match[str], source: str, up: str) -> str:
    """A link to a file that is copied, to its page; one to code stays a name."""
    path = (Path(source).parent / link[1]).as_posix().removeprefix("./")
    return f"]({up}{COPIED[path]})" if path in COPIED else link[0]


def _description(text: str) -> str:
    """The comment above the network's name, as one paragraph."""
    lines = text.split("\nnetwork ")[0].splitlines()
    return " ".join(line.lstrip("# ").strip() for line in lines if line.startswith("#"))


def _class(name: str) -> str:
    report = (ROOT / "tests" / "golden" / name / "check.txt").read_text(encoding="utf-8")
    return next((line.split()[1] for line in report.splitlines() if line.startswith("  class ")), "")


def _measured(name: str) -> Iterator[str]:
    """What the gallery says was measured, and its picture; a link to the results otherwise."""
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    body = next((m["body"] for m in _SECTION.finditer(gallery) if m["spec"] == name), None)
    if body is None:
        yield "What was measured of it, where anything was, is in the [results](../results.md)."
        return
    parts = re.findall(r"^(?:\*\*Measured\*\*|!\[|\*(?!\*)).*?(?=\n\n|\Z)", body, re.MULTILINE | re.DOTALL)
    for part in parts:
        yield re.sub(r"\]\((?!https?:|#)", "](../", part.strip())


def _derivation(name: str) -> Iterator[str]:
    """The explanation of a spec below the headings of its page, with formulas as MathML above the spec's notation."""
    network = resolve(read(SPECS / f"{name}.energy"))
    classes = classify(network)
    if network.layers:
        document = layered_explanation(network, classes)
    else:
        document = explanation(network, derive(network, classes), classes)
    for block in document.blocks:
        if isinstance(block, Heading):
            yield f"### {block.title}"
        elif isinstance(block, Equation):
            yield _equation(block)
        elif isinstance(block, Picture):
            svg = str(block.svg).replace("\n", " ")
            yield f'<figure class="picture">{svg}<figcaption>{escape(block.caption)}</figcaption></figure>'
        else:
            yield to_markdown(Document("", (block,))).removeprefix("# \n\n").rstrip()


def _equation(equation: Equation) -> str:
    formula = mathml.write(equation.left, equation.right).replace("\n", " ")
    remark = f" &nbsp; {escape(equation.remark)}" if equation.remark else ""
    written = escape(text.equation(equation.left, equation.right)).replace("\n", "&#10;")
    return f"<figure>{formula}<figcaption><code>{written}</code>{remark}</figcaption></figure>"
