"""Data adapters by name. A shipped one is imported when a spec calls it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from energyc.data.errors import unknown_adapter
from energyc.data.schema import Adapter
from energyc.diagnostics import UserError


class Registry:
    """Adapters by name. The process has one registry, ``DATA``; a test creates its own."""

    def __init__(self, adapters: Iterable[Adapter] = (), shipped: Iterable[str] = ()) -> None:
        self._adapters: dict[str, Adapter] = {adapter.name: adapter for adapter in adapters}
        self._shipped = frozenset(shipped)

    def register(self, name: str, adapter: Adapter) -> None:
        """Make ``data d = name(...)`` available to specs; a later registration replaces an earlier one.

        Raises ``UserError`` if a spec cannot write the name, or the adapter lacks a method.
        """
        if not (name.isidentifier() and name.isascii()):
            raise UserError(f"{name!r} cannot name a data adapter", code="E0911", help="letters, digits, underscores")
        for method in ("schema", "open"):
            if not callable(getattr(adapter, method, None)):
                raise UserError(
                    f"the data adapter {name} has no method {method}",
                    code="E0911",
                    help="an adapter has schema(options) and open(options, path, seed=0): energyc.data.schema.Adapter",
                )
        self._adapters[name] = adapter

    def find(self, name: str) -> Adapter:
        """The adapter of that name; raises ``UserError``, which suggests the nearest one."""
        if name not in self._adapters:
            if name not in self._shipped:
                raise unknown_adapter(name, self.names())
            self._adapters[name] = _shipped(name)
        return self._adapters[name]

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted({*self._adapters, *self._shipped}))


#: The adapters that come with the compiler: the module of ``energyc.data`` and what makes one without arguments.
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
    adapter: Adapter = getattr(importlib.import_module(f"energyc.data.{module}"), maker)()
    return adapter


DATA = Registry(shipped=tuple(SHIPPED))
"""The registry that resolves specs: the only mutable object of this package, changed only by ``register``."""


def register_data(name: str, adapter: Adapter) -> None:
    """Register a user's own data binding with the registry of this process (``Registry.register``)."""
    DATA.register(name, adapter)


def find_adapter(name: str) -> Adapter:
    """The adapter that a spec calls by ``name`` (``Registry.find``)."""
    return DATA.find(name)
