"""A Python file that defines the formulas of a network: it imports SymPy alone, and is read and run by people.

Specs are untrusted: a name of a spec stands in the file as an identifier that means nothing else, and as a string
literal; no other text of a spec does.
"""

from __future__ import annotations

import builtins
import inspect
import json
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr, IndexedBase, Symbol

from energyc.studies.symbolic.formulas import Formulas
from energyc.studies.symbolic.held import HELD
from energyc.studies.symbolic.layout import WIDTH, Bracket, Text, joined, laid_out
from energyc.studies.symbolic.printer import IMPORTABLE, Printer
from energyc.studies.symbolic.quantities import SECTIONS
from energyc.studies.symbolic.symbols import Tensor, unused
from energyc.version import __version__

#: Names that no symbol of a file may have: they mean something to Python, to the file, or nothing to a reader.
RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *IMPORTABLE, *SECTIONS, "definitions", "l", "O", "I", "Any"}
    | {held.__name__ for held in HELD.values()}
)


def source(formulas: Formulas) -> str:
    """The text of the file. Raises UserError E0971 for what SymPy cannot take."""
    shared = Printer({})
    body = [line for part, prefix in _parts(formulas, "") for line in _Part(part, prefix, shared).lines()]
    held = [kind for kind in dict.fromkeys(HELD.values()) if kind.__name__ in shared.own]
    imported = shared.imported | {"IndexedBase", "Symbol"} | ({"Expr", "Function", "Integer"} if held else set())
    carried = [
        line
        for kind in held
        for line in ("", "", inspect.getsource(kind).replace("  # type: ignore[misc]", "").rstrip())
    ]
    head = _head(formulas.network.name, imported, annotated=bool(held))
    return "\n".join([*head, *carried, *([""] if held else []), *body, ""])


def _head(name: str, imported: set[str], *, annotated: bool) -> list[str]:
    lines = [f'"""The formulas of {name} as SymPy expressions. Made by energyc {__version__}.', ""]
    lines += [f"{section:<12} {meaning}" for section, meaning in SECTIONS.items()]
    lines += ["definitions  what the names of lets, and of what would be repeated, stand for", ""]
    lines += ["The formula of a tensor has free indices. The indices of a sum run from 0.", '"""', ""]
    lines += ["from typing import Any", ""] if annotated else []
    names = tuple(sorted(imported, key=lambda name: (name[0].islower(), name)))
    return [*lines, laid_out(joined("from sympy import ", _names(names)))]


def _names(names: tuple[str, ...]) -> Text:
    """On one line without brackets, or a line for each."""
    line = ", ".join(names)
    return line if len("from sympy import ") + len(line) <= WIDTH else Bracket("(", names, ")")


def _parts(formulas: Formulas, prefix: str) -> Iterator[tuple[Formulas, str]]:
    """A network, then its layers, each with what stands before the names of its sections."""
    yield formulas, prefix
    for name, layer in formulas.layers.items():
        yield from _parts(layer, f"{prefix}{name}_")


@dataclass(frozen=True)
class _Part:
    """The lines of one network, or of a layer: its symbols, then its sections."""

    formulas: Formulas
    prefix: str
    shared: Printer

    def lines(self) -> list[str]:
        """The lines."""
        sections = {name: getattr(self.formulas, name) for name in SECTIONS}
        definitions = self.formulas.definitions
        self._identify([*definitions.values(), *(e for section in sections.values() for e in section.values())])
        lines = ["", f"# The layer {self.prefix.rstrip('_')}."] if self.prefix else []
        lines += self._symbols()
        lines += self._dict("definitions", [(self.printer.text(left), right) for left, right in definitions.items()])
        for name, section in sections.items():
            lines += self._dict(name, [(json.dumps(key), expr) for key, expr in section.items()])
        return lines

    @cached_property
    def printer(self) -> Printer:
        """Writes the expressions; what it imports is shared by all parts."""
        held = {kind: kind.__name__ for kind in HELD.values()}
        return Printer(dict(held), self.shared.imported, self.shared.own)

    def _identify(self, expressions: list[Expr]) -> None:
        """An identifier for every symbol and tensor."""
        labels = [s.label if isinstance(s, IndexedBase) else s for s in self.formulas.symbols.values()]
        indices = {atom for expr in expressions for atom in expr.atoms(Symbol)} - set(labels)
        for item in [*labels, *sorted(indices, key=str)]:
            self.printer.identifiers[item] = self._identifier(item)

    def _identifier(self, symbol: Symbol) -> str:
        plain = re.sub(r"\W", "_", symbol.name, flags=re.ASCII)
        plain = f"_{plain}" if plain[:1].isdigit() or plain.startswith("__") else plain
        return unused(plain, {*RESERVED, *self.printer.identifiers.values()} | _section_names(self.prefix))

    def _symbols(self) -> list[str]:
        f, names = self.formulas, self.printer.identifiers
        dims = {f.symbols[name]: f"{size.value}" for name, size in f.network.sizes.items()}
        consts = {f.symbols[name]: f"{const.value:g}" for name, const in f.network.consts.items()}
        tensors = [tensor for tensor in f.symbols.values() if tensor not in dims and tensor not in consts]
        known = {*dims, *consts, *tensors, *(t.label for t in tensors if isinstance(t, IndexedBase))}
        indices = [item for item in names if isinstance(item, Symbol) and item not in known]
        return [
            *_group(
                "Dims and consts, and what they are in the spec.",
                (f"{names[s]} = {_symbol(s)}  # {value}" for s, value in {**dims, **consts}.items()),
            ),
            *_group("Indices.", (f"{names[index]} = {_symbol(index)}" for index in indices)),
            *_group("Tensors.", map(self._tensor, tensors)),
        ]

    def _tensor(self, tensor: Tensor) -> str:
        if isinstance(tensor, Symbol):
            return f"{self.printer.identifiers[tensor]} = {_symbol(tensor)}"
        names = self.printer.identifiers
        shape = ", ".join(names[dim] for dim in tensor.shape)
        comma = "," if len(tensor.shape) == 1 else ""
        made = _made("IndexedBase", tensor.label, f"shape=({shape}{comma})")
        return f"{names[tensor.label]} = {made}"

    def _dict(self, name: str, items: list[tuple[Text, Expr]]) -> list[str]:
        if not items:
            return []
        entries = tuple(joined(key, ": ", self.printer.value(expr)) for key, expr in items)
        text = joined(f"{self.prefix}{name} = ", Bracket("{", entries, "}"))
        return ["", laid_out(text)]


def _group(title: str, lines: Iterable[str]) -> list[str]:
    """Lines under a comment; nothing where there are none."""
    made = list(lines)
    return ["", f"# {title}", *made] if made else []


def _section_names(prefix: str) -> set[str]:
    return {f"{prefix}{name}" for name in (*SECTIONS, "definitions")}


def _symbol(symbol: Symbol) -> str:
    return _made("Symbol", symbol)


def _made(maker: str, symbol: Symbol, *further: str) -> str:
    """``Symbol("D", integer=True, positive=True)``: what was assumed of it, and no more."""
    assumed = [f"{name}={value}" for name, value in symbol._assumptions_orig.items()]
    return f"{maker}({', '.join([json.dumps(symbol.name), *further, *assumed])})"
