"""What a report says of a network beside its classes, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Remarks:
    """The ``notes`` on a network and the operations of a step, and the same of each of its ``layers``."""

    notes: tuple[str, ...]
    flops_per_step: int
    layers: Mapping[str, Remarks] = field(default_factory=dict)
