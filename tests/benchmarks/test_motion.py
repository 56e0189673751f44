"""The moving picture shows the run: its first and last images, and energies that fall."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from benchmarks.motion import COLOURS, STEPS, Relaxed, drawn


def test_the_picture_moves_from_the_first_states_to_the_last() -> None:
    random = np.random.default_rng(0)
    ways = np.linspace(0, 1, STEPS + 1)[:, None, None]
    start, end = random.choice([-1.0, 0.0], (2, len(COLOURS), 64))
    found = Relaxed(start + ways * (end - start), 5 - np.linspace(0, 3, STEPS + 1)[:, None] * np.ones(len(COLOURS)))
    svg = ElementTree.fromstring(drawn(found, True))
    pixels = [rect for rect in svg.iter("{http://www.w3.org/2000/svg}rect") if rect.get("class") == "pixel"]
    assert len(pixels) == 64 * len(COLOURS)
    for pixel, (first, last) in zip(pixels, zip(start.ravel(), end.ravel(), strict=True), strict=True):
        (*moves,) = pixel
        shown = [float(v) for v in moves[0].get("values", "").split(";")] if moves else [(last + 1) / 2]
        assert abs(shown[0] - (first + 1) / 2) < 6e-3 and abs(shown[-1] - (last + 1) / 2) < 6e-3
    for dot in svg.iter("{http://www.w3.org/2000/svg}circle"):
        begin, *_, end = (float(v) for v in dot[1].get("values", "").split(";"))
        assert end == float(dot.get("cy", "")) > begin  # downwards is a larger y
    assert "<animate" not in drawn(found, False) and re.search("<title>.+</title>", drawn(found, False))
