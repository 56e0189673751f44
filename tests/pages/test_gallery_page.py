"""docs/gallery.md: its specs are those that ship, what ``check`` says is what it says, its figures were measured."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from benchmarks.gallery import GALLERY, LARGEST, with_zoo
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
#: The lines of a report that the page shows.
ANSWERS = re.compile(r"^(?:layer|energy:|convergence:|  exact |  biased |  surrogate ).*\n", re.MULTILINE)


def bodies() -> dict[str, str]:
    return {match["spec"]: match["body"] for match in SECTION.finditer(PAGE.read_text(encoding="utf-8"))}


def said(spec: str) -> str:
    """What check answers on energy and convergence, and its rules that are exact, biased or surrogates."""
    report = render_check(check(folder("specs") / f"{spec}.energy"))
    return "".join(ANSWERS.findall(report))


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


def test_the_table_of_the_zoo_is_that_of_the_catalogue(update_golden: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    if update_golden:
        PAGE.write_text(page := with_zoo(page), encoding="utf-8")
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == len(list((folder("specs") / "zoo").glob("*.energy")))
    assert page == with_zoo(page)


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
