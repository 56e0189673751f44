"""``python -m energyc``."""

from energyc.surfaces.cli import process

process()
