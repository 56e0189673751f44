"""Data adapters by name. A shipped one is imported when a spec calls it, and so is one of an installed package.

A package offers adapters by the entry points ``energyc.data``: ``name = "module:Adapter"``, a class or an object.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from energyc.language.diagnostics import UserError
from energyc.running.data.errors import unknown_adapter
from energyc.running.data.schema import Adapter


class Registry:
    """Adapters by name. The process has one registry, ``DATA``; a test creates its own."""

    def __init__(self, adapters: Iterable[Adapter] = (), shipped: Iterable[str] = (), group: str | None = None) -> None:
        self._adapters: dict[str, Adapter] = {adapter.name: adapter for adapter in adapters}
        self._shipped = frozenset(shipped)
        self._group = group  # of entry points

    def register(self, name: str, adapter: Adapter) -> None:
        """Make ``data d = name(...)`` available to specs; a later registration replaces an earlier one.

        Raises ``UserError`` if a spec cannot write the name, or the adapter lacks a method.
        """
        if not (name.isidentifier() and name.isascii()):
            raise UserError(f"{name!r} cannot name a data adapter", code="E0911", help="letters, digits, underscores")
        check_adapter(name, adapter)
        self._adapters[name] = adapter

    def find(self, name: str) -> Adapter:
        """The adapter of that name; raises ``UserError``, which suggests the nearest one."""
        if name not in self._adapters:
            self._adapters[name] = _shipped(name) if name in self._shipped else self._installed(name)
        return self._adapters[name]

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        from importlib import metadata  # which takes long to import, and shipped adapters do without

        installed = () if self._group is None else metadata.entry_points(group=self._group).names
        return tuple(sorted({*self._adapters, *self._shipped, *installed}))

    def _installed(self, name: str) -> Adapter:
        """The adapter of an installed package. Raises UserError E0911 if there is none, E0933 if it cannot be used."""
        from importlib import metadata

        found = list(metadata.entry_points(group=self._group, name=name)) if self._group is not None else []
        if not found:
            raise unknown_adapter(name, self.names())
        owners = sorted({point.dist.name if point.dist is not None else point.value for point in found})
        if len(owners) > 1:
            message = f"the data adapter {name} is offered by several packages: {', '.join(owners)}"
            raise UserError(message, code="E0933", help="uninstall all but one, or energyc.register_data one of them")
        try:
            loaded = found[0].load()
            adapter: Adapter = loaded() if isinstance(loaded, type) else loaded
            check_adapter(name, adapter)
        except UserError:
            raise
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else "no text"
            message = f"the data adapter {name} of {owners[0]} ({found[0].value}) raised {type(error).__name__}: {said}"
            raise UserError(message, code="E0933", help=f"mend or reinstall {owners[0]}") from error
        return adapter


def check_adapter(name: str, adapter: object) -> None:
    """Raise UserError E0911 where an adapter lacks a method."""
    for method in ("schema", "open"):
        if not callable(getattr(adapter, method, None)):
            raise UserError(
                f"the data adapter {name} has no method {method}",
                code="E0911",
                help="an adapter has schema(options) and open(options, path, seed=0): energyc.data.Adapter",
            )


#: The adapters that come with the compiler: the module of this package and what makes one without arguments.
SHIPPED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "anomaly_graph": ("anomaly_graph", "AnomalyGraph"),
        "characters": ("characters", "Characters"),
        "cifar10": ("cifar10", "Cifar10"),
        "digits": ("digits", "Digits"),
        "gaussian_process": ("gaussian_process", "GaussianProcess"),
        "graph_bags": ("graph_bags", "GraphBags"),
        "graph_classes": ("graph_classes", "GraphClasses"),
        "manifolds": ("manifolds", "Manifolds"),
        "masked_images": ("masked_images", "MaskedImages"),
        "mnist": ("digits", "mnist"),
        "patterns": ("patterns", "Patterns"),
        "table": ("table", "Tables"),
    }
)


def _shipped(name: str) -> Adapter:
    module, maker = SHIPPED[name]
    adapter: Adapter = getattr(importlib.import_module(f"energyc.running.data.{module}"), maker)()
    return adapter


#: The entry points by which packages offer adapters.
GROUP = "energyc.data"

DATA = Registry(shipped=tuple(SHIPPED), group=GROUP)
"""The registry that resolves specs: the only mutable object of this package; it grows by what is registered or used."""


def register_data(name: str, adapter: Adapter) -> None:
    """Register a user's own data binding with the registry of this process (``Registry.register``)."""
    DATA.register(name, adapter)


def find_adapter(name: str) -> Adapter:
    """The adapter that a spec calls by ``name`` (``Registry.find``)."""
    return DATA.find(name)
