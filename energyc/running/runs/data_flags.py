"""The values of ``--data`` and ``--map`` as they were typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from energyc.language.diagnostics import UserError


@dataclass(frozen=True)
class DataFlags:
    """``data`` are paths and names of factories; ``names`` are the arrays that feed inputs, by the inputs' names."""

    data: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.data or self.names)

    @staticmethod
    def of(data: tuple[str, ...], pairs: Iterable[str]) -> DataFlags:
        """Those of the texts ``INPUT=ARRAY`` of ``--map``. Raises UserError E0903."""
        names: dict[str, str] = {}
        for pair in pairs:
            name, _, array = pair.partition("=")
            if not name or not array:
                raise UserError(f"--map {pair} names no array", code="E0903", help="write --map INPUT=ARRAY")
            if name in names:
                raise UserError(f"--map gives {name} twice", code="E0903", help="give one array for each input")
            names[name] = array
        return DataFlags(data, names)


NO_DATA = DataFlags()
