"""energyc: a compiler for energy-based networks.

``load`` makes a torch module of a spec or of a trained run, ``train`` and ``resume`` train one on data of your own,
``check`` reports what is known of a spec, and ``register_data`` lets specs bind data of your own. ``SpecError`` and
``UserError`` are what they raise. Importing this package imports neither torch nor sympy.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from energyc.version import __version__

if TYPE_CHECKING:
    from energyc.data import register_data
    from energyc.diagnostics import SpecError, UserError
    from energyc.report.check import check
    from energyc.runs.load import load
    from energyc.runs.run import Run, resume, train
    from energyc.runtime.settled import NotSettledWarning
    from energyc.train.outcome import Diverged

#: Where each public name is defined; it is imported when first asked for.
_PLACES = MappingProxyType(
    {
        "Diverged": "energyc.train.outcome",
        "NotSettledWarning": "energyc.runtime.settled",
        "Run": "energyc.runs.run",
        "SpecError": "energyc.diagnostics",
        "UserError": "energyc.diagnostics",
        "check": "energyc.report.check",
        "load": "energyc.runs.load",
        "load_ipython_extension": "energyc.notebook",
        "register_data": "energyc.data",
        "resume": "energyc.runs.run",
    }
)

__all__ = [
    "Diverged",
    "NotSettledWarning",
    "Run",
    "SpecError",
    "UserError",
    "__version__",
    "check",
    "load",
    "register_data",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    """The public names, imported when first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'energyc' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__


class _Training(ModuleType):
    """The package ``energyc.train``, which can be called: ``energyc.train(spec, data=...)`` trains."""

    @property
    def __signature__(self) -> Any:
        """That of the function."""
        import inspect

        return inspect.signature(import_module("energyc.runs.run").train)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """``energyc.runs.run.train``."""
        return import_module("energyc.runs.run").train(*arguments, **options)


if not TYPE_CHECKING:
    train = import_module("energyc.train")
    train.__class__ = _Training
