"""Templates of pages, and what untrusted text does in them."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from energyc.surfaces.charts import Chart, Mark, Series
from energyc.surfaces.html.boxes import Box, drawing
from energyc.surfaces.html.pages import asset, picture, render
from energyc.surfaces.tables import Styled, Table, Verdict
from tests.html.hostile import ATTACKS, harmless


class Reader(HTMLParser):
    """The elements of a page, and all of its text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_stays_text(attack: str) -> None:
    """In a table, in tiles, in a verdict, in a box and in an attribute."""
    table = Table((attack,), ((attack,), (Verdict(attack),), (Styled(((attack, ""),)),)))
    page = render("relaxed.html", title=attack, ends=table, curves=[], states=table)
    reader = read(page)
    assert harmless(page) and not {"script", "img", "svg"} & set(reader.elements)
    assert reader.text.count(attack) == 1 + 2 * 4
    picture = drawing([[Box(attack, attack, attack, attack)]], attack)
    assert harmless(picture) and set(read(picture).elements) == {"svg", "g", "title", "rect", "text"}


@pytest.mark.parametrize("attack", [*ATTACKS, r"$\frac$", 'id="group-1"', "#000000"])
def test_text_stays_text_in_a_chart(attack: str) -> None:
    chart = Chart((Series(attack, [0, 1], [1, 2], group=0),), attack, attack, mark=Mark(1, attack), title=attack)
    drawn = picture(chart, 0)
    reader = read(drawn)
    assert harmless(drawn) and not {"script", "img", "style"} & set(reader.elements)
    assert reader.elements.count("svg") == 1


def test_styles_scripts_and_templates_are_files_of_the_package() -> None:
    """The policy of a page allows its own script by what it is."""
    digest = b64encode(sha256(asset("view.js").encode()).digest()).decode()
    page = render("page.html", title="t", scripts=["view.js"])
    assert f"script-src 'sha256-{digest}'" in page and read(page).elements.count("script") == 1
    assert "script-src" not in render("page.html", title="t")
    assert "default-src 'none'" in page
