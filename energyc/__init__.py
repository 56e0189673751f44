"""energyc: a compiler for energy-based networks.

``load`` makes a torch module of a spec or of a trained run, ``train`` and ``resume`` train one on data of your own,
``Estimator`` does so after scikit-learn, ``check`` reports what is known of a spec, and ``register_data`` lets specs
bind data of your own. ``SpecError`` and ``UserError`` are what they raise. Importing this package imports neither torch
nor sympy.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from energyc.version import __version__

if TYPE_CHECKING:
    from energyc.language.diagnostics import SpecError, UserError
    from energyc.running.data import register_data
    from energyc.running.training.outcome import Diverged
    from energyc.runtime.convergence.settled import NotSettledWarning
    from energyc.surfaces.python.estimator import Estimator
    from energyc.surfaces.python.load import load
    from energyc.surfaces.python.train import Run, resume, train
    from energyc.surfaces.report.check import check

#: Where each public name is defined; it is imported when first asked for.
_PLACES = MappingProxyType(
    {
        "Diverged": "energyc.running.training.outcome",
        "Estimator": "energyc.surfaces.python.estimator",
        "NotSettledWarning": "energyc.runtime.convergence.settled",
        "Run": "energyc.surfaces.python.train",
        "SpecError": "energyc.language.diagnostics",
        "UserError": "energyc.language.diagnostics",
        "check": "energyc.surfaces.report.check",
        "load": "energyc.surfaces.python.load",
        "load_ipython_extension": "energyc.surfaces.notebook",
        "register_data": "energyc.running.data",
        "resume": "energyc.surfaces.python.train",
        "train": "energyc.surfaces.python.train",
    }
)

__all__ = [
    "Diverged",
    "Estimator",
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
