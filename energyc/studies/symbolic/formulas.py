"""The formulas of a network for all sizes, and the same written out at small ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import sympy
from sympy import Expr, IndexedBase, Symbol

from energyc.derivation.notation import Notation, of_network
from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.mathematics.ir import (
    ArgMax,
    Einsum,
    Indicator,
    Input,
    Map,
    Node,
    Position,
    Reduction,
    Softmax,
    walk,
)
from energyc.pipeline import Choices, resolve
from energyc.studies.symbolic.elements import Elements
from energyc.studies.symbolic.functions import repeats
from energyc.studies.symbolic.quantities import SECTIONS, Quantities, Sections, Side, Sides
from energyc.studies.symbolic.ranges import Symbolic, Written
from energyc.studies.symbolic.symbols import Symbols, Tensor, element

#: Products above which a section is not written out: SymPy makes some ten thousand a second.
MOST_PRODUCTS = 200_000
#: The sections that are shown, and what stands before the name of an entry.
SHOWN = {"terms": "", "forces": "F_", "cost": ""}


@dataclass(frozen=True, eq=False, repr=False)
class Formulas(Sections):
    """The formulas of a network for all sizes, as SymPy expressions over its symbols.

    An entry of a tensor is written with the index symbols of ``indices``. With ``lets`` the named quantities of the
    spec, what is derived from them, and what would be repeated go by names, which ``definitions`` holds; without,
    every formula is in inputs alone, so that ``diff`` sees all. ``root`` is the network that a layer is in, ``path``
    the way to it.
    """

    network: Network
    lets: bool = True
    root: Network | None = None
    path: tuple[str, ...] = ()

    def section(self, name: str) -> dict[str, Any]:
        """Expressions with free indices."""
        return {key: self._expression(side) for key, side in self._sides[name].items()}

    @cached_property
    def definitions(self) -> dict[Expr, Expr]:
        """The expression that each name stands for, in the order in which they build on each other."""
        named = sorted(self._named, key=lambda node: node.number)
        sides = [Side(node, self._notation.names[node][1]) for node in named]
        lefts = (element(self._named[s.node], tuple(map(self._symbols.index, s.indices))) for s in sides)
        return dict(zip(lefts, map(self._expression, sides), strict=True))

    @cached_property
    def indices(self) -> dict[str, dict[str, tuple[Symbol, ...]]]:
        """The index symbols of each entry of each section."""
        return {
            section: {key: tuple(map(self._symbols.index, side.indices)) for key, side in sides.items()}
            for section, sides in self._sides.items()
        }

    @cached_property
    def symbols(self) -> dict[str, Tensor]:
        """Every dim, const and tensor that the formulas are made of, by its name."""
        for name in SECTIONS:
            getattr(self, name)
        assert self.definitions is not None
        return {**self._symbols.dims, **self._symbols.consts, **self._symbols.tensors}

    @cached_property
    def layers(self) -> dict[str, Formulas]:
        """The formulas of each layer, by its name."""
        root = self.root or self.network
        return {
            name: Formulas(layer.network, self.lets, root, (*self.path, name))
            for name, layer in self.network.layers.items()
        }

    @cached_property
    def inlined(self) -> Formulas:
        """The same with every name replaced by what it stands for. They may be much longer."""
        return replace(self, lets=False)

    def at(self, sizes: Mapping[str, int], values: Mapping[str, Any] | None = None) -> WrittenOut:
        """The same at given sizes, without sums; dims that are not named keep the size that they have.

        ``values`` gives arrays for inputs that are to appear as numbers, as the clamp of integers that a gather reads.
        Raises UserError or SpecError for sizes that the spec does not allow, UserError E0971 for values of
        another shape; and, when a section is asked for, E0971 where that is too large.
        """
        network = resized(self.root or self.network, sizes)
        for layer in self.path:
            network = network.layers[layer].network
        return WrittenOut(network, _arrays(network, values or {}))

    def __repr__(self) -> str:
        """Terms, forces and costs; what else there is."""
        return text(self)

    def _repr_latex_(self) -> str:
        return latex(self)

    # ------------------------------------------------------------ names

    @cached_property
    def _plain(self) -> Notation:
        return of_network(self.network)

    @cached_property
    def _quantities(self) -> Quantities:
        return Quantities(self.network, self._plain)

    @cached_property
    def _sides(self) -> dict[str, Sides]:
        return {name: self._quantities.section(name) for name in SECTIONS}

    @cached_property
    def _symbols(self) -> Symbols:
        return Symbols(self.network, self._plain.reserved)

    @cached_property
    def _notation(self) -> Notation:
        """The notation that names what the formulas share."""
        if not self.lets:
            return replace(self._plain, names={})
        roots = [side.node for sides in self._sides.values() for side in sides.values()]
        names = {**self._derived_names(), **self._plain.names}
        named = replace(self._plain, names={**names, **self._long(roots, names)})
        return named.sharing([*roots, *needed(roots, named.names)])

    def _derived_names(self) -> dict[Node, tuple[str, tuple[str, ...]]]:
        """The tangents and adjoints of lets."""
        derived = self._quantities.derivation.names.items()
        return {node: (label, self._plain.indices(node)) for node, label in derived if _is_worth_a_name(node)}

    def _long(self, roots: Sequence[Node], names: Mapping[Node, Any]) -> dict[Node, tuple[str, tuple[str, ...]]]:
        """Names for what SymPy writes at length: weights, choices, and what stands several times in a function."""
        found: dict[Node, str] = {}
        for node in walk(roots):
            match node:
                case Softmax():
                    found[node] = "weights"
                case ArgMax():
                    found[node] = "choice"
                case Map() if repeats(node.function) and _is_worth_a_name(node.argument):
                    found |= {node.argument: "argument", node: node.function.name}
        counts: Counter[str] = Counter()
        named = {}
        for node, stem in found.items():
            if node not in names:
                counts[stem] += 1
                named[node] = (f"{stem}{counts[stem]}", self._plain.indices(node))
        return named

    @cached_property
    def _named(self) -> dict[Node, Tensor]:
        """The tensors of the names that are needed, the spec's own labels first."""
        roots = [side.node for sides in self._sides.values() for side in sides.values()]
        names = self._notation.names
        own = self._plain.names
        return {
            node: self._symbols.named(node, names[node][0], declared=node in own)
            for node in sorted(needed(roots, names), key=lambda node: node not in own)
        }

    @cached_property
    def _elements(self) -> Elements:
        notation = self._notation
        wishes = {**notation.index_names, **{node: indices for node, (_, indices) in notation.names.items()}}
        ranges = Symbolic(self._symbols, notation.free_indices, self.network.extents)
        return Elements(ranges, self._named, wishes)

    def _expression(self, side: Side) -> Expr:
        places = tuple(map(self._symbols.index, side.indices))
        try:
            return self._elements.expanded(side.node, places, frozenset(side.indices))
        except RecursionError:
            raise _too_deep(self.network) from None


