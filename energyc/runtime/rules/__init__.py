"""The learning rules, a file each: what it computes, what it needs of the module, where it is exact.

A rule knows the runtime and no network. This module is the catalogue: it reads what each file declares without running
it, so that the compiler needs no torch.

Imports: ``adjoints``, ``equations``, ``nudging``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

#: In the order of reports: the modules of this package.
ORDER = (
    "ep",
    "centered_ep",
    "vf",
    "aep",
    "tracking_aep",
    "adjoint",
    "holomorphic_ep",
    "holomorphic_aep",
    "tbptt",
    "bptt",
    "implicit",
    "chl",
    "predictive_coding",
    "dyadic_ep",
    "dual_propagation",
)


@dataclass(frozen=True)
class Declaration:
    """A rule as its file declares it: the arguments of :func:`energyc.runtime.rule.rule`, and its mathematics."""

    module: str
    name: str
    exact: str
    needs: frozenset[str]
    settings: tuple[str, ...]
    order: int | None
    instead: str | None
    objective: str | None
    mathematics: str

    @property
    def contrasts(self) -> bool:
        """Whether it reads the difference of nudged phases."""
        return not self.needs.isdisjoint(("contrast", "dyads"))


def _declaration(module: str) -> Declaration:
    """The rule of a file. Raises ValueError where the file declares none."""
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for call in function.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "rule":
                return _read(module, call, inspect.cleandoc(ast.get_docstring(function) or ""))
    raise ValueError(f"energyc/runtime/rules/{module}.py declares no rule")


def _read(module: str, call: ast.Call, mathematics: str) -> Declaration:
    stated = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return Declaration(
        module,
        ast.literal_eval(call.args[0]),
        stated["exact"],
        frozenset(stated.get("needs", ())),
        stated.get("settings", ()),
        stated.get("order"),
        stated.get("instead"),
        stated.get("objective"),
        mathematics,
    )


RULES: Mapping[str, Declaration] = MappingProxyType(
    {declaration.name: declaration for declaration in map(_declaration, ORDER)}
)

__all__ = ["ORDER", "RULES", "Declaration"]
