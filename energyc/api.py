"""The functions of energyc. Each command adapts one of them.

| function | gives | command |
|---|---|---|
| ``load`` | a ``torch.nn.Module`` | |
| ``check`` | ``CheckReport``: classes with evidence, verdicts on rules | ``energyc check`` |
| ``compile`` | ``Modules``: generated modules | ``energyc compile`` |
| ``train``, ``resume`` | ``Run``, or ``Runs`` of several seeds or folds | ``energyc train`` |
| ``evaluate`` | held-out numbers, also with few bits or with mismatch | ``energyc eval`` |
| ``sweep``, ``compare`` | runs over values of settings; a table of any runs | ``energyc train --sweep``, ``compare`` |
| ``verify`` | each rule's gradient against the exact one | ``energyc verify`` |
| ``export`` | a circuit, an Ising problem, formulas for SymPy | ``energyc export`` |
| ``view``, ``plot`` | a page of runs, pictures of a run | ``energyc view``, ``energyc plot`` |
| ``bench`` | the time of a step | ``energyc bench`` |
| ``explain`` | derivations as a document | ``energyc explain`` |

``result.to_json()`` is the command's JSON, ``str(result)`` its text. Notebooks show a card. Results with tables have
``to_frame()``, a DataFrame (extra ``data``). Notes, which a command prints to standard error, go to ``notify``.

A name is imported when it is first asked for: importing this module imports neither torch nor sympy.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from energyc.collection import rarely_collected

if TYPE_CHECKING:
    from energyc.language.diagnostics import SpecError, UserError
    from energyc.running.data import register_data
    from energyc.running.training.outcome import Diverged
    from energyc.runtime import NotSettledWarning
    from energyc.surfaces.api.bench import bench
    from energyc.surfaces.api.compare import compare
    from energyc.surfaces.api.compile import compile
    from energyc.surfaces.api.estimator import Estimator
    from energyc.surfaces.api.evaluate import evaluate
    from energyc.surfaces.api.export import export
    from energyc.surfaces.api.load import load
    from energyc.surfaces.api.pages import explain, plot, view
    from energyc.surfaces.api.run import Run, Runs
    from energyc.surfaces.api.sweep import sweep
    from energyc.surfaces.api.training import resume, train
    from energyc.surfaces.api.verify import verify
    from energyc.surfaces.report.check import check

#: Where each public name is defined.
PLACES = MappingProxyType(
    {
        "Diverged": "energyc.running.training.outcome",
        "Estimator": "energyc.surfaces.api.estimator",
        "NotSettledWarning": "energyc.runtime",
        "Run": "energyc.surfaces.api.run",
        "Runs": "energyc.surfaces.api.run",
        "SpecError": "energyc.language.diagnostics",
        "UserError": "energyc.language.diagnostics",
        "bench": "energyc.surfaces.api.bench",
        "check": "energyc.surfaces.report.check",
        "compare": "energyc.surfaces.api.compare",
        "compile": "energyc.surfaces.api.compile",
        "evaluate": "energyc.surfaces.api.evaluate",
        "explain": "energyc.surfaces.api.pages",
        "export": "energyc.surfaces.api.export",
        "load": "energyc.surfaces.api.load",
        "plot": "energyc.surfaces.api.pages",
        "register_data": "energyc.running.data",
        "resume": "energyc.surfaces.api.training",
        "sweep": "energyc.surfaces.api.sweep",
        "train": "energyc.surfaces.api.training",
        "verify": "energyc.surfaces.api.verify",
        "view": "energyc.surfaces.api.pages",
    }
)

__all__ = [
    "Diverged",
    "Estimator",
    "NotSettledWarning",
    "Run",
    "Runs",
    "SpecError",
    "UserError",
    "bench",
    "check",
    "compare",
    "compile",
    "evaluate",
    "explain",
    "export",
    "load",
    "plot",
    "register_data",
    "resume",
    "sweep",
    "train",
    "verify",
    "view",
]


def __getattr__(name: str) -> Any:
    """Import a public name. Raises AttributeError."""
    if name not in PLACES:
        raise AttributeError(f"module 'energyc.api' has no attribute {name!r}")
    with rarely_collected():
        return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
