"""Charts as SVG in a page: every point has a place within the frame, groups can be shown, runs are thinned."""

from __future__ import annotations

import math
import re
import sys
from xml.etree import ElementTree

import pytest

from energyc.surfaces.charts import Chart, Series
from energyc.surfaces.html.pages import picture

HEIGHT = 2.7 * 72


def paths(drawn: str) -> list[list[float]]:
    """The heights of the points of each curve that has a colour of its own."""
    found = re.findall(r'<path d="([^"]*)"[^>]*stroke: #0072b2', drawn)
    return [[float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path)] for path in found]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("value", [1e-100, 0.11, 1.0, 4e-5, 123456.789, 1e12])
@pytest.mark.parametrize("away", [0, 1])
def test_values_that_differ_in_their_last_digit_are_drawn_as_one(scale: str, value: float, away: int) -> None:
    other = value if not away else math.nextafter(value, math.inf)
    drawn = picture(Chart((Series("", [1, 2, 3], [value, other, value]),), "update", "r", scale))  # type: ignore[arg-type]
    (heights,) = paths(drawn)
    assert len(heights) == 3 and max(heights) - min(heights) < 0.2 and all(0 < y < HEIGHT for y in heights)


def test_one_group_of_curves_shows() -> None:
    curves = tuple(Series("", [0, 1], [k, k + 1], group=k) for k in range(3))
    drawn = picture(Chart(curves, "step", "energy"), 1)
    groups = re.findall(r'data-group="(\d)"( hidden="")?', drawn)
    assert groups == [("0", ' hidden=""'), ("1", ""), ("2", ' hidden=""')]


def test_a_long_run_is_drawn_by_means() -> None:
    drawn = picture(Chart((Series("", range(10**5), [k % 7 for k in range(10**5)]),), "update", "cost"))
    assert len(drawn) < 50_000


def test_a_picture_is_one_element_that_reaches_nothing_outside() -> None:
    drawn = picture(Chart((Series("a", [0, 1], [1, 2]), Series("b", [0, 1], [2, 3], "dots")), "update", "cost"))
    whole = ElementTree.fromstring(drawn.replace("xlink:href", "href"))
    assert whole.get("class") == "chart" and not list(whole.iter("style"))
    assert {"a", "b", "update", "cost"} <= {text.text for text in whole.iter("text")}
    assert drawn == picture(Chart((Series("a", [0, 1], [1, 2]), Series("b", [0, 1], [2, 3], "dots")), "update", "cost"))


def test_without_a_point_or_matplotlib_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no cost yet" in picture(Chart((), "update", "cost"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = picture(Chart((Series("", [0, 1], [1, 2]),), "update", "cost"))
    assert said == '<p class="nothing">cost: pictures need matplotlib, which is not installed</p>'
