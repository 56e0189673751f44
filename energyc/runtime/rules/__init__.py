"""The learning rules, a file for each family: what they compute, what they need of the module, where they are exact.

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
from typing import Any


@dataclass(frozen=True)
class Declaration:
    """A rule as its file declares it: its ``function``, the arguments of ``@rule``, and its mathematics.

    ``place`` orders the rules in reports; those of the library are ten apart, so that one fits between two of them.
    ``exact`` is the force it is exact for: ``gradient`` (conservative) or ``any``; on others it is biased, and
    ``instead`` is not. ``needs`` lists what the module must hold beside the force and its adjoint: ``contrast`` (slopes
    of the energy), ``clamped`` (what states are clamped to, and slopes of the energy), ``correction`` (J - J^T at
    moving states), ``held-correction`` (at states that stay), ``dyads`` (whether a correction acts on them),
    ``predictions`` (an energy of squared prediction errors), ``lifted`` (the predictions and what they send back),
    ``slopes`` (slopes of all energies), ``holomorphic`` (the equations on complex states), ``trajectory`` (steps that
    can be reversed). ``settings`` names those of the phases after the free one that it reads; ``order`` is the power of
    the nudge that its bias falls with, None without a nudge, 0 for as many as there are points on the circle. A rule
    with an ``objective`` gives the gradient of that function of the params, which is not the cost.
    """

    file: str
    function: str
    mathematics: str
    name: str
    place: int
    exact: str
    needs: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()
    order: int | None = None
    instead: str | None = None
    objective: str | None = None

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


def _declarations(file: Path) -> Iterator[Declaration]:
    """The rules of a file. Raises ValueError for a file without one."""
    functions = [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    found = [(function, call) for function in functions for call in function.decorator_list if _declares(call)]
    if not found:
        raise ValueError(f"{file} declares no rule")
    for function, call in found:
        assert isinstance(call, ast.Call)
        facts: dict[str, Any] = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        facts["needs"] = frozenset(facts.get("needs", ()))
        mathematics = inspect.cleandoc(ast.get_docstring(function) or "")
        yield Declaration(file.stem, function.name, mathematics, ast.literal_eval(call.args[0]), **facts)


def _declares(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "rule"


def _catalogue() -> Iterator[Declaration]:
    """The rules of all files of this package, in the order of reports."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    declared = [declaration for file in files for declaration in _declarations(file)]
    yield from sorted(declared, key=lambda rule: (rule.place, rule.name))


RULES: Mapping[str, Declaration] = MappingProxyType({rule.name: rule for rule in _catalogue()})

__all__ = ["RULES", "Declaration"]
