"""Charts as SVG: every number of a series has a place within the frame."""

from __future__ import annotations

import math
import re

import pytest

from energyc.surfaces.charts.chart import Chart, Series
from energyc.surfaces.html.chart import HEIGHT, svg


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("value", [1e-100, 0.11, 1.0, 4e-5, 123456.789, 1e12])
@pytest.mark.parametrize("away", [0, 1])
def test_values_that_differ_in_their_last_digit_are_drawn_as_one(scale: str, value: float, away: int) -> None:
    other = value if not away else math.nextafter(value, math.inf)
    drawn = svg(Chart((Series("r", [1, 2, 3], [value, other, value]),), "update", "r", scale))
    (path,) = re.findall(r'<path d="([^"]*)" class="curve"', drawn)
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert len(heights) == 3 and max(heights) - min(heights) < 0.2 and all(0 < y < HEIGHT for y in heights)
