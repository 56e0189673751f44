"""Whether two trees say the same, wherever their words stand."""

from __future__ import annotations

import dataclasses
from typing import Any

from energyc.language.diagnostics import Span


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
