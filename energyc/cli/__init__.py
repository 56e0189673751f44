"""The command line: ``main`` is what the ``energyc`` script calls."""

from energyc.cli.main import main

__all__ = ["main"]
