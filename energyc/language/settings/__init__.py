"""Every setting of a spec: its type and bounds, its default, its unit and its meaning, in one table.

A block of settings is a frozen dataclass, and its fields are the table: ``Relax`` and ``Nudge`` for the two phases,
``TrainOptions`` for a training run. ``read`` checks what a spec or a run folder says against it, and the tables of the
documentation are made from it.

It knows what a setting may be; what comes of it is a matter for ``targets`` and ``train``.

Imports: ``diagnostics``.
"""

from energyc.language.settings.phases import SOLVERS, Nudge, Relax
from energyc.language.settings.table import Fault, extremes, read, table
from energyc.language.settings.train import TrainOptions
from energyc.language.settings.values import Call, written

__all__ = ["SOLVERS", "Call", "Fault", "Nudge", "Relax", "TrainOptions", "extremes", "read", "table", "written"]
