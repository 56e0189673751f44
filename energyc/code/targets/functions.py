"""The functions of a module's groups, each once: groups that are equal up to names share one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from energyc.code.loops.nest import Buffer, Coupling, Group, Kernel, Scalar, Tile, Tiles, indices
from energyc.code.targets.names import VALUE, Names
from energyc.code.tree import facts
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Exact
from energyc.code.tree.extents import Extent
from energyc.code.tree.node import Node

#: Writes the function of a group: its kernel, the group, the names of its scope, and its own name.
Write = Callable[[Kernel, Group, Names, str], s.Function]


class Functions:
    """The functions that kernels call, made as they are asked for; their names have a ``shape``."""

    def __init__(self, write: Write, shape: str) -> None:
        self.write, self.shape = write, shape
        self.names = Names()
        self.made: dict[s.Function, s.Function] = {}

    def of(self, kernel: Kernel, group: Group) -> s.Function:
        """The function of a group; its parameters have the names that it was made with first."""
        taken = constants_of(kernel)
        alike = replace(self.write(kernel, _unlabelled(group), _Numbered(taken), ""), doc=())
        made = self.made.get(alike)
        if made is None:
            made = self.write(kernel, group, Names(taken), self.names.new(_wish(group), self.shape))
            self.made[alike] = made
        return made


def constants_of(kernel: Kernel) -> dict[str, float]:
    """The sizes of all dims and the roots of them, by the names that they have in generated code."""
    sizes = dict(dim for size in kernel.sizes.values() if isinstance(size, Extent) for dim in size.dims)
    return {**sizes, **kernel.roots}


def constants(kernels: Iterable[Kernel], *read: Node) -> dict[str, float]:
    """The sizes and roots that generated code reads, by their names; sizes first."""
    known = {name: value for kernel in kernels for name, value in constants_of(kernel).items()}
    roots = {name: value for name, value in known.items() if isinstance(value, Exact)}
    found = facts.reads(*read)
    found |= facts.reads(*(root.plus for name, root in roots.items() if name in found))
    return {name: known[name] for name in [*(n for n in known if n not in roots), *roots] if name in found}


class _Numbered(Names):
    """Names by number alone, whatever is wished."""

    def new(self, wish: str, shape: str = VALUE) -> str:
        """The next name."""
        return super().new("v", shape)


def _unlabelled(group: Group) -> Group:
    """The group without remarks."""
    pair = group.coupling
    if pair is not None:
        pair = Coupling(replace(pair.spread, label=""), replace(pair.gathered, label=""))
    made = group.tiles
    tiles = Tiles(*(tuple(map(_bare, part)) for part in (made.reads, made.within, made.of)))
    return replace(group, statements=[replace(x, label="") for x in group.statements], coupling=pair, tiles=tiles)


def _bare(tile: Tile) -> Tile:
    return replace(tile, product=replace(tile.product, label=""))


def _wish(group: Group) -> str:
    """A name from what the group leaves to others: the first two buffers."""
    targets = (*(x.target for x in group.statements), *(tile.product.target for tile in group.tiles.of))
    left = dict.fromkeys(target.name for target in targets if not is_local(target))
    return "_".join(list(left)[:2])


def is_local(buffer: Buffer) -> bool:
    """Whether a buffer lives inside a group."""
    return buffer.kind in ("row", "value")


def outside(kernel: Kernel, group: Group) -> tuple[tuple[Buffer, ...], tuple[str, ...]]:
    """The buffers of a group that others read or write too, and the scalars that it needs."""
    integers = {node: buffer for node, buffer in kernel.given if buffer.integers is not None}
    own = {step.target for step in group.steps}
    found = [buffer for product in group.products for buffer in (product.left, product.target)]
    found += [tile.product.right for tile in group.tiles.every]
    for statement in group.statements:
        found += (buffer for buffer in statement.reads if buffer not in own)
        found += (integers[node] for index in indices(statement.expr) for node in index.inputs)
    found += (statement.target for statement in group.statements)
    every = (part for statement in group.statements for part in statement.expr.walk())
    asked = {part.name for part in every if isinstance(part, Scalar)}
    scalars = tuple(name for name in kernel.scalars if name in asked)
    return tuple(dict.fromkeys(b for b in found if not is_local(b))), scalars
