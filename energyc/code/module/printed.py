"""The output of a target: the text of a module, and the facts about it beside the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: How many of several things.
Share = Literal["all", "some", "none"]


@dataclass(frozen=True)
class Printed:
    """The ``text`` of a module.

    ``fallback`` is why a module is one of torch where another target was asked for. ``source`` is the source of
    its kernels, where they are built before they run. ``records`` is how much of what relaxes has kernels that keep the
    states of its steps, for rules that go back through them.
    """

    text: str
    fallback: str | None = None
    source: str | None = None
    records: Share = "none"
