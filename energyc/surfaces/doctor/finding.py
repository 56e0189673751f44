"""A finding, and how a probe is carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: ``none`` is neither good nor bad: there is nothing here that it would be good for.
State = Literal["works", "missing", "broken", "none"]


@dataclass(frozen=True)
class Finding:
    """The result of one check, in a line.

    ``mend`` is the one command that mends it; nothing that energyc does works without what is ``core``. ``facts`` are
    further values for programs.
    """

    name: str
    state: State
    says: str
    mend: str | None = None
    core: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_well(self) -> bool:
        """Whether there is nothing to mend."""
        return self.state in ("works", "none")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        fields = {"name": self.name, "state": self.state, "says": self.says, "mend": self.mend, "core": self.core}
        return {**fields, **self.facts}


Probe = Callable[[], Iterable[Finding]]


def carried_out(name: str, probe: Probe, *, core: bool = False) -> list[Finding]:
    """Return the findings of a probe, or that it failed itself."""
    try:
        return list(probe())
    except Exception as error:
        return [Finding(name, "broken", f"cannot be examined: {reason(error)}", core=core)]


def reason(error: BaseException) -> str:
    """Return the type and the first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
