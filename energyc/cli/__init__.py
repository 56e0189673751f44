"""The command line: ``main`` is what the ``energyc`` script calls.

It reads arguments, writes to streams and chooses the exit status; other packages do the work of a command.

Imports: ``bench``, ``data``, ``diagnostics``, ``doctor``, ``hardware``, ``loggers``, ``lsp``, ``pipeline``,
``ranks``, ``report``, ``resolve``, ``resources``, ``runs``, ``syntax``, ``train``, ``verify``, ``version``;
libraries: ``click``, ``rich``.
"""

from energyc.cli.main import main

__all__ = ["main"]
