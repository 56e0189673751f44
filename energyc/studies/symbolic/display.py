"""How formulas show themselves: as text, and as LaTeX in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import sympy
from sympy import Expr, IndexedBase, Symbol

from energyc.language.network import Network
from energyc.studies.symbolic.quantities import SECTIONS

#: The sections that are shown, and what stands before the name of an entry.
SHOWN = {"terms": "", "forces": "F_", "cost": ""}


class Showable(Protocol):
    """The formulas of a network, as they are shown."""

    @property
    def network(self) -> Network:
        """The network."""

    @property
    def definitions(self) -> Mapping[Expr, Expr]:
        """The expressions that names stand for."""

    @property
    def indices(self) -> Mapping[str, Mapping[str, tuple[Symbol, ...]]]:
        """The indices of each entry of each section."""

    @property
    def layers(self) -> Mapping[str, Any]:
        """The formulas of each layer."""


def text(formulas: Showable) -> str:
    """Equations, a line each, and what else there is."""
    others = [name for name in SECTIONS if name not in SHOWN]
    return "\n".join([*_lines(formulas), f"also: {', '.join(others)}, symbols, .inlined, .at(sizes)"])


def _lines(formulas: Showable) -> Iterator[str]:
    yield formulas.network.name
    yield from (f"  {left} = {right}" for left, right in equations(formulas))
    for name, layer in formulas.layers.items():
        yield f"layer {name}"
        yield from list(_lines(layer))[1:]


def latex(formulas: Showable) -> str:
    """Aligned equations."""
    return "$$\\begin{aligned}\n" + " \\\\\n".join(_rows(formulas)) + "\n\\end{aligned}$$"


def _rows(formulas: Showable) -> Iterator[str]:
    yield from (f"{sympy.latex(left)} &= {sympy.latex(right)}" for left, right in equations(formulas))
    for name, layer in formulas.layers.items():
        yield rf"\text{{layer}}\ & {sympy.latex(Symbol(name))}"
        yield from _rows(layer)


def equations(formulas: Showable) -> Iterator[tuple[Expr, Expr]]:
    """The equations that are shown, then the definitions of the names that they use."""
    sections = {section: getattr(formulas, section) for section in SHOWN}
    for section, prefix in SHOWN.items():
        for name, right in sections[section].items():
            yield _left(prefix + name, formulas.indices[section][name]), right
    used = _used([right for section in sections.values() for right in section.values()], formulas.definitions)
    yield from ((left, right) for left, right in formulas.definitions.items() if left in used)


def _left(name: str, indices: tuple[Symbol, ...]) -> Expr:
    return IndexedBase(name)[indices] if indices else Symbol(name)


def _used(shown: Iterable[Expr], definitions: Mapping[Expr, Expr]) -> set[Expr]:
    """The names that some expressions use, by themselves or through other names."""
    lefts = {_label(left): left for left in definitions}
    used: set[Expr] = set()
    pending = list(shown)
    while pending:
        found = {lefts[atom] for atom in pending.pop().atoms(Symbol) if atom in lefts} - used
        used |= found
        pending += [definitions[left] for left in found]
    return used


def _label(left: Expr) -> Symbol:
    """The symbol of a tensor, or that of an entry of one."""
    label: Symbol = left.base.label if isinstance(left, sympy.Indexed) else left
    return label