@dataclass(frozen=True, eq=False, repr=False)
class WrittenOut(Sections):
    """The formulas at given sizes: numbers of no dims as expressions, others as ``Matrix`` (one column) or ``Array``.

    The entries of tensors are the symbols ``z[0, 1]``; ``values`` are the inputs that appear as numbers.
    """

    network: Network
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every dim."""
        return self.network.extents

    def section(self, name: str) -> dict[str, Any]:
        """Expressions, matrices and arrays of entries."""
        sides = self._quantities.section(name)
        self._check_size(name)
        return {key: self.tensor(side.node) for key, side in sides.items()}

    def tensor(self, node: Node) -> Any:
        """Every entry of a node."""
        for inner in walk([node]):  # children first, so that nothing recurses to the depth of a network
            if not isinstance(inner, Input | Indicator | Position):
                for places in self._ranges.places(inner.dims):
                    self._elements.element(inner, places)
        entries = [self._elements.element(node, places) for places in self._ranges.places(node.dims)]
        shape = [self.sizes[dim] for dim in node.dims]
        if not shape:
            return entries[0]
        if len(shape) <= 2:
            return sympy.Matrix(shape[0], prod(shape[1:]), entries)
        return sympy.Array(entries, shape)

    @cached_property
    def entries(self) -> dict[str, list[Expr]]:
        """The entries of each state and each untied param, in the order of ``Matrix`` and ``Array``."""
        derivation = self._quantities.derivation
        inputs = {**derivation.states, **derivation.params}
        return {
            name: [self._elements.element(node, places) for places in self._ranges.places(node.dims)]
            for name, node in inputs.items()
        }

    def __repr__(self) -> str:
        """The network, the sizes at which it is written out, and the sections."""
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        return f"{self.network.name} written out at {sizes}: {', '.join(SECTIONS)}"

    @cached_property
    def _quantities(self) -> Quantities:
        return Quantities(self.network, of_network(self.network))

    @cached_property
    def _ranges(self) -> Written:
        symbols = Symbols(self.network, self._quantities.notation.reserved)
        return Written(symbols, self.network.extents, self.values)

    @cached_property
    def _elements(self) -> Elements:
        return Elements(self._ranges)

    def products(self, section: str) -> int:
        """How many products writing out a section takes."""
        nodes = [side.node for side in self._quantities.section(section).values()]
        return sum(_products(node, self.sizes) for node in walk(nodes))

    def _check_size(self, section: str) -> None:
        products = self.products(section)
        if products > MOST_PRODUCTS:
            message = f"the {section} of {self.network.name} are {products:,} products when written out"
            raise UserError(message, code="E0971", help='give smaller sizes, as .at({"D": 2})')


def needed(roots: Sequence[Node], names: Mapping[Node, Any]) -> list[Node]:
    """The named nodes that writing the roots takes, those included that other names build on; children first."""
    found: set[Node] = set()
    seen: set[Node] = set()
    stack = [child for root in roots for child in _below(root)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            found |= {node} & names.keys()
            stack += _below(node)
    return sorted(found, key=lambda node: node.number)


def _below(node: Node) -> tuple[Node, ...]:
    return (*node.children, *(node.function.bodies if isinstance(node, Map) else ()))


def _is_worth_a_name(node: Node) -> bool:
    return not isinstance(node, Input) and bool(node.children)


def _products(node: Node, sizes: Mapping[str, int]) -> int:
    """How many terms writing out a node makes."""
    match node:
        case Einsum():
            return prod(sizes[dim] for dim in node.labels)
        case Reduction():
            return prod(sizes[dim] for dim in node.argument.dims) ** (1 if node.facts.analytic else 2)
    return prod(sizes[dim] for dim in node.dims)


def resized(network: Network, sizes: Mapping[str, int]) -> Network:
    """The network of the same spec with some dims of other sizes; consts and the other free dims stay.

    Raises SpecError, UserError.
    """
    dims = {name: size.value for name, size in network.sizes.items() if not size.derived_from}
    consts = {name: const.exact or const.value for name, const in network.consts.items() if not const.derived_from}
    return resolve(network.source, Choices(None, {**dims, **consts, **sizes}))


def _arrays(network: Network, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    inputs = {node.name: node for node in walk(network.roots) if isinstance(node, Input)}
    arrays = {name: np.asarray(value) for name, value in values.items()}
    for name, array in arrays.items():
        shape = tuple(network.extents[dim] for dim in inputs[name].dims) if name in inputs else None
        if array.shape != shape:
            wanted = "the network reads no such input" if shape is None else f"it is of the shape {list(shape)} here"
            raise UserError(f"{name} is given as {list(array.shape)}", code="E0971", help=wanted)
    return arrays


def _too_deep(network: Network) -> UserError:
    message = f"the formulas of {network.name} are nested too deeply for SymPy"
    return UserError(message, code="E0971", help="leave the lets as names: .inlined writes all of them out")


# ------------------------------------------------------------------ as text, and as LaTeX in a notebook


def text(formulas: Formulas) -> str:
    """Equations, a line each, and what else there is."""
    others = [name for name in SECTIONS if name not in SHOWN]
    return "\n".join([*_lines(formulas), f"also: {', '.join(others)}, symbols, .inlined, .at(sizes)"])


def _lines(formulas: Formulas) -> Iterator[str]:
    yield formulas.network.name
    yield from (f"  {left} = {right}" for left, right in equations(formulas))
    for name, layer in formulas.layers.items():
        yield f"layer {name}"
        yield from list(_lines(layer))[1:]


def latex(formulas: Formulas) -> str:
    """Aligned equations."""
    return "$$\\begin{aligned}\n" + " \\\\\n".join(_rows(formulas)) + "\n\\end{aligned}$$"


def _rows(formulas: Formulas) -> Iterator[str]:
    yield from (f"{sympy.latex(left)} &= {sympy.latex(right)}" for left, right in equations(formulas))
    for name, layer in formulas.layers.items():
        yield rf"\text{{layer}}\ & {sympy.latex(Symbol(name))}"
        yield from _rows(layer)


def equations(formulas: Formulas) -> Iterator[tuple[Expr, Expr]]:
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
