"""The specs that the tests of the syntax run over: the gallery, and one that holds every construct."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Span
from energyc.resources import folder

EVERYTHING = Path(__file__).with_name("everything.energy")
PATHS = [EVERYTHING, *sorted(folder("specs").glob("*.energy"))]


def same_tree(left: Any, right: Any) -> bool:
    """Equality of two trees (or tuples of them) but for the spans."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_tree, left, right))
    if not dataclasses.is_dataclass(left) or isinstance(left, Span):
        return isinstance(left, Span) or bool(left == right)
    names = [field.name for field in dataclasses.fields(left)]
    return all(same_tree(getattr(left, name), getattr(right, name)) for name in names)
