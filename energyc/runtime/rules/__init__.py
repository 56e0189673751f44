"""The learning rules, a file each: what it computes, what it needs of the module, where it is exact.

A rule knows the runtime and no network. This module is the catalogue: it reads what each file declares without running
it, so that the compiler needs no torch.

Imports: ``adjoints``, ``equations``, ``nudging``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True)
class Declaration:
    """A rule as its file declares it: the arguments of :func:`energyc.runtime.rule.rule`, and its mathematics."""

    module: str
    name: str
    place: int
    exact: str
    needs: frozenset[str]
    settings: tuple[str, ...]
    order: int | None
    instead: str | None
    objective: str | None
    mathematics: str

    @property
    def contrasts(self) -> bool:
        """Return whether it reads the difference of nudged phases."""
        return not self.needs.isdisjoint(("contrast", "dyads"))

    @property
    def begins_at_rest(self) -> bool:
        """Return whether all that it reads begins where a free phase ended, however it got there."""
        return self.needs.isdisjoint(("clamped", "predictions", "trajectory", "dyads"))

    @property
    def serves_layers(self) -> bool:
        """Return whether its phases give the slopes of a layer, of which dC/dz is known at its rest alone."""
        return bool(self.settings) and self.needs.isdisjoint(("clamped", "predictions", "trajectory"))

    @property
    def truncates(self) -> bool:
        """Return whether it takes back the last steps of the free phase alone, as many as a nudged one has."""
        return "trajectory" in self.needs and "steps" in self.settings

    @property
    def corrects_moving_states(self) -> bool:
        """Return whether J - J^T of its nudged phases is taken at states that move."""
        return "correction" in self.needs and "held-correction" not in self.needs


def _catalogue() -> Iterator[Declaration]:
    """The rules of all files of this package in the order of reports. Raises ValueError for a file without a rule."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    yield from sorted(map(_declaration, files), key=lambda rule: (rule.place, rule.name))


def _declaration(file: Path) -> Declaration:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for call in function.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "rule":
                return _read(file.stem, call, inspect.cleandoc(ast.get_docstring(function) or ""))
    raise ValueError(f"{file} declares no rule")


def _read(module: str, call: ast.Call, mathematics: str) -> Declaration:
    stated = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return Declaration(
        module,
        ast.literal_eval(call.args[0]),
        stated["place"],
        stated["exact"],
        frozenset(stated.get("needs", ())),
        stated.get("settings", ()),
        stated.get("order"),
        stated.get("instead"),
        stated.get("objective"),
        mathematics,
    )


RULES: Mapping[str, Declaration] = MappingProxyType({rule.name: rule for rule in _catalogue()})

__all__ = ["RULES", "Declaration"]
