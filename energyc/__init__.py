"""energyc: a compiler for energy-based networks.

``load`` makes a torch module of a spec or of a trained run, ``check`` reports what is known of a spec, and
``register_data`` lets specs bind data of your own. Importing this package imports neither torch nor sympy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from energyc.version import __version__

if TYPE_CHECKING:
    from energyc.data import register_data
    from energyc.report.check import check
    from energyc.runs.load import load

__all__ = ["__version__", "check", "load", "register_data"]


def __getattr__(name: str) -> Any:
    """The public functions, imported when first asked for."""
    if name == "check":
        from energyc.report.check import check

        return check
    if name == "load":
        from energyc.runs.load import load

        return load
    if name == "register_data":
        from energyc.data import register_data

        return register_data
    raise AttributeError(f"module 'energyc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
