"""A chart as what it says: curves over an axis, and a mark. ``html`` draws it as SVG, ``report`` by matplotlib.

| module | content |
|---|---|
| ``chart`` | curves, marks, scales; running means |
| ``learning`` | the curves of a run over its updates |

Imports: nothing.
"""

from energyc.surfaces.charts.chart import Chart, Mark, Number, Scale, Series, is_number, smoothed

__all__ = ["Chart", "Mark", "Number", "Scale", "Series", "is_number", "smoothed"]
