"""Data adapters by name."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.data.anomaly_graph import AnomalyGraph
from energyc.data.characters import Characters
from energyc.data.cifar10 import Cifar10
from energyc.data.digits import Digits
from energyc.data.errors import unknown_adapter
from energyc.data.gaussian_process import GaussianProcess
from energyc.data.graph_bags import GraphBags
from energyc.data.graph_classes import GraphClasses
from energyc.data.manifolds import Manifolds
from energyc.data.masked_images import MaskedImages
from energyc.data.patterns import Patterns
from energyc.data.schema import Adapter
from energyc.data.table import Tables
from energyc.diagnostics import UserError


class Registry:
    """Adapters by name. The process has one registry, ``DATA``; a test creates its own."""

    def __init__(self, adapters: Iterable[Adapter] = ()) -> None:
        self._adapters: dict[str, Adapter] = {adapter.name: adapter for adapter in adapters}

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
            raise unknown_adapter(name, self._adapters)
        return self._adapters[name]

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._adapters))


def shipped_adapters() -> tuple[Adapter, ...]:
    """The adapters that come with the compiler."""
    return (
        Digits(),
        Digits(name="mnist", default_side=28, needs_path=True),
        MaskedImages(),
        Characters(),
        Tables(),
        Patterns(),
        Cifar10(),
        GaussianProcess(),
        Manifolds(),
        GraphClasses(),
        GraphBags(),
        AnomalyGraph(),
    )


DATA = Registry(shipped_adapters())
"""The registry that resolves specs: the only mutable object of this package, changed only by ``register``."""


def register_data(name: str, adapter: Adapter) -> None:
    """Register a user's own data binding with the registry of this process (``Registry.register``)."""
    DATA.register(name, adapter)


def find_adapter(name: str) -> Adapter:
    """The adapter that a spec calls by ``name`` (``Registry.find``)."""
    return DATA.find(name)
