"""A chart as what it says, and its one drawing by matplotlib: pictures of a run, and SVG for pages and cards.

| module | content |
|---|---|
| ``chart`` | curves, marks, scales; running means |
| ``curves`` | runs over their updates: learning, health, several seeds; samples over the steps of a relaxation |
| ``canvas`` | the style of all pictures; charts as files and as SVG; titles and labels folded to their room |

Imports: ``diagnostics``, ``extras``, ``files``; libraries: ``matplotlib``.
"""

from energyc.surfaces.charts.chart import Chart, Mark, Number, Scale, Series, is_number, smoothed

__all__ = ["Chart", "Mark", "Number", "Scale", "Series", "is_number", "smoothed"]
