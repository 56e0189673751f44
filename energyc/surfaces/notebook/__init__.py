"""``%load_ext energyc``: cells of a notebook that are specs.

Imports: ``cli``, ``diagnostics``, ``html``, ``pipeline``, ``runs``, ``syntax``, ``version``; libraries: ``IPython``.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%energy`` in a shell of IPython, which calls this for ``%load_ext energyc``."""
    from energyc.surfaces.notebook.magics import EnergyMagics

    shell.register_magics(EnergyMagics)
