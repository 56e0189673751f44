"""A table, described once, and its layouts: Markdown, LaTeX, a formula of LaTeX, a terminal. ``html`` has one more.

Imports: ``notation``; libraries: ``rich``.
"""

from energyc.surfaces.tables.table import Cell, Styled, Table, Verdict

__all__ = ["Cell", "Styled", "Table", "Verdict"]
