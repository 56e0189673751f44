"""docs/gallery.md: its specs are those that ship, what ``check`` says is what it says, its figures were measured."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.gallery import GALLERY, LARGEST, ZOO, zoo_page
from energyc.resources import folder
from energyc.surfaces.report.check import check
from energyc.surfaces.report.check_report import render_check

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
SECTION = re.compile(r"^## (?P<title>.*?): `(?P<spec>\w+)`\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"(?<=```check\n).*?(?=```)", re.DOTALL)
EXCERPT = re.compile(r"(?<=```energy\n).*?(?=```)", re.DOTALL)
SHOWN = {
    "cet", "thick", "thin", "cet_lm", "et_image", "et_anomaly", "et_graph", "cem", "tel_digits", "hopfield",
    "modern_hopfield", "deq", "sparse_coding",
}  # fmt: skip


def bodies() -> dict[str, str]:
    return {match["spec"]: match["body"] for match in SECTION.finditer(PAGE.read_text(encoding="utf-8"))}


def said(spec: str) -> str:
    """What check says of energies, convergence and rules."""
    report = render_check(check(folder("specs") / f"{spec}.energy"))
    return report[report.index("\n\n") + 2 : report.rindex("\n\n") + 1]


def test_the_page_has_the_systems() -> None:
    assert bodies().keys() == GALLERY.keys() == SHOWN


@pytest.mark.parametrize("spec", sorted(SHOWN))
def test_what_check_says(spec: str, update_golden: bool) -> None:
    if update_golden:
        body = bodies()[spec]
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page.replace(body, CHECK.sub(lambda _: said(spec), body)), encoding="utf-8")
    assert CHECK.findall(bodies()[spec]) == [said(spec)]


@pytest.mark.parametrize("spec", sorted(SHOWN))
def test_an_excerpt_is_of_the_spec(spec: str) -> None:
    """Every line stands in the spec, in the same order; ``...`` stands for lines that are left out."""
    (excerpt,) = EXCERPT.findall(bodies()[spec])
    lines = iter((folder("specs") / f"{spec}.energy").read_text(encoding="utf-8").splitlines())
    for line in excerpt.splitlines():
        assert line.strip() in ("", "...") or line in lines, line


@pytest.mark.parametrize("spec", sorted(SHOWN))
def test_a_picture_is_small_and_drawn_from_a_run_of_that_spec(spec: str) -> None:
    (path,) = re.findall(r"!\[[^\]]+\]\((pictures/[^)]+)\)", bodies()[spec])
    data = (PAGE.parent / path).read_bytes()
    assert Path(path).stem == spec and data.startswith(b"\x89PNG") and len(data) <= LARGEST
    width, height = struct.unpack(">II", data[16:24])
    assert 300 <= width <= 1000 and 100 <= height <= 1000
    assert f"energyc train specs/{spec}.energy {GALLERY[spec].training}" in bodies()[spec]


@pytest.mark.parametrize("spec", sorted(SHOWN))
def test_a_figure_stands_in_the_section_that_is_linked(spec: str) -> None:
    """A paragraph on what was measured links to a section, which has every figure with a decimal point."""
    (paragraph,) = re.findall(r"^\*\*Measured\*\*: .*?(?=\n\n)", bodies()[spec], re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((\S+?\.md)#(\S+?)\)", paragraph)
    assert links
    text = "".join(section(page, anchor) for page, anchor in links)
    missing = [number for number in re.findall(r"\d+\.\d+", paragraph) if number not in text]
    assert not missing, f"{missing} are not in the sections that are linked"


def section(page: str, anchor: str) -> str:
    """The text under a heading of a page."""
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    parts = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    found = [part for part in parts if slug(part.splitlines()[0].lstrip("# ") if part.strip() else "") == anchor]
    assert len(found) == 1, f"{page} has no heading #{anchor}"
    return found[0]


def test_every_picture_is_of_the_gallery() -> None:
    assert {path.stem for path in (ROOT / "docs" / "pictures").iterdir()} == set(GALLERY)


def test_the_cards_of_the_zoo_are_those_of_the_catalogue() -> None:
    page = ZOO.read_text(encoding="utf-8")
    assert page.count("### `") == len(list((folder("specs") / "zoo").glob("*.energy")))
    assert page == zoo_page(page), "python -m benchmarks.gallery OUT --only NAME writes them"


# ---------------------------------------------------------------- the lines of a report that say most


def key_lines(report: str) -> str:
    """The class, each term with its class and evidence, the claims, and the rules by verdict and reason.

    Of a refuted claim there is its evidence too; what layers are like follows in the order of the report.
    """
    lines: list[str] = []
    for block in report.split("\n\n"):
        head, *rest = block.splitlines()
        if head.startswith(("network", "layer")):
            lines += [*([head] if head.startswith("layer") else []), *(x for x in rest if x.startswith("  class"))]
        elif head == "terms":
            lines += [head, *(_cut(x) for x in rest if not x.startswith("    "))]
        elif head == "claims":
            lines += [head, *_claims(rest)]
        elif head == "rules":
            lines += [head, *_rules(rest)]
    return "\n".join(lines) + "\n"


def _cut(line: str) -> str:
    """A term without the numbers of its witness."""
    return re.sub(r"witness: .*", "witness", line)


def _claims(lines: list[str]) -> Iterator[str]:
    refuted = False
    for line in lines:
        if not line.startswith("    "):
            refuted = line.endswith(": refuted")
            yield line
        elif refuted:
            yield line


def _rules(lines: list[str]) -> Iterator[str]:
    """A line for each verdict with its reason, without what to use instead."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        name, verdict, *why = line.split(maxsplit=2)
        reason = re.sub(r"; use [\w-]+$", "", why[0]) if why else ""
        groups.setdefault((verdict, reason), []).append(name)
    width = max(len(verdict) for verdict, _ in groups)
    for (verdict, reason), names in groups.items():
        yield f"  {verdict:<{width}}  {', '.join(names)}"
        if reason:
            yield f"    {reason}"


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
