"""energyc: a compiler for energy-based networks.

``load`` makes a torch module of a spec or of a trained run, ``train`` and ``resume`` train one on data of your own,
``Estimator`` does so after scikit-learn, ``check`` reports what is known of a spec, and ``register_data`` lets specs
bind data of your own. ``energyc.api`` lists all functions. ``SpecError`` and ``UserError`` are what they raise.
Importing this package imports neither torch nor sympy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from energyc.version import __version__ as __version__

if TYPE_CHECKING:
    from energyc.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import a public name of ``energyc.api`` when it is first asked for."""
    if name == "load_ipython_extension":
        from energyc.surfaces.notebook import load_ipython_extension

        return load_ipython_extension
    if name == "__all__":
        return __dir__()
    api = import_module("energyc.api")
    if name not in api.PLACES:
        raise AttributeError(f"module 'energyc' has no attribute {name!r}")
    return getattr(api, name)


def __dir__() -> list[str]:
    return ["__version__", *import_module("energyc.api").PLACES]
