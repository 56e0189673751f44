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
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, IndexedBase, Integer, Rational, Symbol
from sympy.core.function import Application
from sympy.printing.str import StrPrinter

from energyc.studies.symbolic.formulas import Formulas
from energyc.studies.symbolic.held import HELD
from energyc.studies.symbolic.quantities import SECTIONS
from energyc.studies.symbolic.symbols import Tensor, unused
from energyc.version import __version__

#: The functions of a file's own.
OWN = frozenset(kind.__name__ for kind in HELD.values())
#: Every name of SymPy that a file may import.
IMPORTABLE = frozenset(
    "Abs Expr Function Heaviside IndexedBase Integer KroneckerDelta Max Mod Product Rational Sum Symbol "
    "cos erf exp floor log pi polylog sign sin sqrt tanh".split()
)
WIDTH = 96
UNBROKEN = "\N{NO-BREAK SPACE}"
#: Indices ``[h, t, a]``, and limits of a sum ``(d, 0, D - 1)``.
WHOLE = re.compile(r"\[[^\[\]]*\]|\(\w+, 0, [^()]*\)")
#: Names that no symbol of a file may have: they mean something to Python, to the file, or nothing to a reader.
RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *IMPORTABLE, *OWN}
    | {*SECTIONS, "definitions", "l", "O", "I", "Any"}
)


def source(formulas: Formulas) -> str:
    """The text of the file. Raises UserError E0971 for what SymPy cannot take."""
    used = {"IndexedBase", "Symbol"}
    body = [line for part, prefix in _parts(formulas, "") for line in _Part(part, prefix, used).lines()]
    held = [kind for kind in dict.fromkeys(HELD.values()) if kind.__name__ in used]
    imported = (used - OWN) | ({"Expr", "Function", "Integer"} if held else set())
    carried = [inspect.getsource(kind).replace("  # type: ignore[misc]", "").rstrip() for kind in held]
    head = [*_head(formulas.network.name), *(["", "from typing import Any"] if held else []), "", *_import(imported)]
    return "\n".join([*head, *(f"\n\n{text}" for text in carried), *([""] if held else []), *body, ""])


def _head(name: str) -> list[str]:
    lines = [f'"""The formulas of {name} as SymPy expressions. Made by energyc {__version__}.', ""]
    lines += [f"{section:<12} {meaning}" for section, meaning in SECTIONS.items()]
    lines += ["definitions  what the names of lets, and of what would be repeated, stand for", ""]
    return [*lines, "The formula of a tensor has free indices. The indices of a sum run from 0.", '"""']


def _import(names: Iterable[str]) -> list[str]:
    ordered = sorted(names, key=lambda name: (name[0].islower(), name))
    line = f"from sympy import {', '.join(ordered)}"
    return [line] if len(line) <= WIDTH else ["from sympy import (", *(f"    {name}," for name in ordered), ")"]


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
    used: set[str]

    def lines(self) -> list[str]:
        """The lines."""
        printer = Printer(self.identifiers, self.used)
        definitions = {printer.doprint(left): right for left, right in self.formulas.definitions.items()}
        lines = ["", f"# The layer {self.prefix.rstrip('_')}."] if self.prefix else []
        lines += [*self._symbols(), *_dict(f"{self.prefix}definitions", definitions, printer)]
        for name in SECTIONS:
            section = {json.dumps(key): expr for key, expr in getattr(self.formulas, name).items()}
            lines += _dict(f"{self.prefix}{name}", section, printer)
        return lines

    @cached_property
    def identifiers(self) -> dict[Symbol, str]:
        """An identifier for every symbol and tensor, by its label."""
        labels = [_label(tensor) for tensor in self.formulas.symbols.values()]
        sections = [self.formulas.definitions, *(getattr(self.formulas, name) for name in SECTIONS)]
        found = {atom for section in sections for expr in section.values() for atom in expr.atoms(Symbol)}
        identifiers: dict[Symbol, str] = {}
        names_of_sections = {f"{self.prefix}{name}" for name in (*SECTIONS, "definitions")}
        for symbol in [*labels, *sorted(found - set(labels), key=str)]:
            plain = re.sub(r"\W", "_", symbol.name, flags=re.ASCII)
            plain = f"_{plain}" if plain[:1].isdigit() or plain.startswith("__") else plain
            identifiers[symbol] = unused(plain, {*RESERVED, *identifiers.values(), *names_of_sections})
        return identifiers

    def _symbols(self) -> list[str]:
        f, names = self.formulas, self.identifiers
        dims = {f.symbols[name]: f"{size.value}" for name, size in f.network.sizes.items()}
        consts = {f.symbols[name]: f"{const.value:g}" for name, const in f.network.consts.items()}
        numbers = {**dims, **consts}
        tensors = [tensor for tensor in f.symbols.values() if tensor not in numbers]
        indices = [symbol for symbol in names if symbol not in {*numbers, *map(_label, tensors)}]
        return [
            *_group(
                "Dims and consts, and what they are in the spec.",
                (f"{names[s]} = {_made('Symbol', s)}  # {value}" for s, value in numbers.items()),
            ),
            *_group("Indices.", (f"{names[index]} = {_made('Symbol', index)}" for index in indices)),
            *_group("Tensors.", map(self._tensor, tensors)),
        ]

    def _tensor(self, tensor: Tensor) -> str:
        names = self.identifiers
        if isinstance(tensor, Symbol):
            return f"{names[tensor]} = {_made('Symbol', tensor)}"
        shape = ", ".join(names[dim] for dim in tensor.shape)
        comma = "," if len(tensor.shape) == 1 else ""
        return f"{names[tensor.label]} = {_made('IndexedBase', tensor.label, f'shape=({shape}{comma})')}"


