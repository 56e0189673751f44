"""The command line: ``main`` is what the ``energyc`` script calls.

It reads arguments, writes to streams and chooses the exit status; other packages do the work of a command.

Imports: ``bench``, ``data``, ``diagnostics``, ``doctor``, ``files``, ``hardware``, ``loggers``, ``lsp``, ``network``,
``pipeline``, ``ranks``, ``report``, ``resolve``, ``resources``, ``runs``, ``symbolic``, ``syntax``, ``targets``,
``training``, ``verify``, ``version``; libraries: ``click``, ``rich``.
"""

from energyc.surfaces.cli.main import main

__all__ = ["main"]
