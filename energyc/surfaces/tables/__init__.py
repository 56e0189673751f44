"""A table, described once, and its layouts: Markdown, LaTeX, a formula of LaTeX, a terminal. ``html`` has one more.

Imports: ``notation``; libraries: ``markupsafe``, ``rich``.
"""

from energyc.surfaces.tables.table import Cell, Styled, Table, Verdict, number, painted, tone

__all__ = ["Cell", "Styled", "Table", "Verdict", "number", "painted", "tone"]
