"""Data by the name of a Python function, ``module:factory`` or ``file.py:factory``, which somebody typed."""

from __future__ import annotations

from typing import Any

from energyc.running import references
from energyc.running.references import Reference

CODE = "E0931"


def names_factory(text: str) -> bool:
    """Whether a text names a factory rather than a file."""
    return _reference(text).is_one


def made_by(text: str) -> Any:
    """The value that the factory of that name returns; data that are not a function are returned as they are.

    Raises UserError E0931.
    """
    return _reference(text).made(is_made=_is_adapter)


def called(factory: Any, name: str) -> Any:
    """The value of a function without arguments; anything else as it is. Raises UserError E0931."""
    if not callable(factory) or _is_adapter(factory):
        return factory
    return references.called(factory, name, CODE)


def _reference(text: str) -> Reference:
    return Reference("--data", text, CODE)


def _is_adapter(thing: Any) -> bool:
    """Whether an object, which may also be callable, is an adapter; a class of adapters is called."""
    return hasattr(thing, "schema") and hasattr(thing, "open") and not isinstance(thing, type)
