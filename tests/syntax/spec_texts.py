"""The specs that the tests of the syntax run over: the gallery, and one that holds every construct."""

from __future__ import annotations

from pathlib import Path

from energyc.resources import folder

EVERYTHING = Path(__file__).with_name("everything.energy")
PATHS = [EVERYTHING, *sorted(folder("specs").glob("*.energy"))]