def _label(tensor: Tensor) -> Symbol:
    return tensor.label if isinstance(tensor, IndexedBase) else tensor


def _dict(name: str, items: Mapping[str, Expr], printer: Printer) -> list[str]:
    """A dict by the texts of its keys; long expressions are broken at blanks, but not within indices and limits."""
    if not items:
        return []
    lines = ["", f"{name} = {{"]
    for key, expr in items.items():
        text = re.sub(WHOLE, lambda found: found[0].replace(" ", UNBROKEN), printer.value(expr))
        broken = textwrap.wrap(
            f"{text},",
            WIDTH,
            initial_indent=f"    {key}: ",
            subsequent_indent=" " * 8,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [line.replace(UNBROKEN, " ") for line in broken]
    return [*lines, "}"]


def _group(title: str, lines: Iterable[str]) -> list[str]:
    """Lines under a comment; nothing where there are none."""
    made = list(lines)
    return ["", f"# {title}", *made] if made else []


def _made(maker: str, symbol: Symbol, *further: str) -> str:
    """``Symbol("D", integer=True, positive=True)``: what was assumed of it, and no more."""
    assumed = [f"{name}={value}" for name, value in symbol._assumptions_orig.items()]
    return f"{maker}({', '.join([json.dumps(symbol.name), *further, *assumed])})"


class Printer(StrPrinter):  # type: ignore[misc]
    """SymPy's printer, with the identifiers of a file for symbols, and without quotients of Python's own integers.

    ``used`` collects the names of SymPy and of the file's own functions that the text reads.
    """

    def __init__(self, identifiers: Mapping[Symbol, str], used: set[str]) -> None:
        super().__init__()
        self.identifiers = identifiers
        self.used = used

    def value(self, expr: Expr) -> str:
        """An expression that stands by itself: a number is one of SymPy, not of Python."""
        text: str = self.doprint(expr)
        return f"{self._use('Integer')}({text})" if isinstance(expr, Integer) else text

    def _use(self, name: str) -> str:
        if name not in IMPORTABLE | OWN:
            raise NotImplementedError(f"no Python text for {name}")
        self.used.add(name)
        return name

    def _print(self, expr: Any, **settings: Any) -> str:
        if isinstance(expr, sympy.Sum | sympy.Product | Application):
            self._use(type(expr).__name__)
        return super()._print(expr, **settings)

    def _print_Symbol(self, expr: Symbol) -> str:
        return self.identifiers[expr]

    def _print_Rational(self, expr: Rational) -> str:
        return str(expr.p) if expr.q == 1 else f"{self._use('Rational')}({expr.p}, {expr.q})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if abs(expr.exp) == sympy.S.Half:
            self._use("sqrt")
        return super()._print_Pow(expr, rational)

    def _print_Pi(self, expr: Any) -> str:
        return self._use("pi")

    def _print_Exp1(self, expr: Any) -> str:
        return f"{self._use('exp')}(1)"
