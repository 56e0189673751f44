"""How formulas show themselves: as text, and as LaTeX in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sympy
from sympy import Expr, IndexedBase, Symbol

from energyc.studies.symbolic.quantities import SECTIONS

if TYPE_CHECKING:
    from energyc.studies.symbolic.formulas import Formulas

#: The sections that are shown, and what stands before the name of an entry.
SHOWN = {"terms": "", "forces": "F_", "cost": ""}


def text(formulas: Formulas) -> str:
    """Equations, a line each, and what else there is."""
    lines = [formulas.network.name]
    lines += [f"  {left} = {right}" for left, right in equations(formulas)]
    others = [name for name in SECTIONS if name not in SHOWN]
    return "\n".join([*lines, f"  also: {', '.join(others)}, symbols, .inlined, .at(sizes)"])


def latex(formulas: Formulas) -> str:
    """Aligned equations."""
    lines = [rf"{sympy.latex(left)} &= {sympy.latex(right)}" for left, right in equations(formulas)]
    return "$$\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}$$"


def equations(formulas: Formulas) -> Iterator[tuple[Expr, Expr]]:
    """What is shown, with the names that it uses."""
    shown: list[Expr] = []
    for section, prefix in SHOWN.items():
        for name, right in getattr(formulas, section).items():
            shown.append(right)
            yield _left(prefix + name, formulas.indices[section][name]), right
    yield from ((left, right) for left, right in formulas.definitions.items() if _used(left, shown, formulas))
    for name, layer in formulas.layers.items():
        yield Symbol(name), Symbol("layer")
        yield from equations(layer)


def _left(name: str, indices: tuple[Symbol, ...]) -> Expr:
    return IndexedBase(name)[indices] if indices else Symbol(name)


def _used(left: Expr, shown: list[Expr], formulas: Formulas) -> bool:
    """Whether a name occurs in what is shown, or in what stands for a name that does."""
    base = left.base if hasattr(left, "base") else left
    users = [right for own, right in formulas.definitions.items() if own != left]
    return any(right.has(base) for right in shown) or any(right.has(base) for right in users)
