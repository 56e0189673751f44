"""Elements, pages, and what untrusted text does in them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from energyc.surfaces.html.markup import data, page, tag
from tests.html.hostile import ATTACKS


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


def test_an_element() -> None:
    assert tag("p", "a < b", class_="x", hidden=True, title=None) == '<p class="x" hidden="">a &lt; b</p>'
    assert tag("br") == "<br>" and tag("path", d="M0 0") == '<path d="M0 0"/>'
    assert tag("p", ["a", tag("b", "&"), None]) == "<p>a<b>&amp;</b></p>"


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_stays_text(attack: str) -> None:
    reader = read(page(attack, tag("p", attack, title=attack), scripts=()))
    assert reader.elements == ["html", "head", *["meta"] * 4, "title", "style", "body", "p"]
    assert reader.text.count(attack) == 2


@pytest.mark.parametrize("attack", ATTACKS)
def test_data_stays_data(attack: str) -> None:
    text = data("d", {"name": attack, "values": [1.5, None]})
    reader = read(text)
    assert reader.elements == ["script"]
    assert json.loads(reader.text) == {"name": attack, "values": [1.5, None]}


def test_a_page_may_run_its_own_scripts_alone() -> None:
    assert "script-src" not in page("without")
    policy = re.search(r'content="(default-src[^"]*)"', page("with", scripts=["page.css"]))
    assert policy and "sha256-" in policy[1] and "default-src &#39;none&#39;" in policy[1]
