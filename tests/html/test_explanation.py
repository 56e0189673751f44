"""The page of ``energyc explain -o FILE.html``."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from energyc import pipeline
from energyc.resources import resource
from energyc.surfaces.report.explain import explain
from tests.html.browser import opened
from tests.html.hostile import SPEC, harmless, hostile
from tests.html.test_markup import read


def page_of(text: str) -> str:
    return explain(pipeline.resolve(pipeline.read(text)), "html")


def test_it_says_all_that_there_is() -> None:
    page = page_of(SPEC)
    reader = read(page)
    for said in (
        "At a glance",
        "is acted on by",
        "Energy",
        "The force on each state",
        "What is a gradient",
        "Learning rules on this network",
        "Claims",
        "Local update of each param",
        "Dims and tensors",
    ):
        assert said in reader.text
    assert reader.elements.count("math") == reader.text.count("spec") - reader.text.count("a spec") > 5
    assert "script" not in reader.elements and "link" not in reader.elements
    assert "src=" not in page and "url(" not in page


def test_its_formulas_are_well_formed() -> None:
    for formula in re.findall(r"<math.*?</math>", page_of(SPEC)):
        ElementTree.fromstring(formula)


def test_no_name_becomes_part_of_the_page() -> None:
    page = page_of(hostile())
    assert harmless(page)
    assert read(page).elements == read(page_of(f"# a\n{SPEC}")).elements


def test_a_claim_is_in_every_form() -> None:
    network = pipeline.resolve(pipeline.read(SPEC))
    for form in ("markdown", "latex", "html"):
        assert "an equilibrium exists" in explain(network, form)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("spec", ["thick", "hopfield", "cem", "hostile"])
def test_a_browser_shows_it(spec: str, width: int, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    text = hostile() if spec == "hostile" else resource("specs", f"{spec}.energy").read_text()
    path.write_text(page_of(text))
    with opened(path, width) as found:
        page = found.page
        assert found.fits()
        assert page.evaluate("window.hacked") is None
        heights = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)")
        assert len(heights) > 5 and all(height > 8 for height in heights)
        page.locator("summary").first.click()
        assert page.locator("details[open] code").first.is_visible()
