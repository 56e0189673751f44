"""The one object that writes nodes: what they are called, and what the indices over each dim are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from energyc.derivation.notation import latex, text
from energyc.derivation.notation.build import Builder
from energyc.derivation.notation.formula import Formula, Reference, name
from energyc.derivation.notation.indices import IndexNames
from energyc.derivation.notation.sharing import is_long, shared
from energyc.mathematics.ir import Input, Node, walk

#: A node that takes more nodes than this to write out is written with shared pieces named after a ``where``.
LONG = 400


@dataclass(frozen=True)
class Definition:
    """A piece that got a name of ours: ``name[indices] = formula``."""

    name: str
    indices: tuple[str, ...]
    formula: Formula

    @property
    def text(self) -> str:
        """The right side in the spec's notation."""
        return text.write(self.formula)

    @property
    def latex(self) -> str:
        """The right side in LaTeX."""
        return latex.write(self.formula)

    @property
    def left(self) -> str:
        """``name[indices]``."""
        return left_side(self.name, self.indices)


@dataclass(frozen=True)
class Notation:
    """Writes nodes in the notation of a spec.

    ``names`` gives nodes that are referred to by name: (name, index names of its axes); inputs need no entry.
    ``index_names`` are further wishes for the names of axes. With ``sizes`` (each dim's size) windows are written as
    affine indices only where they are proved to stay in range. ``reserved`` names are never given to an index.
    ``habits`` are further pairs of a dim and what an index over it is called.
    """

    names: Mapping[Node, tuple[str, tuple[str, ...]]]
    index_names: Mapping[Node, tuple[str, ...]] = field(default_factory=dict)
    sizes: Mapping[str, int] | None = None
    reserved: frozenset[str] = frozenset()
    habits: tuple[tuple[str, str], ...] = ()

    def formula(self, node: Node, indices: Sequence[str] | None = None) -> Formula:
        """The formula of a node: what it is computed from, down to what has a name."""
        chosen = tuple(indices) if indices is not None else self.indices(node)
        return self._builder.expanded(node, tuple(map(name, chosen)), frozenset(chosen))

    def text(self, node: Node, indices: Sequence[str] | None = None) -> str:
        """A node's formula in the spec's notation; a very long one with its shared pieces after ``where``."""
        if not self.is_long(node):
            return text.write(self.formula(node, indices))
        notation = self.sharing([node])
        pieces = [f"{d.left} = {d.text}" for d in notation.definitions([node])]
        return ", where ".join([text.write(notation.formula(node, indices)), ", ".join(pieces)])

    def latex(self, node: Node, indices: Sequence[str] | None = None) -> str:
        """A node's formula in LaTeX, for math mode."""
        notation = self.sharing([node]) if self.is_long(node) else self
        return latex.write(notation.formula(node, indices))

    def is_long(self, node: Node, limit: int = LONG) -> bool:
        """Whether a node takes more nodes than a limit to write out."""
        return is_long(node, self._named, limit)

    def indices(self, node: Node) -> tuple[str, ...]:
        """Names for the axes of a node, all different: the spec's where it has them."""
        known = self.names[node][1] if node in self.names else self.index_names.get(node, ())
        if len(set(known)) == len(node.dims):
            return tuple(known)
        return self._index_names.fresh_names(node.dims, ())

    def element(self, node: Node, indices: Sequence[str] | None = None) -> Reference:
        """A named node or an input as a formula that refers to it."""
        label = self.names[node][0] if node in self.names else node.name if isinstance(node, Input) else "?"
        return Reference(label, tuple(map(name, indices if indices is not None else self.indices(node))))

    def reference(self, node: Node, indices: Sequence[str] | None = None) -> str:
        """A named node or an input as it is referred to: ``query[h,t,a]``."""
        return text.write(self.element(node, indices))

    def naming(self, further: Mapping[Node, tuple[str, tuple[str, ...]]]) -> Notation:
        """The same notation in which ``further`` nodes have names too."""
        return replace(self, names={**self.names, **further})

    def sharing(self, roots: Sequence[Node]) -> Notation:
        """A notation that also names the anonymous pieces which the roots repeat or bury (see ``definitions``)."""
        taken = self._taken | {node.name for node in walk(roots) if isinstance(node, Input)}
        chosen = shared(roots, self._named, taken)
        pieces = {node: (label, self.indices(node)) for node, label in chosen.items()}
        return replace(self, names={**self.names, **pieces}, _pieces=tuple(chosen))

    def direct_definitions(self, root: Node) -> list[Definition]:
        """The pieces named by ``sharing`` that a node's own formula reads, and not what these read in turn."""
        found: dict[Node, None] = {}
        seen: set[Node] = set()
        stack = [*root.children]
        while stack:
            node = stack.pop()
            if node in self._piece_set:
                found[node] = None
            elif node not in self.names and node not in seen:
                seen.add(node)
                stack += node.children
        return [self._definition(node) for node in sorted(found, key=lambda node: node.number)]

    def definitions(self, roots: Sequence[Node]) -> list[Definition]:
        """The pieces named by ``sharing`` that the roots need, each before its use."""
        needed = set(walk(roots))
        return [self._definition(node) for node in self._pieces if node in needed]

    def _definition(self, node: Node) -> Definition:
        label, indices = self.names[node]
        return Definition(label, indices, self.formula(node, indices))

    @property
    def free_indices(self) -> IndexNames:
        """Names for indices over each dim that mean nothing else in the spec."""
        return self._index_names

    # ------------------------------------------------------------ derived once

    _pieces: tuple[Node, ...] = ()

    @cached_property
    def _piece_set(self) -> frozenset[Node]:
        return frozenset(self._pieces)

    @cached_property
    def _named(self) -> frozenset[Node]:
        return frozenset(self.names)

    @cached_property
    def _taken(self) -> frozenset[str]:
        inputs = {node.name for node in (*self.names, *self.index_names) if isinstance(node, Input)}
        return self.reserved | {label for label, _ in self.names.values()} | inputs

    @cached_property
    def _index_names(self) -> IndexNames:
        named = [*((node, indices) for node, (_, indices) in self.names.items()), *self.index_names.items()]
        pairs = [pair for node, indices in sorted(named, key=_number) for pair in zip(node.dims, indices, strict=False)]
        return IndexNames.learn([*pairs, *self.habits], self._taken)

    @cached_property
    def _builder(self) -> Builder:
        wishes = {**self.index_names, **{node: indices for node, (_, indices) in self.names.items()}}
        return Builder({node: label for node, (label, _) in self.names.items()}, wishes, self._index_names, self.sizes)


def _number(item: tuple[Node, tuple[str, ...]]) -> int:
    return item[0].number


def left_side(label: str, indices: Sequence[str]) -> str:
    """``label[i,j]``, or the label alone."""
    return f"{label}[{','.join(indices)}]" if indices else label
