"""The command line: ``process`` is what the ``energyc`` script calls, ``main`` the same within a process.

It reads arguments, writes to streams and chooses the exit status; other packages do the work of a command.

Imports: ``api``, ``collection``, ``diagnostics``, ``doctor``, ``extras``, ``folder``, ``loggers``, ``lsp``,
``pipeline``, ``ranks``, ``report``, ``resolve``, ``resources``, ``runs``, ``syntax``, ``targets``, ``training``,
``version``; libraries: ``click``, ``rich``.
"""

from energyc.surfaces.cli.main import main, process

__all__ = ["main", "process"]
