"""The symbols that formulas are made of: dims, consts, indices, tensors, each under the spec's own name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, TypeAlias

from sympy import Expr, IndexedBase, Symbol

from energyc.derivation.notation.build import VECTORS
from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node
from energyc.studies.symbolic.indices import Places

#: A tensor: an ``IndexedBase``, or a ``Symbol`` where it has no dims.
Tensor: TypeAlias = Any


@dataclass(frozen=True)
class Symbols:
    """Makes the symbols of a network; the same name always gives the same symbol.

    ``reserved`` are the names that the spec declares, ``tensors`` those made so far, by their labels.
    """

    network: Network
    reserved: frozenset[str]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    _of: dict[Node, Tensor] = field(default_factory=dict)

    def dim(self, name: str) -> Symbol:
        """The size of a dim."""
        return Symbol(name, integer=True, positive=True)

    def index(self, name: str) -> Symbol:
        """An index: an integer."""
        return Symbol(name, integer=True)

    @cached_property
    def dims(self) -> dict[str, Symbol]:
        """The size of every dim."""
        return {name: self.dim(name) for name in self.network.sizes}

    @cached_property
    def consts(self) -> dict[str, Symbol]:
        """Every const, known to be positive where its value is."""
        return {
            name: Symbol(name, positive=True) if const.value > 0 else Symbol(name, real=True)
            for name, const in self.network.consts.items()
        }

    def input(self, node: Input) -> Tensor:
        """An input: integers are known to be such, all others to be real."""
        return self.named(node, VECTORS.get(node.kind, "") + node.name, declared=is_declared(node))

    def named(self, node: Node, label: str, *, declared: bool = False) -> Tensor:
        """The tensor that stands for a node; a label that the spec has not ``declared`` keeps clear of its names."""
        if node not in self._of:
            taken = self.tensors.keys() | (frozenset() if declared else self.reserved)
            free = next(name for name in _numbered(label) if name not in taken)
            self._of[node] = self.tensors[free] = self._tensor(free, node)
        return self._of[node]

    def _tensor(self, label: str, node: Node) -> Tensor:
        integer = isinstance(node, Input) and node.over is not None
        assumptions = {"integer": True, "nonnegative": True} if integer else {"real": True}
        if not node.dims:
            return Symbol(label, **assumptions)
        return IndexedBase(label, shape=tuple(self.dims[dim] for dim in node.dims), **assumptions)


def is_declared(node: Input) -> bool:
    """Whether an input goes by a name of the spec; a vector on a state is called after it."""
    return node.kind not in VECTORS


def element(tensor: Tensor, places: Places) -> Expr:
    """An element of a tensor."""
    return tensor[places] if places else tensor


def _numbered(label: str) -> Iterator[str]:
    yield label
    yield from (f"{label}{k}" for k in count(2))


def unused(label: str, taken: Collection[str]) -> str:
    """A label with as many underscores behind it as keep it apart from those that are taken."""
    while label in taken:
        label += "_"
    return label
