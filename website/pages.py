"""The pages of the site that are not written by hand: a page for each shipped spec, and files of the repository."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from energyc.derivation.notation import mathml, text
from energyc.pipeline import classify, derive, read, resolve
from energyc.surfaces.report.catalogue import Entry, catalogue
from energyc.surfaces.report.document import Document, Equation, Heading, Picture, to_markdown
from energyc.surfaces.report.explain import explanation, layered_explanation

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "specs"
#: A file of the repository -> its page.
COPIED = {
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/log/results.md": "benchmarks/log/results.md",
    "benchmarks/results/against.md": "benchmarks/results/against.md",
    "benchmarks/results/terms.md": "benchmarks/results/terms.md",
    "benchmarks/results/roofline.md": "benchmarks/results/roofline.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
#: Files that stand beside the pages as they are.
ALONGSIDE = ("benchmarks/results/against.png", "benchmarks/results/against.json")
#: A style sheet of the reports that the site takes as it is.
DIAGRAM_STYLE = ROOT / "energyc" / "surfaces" / "html" / "templates" / "diagram.css"
_SECTION = re.compile(r"^## (?P<title>.*?): `(?P<spec>\w+)`\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)

#: The golden file of each tab, and the function of the force in it.
_FORCES = {
    "torch": ("torch.py", r"    def _force\(.*?(?=\n    def |\n    @|\n\n\n)"),
    "JAX": ("jax.py", r"(?m)^def force\(.*?(?=\n\n\n)"),
}


def spec_names() -> list[str]:
    """The names of the shipped specs."""
    return sorted(path.stem for path in SPECS.glob("*.energy"))


def spec_page(name: str) -> str:
    """A shipped spec, what ``check`` says of it, its figure, its force as generated, its derivation."""
    spec = (SPECS / f"{name}.energy").read_text(encoding="utf-8")
    report = (ROOT / "tests" / "golden" / name / "check.txt").read_text(encoding="utf-8")
    return "\n\n".join(
        [
            f"# {name}",
            _told(name) or _description(spec),
            *_measured(name),
            "## The spec",
            f"```energy\n{spec}```",
            f"## What `energyc check specs/{name}.energy` says",
            f"```text\n{report.rstrip()}\n```",
            *_generated(name),
            "## Derivation",
            f"`energyc explain specs/{name}.energy` writes this part.",
            *_derivation(name),
        ]
    )


def spec_index() -> str:
    """The table of the shipped specs that have a page; the zoo is in the gallery."""
    entries = {entry.name: entry for entry in catalogue()}
    own = [(f"[{name}]({name}.md)", entries[name]) for name in spec_names()]
    return "\n".join(
        [
            "# Specs\n\nA name stands for its spec in every command: `energyc train kuramoto`. "
            "`energyc list` names them; `energyc list NAME` also prints the command that measured a figure. "
            "Smaller models are in [the zoo](../gallery.md#the-zoo).\n",
            *_table(own),
            "",
        ]
    )


def _table(rows: list[tuple[str, Entry]]) -> Iterator[str]:
    yield "| spec | what it is | class | rule | measured |\n| --- | --- | --- | --- | --- |"
    for shown, entry in rows:
        about = " ".join(entry.about.split()).replace("|", "\\|")
        found = entry.measured
        figure = "" if found is None else f"{found.metric} {found.value:.4g} after {found.updates:,} updates"
        yield f"| {shown} | {about} | {entry.verdict.replace('-', ' ')} | {entry.rule} | {figure} |"


def gallery_page(text: str) -> str:
    """The gallery as cards: the page of each system has what its section tells."""
    sections = list(_SECTION.finditer(text))
    before, after = text[: sections[0].start()], text[sections[-1].end() :]
    return f'{before}\n<div class="cards pictures" markdown>\n\n{cards(_sections())}\n\n</div>\n\n{after}'


def cards(names: Iterable[str]) -> str:
    """A card for each system of the gallery: its picture, its title, its first sentence and its class."""
    return "\n\n".join(_card(name, _sections()[name]) for name in names)


def _card(name: str, section: re.Match[str]) -> str:
    alt, picture = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", section["body"])[0]
    page = f"specs/{name}.md"
    return "\n".join(
        [
            '<div class="card" markdown>\n',
            f"![{alt}]({picture}){{ loading=lazy }}\n",
            f"**[{section['title']}]({page})**\n",
            f"{first_sentence(_told(name))}\n",
            f"`{name}` · {_class(name).replace('-', ' ')}",
            "{ .small }\n",
            "</div>",
        ]
    )


def first_sentence(text: str) -> str:
    """Up to the first full stop, without links, whose targets are relative to another page."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.split(r"(?<=[a-z)0-9`]\.) (?=[A-Z])", plain)[0]


def _sections() -> dict[str, re.Match[str]]:
    """The sections of the gallery by their specs."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    return {match["spec"]: match for match in _SECTION.finditer(text)}


def _told(name: str) -> str:
    """What the gallery tells of a system before its spec, or nothing."""
    section = _sections().get(name)
    if section is None:
        return ""
    return re.sub(r"\]\((?!https?:|#)", "](../", section["body"].split("```")[0].strip())


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
    found = re.search(r"^(?:energy:|  class) +([\w-]+)", report, re.MULTILINE)
    return found[1] if found else ""


def _measured(name: str) -> Iterator[str]:
    """What the gallery says was measured, and its picture; a link to the results otherwise."""
    section = _sections().get(name)
    if section is None:
        yield "What was measured of it, where anything was, is in the [results](../results.md)."
        return
    parts = re.findall(r"^(?:\*\*Measured\*\*|!\[|\*(?!\*)).*?(?=\n\n|\Z)", section["body"], re.MULTILINE | re.DOTALL)
    for part in parts:
        yield re.sub(r"\]\((?!https?:|#)", "](../", part.strip())


def _generated(name: str) -> Iterator[str]:
    """The force in torch, and in JAX where a golden file has it, as tabs."""
    found: dict[str, str] = {}
    for tab, (file, pattern) in _FORCES.items():
        golden = ROOT / "tests" / "golden" / name / file
        match = re.search(pattern, golden.read_text(encoding="utf-8"), re.DOTALL) if golden.exists() else None
        if match is not None:
            found[tab] = textwrap.dedent(match[0]).strip()
    if not found:
        return
    yield "## Its force, as it is generated"
    yield f"`energyc compile specs/{name}.energy --target torch`, or `cpp`, `triton`, `jax`, writes the whole module."
    for tab, code in found.items():
        block = textwrap.indent(f"```python\n{code}\n```", "    ")
        yield f'=== "{tab}"\n\n{block}'


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
